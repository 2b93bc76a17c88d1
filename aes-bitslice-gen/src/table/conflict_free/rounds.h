// ---------------------------------------------------------------------------------------------------------------
// Rounds on BLOCKS_PER_THREAD whole blocks in registers. Round keys stay where launch arguments are, in constant memory.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u32 column[BLOCKS_PER_THREAD][4]; } state;

DEVICE void add_words(state *s, const u32 *words) {
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) UNROLL for (int c = 0; c < 4; c++) s->column[n][c] ^= words[c];
}

DEVICE void add_state(state *s, const state *other) {
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++)
        UNROLL for (int c = 0; c < 4; c++) s->column[n][c] ^= other->column[n][c];
}

DEVICE void next_round(state *s, const u32 *key) {
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        u32 t[4], *const column = s->column[n];
        UNROLL for (int c = 0; c < 4; c++) {
            t[c] = key[c];
            UNROLL for (int row = 0; row < 4; row++) t[c] ^= look_up(column[SHIFTED(row, c)], row);
        }
        UNROLL for (int c = 0; c < 4; c++) column[c] = t[c];
    }
}

// The rounds from `round`, an odd number, to the last one, without the last round key.
DEVICE void finish(state *s, const round_keys *keys, int round) {
    @LOOP@
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        u32 t[4], *const column = s->column[n];
        UNROLL for (int c = 0; c < 4; c++) {
            t[c] = 0;
            UNROLL for (int row = 0; row < 4; row++) t[c] |= look_up_last(column[SHIFTED(row, c)], row);
        }
        UNROLL for (int c = 0; c < 4; c++) column[c] = t[c];
    }
}

DEVICE void cipher(state *s, const round_keys *keys) {
    add_words(s, keys->word[0]);
    finish(s, keys, 1);
    add_words(s, keys->word[keys->rounds]);
}
