// ---------------------------------------------------------------------------------------------------------------
// A thread has COLUMNS of the four columns of a block; its neighbours have the others, if any. The block is in shared memory, through which
// they share it once per round.
// ---------------------------------------------------------------------------------------------------------------

#define PARTS 4 // of a block, shared as one
#define TILE_BLOCKS (THREADS * COLUMNS / 4)

typedef struct { u32 column[COLUMNS]; } state;

DEVICE u32 place_in_tile(void) { return threadIdx.x * COLUMNS / 4; }
DEVICE u32 first_column(void) { return threadIdx.x * COLUMNS % 4; }

// The columns that threads share, alternating: while slow threads read the state before this round, fast ones write the next. Also the
// plaintext, where it goes there first.
SHARED u32 shared_column[2 + PLAINTEXT_FIRST][PARTS * TILE_BLOCKS];

@STAGING@

// The thread's columns of its block of the tile that begins with block `first`; zeros where there is no data.
@LOAD@

DEVICE void store(u8 *out, u64 first, u64 blocks, state s, int aligned) {
    const u64 block = first + place_in_tile();
    if (block < blocks) store_words(out + 16 * block + 4 * first_column(), COLUMNS, s.column, aligned);
}

// All columns of the thread's block, its own first.
DEVICE void share_columns(u32 *all, const state *s, u32 round) {
    u32 *const shared = shared_column[round % 2];
    UNROLL for (int i = 0; i < COLUMNS; i++) shared[AT(place_in_tile(), first_column() + i)] = s->column[i];
    BARRIER();
    UNROLL for (int i = 0; i < 4; i++) all[i] = shared[AT(place_in_tile(), (first_column() + i) % 4)];
}

DEVICE void next_round(state *s, cipher_key key, u32 round) {
    u32 all[4];
    share_columns(all, s, round);
    UNROLL for (int i = 0; i < COLUMNS; i++) {
        s->column[i] = key_word(key, round, first_column() + i);
        UNROLL for (int row = 0; row < 4; row++) s->column[i] ^= look_up(all[SHIFTED(row, i)], row);
    }
}

DEVICE void last_round(state *s, cipher_key key) {
    u32 all[4];
    share_columns(all, s, key.rounds);
    UNROLL for (int i = 0; i < COLUMNS; i++) {
        s->column[i] = key_word(key, key.rounds, first_column() + i);
        UNROLL for (int row = 0; row < 4; row++) s->column[i] ^= look_up_last(all[SHIFTED(row, i)], row);
    }
}

// The number of rounds is even, so that the alternation continues from one tile to the next.
DEVICE void cipher(state *s, cipher_key key) {
    UNROLL for (int i = 0; i < COLUMNS; i++) s->column[i] ^= key_word(key, 0, first_column() + i);
    if (UNROLLED && key.rounds == 10) {
        UNROLL for (u32 round = 1; round < 10; round++) next_round(s, key, round);
        key.rounds = 10; // Then a round key's place is known.
        last_round(s, key);
        return;
    }
    ROLLED for (u32 round = 1; round < key.rounds; round++) next_round(s, key, round);
    last_round(s, key);
}
