// ---------------------------------------------------------------------------------------------------------------
// The share of a thread block: as many consecutive tiles of TILE_BLOCKS blocks as it takes for the grid to cover all,
// so that what is prepared once serves them all. Any grid works.
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
