// AES inside a kernel of one's own: the outputs y(n) = E_k(n) ^ n of a pseudorandom generator for n = 0, 1, ... are summed (XOR) where they
// are made. Nothing is read from memory, and 16 bytes are written.
//
//     cargo xtask gen --device-header --out .
//     nvcc -std=c++17 -O3 -arch=native own_kernel.cu -o own_kernel && ./own_kernel
#include "aes_bitslice_device.cuh"

namespace aes = aes_bitslice;

// Block n is the number n in its first four bytes, little-endian, and zeros.
static __device__ unsigned word_of_block(unsigned n, unsigned column) { return column == 0 ? n : 0; }

// Adds to `sum`, of four words, the outputs for n < 256 tiles.
extern "C" __global__ void __launch_bounds__(512, 1)
sum_of_outputs(const __grid_constant__ aes::round_keys keys, unsigned tiles, unsigned *sum)
{
    __shared__ aes::key_memory memory;
    const aes::cipher_key key = aes::share_keys(&memory, &keys);
    const unsigned lane = threadIdx.x % 32, column = lane % 4, warps = blockDim.x / 32;
    unsigned own = 0;
    for (unsigned tile = warps * blockIdx.x + threadIdx.x / 32; tile < tiles; tile += warps * gridDim.x) {
        const unsigned first = 256 * tile + lane / 4;
        unsigned words[32];
#pragma unroll
        for (int j = 0; j < 32; j++) words[j] = word_of_block(first + 8 * j, column);
        aes::encrypt(words, key);
#pragma unroll
        for (int j = 0; j < 32; j++) own ^= words[j] ^ word_of_block(first + 8 * j, column);
    }
    for (int apart = 4; apart < 32; apart *= 2) own ^= __shfl_xor_sync(0xffffffff, own, apart);
    if (lane < 4) atomicXor(&sum[column], own);
}

// Counts the words of the blocks of a warp that are not E_k(plain), where all blocks are `plain`.
extern "C" __global__ void __launch_bounds__(512, 1)
count_wrong(const __grid_constant__ aes::round_keys keys, uint4 plain, uint4 expected, unsigned *wrong)
{
    __shared__ aes::key_memory memory;
    const aes::cipher_key key = aes::share_keys(&memory, &keys);
    const unsigned column = threadIdx.x % 4;
    const auto word = [&](uint4 of) { return column == 0 ? of.x : column == 1 ? of.y : column == 2 ? of.z : of.w; };
    unsigned words[32];
#pragma unroll
    for (int j = 0; j < 32; j++) words[j] = word(plain);
    aes::encrypt(words, key);
    unsigned own = 0;
#pragma unroll
    for (int j = 0; j < 32; j++) own += words[j] != word(expected);
    atomicAdd(wrong, own);
}

#ifndef __CUDACC_RTC__
#include <cstdio>
#include <cstdlib>

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

int main()
{
    // FIPS 197, appendices C.1 to C.3: one plaintext under keys of three lengths.
    unsigned char key[32];
    for (int i = 0; i < 32; i++) key[i] = static_cast<unsigned char>(i);
    const uint4 plain = {0x33221100, 0x77665544, 0xbbaa9988, 0xffeeddcc};
    const uint4 expected[3] = {
        {0xd8e0c469, 0x30047b6a, 0x80b7cdd8, 0x5ac5b470},
        {0xa47ca9dd, 0xe0df4c86, 0xa070af6e, 0x91710dec},
        {0xcab7a28e, 0xbf456751, 0x9049fcea, 0x8960494b},
    };
    unsigned *numbers, seen[4];
    check(cudaMalloc(&numbers, sizeof seen));
    aes::round_keys keys;
    for (int i = 0; i < 3; i++) {
        aes::expand_key(&keys, key, 16 + 8 * i);
        check(cudaMemset(numbers, 0, sizeof seen));
        count_wrong<<<1, 512>>>(keys, plain, expected[i], numbers);
        check(cudaMemcpy(seen, numbers, sizeof seen, cudaMemcpyDeviceToHost));
        std::printf("AES-%d: %u of 16384 words are wrong\n", 128 + 64 * i, seen[0]);
        if (seen[0] != 0) return 1;
    }

    int multiprocessors;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    aes::expand_key(&keys, key, 16);
    check(cudaMemset(numbers, 0, sizeof seen));
    const unsigned tiles = 1u << 22;
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    check(cudaEventRecord(begin));
    sum_of_outputs<<<multiprocessors, 512>>>(keys, tiles, numbers);
    check(cudaEventRecord(end));
    check(cudaMemcpy(seen, numbers, sizeof seen, cudaMemcpyDeviceToHost));
    float milliseconds;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    std::printf("%.1f billion blocks/s; sum %08x %08x %08x %08x\n", 256e-6 * tiles / milliseconds, seen[0], seen[1], seen[2], seen[3]);
    return 0;
}
#endif
