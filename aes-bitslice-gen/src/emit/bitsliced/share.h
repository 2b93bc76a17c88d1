// ---------------------------------------------------------------------------------------------------------------
// The share of a thread block: as many rounds of BLOCKS_PER_THREAD_BLOCK blocks as it takes for the grid to cover
// all, one after the other, so that what is made ready once serves them all. Any grid will do.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u64 from, to; } share;

DEVICE share share_of(u64 blocks) {
    const u64 all = (blocks + BLOCKS_PER_THREAD_BLOCK - 1) / BLOCKS_PER_THREAD_BLOCK;
    const u64 each = (all + gridDim.x - 1) / gridDim.x;
    share mine;
    mine.from = blockIdx.x * each;
    mine.to = mine.from + each < all ? mine.from + each : all;
    return mine;
}
