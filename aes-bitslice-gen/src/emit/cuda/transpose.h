// ---------------------------------------------------------------------------------------------------------------
// Blocks <-> bit-planes.
//
//   before  s[32 i + j] = word i (4 bytes, little-endian) of the thread's block j       j = 0..31, i = 0..3
//   after   s[32 i + b] = bit-plane 32 i + b: bit j of it is bit b of word i of block j
//
// so plane 8 n + b holds bit b of block byte n. A 32 x 32 bit matrix is transposed by exchanging ever smaller
// off-diagonal quarters; 16- and 8-bit steps move whole bytes. The map is its own inverse.
// ---------------------------------------------------------------------------------------------------------------

DEVICE void exchange_bits(u32 *a, u32 *b, int distance, u32 low) {
    const u32 x = *a, y = *b;
    *a = LUT3(x, y << distance, low, 0xe4); // low ? x : y << distance
    *b = LUT3(x >> distance, y, low, 0xe4); // low ? x >> distance : y
}

DEVICE void transpose_32x32(u32 *w) {
    UNROLL for (int j = 0; j < 16; j++) {
        const u32 x = w[j], y = w[j + 16];
        w[j] = BYTE_PERMUTE(x, y, 0x5410);
        w[j + 16] = BYTE_PERMUTE(x, y, 0x7632);
    }
    UNROLL for (int j = 0; j < 32; j++) if ((j & 8) == 0) {
        const u32 x = w[j], y = w[j + 8];
        w[j] = BYTE_PERMUTE(x, y, 0x6240);
        w[j + 8] = BYTE_PERMUTE(x, y, 0x7351);
    }
    UNROLL for (int j = 0; j < 32; j++) if ((j & 4) == 0) exchange_bits(&w[j], &w[j + 4], 4, 0x0f0f0f0f);
    UNROLL for (int j = 0; j < 32; j++) if ((j & 2) == 0) exchange_bits(&w[j], &w[j + 2], 2, 0x33333333);
    UNROLL for (int j = 0; j < 32; j++) if ((j & 1) == 0) exchange_bits(&w[j], &w[j + 1], 1, 0x55555555);
}

DEVICE void transpose_state(u32 *s) {
    UNROLL for (int i = 0; i < 4; i++) transpose_32x32(&s[32 * i]);
}
