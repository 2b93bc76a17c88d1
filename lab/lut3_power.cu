// The energy of a LUT3 for different operands: the table in docs/record/2026-11-notebook.md. Uses a CUDA GPU for 30 s.
//
//     nvcc -O2 -std=c++17 -arch=sm_90 -o lut3_power lab/lut3_power.cu -lnvidia-ml && ./lut3_power

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <nvml.h>
#include <random>
#include <thread>
#include <vector>

constexpr int REGISTERS = 32, THREADS = 512, UNROLLED = 512, LOOPS = 700000;

enum Order {
    APART,      // operands differ from the previous instruction's
    IN_PLACE,   // pairs of instructions have two operands in common, at the same places
    EXCHANGED,  // the same pairs, with the places exchanged in the second
    FIRST,      // the result is the first operand
};

template <Order ORDER> __global__ void __launch_bounds__(THREADS, 1) lut3s(const unsigned *in, unsigned *out, int loops) {
    unsigned r[REGISTERS];
    for (int i = 0; i < REGISTERS; i++) r[i] = in[i * THREADS + threadIdx.x];
#pragma unroll 1
    for (int loop = 0; loop < loops; loop++) {
#pragma unroll
        for (int k = 0; k < UNROLLED; k++) {
            int i = k % REGISTERS, from = ORDER == IN_PLACE || ORDER == EXCHANGED ? k / 2 * 2 : k;
            int a = (from + 7 + from / REGISTERS * 3) % REGISTERS, b = (from + 16 + from / REGISTERS * 5) % REGISTERS;
            if (a == i || a == (i ^ 1)) a = (a + 3) % REGISTERS;
            if (b == i || b == (i ^ 1)) b = (b + 5) % REGISTERS;
            if (a == b) b = (b + 9) % REGISTERS;
            if (ORDER == FIRST)
                asm volatile("lop3.b32 %0, %0, %1, %2, 0xf0;" : "+r"(r[i]) : "r"(r[a]), "r"(r[b]));
            else if (ORDER == EXCHANGED && (k & 1))
                asm volatile("lop3.b32 %0, %0, %2, %1, 0x96;" : "+r"(r[i]) : "r"(r[a]), "r"(r[b]));
            else
                asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(r[i]) : "r"(r[a]), "r"(r[b]));
        }
    }
    // All results are used, so nothing is optimised away.
    unsigned sum = 0;
    for (int i = 0; i < REGISTERS; i++) sum += r[i] * (2 * i + 1);
    out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

using Kernel = void (*)(const unsigned *, unsigned *, int);
enum Data { ZEROS, ONES, RANDOM, A_WORD_EACH };

struct Case {
    const char *name;
    Kernel kernel;
    Data data;
};

const Case CASES[] = {
    {"all zero", lut3s<APART>, ZEROS},
    {"random", lut3s<APART>, RANDOM},
    {"random, pairs with two operands in common, in place", lut3s<IN_PLACE>, RANDOM},
    {"random, pairs with two operands in common, exchanged", lut3s<EXCHANGED>, RANDOM},
    {"the first operand, all zero", lut3s<FIRST>, ZEROS},
    {"the first operand, all ones", lut3s<FIRST>, ONES},
    {"the first operand, random", lut3s<FIRST>, RANDOM},
    {"the first operand, one word a thread in all registers", lut3s<FIRST>, A_WORD_EACH},
    {"random, once more", lut3s<APART>, RANDOM},
};

std::vector<unsigned> operands(Data data) {
    std::vector<unsigned> words(REGISTERS * THREADS, data == ONES ? ~0u : 0u);
    std::mt19937 random(1);
    if (data == RANDOM || data == A_WORD_EACH)
        for (auto &word : words) word = random();
    if (data == A_WORD_EACH)
        for (size_t at = THREADS; at < words.size(); at++) words[at] = words[at % THREADS];
    return words;
}

unsigned median(std::vector<unsigned> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

int main() {
    nvmlDevice_t device;
    if (nvmlInit() != NVML_SUCCESS || nvmlDeviceGetHandleByIndex(0, &device) != NVML_SUCCESS) return 1;
    int multiprocessors = 0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    unsigned *in, *out;
    cudaMalloc(&in, REGISTERS * THREADS * sizeof *in);
    cudaMalloc(&out, THREADS * sizeof *out * multiprocessors);
    for (const Case &c : CASES) {
        std::vector<unsigned> words = operands(c.data), milliwatts, clocks;
        cudaMemcpy(in, words.data(), words.size() * sizeof words[0], cudaMemcpyHostToDevice);
        cudaEvent_t begin, end;
        cudaEventCreate(&begin);
        cudaEventCreate(&end);
        // A warm-up, then the timed run.
        c.kernel<<<multiprocessors, THREADS>>>(in, out, LOOPS);
        cudaEventRecord(begin);
        c.kernel<<<multiprocessors, THREADS>>>(in, out, LOOPS);
        cudaEventRecord(end);
        cudaEventSynchronize(begin);
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
        while (cudaEventQuery(end) == cudaErrorNotReady) {
            nvmlFieldValue_t power{};
            power.fieldId = NVML_FI_DEV_POWER_INSTANT;
            nvmlDeviceGetFieldValues(device, 1, &power);
            unsigned clock = 0;
            nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &clock);
            milliwatts.push_back(power.value.uiVal);
            clocks.push_back(clock);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        float milliseconds = 0;
        cudaEventElapsedTime(&milliseconds, begin, end);
        if (cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
            std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
            return 1;
        }
        double watts = median(milliwatts) / 1e3, rate = double(THREADS) * multiprocessors * UNROLLED * LOOPS / milliseconds / 1e9;
        std::printf("%-56s %6.1f W  %4u MHz  %5.2f * 10^12 a second  %5.2f pJ  (%zu readings)\n", c.name, watts, median(clocks), rate,
                    watts / rate, milliwatts.size());
    }
}
