// Launches the generator of myl7/fss alone: a header has its code, and its own benchmark runs it only inside a tree. Tables
// in shared memory, keys and threads a thread block are as in that benchmark; each thread expands both keys, for 64 seeds.
#include <cuda_runtime.h>
#include <fss/prg/aes128_mmo_soft.cuh>

__constant__ uint8_t keys[2][16] = {
    {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
    {16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1},
};

__global__ void two_blocks_of_each_seed(const int4 *seeds, int4 *out, size_t count) {
    __shared__ uint32_t te0[256];
    __shared__ uint8_t sbox[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        te0[i] = fss::prg::aes_detail::ComputeTe0(static_cast<uint8_t>(i));
        sbox[i] = fss::prg::aes_detail::Sbox(static_cast<uint8_t>(i));
    }
    __syncthreads();
    fss::prg::Aes128Soft<2> prg(keys, te0, sbox);
    const size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
        const auto both = prg.Gen(seeds[i]);
        out[i] = both[0];
        out[count + i] = both[1];
    }
}

int main() {
    const size_t count = (size_t)1 << 26, threads = 1 << 20;
    int4 *seeds, *out;
    if (cudaMalloc(&seeds, 16 * count) || cudaMalloc(&out, 32 * count) || cudaMemset(seeds, 0x5a, 16 * count)) return 1;
    // More launches than are timed: the profiler ends the program.
    for (int i = 0; i < 20; i++) two_blocks_of_each_seed<<<threads / 256, 256>>>(seeds, out, count);
    return cudaDeviceSynchronize() != cudaSuccess;
}
