// ---------------------------------------------------------------------------------------------------------------
// Blocks <-> bit-planes, one column of the state at a time.
//
//   before  w[j] = the column's word (4 bytes, little-endian) of the thread's block j       j = 0..31
//   after   w[b] = a bit-plane: bit j of it is bit b of the column's word of block j
//
// so plane 8 r + b of a column holds bit b of the byte in row r. A 32 x 32 bit matrix is transposed by exchanging ever smaller
// off-diagonal quarters; 16- and 8-bit steps move whole bytes. The map is its own inverse.
// ---------------------------------------------------------------------------------------------------------------

DEVICE void exchange_bits(u32 *a, u32 *b, int distance, u32 low) {
    const u32 x = *a, y = *b;
    *a = LUT3(x, y << distance, low, 0xe4); // low ? x : y << distance
    *b = LUT3(x >> distance, y, low, 0xe4); // low ? x >> distance : y
}

// The same, with each then XORed with a word: one more instruction, where separate XORs would take two.
DEVICE void exchange_bits_and_add(u32 *a, u32 *b, int distance, u32 low, u32 to_a, u32 to_b) {
    const u32 differences = LUT3(*a >> distance, *b, low, 0x28); // (a >> distance ^ b) & low
    *a = LUT3(*a, differences << distance, to_a, 0x96);
    *b = LUT3(*b, differences, to_b, 0x96);
}

DEVICE void transpose_bytes(u32 *w) {
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
}

DEVICE void transpose_32x32(u32 *w) {
    transpose_bytes(w);
    UNROLL for (int j = 0; j < 32; j++) if ((j & 4) == 0) exchange_bits(&w[j], &w[j + 4], 4, 0x0f0f0f0f);
    UNROLL for (int j = 0; j < 32; j++) if ((j & 2) == 0) exchange_bits(&w[j], &w[j + 2], 2, 0x33333333);
    UNROLL for (int j = 0; j < 32; j++) if ((j & 1) == 0) exchange_bits(&w[j], &w[j + 1], 1, 0x55555555);
}

// The words to add on the way to planes in place of XORing words with `word` first: after the exchange of half bytes, a word has the low
// halves of byte n of eight blocks (2 n) or the high halves (2 n + 1).
DEVICE void halves_of_bytes(u32 *halves, u32 word) {
    UNROLL for (int n = 0; n < 4; n++) {
        halves[2 * n] = halves[2 * n + 1] = BYTE_PERMUTE(word, 0, 0x1111 * n);
        exchange_bits(&halves[2 * n], &halves[2 * n + 1], 4, 0x0f0f0f0f);
    }
}

// Turns words into planes, first XORed with a word that is given as its halves of bytes.
DEVICE void planes_of_words(u32 *w, const u32 *halves) {
    transpose_bytes(w);
    UNROLL for (int j = 0; j < 32; j++) if ((j & 4) == 0)
        exchange_bits_and_add(&w[j], &w[j + 4], 4, 0x0f0f0f0f, halves[j / 8 * 2], halves[j / 8 * 2 + 1]);
    UNROLL for (int j = 0; j < 32; j++) if ((j & 2) == 0) exchange_bits(&w[j], &w[j + 2], 2, 0x33333333);
    UNROLL for (int j = 0; j < 32; j++) if ((j & 1) == 0) exchange_bits(&w[j], &w[j + 1], 1, 0x55555555);
}

// Turns planes into words, finally XORed with `add`.
DEVICE void words_of_planes(u32 *w, u32 add) {
    transpose_bytes(w);
    UNROLL for (int j = 0; j < 32; j++) if ((j & 4) == 0) exchange_bits(&w[j], &w[j + 4], 4, 0x0f0f0f0f);
    UNROLL for (int j = 0; j < 32; j++) if ((j & 2) == 0) exchange_bits(&w[j], &w[j + 2], 2, 0x33333333);
    UNROLL for (int j = 0; j < 32; j++) if ((j & 1) == 0) 
        exchange_bits_and_add(&w[j], &w[j + 1], 1, 0x55555555, add, add);
}
