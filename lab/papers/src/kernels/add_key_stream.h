
KERNEL add_key_stream(const void *in, void *out, u64 blocks) {
    const uint4 *const data = (const uint4 *)in, *const stream = data + blocks;
    const u64 n = (u64)THREADS * blockIdx.x + threadIdx.x;
    if (n >= blocks) return;
    const uint4 a = data[n], b = stream[n];
    uint4 sum;
    sum.x = a.x ^ b.x;
    sum.y = a.y ^ b.y;
    sum.z = a.z ^ b.z;
    sum.w = a.w ^ b.w;
    ((uint4 *)out)[n] = sum;
}
