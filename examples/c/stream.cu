// Encrypts GPU memory in place, on this program's own stream, then authenticates it, and compares everything with the CPU.
//
//     nvcc -std=c++17 stream.cu $(pkg-config --cflags --libs aes_bitslice) -o stream
//     ./stream [MEBIBYTES]
#include <aes_bitslice.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(int status)
{
    if (status != AES_BITSLICE_OK) {
        std::fprintf(stderr, "%s\n", aes_bitslice_last_error());
        std::exit(1);
    }
}

static void cuda(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

static aes_bitslice_cipher *cipher_on(const char *backend, const uint8_t (&secret)[32])
{
    aes_bitslice_engine *engine;
    aes_bitslice_key *key;
    aes_bitslice_cipher *cipher;
    check(aes_bitslice_engine_open(backend, &engine));
    check(aes_bitslice_key_new(secret, sizeof secret, &key));
    check(aes_bitslice_cipher_new(engine, key, &cipher));
    aes_bitslice_key_free(key); // the cipher keeps what it needs
    aes_bitslice_engine_free(engine);
    return cipher;
}

int main(int count, char **arguments)
{
    const size_t len = (count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 64) << 20;
    uint8_t secret[32], counter[16], nonce[12], tag[16], expected_tag[16], *memory;
    check(aes_bitslice_random(secret, sizeof secret));
    check(aes_bitslice_random(counter, sizeof counter));
    check(aes_bitslice_random(nonce, sizeof nonce));
    aes_bitslice_cipher *const gpu = cipher_on("cuda:0", secret), *const cpu = cipher_on("cpu", secret);
    aes_bitslice_operation ctr{}, gcm{};
    ctr.kind = AES_BITSLICE_CTR;
    ctr.counter = counter;
    gcm.kind = AES_BITSLICE_GCM_ENCRYPT;
    gcm.nonce = nonce;
    gcm.nonce_len = sizeof nonce;
    gcm.aad = "a header";
    gcm.aad_len = 8;
    check(aes_bitslice_prepare(gpu, &ctr)); // loads the kernels, before time counts

    std::vector<uint8_t> plain(len), made(len), expected(len);
    check(aes_bitslice_random(plain.data(), len));
    cudaStream_t stream;
    cudaEvent_t start, end;
    cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cuda(cudaEventCreate(&start));
    cuda(cudaEventCreate(&end));
    cuda(cudaMalloc(&memory, len));

    // CTR in place. Nothing waits until the stream is synchronised.
    cuda(cudaMemcpyAsync(memory, plain.data(), len, cudaMemcpyHostToDevice, stream));
    cuda(cudaEventRecord(start, stream));
    check(aes_bitslice_run_on_stream(gpu, &ctr, memory, memory, len, stream, nullptr));
    cuda(cudaEventRecord(end, stream));
    cuda(cudaMemcpyAsync(made.data(), memory, len, cudaMemcpyDeviceToHost, stream));
    cuda(cudaStreamSynchronize(stream));
    check(aes_bitslice_run(cpu, &ctr, plain.data(), expected.data(), len, nullptr, 0));
    float milliseconds;
    cuda(cudaEventElapsedTime(&milliseconds, start, end));
    std::printf("CTR: %s, %.0f GB/s on the GPU\n", made == expected ? "equal" : "DIFFERENT", double(len) / milliseconds / 1e6);

    // GCM of the result; the tag is available when the stream has reached it.
    aes_bitslice_pending *pending;
    check(aes_bitslice_run_on_stream(gpu, &gcm, memory, memory, len, stream, &pending));
    check(aes_bitslice_pending_result(pending, tag, 16));
    aes_bitslice_pending_free(pending);
    check(aes_bitslice_run(cpu, &gcm, expected.data(), expected.data(), len, expected_tag, 16));
    cuda(cudaMemcpy(made.data(), memory, len, cudaMemcpyDeviceToHost));
    const bool same = made == expected && aes_bitslice_tag_verify(expected_tag, tag, 16) == AES_BITSLICE_OK;
    std::printf("GCM: %s\n", same ? "equal" : "DIFFERENT");

    // Decrypts: data that is not authentic is cleared on the stream.
    gcm.kind = AES_BITSLICE_GCM_DECRYPT;
    gcm.tag = tag;
    gcm.tag_len = 16;
    check(aes_bitslice_run_on_stream(gpu, &gcm, memory, memory, len, stream, &pending));
    check(aes_bitslice_pending_wait(pending));
    aes_bitslice_pending_free(pending);

    cuda(cudaFree(memory));
    aes_bitslice_cipher_free(gpu);
    aes_bitslice_cipher_free(cpu);
    return same ? 0 : 1;
}
