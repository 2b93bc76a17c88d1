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

// The blocks first, first + 1, ... of a warp of which there is data: those from `from` on, up to but not including
// `to`. Blocks before the data have numbers that wrap.
typedef struct { u32 from, to; } present;

DEVICE present blocks_present(u64 first, u64 blocks) {
    present p;
    p.from = first >> 63 ? (u32)(0 - first) : 0;
    const u64 left = first >> 63 || first < blocks ? blocks - first : 0;
    p.to = left < BLOCKS_PER_WARP ? (u32)left : BLOCKS_PER_WARP;
    return p;
}

DEVICE int is_whole(present p) { return p.from == 0 && p.to == BLOCKS_PER_WARP; }

// Whether the thread's block j, of 32, is there.
DEVICE int has(present p, int j) { return 8 * j + lane() / 4 >= p.from && 8 * j + lane() / 4 < p.to; }
