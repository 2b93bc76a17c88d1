// ---------------------------------------------------------------------------------------------------------------
// Cipher block chaining, decryption (SP 800-38A, section 6.2): out[n] = cipher(in[n]) ^ in[n - 1], the IV standing for
// in[-1]. `in` may equal `out`: ciphertext is kept until its successor has met it (in shared memory: Li et al. 2012,
// section V.D; or in registers). A thread block finds the block before its share at `previous + blockIdx.x * stride`, where no other
// thread block writes; the first one has the IV.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u32 word[4]; } block128; // the bytes in order, as little-endian words

// Word i of the ciphertext block before the share of this thread block.
DEVICE u32 word_before_share(const block128 *iv, IN_GLOBAL const u8 *previous, u64 stride, u32 i) {
    if (blockIdx.x == 0) return iv->word[i];
    IN_GLOBAL const u8 *p = previous + blockIdx.x * stride + 4 * i;
    return p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24;
}
