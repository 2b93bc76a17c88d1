// ---------------------------------------------------------------------------------------------------------------
// Neighbouring threads have neighbouring blocks, so that the accesses of a warp are adjacent.
// ---------------------------------------------------------------------------------------------------------------

// Where the thread's block n is in a tile.
DEVICE u32 place_in_tile(int n) { return THREADS * n + threadIdx.x; }

// The thread's blocks of a tile of a share that ends at `to`; zeros where there is no data.
DEVICE state load_tile(const u8 *in, u64 tile, u64 to, u64 blocks, int aligned) {
    state s;
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        const u64 block = TILE_BLOCKS * tile + place_in_tile(n);
        UNROLL for (int c = 0; c < 4; c++) s.column[n][c] = 0;
        if (tile < to && block < blocks) load_words(s.column[n], 4, in + 16 * block, aligned);
    }
    return s;
}

DEVICE void store_tile(u8 *out, u64 tile, u64 blocks, const state *s, int aligned) {
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        const u64 block = TILE_BLOCKS * tile + place_in_tile(n);
        if (block < blocks) store_words(out + 16 * block, 4, s->column[n], aligned);
    }
}
