// ---------------------------------------------------------------------------------------------------------------
// Bit b of all bytes of a thread's blocks is in word b, of 32 bits or of 64: the byte in row r and column c of block k
// is at bit 4 B r + B c + k, where B is the number of blocks, BLOCKS_PER_THREAD. A word of 64 bits is two of 32: rows 0
// and 1, and rows 2 and 3. Word b of half h is p[8 h + b].
// ---------------------------------------------------------------------------------------------------------------

#define HALVES (BLOCKS_PER_THREAD / 2)
#define WORDS (8 * HALVES)

// Between 8 words of bytes and 8 words of bits of equal weight; its own inverse. Before: bit b of byte j of word i;
// after: bit i of byte j of word b.
DEVICE void transpose_bits(u32 *w) {
    UNROLL for (int i = 0; i < 4; i++) exchange_bits(&w[i], &w[i + 4], 4, 0x0f0f0f0f);
    UNROLL for (int i = 0; i < 8; i++) if ((i & 2) == 0) exchange_bits(&w[i], &w[i + 2], 2, 0x33333333);
    UNROLL for (int i = 0; i < 8; i++) if ((i & 1) == 0) exchange_bits(&w[i], &w[i + 1], 1, 0x55555555);
}

DEVICE void pack(u32 *p, const state *s) {
    UNROLL for (int k = 0; k < BLOCKS_PER_THREAD; k++) {
        const u32 *const column = s->column[k];
        UNROLL for (int c = 0; c < 4; c++) {
#if HALVES == 1
            p[2 * c + k] = column[c];
#else
            // Byte 2 r + c / 2 of the words is of row r: columns c and c + 2 take turns.
            if (c < 2) {
                p[4 * c + k] = BYTE_PERMUTE(column[c], column[c + 2], 0x5140);
                p[8 + 4 * c + k] = BYTE_PERMUTE(column[c], column[c + 2], 0x7362);
            }
#endif
        }
    }
    UNROLL for (int h = 0; h < HALVES; h++) transpose_bits(p + 8 * h);
}

DEVICE void unpack(state *s, u32 *p) {
    UNROLL for (int h = 0; h < HALVES; h++) transpose_bits(p + 8 * h);
    UNROLL for (int k = 0; k < BLOCKS_PER_THREAD; k++) {
        u32 *const column = s->column[k];
        UNROLL for (int c = 0; c < 4; c++) {
#if HALVES == 1
            column[c] = p[2 * c + k];
#else
            if (c < 2) {
                column[c] = BYTE_PERMUTE(p[4 * c + k], p[8 + 4 * c + k], 0x6420);
                column[c + 2] = BYTE_PERMUTE(p[4 * c + k], p[8 + 4 * c + k], 0x7531);
            }
#endif
        }
    }
}
