// ---------------------------------------------------------------------------------------------------------------
// On the host: the round keys of a key (FIPS 197, section 5.2), in the bases that the cipher takes them in. S-boxes are computed: no branch
// and no address depends on the key.
// ---------------------------------------------------------------------------------------------------------------

#ifndef __CUDACC_RTC__

// The product of two bytes in GF(2^8), modulo x^8 + x^4 + x^3 + x + 1.
[[maybe_unused]] static inline u8 product(u8 a, u8 b) {
    u32 sum = 0;
    for (int i = 7; i >= 0; i--) {
        sum = sum << 1 ^ (0x11b & (0u - (sum >> 7)));
        sum ^= a & (0u - (b >> i & 1u));
    }
    return (u8)sum;
}

// The S-box: x^254, then the affine map.
[[maybe_unused]] static inline u8 substitute(u8 x) {
    u8 power = x; // x^(2^i - 1)
    for (int i = 0; i < 6; i++) power = product(product(power, power), x);
    const u32 inverse = product(power, power);
    u32 sum = 0x63;
    for (int i = 0; i < 5; i++) sum ^= inverse << i ^ inverse >> (8 - i);
    return (u8)sum;
}

// The word whose bit i is the parity of row i AND a column.
[[maybe_unused]] static inline u32 in_key_basis(u32 column) {
    static const u32 rows[32] = {@KEY_BASIS@};
    u32 word = 0;
    for (int i = 0; i < 32; i++) {
        u32 parity = rows[i] & column;
        for (int half = 16; half > 0; half /= 2) parity ^= parity >> half;
        word |= (parity & 1) << i;
    }
    return word;
}

// Makes the round keys of `key`, which has `key_bytes` bytes: 16, 24 or 32. Returns 0 for any other number, else 1. They are as secret as
// the key: whoever has them wipes them.
[[maybe_unused]] static inline int expand_key(round_keys *keys, const unsigned char *key, int key_bytes) {
    if (key_bytes != 16 && key_bytes != 24 && key_bytes != 32) return 0;
    const int key_words = key_bytes / 4;
    keys->rounds = (u32)key_words + 6;
    u8 constant = 1;
    for (int n = 0; n < 4 * (MAX_ROUNDS + 1); n++) {
        u8 word[4] = {0, 0, 0, 0};
        if (n < key_words) {
            for (int i = 0; i < 4; i++) word[i] = key[4 * n + i];
        } else if (n < 4 * ((int)keys->rounds + 1)) {
            const u32 before = keys->word[(n - 1) / 4][(n - 1) % 4];
            const u32 turned = n % key_words == 0 ? before >> 8 | before << 24 : before;
            for (int i = 0; i < 4; i++) {
                word[i] = (u8)(turned >> 8 * i);
                if (n % key_words == 0 || (key_words == 8 && n % 8 == 4)) word[i] = substitute(word[i]);
                word[i] ^= (u8)(keys->word[(n - key_words) / 4][(n - key_words) % 4] >> 8 * i);
            }
            if (n % key_words == 0) {
                word[0] ^= constant;
                constant = product(constant, 2);
            }
        }
        keys->word[n / 4][n % 4] = word[0] | (u32)word[1] << 8 | (u32)word[2] << 16 | (u32)word[3] << 24;
    }
    for (u32 n = 4; n < 4 * keys->rounds; n++) keys->word[n / 4][n % 4] = in_key_basis(keys->word[n / 4][n % 4]);
    return 1;
}

#endif
