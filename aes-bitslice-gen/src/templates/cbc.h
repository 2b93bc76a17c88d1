// ---------------------------------------------------------------------------------------------------------------
// Cipher block chaining, decryption (SP 800-38A, section 6.2): out[n] = cipher(in[n]) ^ in[n - 1], with the IV as
// in[-1]. `in` may equal `out`: ciphertext is kept until it has been XORed into the next block (in shared memory, Li et
// al. 2012, section V.D, or in registers). The block before the share of a thread block or warp is at
// `previous + number * stride`, where nothing is written; the IV precedes the first share.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u32 word[4]; } block128; // the bytes in order, as little-endian words

// Word i of the ciphertext block before the share with this number.
DEVICE u32 word_before_share(const block128 *iv, IN_GLOBAL const u8 *previous, u64 stride, u32 number, u32 i) {
    if (number == 0) return iv->word[i];
    IN_GLOBAL const u8 *p = previous + number * stride + 4 * i;
    return p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24;
}
