// The clock of a GPU's multiprocessors beside the work of its tensor cores (docs/performance.md): while all of them do logic, as AES on
// bit-planes does, they also do one product now and then, and count clocks and nanoseconds.
//
//   nvcc -O3 -gencode arch=compute_90a,code=sm_90a lab/clock/clock.cu -o /tmp/clock && /tmp/clock
#include <algorithm>
#include <cstdio>
#include <vector>

enum Product { None, WgmmaBits, WgmmaBf16, WgmmaInt8, MmaBits };
static const char *const NAMES[] = {"none", "wgmma, bits", "wgmma, bf16", "wgmma, int8", "mma.sync, bits"};

__device__ unsigned long long nanoseconds() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

// A matrix in shared memory as an operand of wgmma: eight rows of 16 bytes are neighbours.
__device__ unsigned long long operand(const void *p) {
    return (unsigned long long)((unsigned)__cvta_generic_to_shared(p) >> 4) | 8ull << 16 | 16ull << 32;
}

// One product each `steps` steps of logic, for `long_enough` nanoseconds. `out` gets clocks, nanoseconds and products of each thread block.
template <Product KIND>
__global__ void __launch_bounds__(128, 4) work(int steps, unsigned long long long_enough, unsigned long long *out) {
    __shared__ __align__(1024) uint4 memory[512];
    __shared__ int done;
    for (int i = threadIdx.x; i < 512; i += 128) memory[i] = make_uint4(i * 2654435761u, i * 40503u, ~i, i * 97u);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const unsigned long long left = operand(memory), right = operand(memory + 256);
    unsigned x[8], d[4] = {};
    float f[4] = {};
    for (int i = 0; i < 8; i++) x[i] = threadIdx.x * 2654435761u + i;
    const long long clocks = clock64();
    const unsigned long long start = nanoseconds();
    unsigned long long products = 0;
    for (;;) {
        if (threadIdx.x == 0) done = nanoseconds() - start >= long_enough;
        __syncthreads();
        const int stop = done;
        __syncthreads();
        if (stop) break;
        for (int n = 0; n < steps; n++)
#pragma unroll
            for (int i = 0; i < 8; i++) asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(x[i]) : "r"(x[(i + 1) % 8]), "r"(x[(i + 3) % 8]));
        products++;
        if (KIND == WgmmaBits)
            asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc "
                         "{%0, %1, %2, %3}, %4, %5, p; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;}"
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "l"(left), "l"(right) : "memory");
        if (KIND == WgmmaBf16)
            asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                         "{%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;}"
                         : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "l"(left), "l"(right) : "memory");
        if (KIND == WgmmaInt8)
            asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 "
                         "{%0, %1, %2, %3}, %4, %5, p; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;}"
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "l"(left), "l"(right) : "memory");
        if (KIND == MmaBits)
            asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%4, %6}, {%0, %1, %2, %3};"
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]));
    }
    if (threadIdx.x == 0) {
        unsigned long long *const mine = out + 3 * blockIdx.x;
        mine[0] = clock64() - clocks;
        mine[1] = nanoseconds() - start;
        mine[2] = products;
    }
    unsigned all = d[0] ^ d[1] ^ d[2] ^ d[3] ^ (unsigned)(f[0] + f[1] + f[2] + f[3]);
    for (int i = 0; i < 8; i++) all ^= x[i];
    if (all == 0x12345678) out[0] = all; // so that nothing is left out
}

template <Product KIND> void measure(int steps, double milliseconds, int multiprocessors, unsigned long long *out) {
    const int blocks = 4 * multiprocessors;
    work<KIND><<<blocks, 128>>>(steps, (unsigned long long)(1e6 * milliseconds), out);
    std::vector<unsigned long long> found(3 * blocks);
    const cudaError_t error = cudaMemcpy(found.data(), out, 8 * found.size(), cudaMemcpyDeviceToHost);
    std::vector<double> mhz;
    for (int b = 0; b < blocks; b++) mhz.push_back(1e3 * found[3 * b] / found[3 * b + 1]);
    std::sort(mhz.begin(), mhz.end());
    printf("%-15s %5.0f ms: a product every %7.0f clocks, %4.0f MHz (%4.0f to %4.0f) %s\n", NAMES[KIND], milliseconds,
           (double)found[0] / found[2], mhz[blocks / 2], mhz[0], mhz[blocks - 1], error ? cudaGetErrorString(error) : "");
}

int main() {
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    printf("%s\n", device.name);
    unsigned long long *out;
    cudaMalloc(&out, 24 * 4 * device.multiProcessorCount);
    const int all = device.multiProcessorCount;
    for (double milliseconds : {0.05, 200.0})
        for (int steps : {20, 200, 2000}) {
            measure<None>(steps, milliseconds, all, out);
            measure<WgmmaBits>(steps, milliseconds, all, out);
            measure<WgmmaBf16>(steps, milliseconds, all, out);
            measure<WgmmaInt8>(steps, milliseconds, all, out);
            measure<MmaBits>(steps, milliseconds, all, out);
        }
}
