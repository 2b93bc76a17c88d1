
// Word c of block n is word `c * blocks + n`.
DEVICE state load_word_major(const u32 *in, u64 block, u64 blocks) {
    state s;
    UNROLL for (int c = 0; c < 4; c++) s.column[0][c] = block < blocks ? in[c * blocks + block] : 0;
    return s;
}

DEVICE void store_word_major(u32 *out, u64 block, u64 blocks, state s) {
    if (block < blocks)
        UNROLL for (int c = 0; c < 4; c++) out[c * blocks + block] = s.column[0][c];
}
