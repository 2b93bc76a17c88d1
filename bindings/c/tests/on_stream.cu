// Every operation of aes_bitslice.h that takes a stream, on an NVIDIA GPU: compared with the CPU engine at many lengths, alignments and
// offsets; batches, also of arrays there; many keys, also by layouts; refusals; CUDA graphs; and that a thread's current device and context
// stay as they were.
//
//     nvcc -std=c++20 on_stream.cu -I../include -L. -laes_bitslice -lcuda -o on_stream
#include <aes_bitslice.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

static int checks = 0;

#define CHECK(what) \
    (checks++, (what) ? (void)0 : (std::fprintf(stderr, "on_stream.cu:%d: %s\n  last error: %s\n", __LINE__, #what, aes_bitslice_last_error()), std::exit(1)))
#define OK(call) CHECK((call) == AES_BITSLICE_OK)
#define CUDA(call) CHECK((call) == cudaSuccess)
#define REFUSED(status, words, call) (CHECK((call) == (status)), CHECK(std::strstr(aes_bitslice_last_error(), words) != nullptr))

// A structure that passes as a pointer to itself, in the call that it is made for.
template <class T>
struct Value {
    T fields;
    operator const T *() const { return &fields; }
};
using Operation = Value<aes_bitslice_operation>;

// Operations as values. A field that is not named is zero.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define OP(...) Operation{{.kind = __VA_ARGS__}}
#define CTR(c, at) OP(AES_BITSLICE_CTR, .counter = c, .offset = at)
#define KEYSTREAM(c, at) OP(AES_BITSLICE_KEYSTREAM, .counter = c, .offset = at)
#define CBC(k, v) OP(k, .iv = v)
#define XTS(k, bytes, first) OP(k, .unit_bytes = bytes, .first_unit = first)
#define PART(k, n, n_len, at) OP(k, .offset = at, .nonce = n, .nonce_len = n_len)
#define GMAC(n, n_len) OP(AES_BITSLICE_GMAC, .nonce = n, .nonce_len = n_len)
#define SEAL(k, n, n_len, a, a_len) OP(k, .nonce = n, .nonce_len = n_len, .aad = a, .aad_len = a_len)
#define OPEN(k, n, n_len, a, a_len, t, t_len) OP(k, .nonce = n, .nonce_len = n_len, .aad = a, .aad_len = a_len, .tag = t, .tag_len = t_len)
#define GCM_BATCH(m, number) OP(AES_BITSLICE_GCM_ENCRYPT_BATCH, .messages = m, .count = number)
#define OPEN_BATCH(m, number, t, t_len) OP(AES_BITSLICE_GCM_DECRYPT_BATCH, .tag = t, .tag_len = t_len, .messages = m, .count = number)
#define CMAC_BATCH(r, number) OP(AES_BITSLICE_CMAC_BATCH, .ranges = r, .count = number)
#define VERIFY_BATCH(r, number, t, t_len) OP(AES_BITSLICE_CMAC_VERIFY_BATCH, .tag = t, .tag_len = t_len, .ranges = r, .count = number)
#define MANY_KEYS(...) Value<aes_bitslice_many_keys>{{.kind = __VA_ARGS__}}
#define JOBS(k, j, number) MANY_KEYS(k, .count = number, .jobs = j)
#define EACH_KEY(k, all, len, number, first, each) MANY_KEYS(k, .count = number, .keys = all, .key_len = len, .bytes_per_key = each, .counter = first)

enum : size_t { LEN = 300000, ROOM = LEN + 256 };

static uint8_t counter[16], iv[16], nonce[12], aad[20];
static cudaStream_t stream;
static aes_bitslice_pending *unused;
static uint8_t *from, *to, *made_tag; // GPU memory; 16 bytes for a tag, and as many before and after them
static std::vector<uint8_t> plain(LEN), expected(LEN), made(LEN);

static aes_bitslice_engine *open(const char *backend)
{
    aes_bitslice_engine *engine;
    OK(aes_bitslice_engine_open(backend, &engine));
    return engine;
}

// An AES key, or one of XTS, whose second half differs from the first.
static aes_bitslice_cipher *cipher_on(const aes_bitslice_engine *engine, size_t bytes, bool is_xts = false)
{
    uint8_t secret[64];
    for (size_t i = 0; i < 64; i++) {
        secret[i] = uint8_t(11 * i + bytes);
    }
    aes_bitslice_key *key;
    aes_bitslice_cipher *cipher;
    OK((is_xts ? aes_bitslice_key_new_xts : aes_bitslice_key_new)(secret, bytes, &key));
    OK(aes_bitslice_cipher_new(engine, key, &cipher));
    aes_bitslice_key_free(key);
    return cipher;
}

// Does `put` from `in`, which holds the plaintext, to `out` on the stream, and compares `out` with `expected`; the bytes around it stay as
// they were.
template <class Put>
static void equal(uint8_t *in, uint8_t *out, size_t len, Put put)
{
    std::vector<uint8_t> around(ROOM);
    CUDA(cudaMemsetAsync(to, 0xa5, ROOM, stream));
    CUDA(cudaMemsetAsync(from, 0xa5, ROOM, stream));
    CUDA(cudaMemcpyAsync(in, plain.data(), len, cudaMemcpyHostToDevice, stream));
    OK(put());
    CUDA(cudaMemcpyAsync(made.data(), out, len, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaMemcpyAsync(around.data(), to, ROOM, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    CHECK(std::memcmp(made.data(), expected.data(), len) == 0);
    const size_t begin = size_t(out - to);
    for (size_t i = 0; i < ROOM; i++) {
        CHECK((begin <= i && i < begin + len) || around[i] == 0xa5);
    }
}

// The tag that the stream has made in GPU memory, between other bytes, which stay as they were.
static void same_tag(const uint8_t *expected_tag)
{
    uint8_t found[48];
    CUDA(cudaMemcpyAsync(found, made_tag - 16, 48, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaMemsetAsync(made_tag, 0, 16, stream));
    CUDA(cudaStreamSynchronize(stream));
    CHECK(std::memcmp(found + 16, expected_tag, 16) == 0);
    for (size_t i = 0; i < 16; i++) {
        CHECK(found[i] == 0 && found[32 + i] == 0);
    }
}

// A whole message with a tag, with GCM or AES-GCM-SIV.
static void message(const aes_bitslice_cipher *gpu, const aes_bitslice_cipher *cpu, bool siv, uint8_t *in, uint8_t *out, size_t len)
{
    const aes_bitslice_operation seal = *SEAL(siv ? AES_BITSLICE_GCM_SIV_ENCRYPT : AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20);
    aes_bitslice_operation open = *SEAL(siv ? AES_BITSLICE_GCM_SIV_DECRYPT : AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20);
    uint8_t tag[16], expected_tag[16];
    open.tag = tag;
    open.tag_len = 16;
    aes_bitslice_pending *pending = nullptr;
    OK(aes_bitslice_run(cpu, &seal, plain.data(), expected.data(), len, expected_tag, 16));
    equal(in, out, len, [&] { return aes_bitslice_run_on_stream(gpu, &seal, in, out, len, stream, &pending); });
    for (int twice = 0; twice < 2; twice++) {
        OK(aes_bitslice_pending_result(pending, tag, 16));
        OK(aes_bitslice_tag_verify(expected_tag, tag, 16));
    }
    if (siv) {
        REFUSED(AES_BITSLICE_UNSUPPORTED, "a tag in GPU memory", aes_bitslice_run_to_tag_on_stream(gpu, &seal, in, out, len, stream, made_tag));
    } else {
        equal(in, out, len, [&] { return aes_bitslice_run_to_tag_on_stream(gpu, &seal, in, out, len, stream, made_tag); });
        same_tag(expected_tag);
    }
    aes_bitslice_part part;
    REFUSED(AES_BITSLICE_INVALID, "the result has 16 bytes", aes_bitslice_pending_result(pending, &part, sizeof part));
    OK(aes_bitslice_pending_wait(pending));
    aes_bitslice_pending_free(pending);

    // Decrypted in place; then with a wrong tag, which leaves zeros.
    for (const int status : {AES_BITSLICE_OK, AES_BITSLICE_UNAUTHENTICATED}) {
        std::vector<uint8_t> clear(len);
        CUDA(cudaMemcpyAsync(out, expected.data(), len, cudaMemcpyHostToDevice, stream));
        tag[7] = uint8_t(expected_tag[7] ^ (status == AES_BITSLICE_OK ? 0 : 1));
        OK(aes_bitslice_run_on_stream(gpu, &open, out, out, len, stream, &pending));
        CHECK(aes_bitslice_pending_wait(pending) == status);
        CHECK(aes_bitslice_pending_result(pending, nullptr, 0) == status);
        aes_bitslice_pending_free(pending);
        CUDA(cudaMemcpyAsync(made.data(), out, len, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        CHECK(std::memcmp(made.data(), status == AES_BITSLICE_OK ? plain.data() : clear.data(), len) == 0);
    }
}

static void modes(const aes_bitslice_cipher *gpu, const aes_bitslice_cipher *cpu, size_t key_bytes)
{
    for (const size_t len : {size_t(0), size_t(1), size_t(16), size_t(4096), size_t(65537), size_t(LEN)}) {
        for (const size_t skew : {size_t(0), size_t(16), size_t(5)}) {
            for (const bool in_place : {false, true}) {
                uint8_t *const out = to + skew, *const in = in_place ? out : from + 3 * skew;
                const size_t whole = len / 16 * 16;
                for (const uint64_t offset : {uint64_t(0), uint64_t(7), uint64_t(1) << 40}) {
                    OK(aes_bitslice_run(cpu, CTR(counter, offset), plain.data(), expected.data(), len, nullptr, 0));
                    equal(in, out, len, [&] { return aes_bitslice_run_on_stream(gpu, CTR(counter, offset), in, out, len, stream, nullptr); });
                    OK(aes_bitslice_run(cpu, KEYSTREAM(counter, offset), nullptr, expected.data(), len, nullptr, 0));
                    equal(in, out, len, [&] { return aes_bitslice_run_on_stream(gpu, KEYSTREAM(counter, offset), nullptr, out, len, stream, nullptr); });
                }
                for (const int kind : {AES_BITSLICE_ECB_ENCRYPT, AES_BITSLICE_ECB_DECRYPT, AES_BITSLICE_PRG}) {
                    OK(aes_bitslice_run(cpu, OP(kind), plain.data(), expected.data(), whole, nullptr, 0));
                    equal(in, out, whole, [&] { return aes_bitslice_run_on_stream(gpu, OP(kind), in, out, whole, stream, nullptr); });
                }
                OK(aes_bitslice_run(cpu, CBC(AES_BITSLICE_CBC_DECRYPT, iv), plain.data(), expected.data(), whole, nullptr, 0));
                equal(in, out, whole, [&] { return aes_bitslice_run_on_stream(gpu, CBC(AES_BITSLICE_CBC_DECRYPT, iv), in, out, whole, stream, nullptr); });

                message(gpu, cpu, false, in, out, len);
                if (key_bytes != 24) {
                    message(gpu, cpu, true, in, out, len);
                }

                uint8_t tag[16], expected_tag[16];
                aes_bitslice_pending *pending = nullptr;
                OK(aes_bitslice_run(cpu, GMAC(nonce, 12), plain.data(), nullptr, len, expected_tag, 16));
                std::memcpy(expected.data(), plain.data(), len);
                equal(out, out, len, [&] { return aes_bitslice_run_on_stream(gpu, GMAC(nonce, 12), out, nullptr, len, stream, &pending); });
                OK(aes_bitslice_pending_result(pending, tag, 16));
                OK(aes_bitslice_tag_verify(expected_tag, tag, 16));
                aes_bitslice_pending_free(pending);
                OK(aes_bitslice_run_to_tag_on_stream(gpu, GMAC(nonce, 12), out, nullptr, len, stream, made_tag));
                same_tag(expected_tag);
            }
        }
    }
}

static void xts(const aes_bitslice_engine *cuda, const aes_bitslice_engine *host)
{
    for (const size_t bytes : {size_t(32), size_t(64)}) {
        aes_bitslice_cipher *const gpu = cipher_on(cuda, bytes, true), *const cpu = cipher_on(host, bytes, true);
        for (const int kind : {AES_BITSLICE_XTS_ENCRYPT, AES_BITSLICE_XTS_DECRYPT}) {
            OK(aes_bitslice_prepare(gpu, XTS(kind, 16, iv)));
        }
        // The last length ends in a shorter unit, which is not whole blocks.
        for (const size_t len : {size_t(0), size_t(16), size_t(4096), size_t(65552), size_t(528 * 500 + 21)}) {
            for (const size_t skew : {size_t(0), size_t(16), size_t(5)}) {
                for (const uint64_t unit : {uint64_t(528), uint64_t(520), uint64_t(1) << 24}) {
                    for (const int kind : {AES_BITSLICE_XTS_ENCRYPT, AES_BITSLICE_XTS_DECRYPT}) {
                        uint8_t *const out = to + skew, *const in = kind == AES_BITSLICE_XTS_ENCRYPT ? from + 3 * skew : out;
                        OK(aes_bitslice_run(cpu, XTS(kind, unit, iv), plain.data(), expected.data(), len, nullptr, 0));
                        equal(in, out, len, [&] { return aes_bitslice_run_on_stream(gpu, XTS(kind, unit, iv), in, out, len, stream, nullptr); });
                    }
                }
            }
        }
        CUDA(cudaMemset(to, 0xa5, ROOM));
        REFUSED(AES_BITSLICE_INVALID, "fewer than 16", aes_bitslice_run_on_stream(gpu, XTS(AES_BITSLICE_XTS_ENCRYPT, 512, iv), to, to, 513, stream, nullptr));
        REFUSED(AES_BITSLICE_INVALID, "make a key of one alone", aes_bitslice_run_on_stream(gpu, CTR(counter, 0), to, to, 64, stream, nullptr));
        std::vector<uint8_t> after(ROOM);
        CUDA(cudaMemcpy(after.data(), to, ROOM, cudaMemcpyDeviceToHost));
        for (const uint8_t byte : after) {
            CHECK(byte == 0xa5);
        }
        aes_bitslice_cipher_free(gpu);
        aes_bitslice_cipher_free(cpu);
    }
}

// Encrypted in parts, the last first, and decrypted in others; the tag is the tag of the whole message.
static void parts(const aes_bitslice_cipher *gpu, const aes_bitslice_cipher *cpu)
{
    uint8_t tag[16], expected_tag[16];
    OK(aes_bitslice_run(cpu, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), plain.data(), expected.data(), LEN, expected_tag, 16));
    CUDA(cudaMemcpyAsync(to, plain.data(), LEN, cudaMemcpyHostToDevice, stream));
    for (const int kind : {AES_BITSLICE_GCM_ENCRYPT_PART, AES_BITSLICE_GCM_DECRYPT_PART}) {
        const size_t cut = kind == AES_BITSLICE_GCM_ENCRYPT_PART ? 131072 : 16;
        aes_bitslice_pending *pending[2];
        aes_bitslice_part part[2];
        OK(aes_bitslice_run_on_stream(gpu, PART(kind, nonce, 12, cut), to + cut, to + cut, LEN - cut, stream, &pending[0]));
        OK(aes_bitslice_run_on_stream(gpu, PART(kind, nonce, 12, 0), to, to, cut, stream, &pending[1]));
        for (int i = 0; i < 2; i++) {
            OK(aes_bitslice_pending_result(pending[i], &part[i], sizeof part[i]));
            REFUSED(AES_BITSLICE_INVALID, "the result has 32 bytes", aes_bitslice_pending_result(pending[i], tag, 16));
            aes_bitslice_pending_free(pending[i]);
        }
        OK(aes_bitslice_combine(gpu, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), part, 2, tag, 16));
        OK(aes_bitslice_tag_verify(expected_tag, tag, 16));
        OK(aes_bitslice_combine(gpu, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, expected_tag, 16), part, 2, nullptr, 0));
        expected_tag[3] ^= 1;
        CHECK(aes_bitslice_combine(gpu, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, expected_tag, 16), part, 2, nullptr, 0) == AES_BITSLICE_UNAUTHENTICATED);
        expected_tag[3] ^= 1;
        CUDA(cudaMemcpyAsync(made.data(), to, LEN, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        CHECK(made == (kind == AES_BITSLICE_GCM_ENCRYPT_PART ? expected : plain));
    }
    // Freed before the stream has reached it: waits, and nothing is written to freed memory.
    aes_bitslice_pending *pending;
    OK(aes_bitslice_run_on_stream(gpu, GMAC(nonce, 12), to, nullptr, LEN, stream, &pending));
    aes_bitslice_pending_free(pending);
}

// Messages of any length, some empty, with and without room between them.
enum : size_t { COUNT = 100 };

static std::vector<aes_bitslice_range> places()
{
    std::vector<aes_bitslice_range> ranges;
    uint64_t at = 3;
    for (size_t n = 0; n < COUNT; n++) {
        ranges.push_back({at, n % 5 == 0 ? 0 : n * 7919 % 4096});
        at += ranges[n].bytes + n % 2 * 5;
    }
    CHECK(at <= LEN);
    return ranges;
}

// Some tags are changed.
static bool is_changed(size_t n) { return n == 0 || n == 41 || n == COUNT - 1; }

// Asks twice which messages are authentic: all, or all except those with changed tags.
static void told(aes_bitslice_pending *pending, bool changed)
{
    const int status = changed ? AES_BITSLICE_UNAUTHENTICATED : AES_BITSLICE_OK;
    for (int twice = 0; twice < 2; twice++) {
        std::vector<uint8_t> authentic(COUNT, 7);
        CHECK(aes_bitslice_pending_result(pending, authentic.data(), COUNT) == status);
        CHECK(aes_bitslice_pending_wait(pending) == status);
        for (size_t n = 0; n < COUNT; n++) {
            CHECK(authentic[n] == !(changed && is_changed(n)));
        }
        REFUSED(AES_BITSLICE_INVALID, "the result has 100 bytes", aes_bitslice_pending_result(pending, authentic.data(), COUNT - 1));
    }
    aes_bitslice_pending_free(pending);
}

// Asks twice for the tags of a batch.
static void has_tags(aes_bitslice_pending *pending, const std::vector<uint8_t> &wanted)
{
    for (int twice = 0; twice < 2; twice++) {
        std::vector<uint8_t> tags(16 * COUNT);
        OK(aes_bitslice_pending_result(pending, tags.data(), 16 * COUNT));
        CHECK(tags == wanted);
        REFUSED(AES_BITSLICE_INVALID, "the result has 1600 bytes", aes_bitslice_pending_result(pending, tags.data(), 16));
    }
    OK(aes_bitslice_pending_wait(pending));
    aes_bitslice_pending_free(pending);
}

// Batches give the same as on the CPU; a changed tag clears its message, and no other.
static void batches(const aes_bitslice_cipher *gpu, const aes_bitslice_cipher *cpu)
{
    const std::vector<aes_bitslice_range> ranges = places();
    std::vector<aes_bitslice_gcm_message> messages;
    std::vector<uint8_t> nonces(16 * COUNT), tags(16 * COUNT);
    OK(aes_bitslice_random(nonces.data(), nonces.size()));
    for (size_t n = 0; n < COUNT; n++) {
        messages.push_back({&nonces[16 * n], size_t(n % 3 ? 12 : 16), aad, n % 21, ranges[n]});
    }
    for (const size_t skew : {size_t(0), size_t(16), size_t(5)}) {
        for (const bool in_place : {false, true}) {
            uint8_t *const out = to + skew, *const in = in_place ? out : from + 3 * skew;
            aes_bitslice_pending *pending = nullptr;
            // The bytes between messages stay as they were.
            std::memset(expected.data(), 0xa5, LEN);
            if (in_place) {
                expected = plain;
            }
            OK(aes_bitslice_run(cpu, GCM_BATCH(messages.data(), COUNT), plain.data(), expected.data(), LEN, tags.data(), 16 * COUNT));
            equal(in, out, LEN, [&] { return aes_bitslice_run_on_stream(gpu, GCM_BATCH(messages.data(), COUNT), in, out, LEN, stream, &pending); });
            has_tags(pending, tags);
            for (const bool changed : {false, true}) {
                std::vector<uint8_t> received = tags, opened = expected;
                for (size_t n = 0; n < COUNT; n++) {
                    received[16 * n + 3] ^= uint8_t(changed && is_changed(n));
                    for (uint64_t i = ranges[n].offset; i < ranges[n].offset + ranges[n].bytes; i++) {
                        opened[i] = changed && is_changed(n) ? 0 : plain[i];
                    }
                }
                CUDA(cudaMemcpyAsync(out, expected.data(), LEN, cudaMemcpyHostToDevice, stream));
                OK(aes_bitslice_run_on_stream(gpu, OPEN_BATCH(messages.data(), COUNT, received.data(), 16), out, out, LEN, stream, &pending));
                told(pending, changed);
                CUDA(cudaMemcpyAsync(made.data(), out, LEN, cudaMemcpyDeviceToHost, stream));
                CUDA(cudaStreamSynchronize(stream));
                CHECK(made == opened);
            }
            OK(aes_bitslice_run(cpu, CMAC_BATCH(ranges.data(), COUNT), plain.data(), nullptr, LEN, tags.data(), 16 * COUNT));
            expected = plain;
            equal(out, out, LEN, [&] { return aes_bitslice_run_on_stream(gpu, CMAC_BATCH(ranges.data(), COUNT), out, nullptr, LEN, stream, &pending); });
            has_tags(pending, tags);
            for (const bool changed : {false, true}) {
                std::vector<uint8_t> received = tags;
                for (size_t n = 0; n < COUNT; n++) {
                    received[16 * n + 3] ^= uint8_t(changed && is_changed(n));
                }
                OK(aes_bitslice_run_on_stream(gpu, VERIFY_BATCH(ranges.data(), COUNT, received.data(), 16), out, nullptr, LEN, stream, &pending));
                told(pending, changed);
            }
        }
    }
    // An empty batch, and one whose result is not used.
    aes_bitslice_pending *pending = nullptr;
    OK(aes_bitslice_run_on_stream(gpu, GCM_BATCH(nullptr, 0), to, to, LEN, stream, &pending));
    OK(aes_bitslice_pending_result(pending, nullptr, 0));
    aes_bitslice_pending_free(pending);
    OK(aes_bitslice_run_on_stream(gpu, CMAC_BATCH(ranges.data(), COUNT), to, nullptr, LEN, stream, &pending));
    aes_bitslice_pending_free(pending);
}

// What describes messages, and what a call on them writes, which GPU and host both reach.
struct Described {
    uint64_t offsets[COUNT], lengths[COUNT];
    uint32_t tags[4 * COUNT], verdicts[COUNT], fault[2];
    uint8_t nonces[12 * COUNT], aad[20];
};

// Batches that arrays in GPU memory describe give the same as on the CPU, one with a changed tag is cleared alone, and nothing is done where
// the arrays are wrong.
static void described(const aes_bitslice_cipher *gpu, const aes_bitslice_cipher *cpu)
{
    int major;
    CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major != 9) {
        return;
    }
    Described *memory;
    CUDA(cudaMallocManaged(&memory, sizeof *memory));
    const std::vector<aes_bitslice_range> ranges = places();
    for (size_t n = 0; n < COUNT; n++) {
        memory->offsets[n] = ranges[n].offset;
        memory->lengths[n] = ranges[n].bytes;
    }
    OK(aes_bitslice_random(memory->nonces, sizeof memory->nonces));
    OK(aes_bitslice_random(memory->aad, sizeof memory->aad));
    const aes_bitslice_ranges arrays = {memory->offsets, memory->lengths, 8, 0, 0};
    Operation seal = SEAL(AES_BITSLICE_GCM_ENCRYPT_BATCH, memory->nonces, 12, memory->aad, sizeof memory->aad);
    seal.fields.arrays = &arrays;
    seal.fields.count = COUNT;
    const auto run = [&](const Operation &operation, void *results) {
        OK(aes_bitslice_run_described_on_stream(gpu, operation, to, to, LEN, stream, results, memory->fault));
        CUDA(cudaMemcpyAsync(made.data(), to, LEN, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
    };
    std::vector<uint8_t> tags(16 * COUNT);
    expected = plain;
    OK(aes_bitslice_run(cpu, seal, plain.data(), expected.data(), LEN, tags.data(), tags.size()));
    CUDA(cudaMemcpyAsync(to, plain.data(), LEN, cudaMemcpyHostToDevice, stream));
    run(seal, memory->tags);
    OK(aes_bitslice_check_fault(memory->fault));
    CHECK(made == expected && std::memcmp(memory->tags, tags.data(), tags.size()) == 0);
    Operation open = seal;
    open.fields.kind = AES_BITSLICE_GCM_DECRYPT_BATCH;
    open.fields.tag = (const uint8_t *)memory->tags;
    open.fields.tag_len = 16;
    expected = plain;
    std::memset(expected.data() + ranges[41].offset, 0, ranges[41].bytes);
    memory->tags[4 * 41] ^= 1;
    run(open, memory->verdicts);
    OK(aes_bitslice_check_fault(memory->fault));
    CHECK(made == expected);
    for (size_t n = 0; n < COUNT; n++) {
        CHECK((memory->verdicts[n] != 0) == (n == 41));
    }
    memory->lengths[7] = LEN;
    run(seal, memory->tags);
    REFUSED(AES_BITSLICE_INVALID, "message 7 ends after", aes_bitslice_check_fault(memory->fault));
    CHECK(made == expected);
    CUDA(cudaFree(memory));
}

// Jobs and equal shares under many keys give the same as on the CPU.
static void many_keys(const aes_bitslice_engine *cuda, const aes_bitslice_engine *host)
{
    std::vector<uint8_t> keys(1000 * 32);
    uint8_t *device_keys, tag[16];
    OK(aes_bitslice_random(keys.data(), keys.size()));
    CUDA(cudaMalloc(&device_keys, keys.size()));
    CUDA(cudaMemcpy(device_keys, keys.data(), keys.size(), cudaMemcpyHostToDevice));
    OK(aes_bitslice_prepare_many_keys(cuda));
    for (const int kind : {AES_BITSLICE_CTR, AES_BITSLICE_ECB_ENCRYPT, AES_BITSLICE_ECB_DECRYPT, AES_BITSLICE_KEYSTREAM}) {
        const bool counts = kind == AES_BITSLICE_CTR || kind == AES_BITSLICE_KEYSTREAM, reads = kind != AES_BITSLICE_KEYSTREAM;
        for (const size_t key_len : {size_t(16), size_t(24), size_t(32)}) {
            std::vector<aes_bitslice_job> jobs;
            for (const aes_bitslice_range range : places()) {
                const size_t n = jobs.size();
                jobs.push_back({&keys[n * key_len], key_len, {}, {range.offset, counts ? range.bytes : range.bytes / 16 * 16}});
                std::memset(jobs[n].counter, 0xff, 15); // it wraps in the first blocks
                jobs[n].counter[15] = uint8_t(255 - n);
            }
            for (const size_t skew : {size_t(0), size_t(16), size_t(5)}) {
                for (const bool in_place : {false, true}) {
                    uint8_t *const out = to + skew, *const in = in_place ? out : from + 3 * skew, *const read = reads ? in : nullptr;
                    const uint8_t *const host_read = reads ? plain.data() : nullptr, *const first = counts ? counter : nullptr;
                    aes_bitslice_pending *pending = nullptr;
                    std::memset(expected.data(), 0xa5, LEN);
                    if (in_place) {
                        expected = plain;
                    }
                    OK(aes_bitslice_run_many_keys(host, JOBS(kind, jobs.data(), COUNT), host_read, expected.data(), LEN));
                    equal(in, out, LEN, [&] { return aes_bitslice_run_many_keys_on_stream(cuda, JOBS(kind, jobs.data(), COUNT), read, out, LEN, stream, &pending); });
                    OK(aes_bitslice_pending_wait(pending));
                    REFUSED(AES_BITSLICE_INVALID, "the result has 0 bytes", aes_bitslice_pending_result(pending, tag, 16));
                    aes_bitslice_pending_free(pending);
                    for (const size_t each : {size_t(16), size_t(48), size_t(1024)}) {
                        const size_t count = each == 1024 ? 100 : 1000, len = count * each;
                        OK(aes_bitslice_run_many_keys(host, EACH_KEY(kind, keys.data(), key_len, count, first, each), host_read, expected.data(), len));
                        equal(in, out, len, [&] { return aes_bitslice_run_many_keys_on_stream(cuda, EACH_KEY(kind, device_keys, key_len, count, first, each), read, out, len, stream, nullptr); });
                    }
                }
            }
        }
    }
    REFUSED(AES_BITSLICE_INVALID, "multiple of four", aes_bitslice_run_many_keys_on_stream(cuda, EACH_KEY(AES_BITSLICE_CTR, device_keys + 1, 16, 4, counter, 16), to, to, 64, stream, nullptr));
    REFUSED(AES_BITSLICE_INVALID, "the data has 64", aes_bitslice_run_many_keys_on_stream(cuda, EACH_KEY(AES_BITSLICE_CTR, device_keys, 16, 5, counter, 16), to, to, 64, stream, nullptr));

    cudaGraph_t graph;
    cudaGraphExec_t instance;
    const aes_bitslice_job job = {keys.data(), 16, {}, {0, 64}};
    aes_bitslice_pending *pending = nullptr;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(aes_bitslice_run_many_keys_on_stream(cuda, EACH_KEY(AES_BITSLICE_CTR, device_keys, 32, 1000, counter, 64), from, to, 64000, stream, nullptr));
    REFUSED(AES_BITSLICE_INVALID, "captured into a graph", aes_bitslice_run_many_keys_on_stream(cuda, JOBS(AES_BITSLICE_CTR, &job, 1), to, to, 64, stream, &pending));
    CHECK(pending == nullptr);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&instance, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    OK(aes_bitslice_run_many_keys(host, EACH_KEY(AES_BITSLICE_CTR, keys.data(), 32, 1000, counter, 64), plain.data(), expected.data(), 64000));
    for (int again = 0; again < 2; again++) {
        equal(from, to, 64000, [&] { return int(cudaGraphLaunch(instance, stream)); });
    }
    CUDA(cudaGraphExecDestroy(instance));
    CUDA(cudaFree(device_keys));
}

// What describes messages and jobs under keys of their own, and what a call on them writes, which GPU and host both reach.
struct Laid {
    alignas(16) uint8_t counters[16 * COUNT];
    uint8_t keys[32 * COUNT], nonces[12 * COUNT], aad[20];
    alignas(4) uint8_t tags[16 * COUNT];
    uint32_t verdicts[COUNT];
};

// Messages of GCM and jobs under keys of their own give the same as on the CPU: under keys in host memory, and, by layouts, under keys in GPU
// memory, also in a graph, which is launched again with other keys.
static void under_keys(const aes_bitslice_engine *cuda, const aes_bitslice_engine *host)
{
    Laid *memory;
    CUDA(cudaMallocManaged(&memory, sizeof *memory));
    const std::vector<aes_bitslice_range> ranges = places();
    std::vector<uint64_t> offsets, lengths, whole;
    std::vector<uint32_t> numbers;
    for (size_t n = 0; n < COUNT; n++) {
        offsets.push_back(ranges[n].offset);
        lengths.push_back(ranges[n].bytes);
        whole.push_back(ranges[n].bytes / 16 * 16);
        numbers.push_back(uint32_t(n * n % 7));
    }
    const aes_bitslice_ranges arrays = {offsets.data(), lengths.data(), 8, 0, 0}, blocks = {offsets.data(), whole.data(), 8, 0, 0};
    std::vector<uint8_t> few(32 * 7), each(32 * COUNT), nonces(12 * COUNT), tags(16 * COUNT), received;
    for (const size_t key_len : {size_t(16), size_t(24), size_t(32)}) {
        const auto renew = [&] {
            CUDA(cudaStreamSynchronize(stream));
            OK(aes_bitslice_random(few.data(), few.size()));
            OK(aes_bitslice_random(nonces.data(), nonces.size()));
            OK(aes_bitslice_random(memory->counters, sizeof memory->counters));
            OK(aes_bitslice_random(memory->aad, sizeof memory->aad));
            for (size_t n = 0; n < COUNT; n++) {
                std::memcpy(&each[n * key_len], &few[numbers[n] * key_len], key_len);
            }
            std::memcpy(memory->keys, each.data(), each.size());
            std::memcpy(memory->nonces, nonces.data(), nonces.size());
        };
        renew();
        const aes_bitslice_keys keys = {few.data(), key_len, 7, numbers.data()};
        Operation seal = SEAL(AES_BITSLICE_GCM_ENCRYPT_BATCH, nonces.data(), 12, memory->aad, sizeof memory->aad);
        seal.fields.arrays = &arrays;
        seal.fields.count = COUNT;
        const auto known = [&] {
            expected = plain;
            OK(aes_bitslice_run_under_keys(host, &keys, seal, plain.data(), expected.data(), LEN, tags.data(), tags.size()));
        };
        known();
        aes_bitslice_pending *pending = nullptr;
        equal(to, to, LEN, [&] { return aes_bitslice_run_under_keys_on_stream(cuda, &keys, seal, to, to, LEN, stream, &pending); });
        has_tags(pending, tags);
        Operation open = seal;
        received = tags;
        open.fields.kind = AES_BITSLICE_GCM_DECRYPT_BATCH;
        open.fields.tag = received.data();
        open.fields.tag_len = 16;
        for (size_t n = 0; n < COUNT; n++) {
            received[16 * n + 3] ^= uint8_t(is_changed(n));
        }
        OK(aes_bitslice_run_under_keys_on_stream(cuda, &keys, open, to, to, LEN, stream, &pending));
        told(pending, true);
        expected = plain;
        for (size_t n = 0; n < COUNT; n++) {
            if (is_changed(n)) {
                std::memset(expected.data() + ranges[n].offset, 0, ranges[n].bytes);
            }
        }
        CUDA(cudaMemcpyAsync(made.data(), to, LEN, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        CHECK(made == expected);
        known();

        aes_bitslice_layout *layout;
        OK(aes_bitslice_layout_new(cuda, seal, key_len, &layout));
        Operation there = seal;
        there.fields.nonce = memory->nonces;
        equal(to, to, LEN, [&] { return aes_bitslice_run_layout_on_stream(layout, memory->keys, there, to, to, LEN, stream, memory->tags); });
        CHECK(std::memcmp(memory->tags, tags.data(), tags.size()) == 0);
        memory->tags[16 * 41] ^= 1;
        Operation back = there;
        back.fields.kind = AES_BITSLICE_GCM_DECRYPT_BATCH;
        back.fields.tag = memory->tags;
        back.fields.tag_len = 16;
        OK(aes_bitslice_run_layout_on_stream(layout, memory->keys, back, to, to, LEN, stream, memory->verdicts));
        CUDA(cudaMemcpyAsync(made.data(), to, LEN, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        expected = plain;
        std::memset(expected.data() + ranges[41].offset, 0, ranges[41].bytes);
        CHECK(made == expected);
        for (size_t n = 0; n < COUNT; n++) {
            CHECK((memory->verdicts[n] != 0) == (n == 41));
        }

        cudaGraph_t graph;
        cudaGraphExec_t instance;
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        OK(aes_bitslice_run_layout_on_stream(layout, memory->keys, there, to, to, LEN, stream, memory->tags));
        CUDA(cudaStreamEndCapture(stream, &graph));
        CUDA(cudaGraphInstantiate(&instance, graph, 0));
        CUDA(cudaGraphDestroy(graph));
        aes_bitslice_layout_free(layout); // the graph keeps what it needs of it
        for (int again = 0; again < 2; again++) {
            renew();
            known();
            equal(to, to, LEN, [&] { return int(cudaGraphLaunch(instance, stream)); });
            CHECK(std::memcmp(memory->tags, tags.data(), tags.size()) == 0);
        }
        CUDA(cudaGraphExecDestroy(instance));

        for (const int kind : {AES_BITSLICE_CTR, AES_BITSLICE_ECB_ENCRYPT, AES_BITSLICE_ECB_DECRYPT, AES_BITSLICE_KEYSTREAM}) {
            const bool counts = kind == AES_BITSLICE_CTR || kind == AES_BITSLICE_KEYSTREAM, reads = kind != AES_BITSLICE_KEYSTREAM;
            Operation call = OP(kind, .counter = counts ? memory->counters : nullptr, .count = COUNT, .arrays = counts ? &arrays : &blocks);
            OK(aes_bitslice_layout_new(cuda, call, key_len, &layout));
            const auto put = [&] { return aes_bitslice_run_layout_on_stream(layout, memory->keys, call, reads ? to : nullptr, to, LEN, stream, nullptr); };
            const auto jobs_known = [&] {
                std::vector<aes_bitslice_job> jobs;
                for (size_t n = 0; n < COUNT; n++) {
                    jobs.push_back({&each[n * key_len], key_len, {}, {offsets[n], counts ? lengths[n] : whole[n]}});
                    std::memcpy(jobs[n].counter, memory->counters + 16 * n, 16);
                }
                expected = plain;
                OK(aes_bitslice_run_many_keys(host, JOBS(kind, jobs.data(), COUNT), reads ? plain.data() : nullptr, expected.data(), LEN));
            };
            jobs_known();
            equal(to, to, LEN, put);
            CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            OK(put());
            CUDA(cudaStreamEndCapture(stream, &graph));
            CUDA(cudaGraphInstantiate(&instance, graph, 0));
            CUDA(cudaGraphDestroy(graph));
            renew();
            jobs_known();
            equal(to, to, LEN, [&] { return int(cudaGraphLaunch(instance, stream)); });
            CUDA(cudaGraphExecDestroy(instance));
            aes_bitslice_layout_free(layout);
        }
    }
    CUDA(cudaFree(memory));
}

static void refused(const aes_bitslice_cipher *gpu)
{
    aes_bitslice_pending *pending = nullptr;
    CUDA(cudaMemset(to, 0xa5, ROOM));
    REFUSED(AES_BITSLICE_INVALID, "overlap", aes_bitslice_run_on_stream(gpu, CTR(counter, 0), to, to + 16, 64, stream, nullptr));
    REFUSED(AES_BITSLICE_INVALID, "whole blocks", aes_bitslice_run_on_stream(gpu, OP(AES_BITSLICE_ECB_ENCRYPT), to, to, 17, stream, nullptr));
    REFUSED(AES_BITSLICE_INVALID, "whole blocks", aes_bitslice_run_on_stream(gpu, CBC(AES_BITSLICE_CBC_DECRYPT, iv), to, to, 17, stream, nullptr));
    REFUSED(AES_BITSLICE_INVALID, "nonce has 1", aes_bitslice_run_on_stream(gpu, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 0, aad, 20), to, to, 64, stream, &pending));
    REFUSED(AES_BITSLICE_INVALID, "multiple of 4", aes_bitslice_run_to_tag_on_stream(gpu, GMAC(nonce, 12), to, nullptr, 64, stream, made_tag + 1));
    REFUSED(AES_BITSLICE_INVALID, "overlap", aes_bitslice_run_to_tag_on_stream(gpu, GMAC(nonce, 12), to, nullptr, 64, stream, to + 60));
    REFUSED(AES_BITSLICE_INVALID, "`tag_out` is NULL", aes_bitslice_run_to_tag_on_stream(gpu, GMAC(nonce, 12), to, nullptr, 64, stream, nullptr));
    REFUSED(AES_BITSLICE_UNSUPPORTED, "makes no tag", aes_bitslice_run_to_tag_on_stream(gpu, CTR(counter, 0), to, to, 64, stream, made_tag));
    REFUSED(AES_BITSLICE_INVALID, "multiple of 16", aes_bitslice_run_on_stream(gpu, PART(AES_BITSLICE_GCM_DECRYPT_PART, nonce, 12, 8), to, to, 64, stream, &pending));
    const aes_bitslice_gcm_message message = {nonce, 12, nullptr, 0, {60, 5}};
    REFUSED(AES_BITSLICE_INVALID, "the data has 64", aes_bitslice_run_on_stream(gpu, GCM_BATCH(&message, 1), to, to, 64, stream, &pending));
    REFUSED(AES_BITSLICE_INVALID, "the data has 64", aes_bitslice_run_on_stream(gpu, OPEN_BATCH(&message, 1, iv, 16), to, to, 64, stream, &pending));
    REFUSED(AES_BITSLICE_INVALID, "the data has 64", aes_bitslice_run_on_stream(gpu, CMAC_BATCH(&message.range, 1), to, nullptr, 64, stream, &pending));
    REFUSED(AES_BITSLICE_INVALID, "the data has 64", aes_bitslice_run_on_stream(gpu, VERIFY_BATCH(&message.range, 1, iv, 16), to, nullptr, 64, stream, &pending));
    CHECK(pending == nullptr);
    OK(aes_bitslice_run_on_stream(gpu, CTR(counter, 0), nullptr, nullptr, 0, stream, nullptr));
    std::vector<uint8_t> after(ROOM);
    CUDA(cudaMemcpy(after.data(), to, ROOM, cudaMemcpyDeviceToHost));
    for (const uint8_t byte : after) {
        CHECK(byte == 0xa5);
    }
}

// A captured call runs again with each launch, even though the cipher is gone.
static void graph(const aes_bitslice_engine *engine, const aes_bitslice_cipher *cpu)
{
    aes_bitslice_cipher *const cipher = cipher_on(engine, 32);
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    OK(aes_bitslice_prepare(cipher, CTR(counter, 0)));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(aes_bitslice_run_on_stream(cipher, CTR(counter, 3), from, to, LEN, stream, nullptr));
    aes_bitslice_pending *pending;
    const aes_bitslice_gcm_message message = {nonce, 12, nullptr, 0, {0, 64}};
    REFUSED(AES_BITSLICE_INVALID, "captured into a graph", aes_bitslice_run_on_stream(cipher, GMAC(nonce, 12), from, nullptr, LEN, stream, &pending));
    REFUSED(AES_BITSLICE_INVALID, "captured into a graph", aes_bitslice_run_on_stream(cipher, GCM_BATCH(&message, 1), to, to, LEN, stream, &pending));
    REFUSED(AES_BITSLICE_INVALID, "captured into a graph", aes_bitslice_run_on_stream(cipher, OPEN_BATCH(&message, 1, iv, 16), to, to, LEN, stream, &pending));
    REFUSED(AES_BITSLICE_INVALID, "captured into a graph", aes_bitslice_run_on_stream(cipher, CMAC_BATCH(&message.range, 1), to, nullptr, LEN, stream, &pending));
    REFUSED(AES_BITSLICE_INVALID, "captured into a graph", aes_bitslice_run_on_stream(cipher, VERIFY_BATCH(&message.range, 1, iv, 16), to, nullptr, LEN, stream, &pending));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&instance, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    aes_bitslice_cipher_free(cipher);
    OK(aes_bitslice_run(cpu, CTR(counter, 3), plain.data(), expected.data(), LEN, nullptr, 0));
    for (int again = 0; again < 2; again++) {
        equal(from, to, LEN, [&] { return int(cudaGraphLaunch(instance, stream)); });
    }
    CUDA(cudaGraphExecDestroy(instance));
}

// A thread's current device and context belong to the caller.
static void contexts(const aes_bitslice_engine *engine, const aes_bitslice_cipher *gpu)
{
    int devices, device;
    CUDA(cudaGetDeviceCount(&devices));
    if (devices > 1) {
        CUDA(cudaSetDevice(1));
        aes_bitslice_engine_free(open("cuda:0"));
        OK(aes_bitslice_run_on_stream(gpu, CTR(counter, 0), to, to, 4096, stream, nullptr));
        CUDA(cudaGetDevice(&device));
        CHECK(device == 1);
        CUDA(cudaSetDevice(0));
    }
    std::thread([&] {
        CUcontext context = nullptr;
        CHECK(cuCtxGetCurrent(&context) == CUDA_SUCCESS && context == nullptr);
        aes_bitslice_cipher *const cipher = cipher_on(engine, 16);
        OK(aes_bitslice_prepare(cipher, OP(AES_BITSLICE_ECB_ENCRYPT)));
        OK(aes_bitslice_run_on_stream(cipher, OP(AES_BITSLICE_ECB_ENCRYPT), to, to, 4096, stream, nullptr));
        std::vector<uint8_t> host(1 << 20);
        OK(aes_bitslice_run(cipher, CTR(counter, 0), host.data(), host.data(), host.size(), nullptr, 0));
        aes_bitslice_cipher_free(cipher);
        CHECK(cuCtxGetCurrent(&context) == CUDA_SUCCESS && context == nullptr);
    }).join();
}

int main()
{
    aes_bitslice_engine *const cuda = open("cuda:0"), *const host = open("cpu");
    std::printf("%s\n", aes_bitslice_engine_description(cuda));
    CUDA(cudaSetDevice(0));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&from, ROOM));
    CUDA(cudaMalloc(&to, ROOM));
    CUDA(cudaMalloc(&made_tag, 48));
    CUDA(cudaMemset(made_tag, 0, 48));
    made_tag += 16;
    OK(aes_bitslice_random(plain.data(), LEN));
    OK(aes_bitslice_random(iv, sizeof iv));
    std::memset(counter, 0xff, sizeof counter); // it wraps in the first block
    OK(aes_bitslice_random(nonce, sizeof nonce));
    OK(aes_bitslice_random(aad, sizeof aad));
    for (const size_t bytes : {size_t(16), size_t(24), size_t(32)}) {
        aes_bitslice_cipher *const gpu = cipher_on(cuda, bytes), *const cpu = cipher_on(host, bytes);
        OK(aes_bitslice_prepare(gpu, CTR(counter, 0)));
        OK(aes_bitslice_prepare(gpu, KEYSTREAM(counter, 0)));
        OK(aes_bitslice_prepare(gpu, OP(AES_BITSLICE_ECB_ENCRYPT)));
        OK(aes_bitslice_prepare(gpu, OP(AES_BITSLICE_ECB_DECRYPT)));
        OK(aes_bitslice_prepare(gpu, CBC(AES_BITSLICE_CBC_DECRYPT, iv)));
        OK(aes_bitslice_prepare(gpu, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20)));
        OK(aes_bitslice_prepare(gpu, GCM_BATCH(nullptr, 0)));
        OK(aes_bitslice_prepare(gpu, CMAC_BATCH(nullptr, 0)));
        // Those that no GPU does.
        REFUSED(AES_BITSLICE_UNSUPPORTED, "CBC", aes_bitslice_run_on_stream(gpu, CBC(AES_BITSLICE_CBC_ENCRYPT, iv), to, to, 64, stream, nullptr));
        REFUSED(AES_BITSLICE_UNSUPPORTED, "CMAC", aes_bitslice_run_on_stream(gpu, OP(AES_BITSLICE_CMAC), to, nullptr, 64, stream, &unused));
        modes(gpu, cpu, bytes);
        parts(gpu, cpu);
        batches(gpu, cpu);
        described(gpu, cpu);
        refused(gpu);
        if (bytes == 32) {
            graph(cuda, cpu);
            contexts(cuda, gpu);
        }
        aes_bitslice_cipher_free(gpu);
        aes_bitslice_cipher_free(cpu);
    }
    xts(cuda, host);
    many_keys(cuda, host);
    under_keys(cuda, host);
    // The default stream.
    aes_bitslice_cipher *const gpu = cipher_on(cuda, 16);
    OK(aes_bitslice_run_on_stream(gpu, CTR(counter, 0), to, to, LEN, nullptr, nullptr));
    CUDA(cudaDeviceSynchronize());
    aes_bitslice_cipher_free(gpu);
    CUDA(cudaFree(made_tag - 16));
    CUDA(cudaFree(from));
    CUDA(cudaFree(to));
    CUDA(cudaStreamDestroy(stream));
    aes_bitslice_engine_free(cuda);
    aes_bitslice_engine_free(host);
    std::printf("%d checks passed\n", checks);
    return 0;
}
