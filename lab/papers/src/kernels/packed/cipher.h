// The cipher (FIPS 197, section 5.1) on packed words. ShiftRows moves bits within words, and MixColumns rotates words by rows.

DEVICE void add_round_key(u32 *p, u32 round) {
    UNROLL for (int i = 0; i < WORDS; i++) p[i] ^= round_key[round][i];
}

DEVICE void sub_bytes(u32 *p) {
    UNROLL for (int h = 0; h < HALVES; h++) {
        u32 y[8];
        s_box(p + 8 * h, y);
        UNROLL for (int b = 0; b < 8; b++) p[8 * h + b] = y[b];
    }
}

// Bits `bits` of a word, each from `by` places above it.
DEVICE u32 from_above(u32 word, u32 by, u32 bits) { return word >> by & bits; }

// The same from `by` places below.
DEVICE u32 from_below(u32 word, u32 by, u32 bits) { return word << by & bits; }

// Row r takes column c from column c + r, modulo 4.
DEVICE void shift_rows(u32 *p) {
    UNROLL for (int b = 0; b < 8; b++) {
        const u32 x = p[b];
#if HALVES == 1
        p[b] = (x & 0xff) | from_above(x, 2, 0x3f00) | from_below(x, 6, 0xc000) | from_above(x, 4, 0xf0000)
            | from_below(x, 4, 0xf00000) | from_above(x, 6, 0x03000000) | from_below(x, 2, 0xfc000000);
#else
        const u32 y = p[8 + b];
        p[b] = (x & 0xffff) | from_above(x, 4, 0x0fff0000) | from_below(x, 12, 0xf0000000);
        p[8 + b] = from_above(y, 8, 0x00ff) | from_below(y, 8, 0xff00) | from_above(y, 12, 0x000f0000)
            | from_below(y, 4, 0xfff00000);
#endif
    }
}

// Half h of word b whose row r is row r + 1 of p, modulo 4.
DEVICE u32 next_row(const u32 *p, int h, int b) {
    const u32 here = p[8 * h + b];
#if HALVES == 1
    return here >> 8 | here << 24;
#else
    return here >> 16 | p[8 * (1 - h) + b] << 16;
#endif
}

// The same for row r + 2.
DEVICE u32 row_after_next(const u32 *p, int h, int b) {
#if HALVES == 1
    return p[b] >> 16 | p[b] << 16;
#else
    return p[8 * (1 - h) + b];
#endif
}

// 2 x[r] + 3 x[r + 1] + x[r + 2] + x[r + 3] = 2 t[r] + x[r + 1] + t[r + 2], where t[r] = x[r] + x[r + 1].
DEVICE void mix_columns(u32 *p) {
    u32 next[WORDS], t[WORDS];
    UNROLL for (int i = 0; i < WORDS; i++) {
        next[i] = next_row(p, i / 8, i % 8);
        t[i] = p[i] ^ next[i];
    }
    UNROLL for (int i = 0; i < WORDS; i++) {
        const int h = i / 8, b = i % 8;
        // Multiplication by x modulo x^8 + x^4 + x^3 + x + 1.
        u32 twice = t[8 * h + (b + 7) % 8];
        if (b == 1 || b == 3 || b == 4) twice ^= t[8 * h + 7];
        p[i] = twice ^ next[i] ^ row_after_next(t, h, b);
    }
}

DEVICE void cipher(state *s, cipher_key key) {
    u32 p[WORDS];
    pack(p, s);
    add_round_key(p, 0);
    ROLLED for (u32 round = 1; round < key.rounds; round++) {
        sub_bytes(p);
        shift_rows(p);
        mix_columns(p);
        add_round_key(p, round);
    }
    sub_bytes(p);
    shift_rows(p);
    add_round_key(p, key.rounds);
    unpack(s, p);
}
