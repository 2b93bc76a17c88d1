// ---------------------------------------------------------------------------------------------------------------
// A thread has one byte of a block; its neighbours have the others. They share the block through shared memory once per
// round.
// ---------------------------------------------------------------------------------------------------------------

#define PARTS 16 // of a block, shared as one
#define TILE_BLOCKS (THREADS / 16)

typedef u8 state;

DEVICE u32 place_in_tile(void) { return threadIdx.x / 16; }
DEVICE u32 own_row(void) { return threadIdx.x % 4; }
DEVICE u32 own_column(void) { return threadIdx.x / 4 % 4; }

// The thread's byte of its block of the tile that begins with block `first`; zero where there is no data.
DEVICE state load(const u8 *in, u64 first, u64 blocks, int aligned) {
    (void)aligned;
    return first + place_in_tile() < blocks ? in[16 * first + threadIdx.x] : 0;
}

DEVICE void store(u8 *out, u64 first, u64 blocks, state s, int aligned) {
    (void)aligned;
    if (first + place_in_tile() < blocks) out[16 * first + threadIdx.x] = s;
}

// The bytes that threads share, in two alternating halves: while slow threads read the state before this round, fast
// ones write the next.
SHARED u8 shared_byte[2][PARTS * TILE_BLOCKS];

@STAGING@

// Hands the thread's byte to the others. Then each finds the byte that ShiftRows moves to a row of its column.
DEVICE const u8 *share_byte(state s, u32 round) {
    u8 *const shared = shared_byte[round % 2];
    shared[AT(place_in_tile(), 4 * own_column() + own_row())] = s;
    BARRIER();
    return shared;
}

DEVICE u8 byte_in_row(const u8 *shared, u32 row) {
    return shared[AT(place_in_tile(), 4 * SHIFTED(row, own_column()) + row)];
}

DEVICE u8 key_byte(cipher_key key, u32 round) { return (u8)(key_word(key, round, own_column()) >> 8 * own_row()); }

// Uses the byte in the thread's row of the T-boxes' words; with one table for all rows, the byte that a rotation would
// bring there.
DEVICE void next_round(state *s, cipher_key key, u32 round) {
    const u8 *const shared = share_byte(*s, round);
    *s = key_byte(key, round);
    UNROLL for (int row = 0; row < 4; row++) {
        const u8 *const entry = (const u8 *)&t_box[row % TABLES][byte_in_row(shared, row)];
        *s ^= entry[TABLES == 4 ? own_row() : (own_row() + 4 - row) % 4];
    }
}

DEVICE void last_round(state *s, cipher_key key) {
    const u8 *const shared = share_byte(*s, key.rounds);
    *s = s_box[byte_in_row(shared, own_row())] ^ key_byte(key, key.rounds);
}

// The number of rounds is even, so that the alternation continues from one tile to the next.
DEVICE void cipher(state *s, cipher_key key) {
    *s ^= key_byte(key, 0);
    if (UNROLLED && key.rounds == 10) {
        UNROLL for (u32 round = 1; round < 10; round++) next_round(s, key, round);
        key.rounds = 10; // Then a round key's place is known.
        last_round(s, key);
        return;
    }
    ROLLED for (u32 round = 1; round < key.rounds; round++) next_round(s, key, round);
    last_round(s, key);
}
