KERNEL representation(const void *in, void *out, u64 blocks) {
    const u64 first = warp_first_block() + lane();
    if (blocks_of_thread(first, blocks) < 32) return;
    const u64 threads = blocks / 32, thread = (u64)THREADS * blockIdx.x + threadIdx.x;
    u32 s[128];
    UNROLL for (int j = 0; j < 32; j++) put_block(s, j, ((const uint4 *)in)[first + 32 * j]);
    ROLLED for (int i = 0; i < CHANGES; i++) transpose_state(s);
    UNROLL for (int p = 0; p < 128; p++) ((u32 *)out)[p * threads + thread] = s[p];
}
