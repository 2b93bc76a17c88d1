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
