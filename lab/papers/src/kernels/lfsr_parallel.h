
KERNEL lfsr(const void *in, void *out, u64 turns) {
    const u64 all = (u64)THREADS * gridDim.x, thread = (u64)THREADS * blockIdx.x + threadIdx.x;
    u32 r = ((const u32 *)in)[thread];
    u32 sum = 0;
    ROLLED for (u64 turn = 0; turn < turns; turn++) {
        u32 word = 0;
        UNROLL for (int clock = 0; clock < CLOCKS; clock++) {
            const u32 bit = (r >> 15 ^ r >> 13 ^ r >> 12 ^ r >> 10) & 1;
            r = r << 1 | bit;
            word |= bit << clock;
        }
        if (SUMS) sum ^= word;
        else ((u32 *)out)[turn * all + thread] = word;
    }
    if (SUMS) ((u32 *)out)[thread] = sum;
}
