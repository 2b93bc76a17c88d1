// One cipher, several threads: each has its own stream and its own part of one message in GPU memory. The parts together equal the CPU's
// result for the whole message.
//
//     nvcc -std=c++17 threads.cu $(pkg-config --cflags --libs aes_bitslice) -o threads
//     ./threads [THREADS]
#include <aes_bitslice.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static void check(int status)
{
    if (status != AES_BITSLICE_OK) {
        throw std::runtime_error(aes_bitslice_last_error()); // of this thread
    }
}

static void cuda(cudaError_t error)
{
    if (error != cudaSuccess) {
        throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
    }
}

// CTR of a message from its begin on.
static aes_bitslice_operation ctr_of(const uint8_t *counter)
{
    aes_bitslice_operation ctr{};
    ctr.kind = AES_BITSLICE_CTR;
    ctr.counter = counter;
    return ctr;
}

// Encrypts `len` bytes from byte `offset` of a message on, in consecutive pieces on the stream.
static void encrypt_part(const aes_bitslice_cipher *cipher, const uint8_t *counter, const uint8_t *plain, uint8_t *made, uint64_t offset, size_t len)
{
    const size_t piece = 1000003; // not a multiple of a block: pieces of CTR may begin anywhere
    aes_bitslice_operation ctr = ctr_of(counter);
    uint8_t *memory;
    cudaStream_t stream;
    cuda(cudaSetDevice(0));
    cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cuda(cudaMallocAsync(&memory, len, stream));
    cuda(cudaMemcpyAsync(memory, plain + offset, len, cudaMemcpyHostToDevice, stream));
    for (size_t at = 0; at < len; at += piece) {
        const size_t bytes = len - at < piece ? len - at : piece;
        ctr.offset = offset + at;
        check(aes_bitslice_run_on_stream(cipher, &ctr, memory + at, memory + at, bytes, stream, nullptr));
    }
    cuda(cudaMemcpyAsync(made + offset, memory, len, cudaMemcpyDeviceToHost, stream));
    cuda(cudaFreeAsync(memory, stream)); // on the stream, after the work
    cuda(cudaStreamSynchronize(stream));
    cuda(cudaStreamDestroy(stream));
}

int main(int count, char **arguments)
try {
    const size_t threads = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 8, len = 5000011;
    std::vector<uint8_t> plain(threads * len), made(threads * len), expected(threads * len);
    uint8_t counter[16], secret[16];
    check(aes_bitslice_random(plain.data(), plain.size()));
    check(aes_bitslice_random(counter, sizeof counter));
    check(aes_bitslice_random(secret, sizeof secret));
    aes_bitslice_engine *gpu, *cpu;
    aes_bitslice_key *key;
    aes_bitslice_cipher *on_gpu, *on_cpu;
    check(aes_bitslice_engine_open("cuda:0", &gpu));
    check(aes_bitslice_engine_open("cpu", &cpu));
    check(aes_bitslice_key_new(secret, sizeof secret, &key));
    check(aes_bitslice_cipher_new(gpu, key, &on_gpu));
    check(aes_bitslice_cipher_new(cpu, key, &on_cpu));

    std::vector<std::thread> workers;
    std::vector<std::string> errors(threads);
    for (size_t i = 0; i < threads; i++) {
        workers.emplace_back([&, i] {
            try {
                encrypt_part(on_gpu, counter, plain.data(), made.data(), i * len, len);
            } catch (const std::exception &error) {
                errors[i] = error.what();
            }
        });
    }
    for (std::thread &worker : workers) {
        worker.join();
    }
    for (const std::string &error : errors) {
        if (!error.empty()) {
            throw std::runtime_error(error);
        }
    }
    const aes_bitslice_operation ctr = ctr_of(counter);
    check(aes_bitslice_run(on_cpu, &ctr, plain.data(), expected.data(), expected.size(), nullptr, 0));
    std::printf("%zu threads, %zu bytes: %s\n", threads, made.size(), made == expected ? "equal" : "DIFFERENT");

    aes_bitslice_cipher_free(on_gpu);
    aes_bitslice_cipher_free(on_cpu);
    aes_bitslice_key_free(key);
    aes_bitslice_engine_free(gpu);
    aes_bitslice_engine_free(cpu);
    return made == expected ? 0 : 1;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
