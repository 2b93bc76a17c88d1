
KERNEL lfsr(const void *in, void *out, u64 turns) {
    const u64 all = (u64)THREADS * gridDim.x, thread = (u64)THREADS * blockIdx.x + threadIdx.x;
    u32 r[16], t[16], sum = 0;
    UNROLL for (int i = 0; i < 16; i++) r[i] = ((const u32 *)in)[i * all + thread];
    ROLLED for (u64 turn = 0; turn < turns; turn++) {
        UNROLL for (int clock = 0; clock < CLOCKS; clock++) {
            clock_lfsr(r, t);
            UNROLL for (int i = 0; i < 16; i++) r[i] = t[i];
            if (SUMS) sum ^= r[0];
            else ((lanes *)out)[(turn * CLOCKS + clock) * all + thread] = (lanes)r[0];
        }
    }
    if (SUMS) ((lanes *)out)[thread] = (lanes)sum;
}
