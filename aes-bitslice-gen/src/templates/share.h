// ---------------------------------------------------------------------------------------------------------------
// The share of a thread block: as many tiles of TILE_BLOCKS blocks as it takes for the grid to
// cover all, one after the other, so that what is made ready once serves them all. Any grid will do.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u64 from, to; } share;

DEVICE share share_of(u64 blocks) {
    const u64 all = (blocks + TILE_BLOCKS - 1) / TILE_BLOCKS;
    const u64 each = (all + gridDim.x - 1) / gridDim.x;
    share mine;
    mine.from = blockIdx.x * each;
    mine.to = mine.from + each < all ? mine.from + each : all;
    return mine;
}
