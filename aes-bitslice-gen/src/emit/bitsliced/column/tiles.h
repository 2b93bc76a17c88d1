// ---------------------------------------------------------------------------------------------------------------
// Tiles, numbered from the one in which the data begins, at its block `skipped`: 0 except where counters must begin at a multiple of a
// tile's blocks. Any grid works, with any number of warps.
// ---------------------------------------------------------------------------------------------------------------

// Tiles from `from` up to but not including `to`.
typedef struct { u32 from, to; } tiles;

DEVICE u32 tiles_of(u64 blocks) { return (u32)((blocks + TILE_BLOCKS - 1) / TILE_BLOCKS); }

// The tiles whose blocks all exist.
DEVICE tiles whole_tiles(u32 skipped, u64 blocks) {
    tiles whole;
    whole.from = skipped != 0;
    whole.to = (u32)((skipped + blocks) / TILE_BLOCKS);
    return whole;
}

DEVICE int is_among(u32 tile, tiles some) { return tile >= some.from && tile < some.to; }

// The number of the thread's first block of a tile; its block j is number first + 8 j. Blocks before the data have numbers that wrap.
DEVICE u64 first_block(u32 tile, u32 skipped) { return (u64)TILE_BLOCKS * tile + lane() / 4 - skipped; }

// The thread's words of a tile, 0 for blocks that do not exist.
DEVICE void read_words(u32 *w, IN_GLOBAL const uint4 *data, u64 first, u64 blocks, int is_whole) {
    IN_GLOBAL const u32 *const from = (IN_GLOBAL const u32 *)data + (4 * first + column());
    if (is_whole) {
        UNROLL for (int j = 0; j < 32; j++) w[j] = from[32 * j];
    } else {
        UNROLL for (int j = 0; j < 32; j++) w[j] = first + 8 * j < blocks ? from[32 * j] : 0;
    }
}

DEVICE void write_words(IN_GLOBAL uint4 *data, const u32 *w, u64 first, u64 blocks, int is_whole) {
    IN_GLOBAL u32 *const to = (IN_GLOBAL u32 *)data + (4 * first + column());
    if (is_whole) {
        UNROLL for (int j = 0; j < 32; j++) to[32 * j] = w[j];
    } else {
        UNROLL for (int j = 0; j < 32; j++) if (first + 8 * j < blocks) to[32 * j] = w[j];
    }
}
