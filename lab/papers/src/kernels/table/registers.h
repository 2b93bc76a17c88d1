DEVICE void add_state(state *s, const state *other) {
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++)
        UNROLL for (int c = 0; c < 4; c++) s->column[n][c] ^= other->column[n][c];
}

// A round key serves all blocks of the thread.
DEVICE void get_round_key(u32 *k, cipher_key key, u32 round) {
    UNROLL for (int c = 0; c < 4; c++) k[c] = key_word(key, round, c);
}

DEVICE void next_round(state *s, cipher_key key, u32 round) {
    u32 k[4];
    get_round_key(k, key, round);
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        u32 t[4], *const column = s->column[n];
        UNROLL for (int c = 0; c < 4; c++) {
            t[c] = k[c];
            UNROLL for (int row = 0; row < 4; row++) t[c] ^= look_up(column[SHIFTED(row, c)], row);
        }
        UNROLL for (int c = 0; c < 4; c++) column[c] = t[c];
    }
}

DEVICE void last_round(state *s, cipher_key key) {
    u32 k[4];
    get_round_key(k, key, key.rounds);
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        u32 t[4], *const column = s->column[n];
        UNROLL for (int c = 0; c < 4; c++) {
            t[c] = k[c];
            UNROLL for (int row = 0; row < 4; row++) t[c] ^= look_up_last(column[SHIFTED(row, c)], row);
        }
        UNROLL for (int c = 0; c < 4; c++) column[c] = t[c];
    }
}

DEVICE void cipher(state *s, cipher_key key) {
    COMPILER_BARRIER(); // round keys are fetched for each tile, because there are no registers to keep them in
    u32 k[4];
    get_round_key(k, key, 0);
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++)
        UNROLL for (int c = 0; c < 4; c++) s->column[n][c] ^= k[c];
    if (UNROLLED && key.rounds == 10) {
        UNROLL for (u32 round = 1; round < 10; round++) next_round(s, key, round);
        key.rounds = 10; // Then a round key's place is known.
        last_round(s, key);
        return;
    }
    // The number of rounds before the last is odd for every key length.
    next_round(s, key, 1);
    ROLLED for (u32 round = 2; round < key.rounds; round += 2)
        UNROLL for (u32 i = 0; i < 2; i++) next_round(s, key, round + i);
    last_round(s, key);
}
