// The share of a thread block whose warps take one tile after the other, each when it is ready: as many tiles as other thread blocks have,
// or one more.
DEVICE tiles share_of_block(u64 blocks) {
    const u32 all = tiles_of(blocks), each = all / gridDim.x, more = all % gridDim.x;
    tiles share;
    share.from = blockIdx.x * each + (blockIdx.x < more ? blockIdx.x : more);
    share.to = share.from + each + (blockIdx.x < more);
    return share;
}

#if SHUFFLES
// The tile that a warp takes first, of those from `from` on.
DEVICE u32 first_tile(u32 from) { return from + FROM_FIRST_LANE(lane() == 0 ? warp() : 0); }

// The tile that a warp takes after `tile`; `next` is the first that no warp has taken.
DEVICE u32 tile_after(u32 tile, IN_SHARED u32 *next) {
    (void)tile;
    u32 taken = 0;
    if (lane() == 0) taken = TAKE_NUMBER(next);
    return FROM_FIRST_LANE(taken);
}

// Whether a warp whose next tile is `tile` goes on; tiles end at `to`.
DEVICE int goes_on(u32 tile, u32 to) { return tile < to; }
DEVICE u64 blocks_up_to(u32 to, u32 skipped, u64 blocks) {
    (void)to, (void)skipped;
    return blocks;
}
#else
// Threads exchange words through memory, with barriers for all warps. Warps take their tiles in step, and those left without a tile go
// along, on blocks that do not exist.
DEVICE u32 first_tile(u32 from) { return from + warp(); }

DEVICE u32 tile_after(u32 tile, IN_SHARED u32 *next) {
    (void)next;
    return tile + WARPS;
}

DEVICE int goes_on(u32 tile, u32 to) { return tile - warp() < to; }
DEVICE u64 blocks_up_to(u32 to, u32 skipped, u64 blocks) {
    const u64 end = (u64)TILE_BLOCKS * to - skipped;
    return end < blocks ? end : blocks;
}
#endif
