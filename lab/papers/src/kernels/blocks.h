// ---------------------------------------------------------------------------------------------------------------
// A thread has BLOCKS_PER_THREAD whole blocks, in registers. Neighbouring threads have neighbouring blocks, so that the
// accesses of a warp are adjacent.
// ---------------------------------------------------------------------------------------------------------------

#define TILE_BLOCKS (BLOCKS_PER_THREAD * THREADS)

typedef struct { u32 column[BLOCKS_PER_THREAD][4]; } state;

// Where the thread's block n is in a tile.
DEVICE u32 place_in_tile(int n) { return THREADS * n + threadIdx.x; }

// The thread's blocks of the tile that begins with block `first`; zeros where there is no data.
DEVICE state load(const u8 *in, u64 first, u64 blocks, int aligned) {
    state s;
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        const u64 block = first + place_in_tile(n);
        UNROLL for (int c = 0; c < 4; c++) s.column[n][c] = 0;
        if (block < blocks) load_words(s.column[n], 4, in + 16 * block, aligned);
    }
    return s;
}

DEVICE void store(u8 *out, u64 first, u64 blocks, state s, int aligned) {
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        const u64 block = first + place_in_tile(n);
        if (block < blocks) store_words(out + 16 * block, 4, s.column[n], aligned);
    }
}
