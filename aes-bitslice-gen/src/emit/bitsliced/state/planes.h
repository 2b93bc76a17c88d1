// ---------------------------------------------------------------------------------------------------------------
// Which thread does what: a warp takes 1,024 neighbouring blocks, and its lane l takes blocks l, l + 32, ..., l + 992
// of these, so that each of its 32 accesses of 16 bytes is adjacent to its neighbours'.
// ---------------------------------------------------------------------------------------------------------------

#define BLOCKS_PER_WARP 1024

DEVICE u64 warp_first_block(void) {
    return ((u64)blockIdx.x * (THREADS / 32) + threadIdx.x / 32) * BLOCKS_PER_WARP;
}

DEVICE u32 lane(void) { return threadIdx.x % 32; }

// How many of the thread's 32 blocks exist: its block j is block first + 32 j of `blocks`.
DEVICE int blocks_of_thread(u64 first, u64 blocks) {
    if (first >= blocks) return 0;
    const u64 left = (blocks - first + 31) / 32;
    return left < 32 ? (int)left : 32;
}
