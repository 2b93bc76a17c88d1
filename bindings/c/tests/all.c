/* Every operation and function of aes_bitslice.h and every way to be refused, with NIST's and IEEE's examples, on the engines named as arguments. The
 * first argument is a folder for files. */
#define _POSIX_C_SOURCE 200809L
#include <aes_bitslice.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(aes_bitslice_part) == 32, "as abi.txt has it");
_Static_assert(sizeof(aes_bitslice_range) == 16, "as abi.txt has it");
_Static_assert(sizeof(aes_bitslice_gcm_message) == 48, "as abi.txt has it");
_Static_assert(sizeof(aes_bitslice_job) == 48, "as abi.txt has it");
_Static_assert(sizeof(aes_bitslice_operation) == 144, "as abi.txt has it");
_Static_assert(sizeof(aes_bitslice_many_keys) == 56, "as abi.txt has it");
_Static_assert(sizeof(aes_bitslice_keys) == 32, "as abi.txt has it");

static int checks = 0;

static void fail(int line, const char *what)
{
    fprintf(stderr, "all.c:%d: %s\n  last error: %s\n", line, what, aes_bitslice_last_error());
    exit(1);
}

#define CHECK(what) (checks++, (what) ? (void)0 : fail(__LINE__, #what))
#define OK(call) CHECK((call) == AES_BITSLICE_OK)
#define EQUAL(a, b, len) CHECK(memcmp(a, b, len) == 0)

/* Refused with this code and a message that contains these words, and nothing else: `state` must not change. */
#define REFUSED(code, words, call) (CHECK((call) == (code)), told(__LINE__, #call, words), unchanged(__LINE__))
/* The same, and the message names this file. */
#define REFUSED_AT(code, path, words, call) (REFUSED(code, words, call), told(__LINE__, #call, quoted(path)))
#define IS_NULL(name, call) REFUSED(AES_BITSLICE_INVALID, "`" name "` is NULL", call)

/* Operations as values. */
#define OP(...) (&(const aes_bitslice_operation){.kind = __VA_ARGS__})
#define CTR(c, at) OP(AES_BITSLICE_CTR, .counter = c, .offset = at)
#define KEYSTREAM(c, at) OP(AES_BITSLICE_KEYSTREAM, .counter = c, .offset = at)
#define CBC(k, v) OP(k, .iv = v)
#define XTS(k, bytes, first) OP(k, .unit_bytes = bytes, .first_unit = first)
#define SEAL(k, n, n_len, a, a_len) OP(k, .nonce = n, .nonce_len = n_len, .aad = a, .aad_len = a_len)
#define OPEN(k, n, n_len, a, a_len, t, ...) OP(k, .nonce = n, .nonce_len = n_len, .aad = a, .aad_len = a_len, .tag = t, .tag_len = __VA_ARGS__)
/* Whether a call takes tags of so many bytes. */
#define TAKES(len, is_short) ((is_short) ? (len) == 4 || (len) == 8 : 12 <= (len) && (len) <= 16)
#define PART(k, n, n_len, at) OP(k, .nonce = n, .nonce_len = n_len, .offset = at)
#define GMAC(n, n_len) OP(AES_BITSLICE_GMAC, .nonce = n, .nonce_len = n_len)
#define GCM_BATCH(m, number) OP(AES_BITSLICE_GCM_ENCRYPT_BATCH, .messages = m, .count = number)
#define OPEN_BATCH(m, number, t, ...) OP(AES_BITSLICE_GCM_DECRYPT_BATCH, .messages = m, .count = number, .tag = t, .tag_len = __VA_ARGS__)
#define CMAC_BATCH(r, number) OP(AES_BITSLICE_CMAC_BATCH, .ranges = r, .count = number)
#define VERIFY_BATCH(r, number, t, t_len) OP(AES_BITSLICE_CMAC_VERIFY_BATCH, .ranges = r, .count = number, .tag = t, .tag_len = t_len)
#define MANY_KEYS(...) (&(const aes_bitslice_many_keys){.kind = __VA_ARGS__})
#define JOBS(k, j, number) MANY_KEYS(k, .jobs = j, .count = number)
#define EACH_KEY(k, all, len, number, first, each) MANY_KEYS(k, .keys = all, .key_len = len, .count = number, .counter = first, .bytes_per_key = each)

static void told(int line, const char *call, const char *words)
{
    const char *message = aes_bitslice_last_error();
    if (strstr(message, words) == NULL || strstr(message, "::") != NULL) {
        fprintf(stderr, "all.c:%d: %s\n  does not tell \"%s\"\n", line, call, words);
        fail(line, "a message");
    }
}

/* A path as messages name it. */
static const char *quoted(const char *path)
{
    static char name[5000];
    snprintf(name, sizeof name, "`%s`", path);
    return name;
}

/* The places that refused calls were given to write to. */
static struct {
    uint8_t before[32], output[96], after[32], tag[16];
    aes_bitslice_part part;
    void *handle;
    uint8_t tags[64], authentic[4];
} state;

static void unchanged(int line)
{
    const uint8_t *bytes = (const uint8_t *)&state;
    for (size_t i = 0; i < sizeof state; i++) {
        if (bytes[i] != 0xa5) {
            fail(line, "a call that is refused changes nothing");
        }
    }
}

/* Converts hexadecimal digits to bytes. */
static size_t hex(const char *digits, uint8_t *bytes)
{
    size_t len = strlen(digits) / 2;
    for (size_t i = 0; i < len; i++) {
        unsigned byte;
        CHECK(sscanf(digits + 2 * i, "%2x", &byte) == 1);
        bytes[i] = (uint8_t)byte;
    }
    return len;
}

static aes_bitslice_engine *engine;

static aes_bitslice_cipher *cipher_of(const char *digits, int is_xts)
{
    uint8_t bytes[64];
    aes_bitslice_key *key;
    aes_bitslice_cipher *cipher;
    size_t len = hex(digits, bytes);
    OK(is_xts ? aes_bitslice_key_new_xts(bytes, len, &key) : aes_bitslice_key_new(bytes, len, &key));
    memset(bytes, 0, sizeof bytes);
    OK(aes_bitslice_cipher_new(engine, key, &cipher));
    aes_bitslice_key_free(key); /* the cipher has a copy */
    return cipher;
}

/* SP 800-38A, appendix F: key; ECB, CBC and CTR of the same four blocks. */
static const char *const SP_800_38A[3][4] = {
    {"2b7e151628aed2a6abf7158809cf4f3c",
     "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4",
     "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b273bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
     "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee"},
    {"8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
     "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eefef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e",
     "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
     "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e941e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050"},
    {"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
     "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7",
     "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
     "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c52b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"},
};
static const char PLAIN[] =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";

static void raw_modes(void)
{
    uint8_t plain[64], iv[16], counter[16], expected[64], data[64], stream[64];
    hex(PLAIN, plain);
    hex("000102030405060708090a0b0c0d0e0f", iv);
    hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", counter);
    for (int i = 0; i < 3; i++) {
        aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[i][0], 0);

        hex(SP_800_38A[i][1], expected);
        OK(aes_bitslice_run(cipher, OP(AES_BITSLICE_ECB_ENCRYPT), plain, data, 64, NULL, 0));
        EQUAL(data, expected, 64);
        OK(aes_bitslice_run(cipher, OP(AES_BITSLICE_ECB_DECRYPT), data, data, 64, NULL, 0));
        EQUAL(data, plain, 64);

        OK(aes_bitslice_run(cipher, OP(AES_BITSLICE_PRG), data, data, 64, NULL, 0));
        for (int n = 0; n < 64; n++)
            CHECK(data[n] == (uint8_t)(expected[n] ^ plain[n]));

        hex(SP_800_38A[i][2], expected);
        OK(aes_bitslice_run(cipher, CBC(AES_BITSLICE_CBC_ENCRYPT, iv), plain, data, 64, NULL, 0));
        EQUAL(data, expected, 64);
        OK(aes_bitslice_run(cipher, CBC(AES_BITSLICE_CBC_DECRYPT, expected + 16), expected + 32, data + 32, 32, NULL, 0));
        OK(aes_bitslice_run(cipher, CBC(AES_BITSLICE_CBC_DECRYPT, iv), data, data, 32, NULL, 0));
        EQUAL(data, plain, 64);

        hex(SP_800_38A[i][3], expected);
        OK(aes_bitslice_run(cipher, CTR(counter, 0), plain, data, 64, NULL, 0));
        EQUAL(data, expected, 64);
        OK(aes_bitslice_run(cipher, CTR(counter, 17), data + 17, data + 17, 30, NULL, 0)); /* a part, in place */
        EQUAL(data + 17, plain + 17, 30);
        EQUAL(data + 47, expected + 47, 17);
        OK(aes_bitslice_run(cipher, KEYSTREAM(counter, 3), NULL, stream, 61, NULL, 0));
        for (int j = 0; j < 61; j++) {
            CHECK((stream[j] ^ plain[3 + j]) == expected[3 + j]);
        }

        /* A call for no bytes succeeds, whatever the pointers. */
        OK(aes_bitslice_run(cipher, CTR(counter, 0), NULL, NULL, 0, NULL, 0));
        OK(aes_bitslice_run(cipher, KEYSTREAM(counter, 0), NULL, NULL, 0, NULL, 0));
        OK(aes_bitslice_run(cipher, OP(AES_BITSLICE_ECB_ENCRYPT), NULL, NULL, 0, NULL, 0));
        OK(aes_bitslice_run(cipher, CBC(AES_BITSLICE_CBC_DECRYPT, iv), NULL, NULL, 0, NULL, 0));
        OK(aes_bitslice_run(cipher, CTR(counter, 0), data, data + 1, 0, NULL, 0));

        uint8_t *const output = state.output;
        REFUSED(AES_BITSLICE_INVALID, "overlap", aes_bitslice_run(cipher, CTR(counter, 0), output + 63, output, 64, NULL, 0));
        REFUSED(AES_BITSLICE_INVALID, "more bytes than memory", aes_bitslice_run(cipher, KEYSTREAM(counter, 0), NULL, output, SIZE_MAX / 2 + 1, NULL, 0));
        REFUSED(AES_BITSLICE_INVALID, "whole blocks", aes_bitslice_run(cipher, OP(AES_BITSLICE_ECB_ENCRYPT), plain, output, 63, NULL, 0));
        for (int kind = AES_BITSLICE_CBC_ENCRYPT; kind <= AES_BITSLICE_CBC_DECRYPT; kind++) {
            REFUSED(AES_BITSLICE_INVALID, "whole blocks", aes_bitslice_run(cipher, CBC(kind, iv), plain, output, 17, NULL, 0));
        }
        aes_bitslice_cipher_free(cipher);
    }
}

static void xts(void)
{
    /* NIST's CAVP, XTSGen, 101 of 128 and 1 of 256 bits; IEEE 1619, appendix B, vector 15: a unit that is not whole blocks. */
    static const char *const CASES[3][4] = {
        {"b7b93f516aef295eff3a29d837cf1f135347e8a21dae616ff5062b2e8d78ce5e", "873edea653b643bd8bcf51403197ed14",
         "236f8a5b58dd55f6194ed70c4ac1a17f1fe60ec9a6c454d087ccb77d6b638c47",
         "22e6a3c6379dcf7599b052b5a749c7f78ad8a11b9f1aa9430cf3aef445682e19"},
        {"1ea661c58d943a0e4801e42f4b0947149e7f9f8e3e68d0c7505210bd311a0e7cd6e13ffdf2418d8d1911c004cda58da3d619b7e2b9141e58318eea392cf41b08",
         "adf8d92627464ad2f0428e84a9f87564", "2eedea52cd8215e1acc647e810bbc3642e87287f8d2e57e36c0a24fbc12a202e",
         "cbaad0e2f6cea3f50b37f934d46a9b130b9d54f07e34f36af793e86f73c6d7db"},
        {"fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0", "9a785634120000000000000000000000",
         "000102030405060708090a0b0c0d0e0f10", "6c1625db4671522d3d7599601de7ca09ed"},
    };
    uint8_t unit[16], plain[64], expected[64], data[64], whole[64], *const output = state.output;
    for (int i = 0; i < 3; i++) {
        aes_bitslice_cipher *cipher = cipher_of(CASES[i][0], 1);
        hex(CASES[i][1], unit);
        size_t len = hex(CASES[i][2], plain);
        hex(CASES[i][3], expected);
        OK(aes_bitslice_run(cipher, XTS(AES_BITSLICE_XTS_ENCRYPT, len, unit), plain, data, len, NULL, 0));
        EQUAL(data, expected, len);
        OK(aes_bitslice_run(cipher, XTS(AES_BITSLICE_XTS_DECRYPT, len, unit), data, data, len, NULL, 0));
        EQUAL(data, plain, len);
        OK(aes_bitslice_run(cipher, XTS(AES_BITSLICE_XTS_ENCRYPT, len, unit), NULL, NULL, 0, NULL, 0));

        /* Two units equal one unit, then the next, whose number is one higher. */
        OK(aes_bitslice_random(plain, 32));
        OK(aes_bitslice_run(cipher, XTS(AES_BITSLICE_XTS_ENCRYPT, 16, unit), plain, whole, 32, NULL, 0));
        OK(aes_bitslice_run(cipher, XTS(AES_BITSLICE_XTS_ENCRYPT, 16, unit), plain, data, 16, NULL, 0));
        unit[0]++;
        OK(aes_bitslice_run(cipher, XTS(AES_BITSLICE_XTS_ENCRYPT, 16, unit), plain + 16, data + 16, 16, NULL, 0));
        EQUAL(data, whole, 32);

        REFUSED(AES_BITSLICE_INVALID, "16 to 16777216", aes_bitslice_run(cipher, XTS(AES_BITSLICE_XTS_ENCRYPT, 15, unit), plain, output, 32, NULL, 0));
        REFUSED(AES_BITSLICE_INVALID, "16 to 16777216", aes_bitslice_run(cipher, XTS(AES_BITSLICE_XTS_ENCRYPT, 0, unit), plain, output, 32, NULL, 0));
        REFUSED(AES_BITSLICE_INVALID, "fewer than 16", aes_bitslice_run(cipher, XTS(AES_BITSLICE_XTS_ENCRYPT, 16, unit), plain, output, 17, NULL, 0));
        /* The wrong kind of key. */
        REFUSED(AES_BITSLICE_INVALID, "make a key of one alone", aes_bitslice_run(cipher, OP(AES_BITSLICE_ECB_ENCRYPT), plain, output, 32, NULL, 0));
        REFUSED(AES_BITSLICE_INVALID, "make a key of one alone", aes_bitslice_run(cipher, OP(AES_BITSLICE_CMAC), plain, NULL, 32, state.tag, 16));
        aes_bitslice_cipher_free(cipher);
    }
    aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[0][0], 0);
    REFUSED(AES_BITSLICE_INVALID, "make a key of both", aes_bitslice_run(cipher, XTS(AES_BITSLICE_XTS_ENCRYPT, 16, unit), plain, output, 32, NULL, 0));
    aes_bitslice_cipher_free(cipher);
}

/* NIST's CAVP, gcmEncryptExtIV: the first case with 51 bytes of plaintext, 20 of additional data, 12 of nonce. Key, nonce, plaintext,
 * additional data, ciphertext, tag. */
static const char *const GCM[3][6] = {
    {"fe47fcce5fc32665d2ae399e4eec72ba", "5adb9609dbaeb58cbd6e7275",
     "7c0e88c88899a779228465074797cd4c2e1498d259b54390b85e3eef1c02df60e743f1b840382c4bccaf3bafb4ca8429bea063",
     "88319d6e1d3ffa5f987199166c8a9b56c2aeba5a",
     "98f4826f05a265e6dd2be82db241c0fbbbf9ffb1c173aa83964b7cf5393043736365253ddbc5db8778371495da76d269e5db3e",
     "291ef1982e4defedaa2249f898556b47"},
    {"9900227ae0fccbb0d35ecf954629c969f36e539399f32ebe", "1398992bfbd63149c14ba2a2",
     "9d4227eed28b9738f21541c4755a923a43ba20d6f3d6a6b7e31e56f1502f5e93ed4c00511c6a7daeb0281ab947e91756638154",
     "788b6885feff23fc27bf9c462877b642ba1aa68d",
     "7b6ee7dd98eda9b20edb414711d9710de402b01950a6712e5809f608f7c0aa0fba4098f145fea6886d7baf51fcd182c8febf49",
     "f22c7c21f5ece2de684821092194f26c"},
    {"24501ad384e473963d476edcfe08205237acfd49b5b8f33857f8114e863fec7f", "9ff18563b978ec281b3f2794",
     "27f348f9cdc0c5bd5e66b1ccb63ad920ff2219d14e8d631b3872265cf117ee86757accb158bd9abb3868fdc0d0b074b5f01b2c",
     "adb5ec720ccf9898500028bf34afccbcaca126ef",
     "eb7cb754c824e8d96f7c6d9b76c7d26fb874ffbf1d65c6f64a698d839b0b06145dae82057ad55994cf59ad7f67c0fa5e85fab8",
     "bc95c532fecc594c36d1550286a7a3f0"},
};

static void gcm(void)
{
    for (int i = 0; i < 3; i++) {
        uint8_t nonce[12], plain[51], aad[20], expected[51], tag[16], data[51], made[16], zeros[51] = {0};
        aes_bitslice_cipher *cipher = cipher_of(GCM[i][0], 0);
        hex(GCM[i][1], nonce);
        CHECK(hex(GCM[i][2], plain) == 51);
        CHECK(hex(GCM[i][3], aad) == 20);
        hex(GCM[i][4], expected);
        hex(GCM[i][5], tag);

        OK(aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), plain, data, 51, made, 16));
        EQUAL(data, expected, 51);
        EQUAL(made, tag, 16);
        for (size_t len = 1; len <= 20; len++) {
            uint8_t opened[51];
            for (uint32_t is_short = 0; is_short <= 1; is_short++) {
                memset(opened, 0xa5, 51);
                int status = aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, len, .short_tags = is_short), expected, opened, 51, NULL, 0);
                if (TAKES(len, is_short)) {
                    CHECK(status == AES_BITSLICE_OK);
                    EQUAL(opened, plain, 51);
                } else {
                    CHECK(status == AES_BITSLICE_INVALID && opened[0] == 0xa5 && opened[50] == 0xa5);
                }
            }
        }
        /* A changed message is refused, and its output cleared. */
        for (int bit = 0; bit < 8 * 16; bit++) {
            tag[bit / 8] ^= (uint8_t)(1 << bit % 8);
            memcpy(data, expected, 51);
            CHECK(aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 16), data, data, 51, NULL, 0) == AES_BITSLICE_UNAUTHENTICATED);
            EQUAL(data, zeros, 51);
            tag[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        aad[0] ^= 1;
        CHECK(aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 16), expected, data, 51, NULL, 0) == AES_BITSLICE_UNAUTHENTICATED);
        aad[0] ^= 1;

        /* In parts, the last first. */
        aes_bitslice_part parts[3];
        OK(aes_bitslice_run(cipher, PART(AES_BITSLICE_GCM_ENCRYPT_PART, nonce, 12, 48), plain + 48, data + 48, 3, &parts[0], sizeof(aes_bitslice_part)));
        OK(aes_bitslice_run(cipher, PART(AES_BITSLICE_GCM_ENCRYPT_PART, nonce, 12, 0), plain, data, 16, &parts[1], sizeof(aes_bitslice_part)));
        OK(aes_bitslice_run(cipher, PART(AES_BITSLICE_GCM_ENCRYPT_PART, nonce, 12, 16), plain + 16, data + 16, 32, &parts[2], sizeof(aes_bitslice_part)));
        EQUAL(data, expected, 51);
        CHECK(parts[0].offset == 48 && parts[0].bytes == 3);
        OK(aes_bitslice_combine(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), parts, 3, made, 16));
        EQUAL(made, tag, 16);
        OK(aes_bitslice_run(cipher, PART(AES_BITSLICE_GCM_DECRYPT_PART, nonce, 12, 16), data + 16, data + 16, 32, &parts[2], sizeof(aes_bitslice_part)));
        EQUAL(data + 16, plain + 16, 32);
        OK(aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 16), parts, 3, NULL, 0));
        OK(aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 12), parts, 3, NULL, 0));
        OK(aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 8, .short_tags = 1), parts, 3, NULL, 0));
        parts[1].hash[5] ^= 1;
        REFUSED(AES_BITSLICE_UNAUTHENTICATED, "authentication failed", aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 16), parts, 3, NULL, 0));
        parts[1].hash[5] ^= 1;

        uint8_t *const output = state.output;
        REFUSED(AES_BITSLICE_UNAUTHENTICATED, "authentication failed", aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 19, tag, 16), parts, 3, NULL, 0));
        REFUSED(AES_BITSLICE_INVALID, "do not adjoin", aes_bitslice_combine(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), parts, 2, state.tag, 16));
        REFUSED(AES_BITSLICE_INVALID, "do not adjoin", aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 16), parts, 2, NULL, 0));
        REFUSED(AES_BITSLICE_INVALID, "more bytes than memory", aes_bitslice_combine(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), parts, SIZE_MAX / 16, state.tag, 16));
        IS_NULL("cipher", aes_bitslice_combine(NULL, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), parts, 3, state.tag, 16));
        IS_NULL("nonce", aes_bitslice_combine(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, NULL, 12, aad, 20), parts, 3, state.tag, 16));
        IS_NULL("aad", aes_bitslice_combine(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, NULL, 20), parts, 3, state.tag, 16));
        IS_NULL("parts", aes_bitslice_combine(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), NULL, 3, state.tag, 16));
        IS_NULL("result", aes_bitslice_combine(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), parts, 3, NULL, 16));
        IS_NULL("operation", aes_bitslice_combine(cipher, NULL, parts, 3, state.tag, 16));
        REFUSED(AES_BITSLICE_INVALID, "the result has 16 bytes", aes_bitslice_combine(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), parts, 3, state.tag, 12));
        REFUSED(AES_BITSLICE_INVALID, "the result has 0 bytes", aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 16), parts, 3, state.tag, 16));
        REFUSED(AES_BITSLICE_INVALID, "`kind` is 13: give AES_BITSLICE_GCM_ENCRYPT, AES", aes_bitslice_combine(cipher, SEAL(AES_BITSLICE_GCM_SIV_ENCRYPT, nonce, 12, aad, 20), parts, 3, state.tag, 16));
        IS_NULL("cipher", aes_bitslice_combine(NULL, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 16), parts, 3, NULL, 0));
        IS_NULL("nonce", aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, NULL, 12, aad, 20, tag, 16), parts, 3, NULL, 0));
        IS_NULL("aad", aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, NULL, 20, tag, 16), parts, 3, NULL, 0));
        IS_NULL("parts", aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 16), NULL, 3, NULL, 0));
        IS_NULL("tag", aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, NULL, 16), parts, 3, NULL, 0));
        REFUSED(AES_BITSLICE_INVALID, "a tag has 1", aes_bitslice_combine(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 17), parts, 3, NULL, 0));

        /* Pieces of any length, of which one part is kept. */
        for (int decrypts = 0; decrypts < 2; decrypts++) {
            int kind = decrypts ? AES_BITSLICE_GCM_DECRYPT_PART : AES_BITSLICE_GCM_ENCRYPT_PART;
            aes_bitslice_part kept[2] = {{0}};
            uint8_t pieces[51];
            uint64_t at = 0;
            memcpy(pieces, decrypts ? expected : plain, 51);
            for (size_t piece = 0; at < 51; piece = piece % 20 + 3) {
                size_t some = piece < 51 - at ? piece : (size_t)(51 - at);
                OK(aes_bitslice_run(cipher, PART(kind, nonce, 12, at), pieces + at, pieces + at, some, &kept[1], sizeof *kept));
                OK(aes_bitslice_combine(cipher, PART(kind, nonce, 12, 0), kept, 2, &kept[0], sizeof *kept));
                at += some;
            }
            EQUAL(pieces, decrypts ? plain : expected, 51);
            OK(aes_bitslice_combine(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), kept, 1, made, 16));
            EQUAL(made, tag, 16);
        }
        REFUSED(AES_BITSLICE_INVALID, "the result has 32 bytes", aes_bitslice_combine(cipher, PART(AES_BITSLICE_GCM_ENCRYPT_PART, nonce, 12, 0), parts, 3, state.tag, 16));
        REFUSED(AES_BITSLICE_INVALID, "at most 68719476704", aes_bitslice_run(cipher, PART(AES_BITSLICE_GCM_ENCRYPT_PART, nonce, 12, (uint64_t)1 << 36), plain, output, 51, &state.part, sizeof(aes_bitslice_part)));

        REFUSED(AES_BITSLICE_INVALID, "a nonce has 12 bytes for GCM", aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, NULL, 0, aad, 20), plain, output, 51, state.tag, 16));
        REFUSED(AES_BITSLICE_INVALID, "overlaps the data", aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), plain, output, 51, output + 50, 16));
        REFUSED(AES_BITSLICE_INVALID, "overlaps the data", aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, aad, 20), plain, output, 51, state.before + 17, 16));
        REFUSED(AES_BITSLICE_INVALID, "a tag has 1", aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, aad, 20, tag, 0), expected, output, 51, NULL, 0));

        /* Neither a message nor additional data: there is still a tag, which equals the tag of no parts. */
        OK(aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, NULL, 0), NULL, NULL, 0, made, 16));
        OK(aes_bitslice_combine(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 12, NULL, 0), NULL, 0, tag, 16));
        EQUAL(made, tag, 16);
        OK(aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, nonce, 12, NULL, 0, tag, 16), NULL, NULL, 0, NULL, 0));
        aes_bitslice_cipher_free(cipher);
    }
}

/* RFC 8452, appendix C. Key, nonce, plaintext, additional data, ciphertext, tag. */
static const char *const GCM_SIV[3][6] = {
    {"f901cfe8a69615a93fdf7a98cad48179", "6245709fb18853f68d833640", "e42a3c02c25b64869e146d7b233987bddfc240871d",
     "7576f7028ec6eb5ea7e298342a94d4b202b370ef9768ec6561c4fe6b7e7296fa859c21", "391cc328d484a4f46406181bcd62efd9b3ee197d05",
     "2d15506c84a9edd65e13e9d24a2a6e70"},
    {"3c535de192eaed3822a2fbbe2ca9dfc88255e14a661b8aa82cc54236093bbc23", "688089e55540db1872504e1c",
     "ced532ce4159b035277d4dfbb7db62968b13cd4eec", "734320ccc9d9bbbb19cb81b2af4ecbc3e72834321f7aa0f70b7282b4f33df23f167541",
     "626660c26ea6612fb17ad91e8e767639edd6c9faee", "9d6c7029675b89eaf4ba1ded1a286594"},
    {"01000000000000000000000000000000", "030000000000000000000000", "", "", "", "dc20e2d83f25705bb49e439eca56de25"},
};

static void gcm_siv(void)
{
    uint8_t nonce[13], plain[64], aad[64], expected[64], tag[17] = {0}, data[64], made[16];
    uint8_t *const output = state.output;
    static const uint8_t zeros[64];
    for (int i = 0; i < 3; i++) {
        aes_bitslice_cipher *cipher = cipher_of(GCM_SIV[i][0], 0);
        CHECK(hex(GCM_SIV[i][1], nonce) == 12);
        const size_t len = hex(GCM_SIV[i][2], plain), aad_len = hex(GCM_SIV[i][3], aad);
        hex(GCM_SIV[i][4], expected);
        hex(GCM_SIV[i][5], tag);

        OK(aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_SIV_ENCRYPT, nonce, 12, aad, aad_len), plain, data, len, made, 16));
        EQUAL(data, expected, len);
        EQUAL(made, tag, 16);
        OK(aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_SIV_DECRYPT, nonce, 12, aad, aad_len, tag, 16), data, data, len, NULL, 0));
        EQUAL(data, plain, len);
        /* A changed message is refused, and its output cleared. */
        for (int bit = 0; bit < 8 * 16; bit++) {
            tag[bit / 8] ^= (uint8_t)(1 << bit % 8);
            memcpy(data, expected, len);
            CHECK(aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_SIV_DECRYPT, nonce, 12, aad, aad_len, tag, 16), data, data, len, NULL, 0) == AES_BITSLICE_UNAUTHENTICATED);
            EQUAL(data, zeros, len);
            tag[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        aad[0] ^= 1;
        CHECK(aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_SIV_DECRYPT, nonce, 12, aad, 1, tag, 16), expected, data, len, NULL, 0) == AES_BITSLICE_UNAUTHENTICATED);
        aad[0] ^= 1;
        OK(aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_SIV_ENCRYPT, nonce, 12, NULL, 0), NULL, NULL, 0, made, 16));
        OK(aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_SIV_DECRYPT, nonce, 12, NULL, 0, made, 16), NULL, NULL, 0, NULL, 0));

        for (size_t wrong = 0; wrong <= 13; wrong++) {
            if (wrong != 12) {
                REFUSED(AES_BITSLICE_INVALID, "nonce", aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_SIV_ENCRYPT, nonce, wrong, aad, 20), plain, output, 21, state.tag, 16));
                REFUSED(AES_BITSLICE_INVALID, "nonce", aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_SIV_DECRYPT, nonce, wrong, aad, 20, tag, 16), plain, output, 21, NULL, 0));
            }
        }
        for (size_t wrong = 0; wrong <= 17; wrong++) {
            if (wrong != 16) {
                REFUSED(AES_BITSLICE_INVALID, "a tag has 1", aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_SIV_DECRYPT, nonce, 12, aad, 20, tag, wrong), plain, output, 21, NULL, 0));
            }
        }
        REFUSED(AES_BITSLICE_INVALID, "more bytes than memory", aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_SIV_ENCRYPT, nonce, 12, aad, SIZE_MAX), plain, output, 21, state.tag, 16));
        REFUSED(AES_BITSLICE_NO_MEMORY, "of `aad`", aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_SIV_ENCRYPT, nonce, 12, aad, SIZE_MAX / 4), plain, output, 21, state.tag, 16));
        REFUSED(AES_BITSLICE_NO_MEMORY, "of `nonce`", aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, SIZE_MAX / 4, aad, 20), plain, output, 21, state.tag, 16));
        aes_bitslice_cipher_free(cipher);
    }
    aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[1][0], 0);
    REFUSED(AES_BITSLICE_INVALID, "128 or 256 bits", aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_SIV_ENCRYPT, nonce, 12, aad, 20), plain, output, 21, state.tag, 16));
    REFUSED(AES_BITSLICE_INVALID, "128 or 256 bits", aes_bitslice_run(cipher, OPEN(AES_BITSLICE_GCM_SIV_DECRYPT, nonce, 12, aad, 20, tag, 16), plain, output, 21, NULL, 0));
    aes_bitslice_cipher_free(cipher);
}

/* Messages in 100 bytes of data, with room between them: NIST's example, one with a nonce of another length, one without data. */
enum { DATA = 100, COUNT = 3 };

static void gcm_batch(void)
{
    static uint8_t nonces[COUNT][12], aad[20];
    uint8_t plain[DATA], expected[DATA], data[DATA], tags[16 * COUNT], made[16 * COUNT], authentic[COUNT];
    uint8_t *const output = state.output;
    for (int i = 0; i < 3; i++) {
        aes_bitslice_cipher *cipher = cipher_of(GCM[i][0], 0);
        memset(plain, 7, DATA);
        memset(nonces, i, sizeof nonces);
        hex(GCM[i][1], nonces[0]);
        hex(GCM[i][2], plain + 5);
        hex(GCM[i][3], aad);
        memcpy(expected, plain, DATA);
        hex(GCM[i][4], expected + 5);
        hex(GCM[i][5], tags);
        const aes_bitslice_gcm_message messages[COUNT] = {
            {nonces[0], 12, aad, 20, {5, 51}}, {nonces[1], 8, NULL, 0, {56, 40}}, {nonces[2], 12, aad, 3, {99, 0}}};
        OK(aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonces[1], 8, NULL, 0), plain + 56, expected + 56, 40, tags + 16, 16));
        OK(aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonces[2], 12, aad, 3), NULL, NULL, 0, tags + 32, 16));

        /* In place; and to another place, where bytes between messages stay as they are. */
        memcpy(data, plain, DATA);
        OK(aes_bitslice_run(cipher, GCM_BATCH(messages, COUNT), data, data, DATA, made, 16 * COUNT));
        EQUAL(data, expected, DATA);
        EQUAL(made, tags, sizeof tags);
        memset(data, 7, DATA);
        OK(aes_bitslice_run(cipher, GCM_BATCH(messages, COUNT), plain, data, DATA, made, 16 * COUNT));
        EQUAL(data, expected, DATA);
        EQUAL(made, tags, sizeof tags);
        OK(aes_bitslice_run(cipher, OPEN_BATCH(messages, COUNT, tags, 16), data, data, DATA, authentic, COUNT));
        EQUAL(data, plain, DATA);
        EQUAL(authentic, "\1\1\1", COUNT);
        for (size_t len = 0; len <= 17; len++) {
            uint8_t shorter[17 * COUNT] = {0};
            for (size_t n = 0; n < COUNT; n++) {
                memcpy(shorter + n * len, tags + 16 * n, len < 16 ? len : 16);
            }
            for (uint32_t is_short = 0; is_short <= 1; is_short++) {
                if (TAKES(len, is_short)) {
                    OK(aes_bitslice_run(cipher, OPEN_BATCH(messages, COUNT, shorter, len, .short_tags = is_short), expected, data, DATA, authentic, COUNT));
                } else {
                    REFUSED(AES_BITSLICE_INVALID, "tag", aes_bitslice_run(cipher, OPEN_BATCH(messages, 1, shorter, len, .short_tags = is_short), expected, output, 96, state.authentic, 1));
                }
            }
        }
        /* A changed message is reported and cleared; the others are good. */
        for (size_t n = 0; n < COUNT; n++) {
            tags[16 * n + 15] ^= 1;
            memcpy(data, expected, DATA);
            CHECK(aes_bitslice_run(cipher, OPEN_BATCH(messages, COUNT, tags, 16), data, data, DATA, authentic, COUNT) == AES_BITSLICE_UNAUTHENTICATED);
            told(__LINE__, "a batch with a tag that is changed", "1 of 3 messages");
            for (size_t m = 0; m < COUNT; m++) {
                static const uint8_t zeros[DATA];
                const aes_bitslice_range range = messages[m].range;
                CHECK(authentic[m] == (m != n));
                EQUAL(data + range.offset, m == n ? zeros : plain + range.offset, range.bytes);
            }
            EQUAL(data, plain, 5);
            EQUAL(data + 96, plain + 96, 4);
            tags[16 * n + 15] ^= 1;
        }
        OK(aes_bitslice_run(cipher, GCM_BATCH(NULL, 0), NULL, NULL, 0, NULL, 0));
        OK(aes_bitslice_run(cipher, OPEN_BATCH(NULL, 0, NULL, 16), NULL, NULL, 0, NULL, 0));

        /* Messages with one invalid field. */
        const struct {
            const char *words;
            aes_bitslice_gcm_message second;
        } WRONG[] = {
            {"message 1: `nonce` is NULL", {NULL, 12, NULL, 0, {56, 40}}}, {"message 1: `aad` is NULL", {nonces[1], 12, NULL, 1, {56, 40}}},
            {"message 1: `aad` has more bytes", {nonces[1], 12, aad, SIZE_MAX, {56, 40}}}, {"a nonce has 12 bytes for GCM", {nonces[1], 0, NULL, 0, {56, 40}}},
            {"do not overlap", {nonces[1], 12, NULL, 0, {55, 1}}}, {"the data has 96", {nonces[1], 12, NULL, 0, {56, 41}}},
            {"message 1 ends past byte 2^64", {nonces[1], 12, NULL, 0, {UINT64_MAX, 1}}},
        };
        for (size_t n = 0; n < sizeof WRONG / sizeof *WRONG; n++) {
            const aes_bitslice_gcm_message wrong[2] = {messages[0], WRONG[n].second};
            REFUSED(AES_BITSLICE_INVALID, WRONG[n].words, aes_bitslice_run(cipher, GCM_BATCH(wrong, 2), plain, output, 96, state.tags, 32));
            REFUSED(AES_BITSLICE_INVALID, WRONG[n].words, aes_bitslice_run(cipher, OPEN_BATCH(wrong, 2, tags, 16), plain, output, 96, state.authentic, 2));
        }
        const aes_bitslice_gcm_message twice[2] = {messages[0], {nonces[0], 12, NULL, 0, {56, 40}}};
        REFUSED(AES_BITSLICE_INVALID, "the same nonce", aes_bitslice_run(cipher, GCM_BATCH(twice, 2), plain, output, 96, state.tags, 32));
        REFUSED(AES_BITSLICE_INVALID, "more bytes than memory", aes_bitslice_run(cipher, GCM_BATCH(messages, SIZE_MAX / 16), plain, output, 96, state.tags, 16 * SIZE_MAX / 16));
        REFUSED(AES_BITSLICE_INVALID, "more bytes than memory", aes_bitslice_run(cipher, OPEN_BATCH(messages, 2, tags, SIZE_MAX), plain, output, 96, state.authentic, 2));

        REFUSED(AES_BITSLICE_INVALID, "overlaps the data", aes_bitslice_run(cipher, GCM_BATCH(messages, 2), plain, output, 96, state.before + 1, 32));
        REFUSED(AES_BITSLICE_INVALID, "overlaps the data", aes_bitslice_run(cipher, OPEN_BATCH(messages, 2, tags, 16), plain, output, 96, output + 95, 2));
        aes_bitslice_cipher_free(cipher);
    }
}

/* Messages by arrays of both widths and by a rule, as the list of them; and what does not fit. */
static void arrays(void)
{
    enum { MESSAGES = 4 };
    static const uint32_t OFFSETS[] = {3, 19, 35, 80}, LENGTHS[] = {16, 16, 5, 20};
    static const uint64_t LONG_OFFSETS[] = {3, 19, 35, 80}, LONG_LENGTHS[] = {16, 16, 5, 20};
    static const uint64_t AAD_OFFSETS[] = {7, 0, 20, 3}, AAD_LENGTHS[] = {5, 20, 0, 9};
    static const uint8_t FIRST[12] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0xfe};
    uint8_t nonces[12 * MESSAGES], aad[20], plain[DATA], expected[DATA], data[DATA], tags[16 * MESSAGES], made[16 * MESSAGES], authentic[MESSAGES];
    uint8_t *const output = state.output;
    aes_bitslice_gcm_message messages[MESSAGES];
    aes_bitslice_range ranges[MESSAGES];
    const aes_bitslice_ranges FORMS[] = {{.offsets = OFFSETS, .lengths = LENGTHS, .integer_bytes = 4}, {.offsets = LONG_OFFSETS, .lengths = LONG_LENGTHS, .integer_bytes = 8}};
    const aes_bitslice_ranges of_aad = {.offsets = AAD_OFFSETS, .lengths = AAD_LENGTHS, .integer_bytes = 8};
    const aes_bitslice_ranges equal = {.bytes = 20, .stride = 25};
    aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[0][0], 0);
    memset(plain, 7, DATA);
    for (size_t i = 0; i < sizeof aad; i++) {
        aad[i] = (uint8_t)i;
    }
    for (size_t n = 0; n < MESSAGES; n++) {
        /* They count on past a byte. */
        memcpy(nonces + 12 * n, FIRST, 12);
        nonces[12 * n + 10] = n / 2;
        nonces[12 * n + 11] = (uint8_t)(0xfe + n);
        ranges[n] = (aes_bitslice_range){OFFSETS[n], LENGTHS[n]};
        messages[n] = (aes_bitslice_gcm_message){nonces + 12 * n, 12, aad + AAD_OFFSETS[n], AAD_LENGTHS[n], ranges[n]};
    }
#define ARRAYS(kind, form, ...) OP(kind, .arrays = form, .count = MESSAGES, .nonce_len = 12, __VA_ARGS__)
    memcpy(expected, plain, DATA);
    OK(aes_bitslice_run(cipher, GCM_BATCH(messages, MESSAGES), expected, expected, DATA, tags, sizeof tags));
    for (size_t f = 0; f < 2; f++) {
        memcpy(data, plain, DATA);
        OK(aes_bitslice_run(cipher, ARRAYS(AES_BITSLICE_GCM_ENCRYPT_BATCH, &FORMS[f], .nonce = nonces, .aad = aad, .aad_len = 20, .aad_arrays = &of_aad), data, data, DATA, made, sizeof made));
        EQUAL(data, expected, DATA);
        EQUAL(made, tags, sizeof tags);
        /* A changed one is reported and cleared; nonces that count. */
        tags[16] ^= 1;
        CHECK(aes_bitslice_run(cipher, ARRAYS(AES_BITSLICE_GCM_DECRYPT_BATCH, &FORMS[f], .nonce = FIRST, .counter_bits = 32, .aad = aad, .aad_len = 20, .aad_arrays = &of_aad, .tag = tags, .tag_len = 16), data, data, DATA, authentic, MESSAGES) == AES_BITSLICE_UNAUTHENTICATED);
        tags[16] ^= 1;
        EQUAL(authentic, "\1\0\1\1", MESSAGES);
        EQUAL(data, plain, 19);
        EQUAL(data + 19, (const uint8_t[16]){0}, 16);
        EQUAL(data + 35, plain + 35, DATA - 35);
        uint8_t short_tags[8 * MESSAGES];
        for (size_t n = 0; n < MESSAGES; n++) {
            memcpy(short_tags + 8 * n, tags + 16 * n, 8);
        }
#define OPEN_SHORT(len, is_short) ARRAYS(AES_BITSLICE_GCM_DECRYPT_BATCH, &FORMS[f], .nonce = nonces, .aad = aad, .aad_len = 20, .aad_arrays = &of_aad, .tag = short_tags, .tag_len = len, .short_tags = is_short)
        OK(aes_bitslice_run(cipher, OPEN_SHORT(8, 1), expected, data, DATA, authentic, MESSAGES));
        EQUAL(data, plain, DATA);
        REFUSED(AES_BITSLICE_INVALID, "short tags are asked for, not 8", aes_bitslice_run(cipher, OPEN_SHORT(8, 0), expected, output, DATA, state.authentic, MESSAGES));
        REFUSED(AES_BITSLICE_INVALID, "short tags are asked for, not 7", aes_bitslice_run(cipher, OPEN_SHORT(7, 1), expected, output, DATA, state.authentic, MESSAGES));
        REFUSED(AES_BITSLICE_INVALID, "`short_tags` is 2", aes_bitslice_run(cipher, OPEN_SHORT(8, 2), expected, output, DATA, state.authentic, MESSAGES));
        OK(aes_bitslice_run(cipher, CMAC_BATCH(ranges, MESSAGES), plain, NULL, DATA, tags, sizeof tags));
        OK(aes_bitslice_run(cipher, ARRAYS(AES_BITSLICE_CMAC_BATCH, &FORMS[f], .counter_bits = 0), plain, NULL, DATA, made, sizeof made));
        EQUAL(made, tags, sizeof tags);
        OK(aes_bitslice_run(cipher, ARRAYS(AES_BITSLICE_CMAC_VERIFY_BATCH, &FORMS[f], .tag = tags, .tag_len = 16), plain, NULL, DATA, authentic, MESSAGES));
        EQUAL(authentic, "\1\1\1\1", MESSAGES);
        OK(aes_bitslice_run(cipher, GCM_BATCH(messages, MESSAGES), plain, data, DATA, tags, sizeof tags));
    }
    /* Equally long ones with shared additional data. */
    for (size_t n = 0; n < MESSAGES; n++) {
        messages[n] = (aes_bitslice_gcm_message){nonces + 12 * n, 12, aad, 20, {25 * n, 20}};
    }
    memcpy(expected, plain, DATA);
    memcpy(data, plain, DATA);
    OK(aes_bitslice_run(cipher, GCM_BATCH(messages, MESSAGES), expected, expected, DATA, tags, sizeof tags));
    OK(aes_bitslice_run(cipher, ARRAYS(AES_BITSLICE_GCM_ENCRYPT_BATCH, &equal, .nonce = FIRST, .counter_bits = 64, .aad = aad, .aad_len = 20), data, data, DATA, made, sizeof made));
    EQUAL(data, expected, DATA);
    EQUAL(made, tags, sizeof tags);
    OK(aes_bitslice_run(cipher, ARRAYS(AES_BITSLICE_GCM_DECRYPT_BATCH, &equal, .nonce = nonces, .aad = aad, .aad_len = 20, .tag = tags, .tag_len = 16), data, data, DATA, authentic, MESSAGES));
    EQUAL(data, plain, DATA);

    const struct {
        const char *words;
        aes_bitslice_ranges ranges;
    } WRONG[] = {
        {"`integer_bytes` is 2: give 4 or 8", {.offsets = OFFSETS, .lengths = LENGTHS, .integer_bytes = 2}}, {"`lengths` is NULL", {.offsets = OFFSETS, .integer_bytes = 4}},
        {"`offsets` is NULL", {.lengths = LENGTHS, .integer_bytes = 4}}, {"`offsets` is not at a multiple of 4", {.offsets = (const uint8_t *)OFFSETS + 1, .lengths = LENGTHS, .integer_bytes = 4}},
        {"message 1 begins at byte 0", {.bytes = 9, .stride = 0}}, {"the data has 96", {.bytes = 20, .stride = 26}}, {"message 1 has a number", {.bytes = 1, .stride = UINT64_MAX}},
    };
    for (size_t n = 0; n < sizeof WRONG / sizeof *WRONG; n++) {
        REFUSED(AES_BITSLICE_INVALID, WRONG[n].words, aes_bitslice_run(cipher, ARRAYS(AES_BITSLICE_GCM_ENCRYPT_BATCH, &WRONG[n].ranges, .nonce = nonces), plain, output, 96, state.tags, 16 * MESSAGES));
    }
#define REFUSED_FIELDS(words, ...) REFUSED(AES_BITSLICE_INVALID, words, aes_bitslice_run(cipher, ARRAYS(AES_BITSLICE_GCM_ENCRYPT_BATCH, &equal, __VA_ARGS__), plain, output, 96, state.tags, 16 * MESSAGES))
    REFUSED_FIELDS("`nonce` is NULL", .counter_bits = 32);
    REFUSED_FIELDS("`nonce` is NULL", .nonce = NULL);
    REFUSED_FIELDS("it has 32 or 64", .nonce = FIRST, .counter_bits = 96);
    REFUSED_FIELDS("`aad` is NULL", .nonce = nonces, .aad_len = 20);
    REFUSED_FIELDS("additional data of message 1 ends at byte 20, and all additional data has 12 bytes", .nonce = nonces, .aad = aad, .aad_len = 12, .aad_arrays = &of_aad);
    REFUSED_FIELDS("`messages` and `ranges` have to be", .nonce = nonces, .messages = messages);
    REFUSED(AES_BITSLICE_INVALID, "`nonce_len` is 16", aes_bitslice_run(cipher, OP(AES_BITSLICE_GCM_ENCRYPT_BATCH, .arrays = &equal, .count = MESSAGES, .nonce = nonces, .nonce_len = 16), plain, output, 96, state.tags, 16 * MESSAGES));
    memset(nonces, 9, sizeof nonces);
    REFUSED_FIELDS("the same nonce", .nonce = nonces);
    aes_bitslice_cipher_free(cipher);
}

static void cmac_batch(void)
{
    /* SP 800-38B, appendix D.1, in no order, overlapping. */
    static const aes_bitslice_range RANGES[] = {{0, 64}, {0, 0}, {0, 40}, {0, 16}};
    static const char EXPECTED[] = "51f0bebf7e3b9d92fc49741779363cfebb1d6929e95937287fa37d129b756746"
                                   "dfa66747de9ae63030ca32611497c827070a16b46b4d4144f79bdd9dd04a287c";
    uint8_t message[64], tags[64], made[64], shorter[64], authentic[4];
    aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[0][0], 0);
    hex(PLAIN, message);
    hex(EXPECTED, tags);
    OK(aes_bitslice_run(cipher, CMAC_BATCH(RANGES, 4), message, NULL, 64, made, 64));
    EQUAL(made, tags, 64);
    OK(aes_bitslice_run(cipher, VERIFY_BATCH(RANGES, 4, tags, 16), message, NULL, 64, authentic, 4));
    EQUAL(authentic, "\1\1\1\1", 4);
    for (size_t n = 0; n < 4; n++) {
        memcpy(shorter + 12 * n, tags + 16 * n, 12);
    }
    OK(aes_bitslice_run(cipher, VERIFY_BATCH(RANGES, 4, shorter, 12), message, NULL, 64, authentic, 4));
    shorter[12] ^= 0x80;
    shorter[47] ^= 1;
    CHECK(aes_bitslice_run(cipher, VERIFY_BATCH(RANGES, 4, shorter, 12), message, NULL, 64, authentic, 4) == AES_BITSLICE_UNAUTHENTICATED);
    told(__LINE__, "tags that are changed", "2 of 4 messages, the first of them message 1");
    EQUAL(authentic, "\1\0\1\0", 4);
    CHECK(aes_bitslice_run(cipher, VERIFY_BATCH(RANGES + 1, 1, shorter + 12, 12), message, NULL, 64, authentic, 1) == AES_BITSLICE_UNAUTHENTICATED);
    told(__LINE__, "one tag that is changed", "1 of 1 message, the first");
    OK(aes_bitslice_run(cipher, CMAC_BATCH(RANGES + 1, 1), NULL, NULL, 0, made, 16));
    EQUAL(made, tags + 16, 16);
    OK(aes_bitslice_run(cipher, CMAC_BATCH(NULL, 0), NULL, NULL, 0, NULL, 0));
    OK(aes_bitslice_run(cipher, VERIFY_BATCH(NULL, 0, NULL, 16), NULL, NULL, 0, NULL, 0));

    REFUSED(AES_BITSLICE_INVALID, "overlaps the data", aes_bitslice_run(cipher, CMAC_BATCH(RANGES, 4), state.output, NULL, 64, state.output + 63, 64));
    REFUSED(AES_BITSLICE_INVALID, "the data has 63", aes_bitslice_run(cipher, CMAC_BATCH(RANGES, 4), message, NULL, 63, state.tags, 64));
    REFUSED(AES_BITSLICE_INVALID, "more bytes than memory", aes_bitslice_run(cipher, CMAC_BATCH(RANGES, SIZE_MAX / 16), message, NULL, 64, state.tags, 16 * SIZE_MAX / 16));
    REFUSED(AES_BITSLICE_INVALID, "overlaps the data", aes_bitslice_run(cipher, VERIFY_BATCH(RANGES, 4, tags, 16), state.output, NULL, 64, state.output, 4));
    REFUSED(AES_BITSLICE_INVALID, "the data has 63", aes_bitslice_run(cipher, VERIFY_BATCH(RANGES, 4, tags, 16), message, NULL, 63, state.authentic, 4));
    for (size_t len = 0; len <= 16; len++) {
        if (len != 4 && len != 8 && len < 12) {
            REFUSED(AES_BITSLICE_INVALID, "tag", aes_bitslice_run(cipher, VERIFY_BATCH(RANGES, 3, tags, len), message, NULL, 64, state.authentic, 3));
        }
    }
    REFUSED(AES_BITSLICE_INVALID, "tag", aes_bitslice_run(cipher, VERIFY_BATCH(RANGES, 3, tags, 17), message, NULL, 64, state.authentic, 3));
    const aes_bitslice_range beyond = {1, UINT64_MAX};
    REFUSED(AES_BITSLICE_INVALID, "message 0 ends past byte 2^64", aes_bitslice_run(cipher, CMAC_BATCH(&beyond, 1), message, NULL, 64, state.tags, 16));
    REFUSED(AES_BITSLICE_INVALID, "message 0 ends past byte 2^64", aes_bitslice_run(cipher, VERIFY_BATCH(&beyond, 1, tags, 16), message, NULL, 64, state.authentic, 1));
    aes_bitslice_cipher_free(cipher);
}

static void tags(void)
{
    uint8_t nonce[128], message[64], tag[16], made[16];
    /* NIST's CAVP, gcmEncryptExtIV128: no plaintext, a nonce of 128 bytes. */
    aes_bitslice_cipher *cipher = cipher_of("5c784fe519ccd294e99b5c4f1127db2e", 0);
    CHECK(hex("959345fa5b2e0e76232b2f7df50752921a38be3a25badf6b576820d93a0d4e428f2ee2899495ca492142ba4e2c144f9f92a0d4f17fa9baed7f495b2000fbcbe37f"
              "5b8873ccd16f7d14fef90a7cff7ea24eb7b543f780ef8453095deaea842a95450340d5944c3255cbe020ece99cb7f3ef03d1bb02515d425561ada524b70ab6",
              nonce) == 128);
    CHECK(hex("46a661feb4a1ad607dcf752e7f3f089c3c33208f", message) == 20);
    hex("a7d4f4b1fca67d7f0e6367b58c273610", tag);
    OK(aes_bitslice_run(cipher, GMAC(nonce, 128), message, NULL, 20, made, 16));
    EQUAL(made, tag, 16);
    OK(aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonce, 128, message, 20), NULL, NULL, 0, made, 16));
    EQUAL(made, tag, 16);
    OK(aes_bitslice_run(cipher, GMAC(nonce, 12), NULL, NULL, 0, made, 16));
    REFUSED(AES_BITSLICE_INVALID, "a nonce has 12 bytes for GCM", aes_bitslice_run(cipher, GMAC(nonce, 0), message, NULL, 20, state.tag, 16));
    REFUSED(AES_BITSLICE_INVALID, "overlaps the data", aes_bitslice_run(cipher, GMAC(nonce, 12), state.output, NULL, 64, state.output + 63, 16));

    for (size_t len = 0; len <= 20; len++) {
        CHECK(aes_bitslice_tag_verify(tag, tag, len) == (TAKES(len, 0) ? AES_BITSLICE_OK : AES_BITSLICE_INVALID));
        CHECK(aes_bitslice_short_tag_verify(tag, tag, len) == (TAKES(len, 1) ? AES_BITSLICE_OK : AES_BITSLICE_INVALID));
    }
    memcpy(made, tag, 16);
    made[11] ^= 0x80;
    REFUSED(AES_BITSLICE_UNAUTHENTICATED, "the tags differ", aes_bitslice_tag_verify(tag, made, 16));
    REFUSED(AES_BITSLICE_UNAUTHENTICATED, "the tags differ", aes_bitslice_tag_verify(tag, made, 12));
    OK(aes_bitslice_short_tag_verify(tag, made, 8));
    made[7] ^= 0x80;
    REFUSED(AES_BITSLICE_UNAUTHENTICATED, "the tags differ", aes_bitslice_short_tag_verify(tag, made, 8));
    IS_NULL("received", aes_bitslice_short_tag_verify(tag, NULL, 8));
    IS_NULL("computed", aes_bitslice_tag_verify(NULL, made, 16));
    IS_NULL("received", aes_bitslice_tag_verify(tag, NULL, 16));
    aes_bitslice_cipher_free(cipher);

    /* SP 800-38B, appendix D. */
    static const struct {
        int key;
        size_t len;
        const char *tag;
    } CMAC[] = {
        {0, 0, "bb1d6929e95937287fa37d129b756746"}, {0, 16, "070a16b46b4d4144f79bdd9dd04a287c"},
        {0, 40, "dfa66747de9ae63030ca32611497c827"}, {0, 64, "51f0bebf7e3b9d92fc49741779363cfe"},
        {2, 0, "028962f61b7bf89efc6b551f4667d983"}, {2, 64, "e1992190549f6ed5696a2c056c315410"},
    };
    hex(PLAIN, message);
    for (size_t i = 0; i < sizeof CMAC / sizeof *CMAC; i++) {
        cipher = cipher_of(SP_800_38A[CMAC[i].key][0], 0);
        hex(CMAC[i].tag, tag);
        OK(aes_bitslice_run(cipher, OP(AES_BITSLICE_CMAC), CMAC[i].len == 0 ? NULL : message, NULL, CMAC[i].len, made, 16));
        EQUAL(made, tag, 16);
        aes_bitslice_cipher_free(cipher);
    }
}

/* Jobs and equal shares under many keys give the same as a cipher for each key. */
static void many_keys(void)
{
    enum { KEYS = 3, EACH = 32, LEN = 100 };
    static const int KINDS[] = {AES_BITSLICE_CTR, AES_BITSLICE_ECB_ENCRYPT, AES_BITSLICE_KEYSTREAM, AES_BITSLICE_ECB_DECRYPT};
    uint8_t plain[LEN], expected[LEN], data[LEN], counter[16], keys[KEYS * 32], *const output = state.output;
    hex("fffffffffffffffffffffffffffffffe", counter);
    for (size_t i = 0; i < sizeof keys; i++) {
        keys[i] = (uint8_t)(7 * i + 1);
    }
    memset(plain, 7, LEN);
    for (size_t len = 16; len <= 32; len += 8) {
        for (int m = 0; m < 4; m++) {
            const int is_ecb = m % 2;
            /* Three jobs, with room between them, one of them empty; and equal shares. */
            aes_bitslice_job jobs[KEYS + 1] = {{keys, len, {0}, {1, 32}}, {keys, len, {0}, {33, 0}}, {keys + len, len, {1}, {40, 16}}, {keys + 2 * len, len, {2}, {57, is_ecb ? 16 : 43}}};
            const void *const input = m == 2 ? NULL : plain;
            for (int equal = 0; equal < 2; equal++) {
                memcpy(expected, plain, LEN);
                for (size_t k = 0; k < KEYS; k++) {
                    const aes_bitslice_job job = jobs[k == 0 ? 0 : k + 1];
                    const size_t at = equal ? k * EACH : job.range.offset, bytes = equal ? EACH : job.range.bytes;
                    const uint8_t *const first = equal ? counter : job.counter;
                    aes_bitslice_key *key;
                    aes_bitslice_cipher *cipher;
                    OK(aes_bitslice_key_new(keys + k * len, len, &key));
                    OK(aes_bitslice_cipher_new(engine, key, &cipher));
                    switch (m) {
                    case 0: OK(aes_bitslice_run(cipher, CTR(first, 0), plain + at, expected + at, bytes, NULL, 0)); break;
                    case 1: OK(aes_bitslice_run(cipher, OP(AES_BITSLICE_ECB_ENCRYPT), plain + at, expected + at, bytes, NULL, 0)); break;
                    case 3: OK(aes_bitslice_run(cipher, OP(AES_BITSLICE_ECB_DECRYPT), plain + at, expected + at, bytes, NULL, 0)); break;
                    default: OK(aes_bitslice_run(cipher, KEYSTREAM(first, 0), NULL, expected + at, bytes, NULL, 0));
                    }
                    aes_bitslice_key_free(key);
                    aes_bitslice_cipher_free(cipher);
                }
                /* To another place, where bytes between jobs stay as they are; and in place. */
                for (int in_place = 0; in_place < 2; in_place++) {
                    const void *const from = m != 2 && in_place ? data : input;
                    memcpy(data, plain, LEN);
                    if (equal) {
                        OK(aes_bitslice_run_many_keys(engine, EACH_KEY(KINDS[m], keys, len, KEYS, is_ecb ? NULL : counter, EACH), from, data, KEYS * EACH));
                    } else {
                        OK(aes_bitslice_run_many_keys(engine, JOBS(KINDS[m], jobs, KEYS + 1), from, data, LEN));
                    }
                    EQUAL(data, expected, LEN);
                }
            }
        }
    }
    OK(aes_bitslice_run_many_keys(engine, JOBS(AES_BITSLICE_CTR, NULL, 0), NULL, NULL, 0));
    OK(aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_KEYSTREAM, NULL, 16, 0, counter, 16), NULL, NULL, 0));

    const aes_bitslice_job good = {keys, 16, {0}, {0, 32}};
    const struct {
        const char *words;
        aes_bitslice_job second;
    } WRONG[] = {
        {"job 1: `key` is NULL", {NULL, 16, {0}, {32, 32}}}, {"job 1: `key` has more bytes", {keys, SIZE_MAX, {0}, {32, 32}}},
        {"a call for each length", {keys, 24, {0}, {32, 32}}}, {"do not overlap", {keys, 16, {0}, {31, 16}}},
        {"job 1 ends past byte 2^64", {keys, 16, {0}, {UINT64_MAX, 16}}}, {"the data has 64", {keys, 16, {0}, {32, 48}}},
        {"whole blocks", {keys, 16, {0}, {32, 31}}},
    };
    for (size_t n = 0; n < sizeof WRONG / sizeof *WRONG; n++) {
        const aes_bitslice_job wrong[2] = {good, WRONG[n].second};
        REFUSED(AES_BITSLICE_INVALID, WRONG[n].words, aes_bitslice_run_many_keys(engine, JOBS(AES_BITSLICE_ECB_ENCRYPT, wrong, 2), plain, output, 64));
    }
    const aes_bitslice_job odd = {keys, 17, {0}, {0, 32}};
    REFUSED(AES_BITSLICE_INVALID, "17", aes_bitslice_run_many_keys(engine, JOBS(AES_BITSLICE_CTR, &odd, 1), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "give AES_BITSLICE_CTR, _KEYSTREAM", aes_bitslice_run_many_keys(engine, JOBS(AES_BITSLICE_CBC_DECRYPT, &good, 1), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "keystream reads nothing", aes_bitslice_run_many_keys(engine, JOBS(AES_BITSLICE_KEYSTREAM, &good, 1), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "more bytes than memory", aes_bitslice_run_many_keys(engine, JOBS(AES_BITSLICE_CTR, &good, SIZE_MAX / 16), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "overlap", aes_bitslice_run_many_keys(engine, JOBS(AES_BITSLICE_CTR, &good, 1), output + 1, output, 64));
    IS_NULL("many_keys", aes_bitslice_run_many_keys(engine, NULL, plain, output, 64));
    const aes_bitslice_many_keys both = {.kind = AES_BITSLICE_CTR, .count = 1, .jobs = &good, .keys = keys, .key_len = 16, .counter = counter, .bytes_per_key = 64};
    REFUSED(AES_BITSLICE_INVALID, "give one of them", aes_bitslice_run_many_keys(engine, &both, plain, output, 64));
    IS_NULL("engine", aes_bitslice_run_many_keys(NULL, JOBS(AES_BITSLICE_CTR, &good, 1), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "`kind` is 0", aes_bitslice_run_many_keys(engine, JOBS(0, &good, 1), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "both NULL: give one of them", aes_bitslice_run_many_keys(engine, JOBS(AES_BITSLICE_CTR, NULL, 1), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "both NULL: give one of them", aes_bitslice_run_many_keys(engine, JOBS(AES_BITSLICE_CTR, NULL, 0), plain, output, 64));
    IS_NULL("input", aes_bitslice_run_many_keys(engine, JOBS(AES_BITSLICE_CTR, &good, 1), NULL, output, 64));
    IS_NULL("output", aes_bitslice_run_many_keys(engine, JOBS(AES_BITSLICE_CTR, &good, 1), plain, NULL, 64));

    REFUSED(AES_BITSLICE_INVALID, "give AES_BITSLICE_CTR, _KEYSTREAM", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_GCM_ENCRYPT, keys, 16, 2, counter, 32), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "keystream reads nothing", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_KEYSTREAM, keys, 16, 2, counter, 32), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "ecb-encrypt has no counter", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_ECB_ENCRYPT, keys, 16, 2, counter, 32), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "ecb-decrypt has no counter", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_ECB_DECRYPT, keys, 16, 2, counter, 32), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "15", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_CTR, keys, 15, 2, counter, 32), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "a multiple of 16", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_CTR, keys, 16, 2, counter, 31), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "a multiple of 16", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_CTR, keys, 16, 2, counter, 0), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "the data has 64", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_CTR, keys, 16, 3, counter, 32), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "`keys` has more bytes", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_CTR, keys, 16, SIZE_MAX / 8, counter, 32), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "`keys` overlaps the data", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_CTR, state.before + 1, 16, 2, counter, 32), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "overlap", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_CTR, keys, 16, 2, counter, 32), output + 1, output, 64));
    IS_NULL("engine", aes_bitslice_run_many_keys(NULL, EACH_KEY(AES_BITSLICE_CTR, keys, 16, 2, counter, 32), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "`kind` is 0", aes_bitslice_run_many_keys(engine, EACH_KEY(0, keys, 16, 2, counter, 32), plain, output, 64));
    REFUSED(AES_BITSLICE_INVALID, "both NULL: give one of them", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_CTR, NULL, 16, 2, counter, 32), plain, output, 64));
    IS_NULL("counter", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_CTR, keys, 16, 2, NULL, 32), plain, output, 64));
    IS_NULL("input", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_CTR, keys, 16, 2, counter, 32), NULL, output, 64));
    IS_NULL("output", aes_bitslice_run_many_keys(engine, EACH_KEY(AES_BITSLICE_CTR, keys, 16, 2, counter, 32), plain, NULL, 64));
}

/* Messages of GCM, each under its own one of three keys, are as those of a cipher for each key. */
static void under_keys(void)
{
    enum { KEYS = 3, MESSAGES = 5 };
    static const uint32_t NUMBERS[MESSAGES] = {1, 0, 1, 2, 0}, HIGH[MESSAGES] = {1, 0, 1, 3, 0};
    static const uint64_t OFFSETS[MESSAGES] = {0, 3, 40, 40, 57}, LENGTHS[MESSAGES] = {3, 32, 0, 17, 30};
    static const uint64_t AAD_OFFSETS[MESSAGES] = {7, 0, 20, 3, 0}, AAD_LENGTHS[MESSAGES] = {5, 20, 0, 9, 1};
    const aes_bitslice_ranges places = {.offsets = OFFSETS, .lengths = LENGTHS, .integer_bytes = 8};
    const aes_bitslice_ranges of_aad = {.offsets = AAD_OFFSETS, .lengths = AAD_LENGTHS, .integer_bytes = 8};
    uint8_t keys[KEYS * 32], each[MESSAGES * 32], nonces[12 * MESSAGES], aad[20], plain[DATA], expected[DATA], data[DATA];
    uint8_t tags[16 * MESSAGES], made[16 * MESSAGES], shorter[8 * MESSAGES], authentic[MESSAGES], *const output = state.output;
    aes_bitslice_gcm_message messages[MESSAGES];
    for (size_t len = 16; len <= 32; len += 8) {
        OK(aes_bitslice_random(keys, sizeof keys));
        OK(aes_bitslice_random(nonces, sizeof nonces));
        OK(aes_bitslice_random(aad, sizeof aad));
        OK(aes_bitslice_random(plain, sizeof plain));
        memcpy(nonces + 12, nonces, 12); /* under another key */
        memcpy(expected, plain, DATA);
        for (size_t n = 0; n < MESSAGES; n++) {
            aes_bitslice_key *key;
            aes_bitslice_cipher *cipher;
            memcpy(each + n * len, keys + NUMBERS[n] * len, len);
            OK(aes_bitslice_key_new(each + n * len, len, &key));
            OK(aes_bitslice_cipher_new(engine, key, &cipher));
            messages[n] = (aes_bitslice_gcm_message){nonces + 12 * n, 12, aad + AAD_OFFSETS[n], AAD_LENGTHS[n], {OFFSETS[n], LENGTHS[n]}};
            OK(aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, nonces + 12 * n, 12, aad + AAD_OFFSETS[n], AAD_LENGTHS[n]), plain + OFFSETS[n],
                                expected + OFFSETS[n], LENGTHS[n], tags + 16 * n, 16));
            memcpy(shorter + 8 * n, tags + 16 * n, 8);
            aes_bitslice_key_free(key);
            aes_bitslice_cipher_free(cipher);
        }
        const aes_bitslice_operation FORMS[] = {
            {.messages = messages, .count = MESSAGES},
            {.arrays = &places, .count = MESSAGES, .nonce = nonces, .nonce_len = 12, .aad = aad, .aad_len = 20, .aad_arrays = &of_aad},
        };
        const aes_bitslice_keys GIVEN[] = {{keys, len, KEYS, NUMBERS}, {each, len, MESSAGES, NULL}};
        for (int form = 0; form < 4; form++) {
            const aes_bitslice_keys *const given = &GIVEN[form % 2];
            aes_bitslice_operation operation = FORMS[form / 2];
            /* To another place, where bytes between messages stay as they are; and in place. */
            for (int in_place = 0; in_place < 2; in_place++) {
                operation.kind = AES_BITSLICE_GCM_ENCRYPT_BATCH;
                memcpy(data, plain, DATA);
                OK(aes_bitslice_run_under_keys(engine, given, &operation, in_place ? data : plain, data, DATA, made, sizeof made));
                EQUAL(data, expected, DATA);
                EQUAL(made, tags, sizeof tags);
                operation.kind = AES_BITSLICE_GCM_DECRYPT_BATCH;
                operation.tag = tags;
                operation.tag_len = 16;
                OK(aes_bitslice_run_under_keys(engine, given, &operation, in_place ? data : expected, data, DATA, authentic, MESSAGES));
                EQUAL(data, plain, DATA);
                EQUAL(authentic, "\1\1\1\1\1", MESSAGES);
            }
            operation.tag = shorter;
            operation.tag_len = 8;
            operation.short_tags = 1;
            shorter[8] ^= 1; /* it is reported and cleared, alone */
            memcpy(data, expected, DATA);
            CHECK(aes_bitslice_run_under_keys(engine, given, &operation, expected, data, DATA, authentic, MESSAGES) == AES_BITSLICE_UNAUTHENTICATED);
            told(__LINE__, "a tag that is changed", "1 of 5 messages, the first of them message 1");
            shorter[8] ^= 1;
            EQUAL(authentic, "\1\0\1\1\1", MESSAGES);
            EQUAL(data, plain, 3);
            EQUAL(data + 3, (const uint8_t[32]){0}, 32);
            EQUAL(data + 35, plain + 35, DATA - 35);
            operation.short_tags = 0;
            REFUSED(AES_BITSLICE_INVALID, "short tags are asked for, not 8", aes_bitslice_run_under_keys(engine, given, &operation, expected, output, 96, state.authentic, 4));

            operation.kind = AES_BITSLICE_GCM_ENCRYPT_BATCH;
#define SEAL_UNDER(...) aes_bitslice_run_under_keys(engine, &(const aes_bitslice_keys){__VA_ARGS__}, &operation, plain, output, 96, state.tags, sizeof tags)
            REFUSED(AES_BITSLICE_INVALID, "message 3 has the key number 3", SEAL_UNDER(keys, len, KEYS, HIGH));
            REFUSED(AES_BITSLICE_INVALID, "3 keys for 5 messages", SEAL_UNDER(keys, len, KEYS, NULL));
            REFUSED(AES_BITSLICE_INVALID, "not 17", SEAL_UNDER(keys, 17, KEYS, NUMBERS));
            REFUSED(AES_BITSLICE_INVALID, "`keys` has more bytes", SEAL_UNDER(keys, len, SIZE_MAX / 8, NUMBERS));
            REFUSED(AES_BITSLICE_INVALID, "`keys` overlaps the data", SEAL_UNDER(output + 90, len, KEYS, NUMBERS));
            IS_NULL("keys", SEAL_UNDER(NULL, len, KEYS, NUMBERS));
            REFUSED(AES_BITSLICE_INVALID, "`numbers` is not at a multiple of 4", SEAL_UNDER(keys, len, KEYS, (const uint32_t *)((const uint8_t *)NUMBERS + 1)));
            REFUSED(AES_BITSLICE_INVALID, "overlap", aes_bitslice_run_under_keys(engine, given, &operation, output + 1, output, 95, state.tags, sizeof tags));
            REFUSED(AES_BITSLICE_INVALID, "the result has 80 bytes", aes_bitslice_run_under_keys(engine, given, &operation, plain, output, 96, state.tags, 64));
            REFUSED(AES_BITSLICE_INVALID, "the data has 86", aes_bitslice_run_under_keys(engine, given, &operation, plain, output, 86, made, sizeof made));
            IS_NULL("engine", aes_bitslice_run_under_keys(NULL, given, &operation, plain, output, 96, made, sizeof made));
            IS_NULL("keys", aes_bitslice_run_under_keys(engine, NULL, &operation, plain, output, 96, made, sizeof made));
            IS_NULL("operation", aes_bitslice_run_under_keys(engine, given, NULL, plain, output, 96, made, sizeof made));
            IS_NULL("input", aes_bitslice_run_under_keys(engine, given, &operation, NULL, output, 96, made, sizeof made));
            IS_NULL("output", aes_bitslice_run_under_keys(engine, given, &operation, plain, NULL, 96, made, sizeof made));
            IS_NULL("result", aes_bitslice_run_under_keys(engine, given, &operation, plain, output, 96, NULL, sizeof made));
            REFUSED(AES_BITSLICE_INVALID, "`kind` is 5: give AES_BITSLICE_GCM_ENCRYPT_BATCH or", aes_bitslice_run_under_keys(engine, given, CTR(nonces, 0), plain, output, 96, NULL, 0));

            /* On a stream, as far as it needs no GPU. */
            aes_bitslice_pending **const pending = (aes_bitslice_pending **)&state.handle;
#define ON_STREAM(engine, keys, operation, in, out, pending) aes_bitslice_run_under_keys_on_stream(engine, keys, operation, in, out, 96, NULL, pending)
            if (strstr(aes_bitslice_engine_description(engine), "(CUDA ") == NULL) {
                REFUSED(AES_BITSLICE_UNSUPPORTED, "needs a CUDA engine", ON_STREAM(engine, given, &operation, output, output, pending));
            }
            const aes_bitslice_keys none = {NULL, len, KEYS, NUMBERS}, high = {keys, len, KEYS, HIGH};
            IS_NULL("engine", ON_STREAM(NULL, given, &operation, output, output, pending));
            IS_NULL("keys", ON_STREAM(engine, NULL, &operation, output, output, pending));
            IS_NULL("keys", ON_STREAM(engine, &none, &operation, output, output, pending));
            IS_NULL("operation", ON_STREAM(engine, given, NULL, output, output, pending));
            IS_NULL("input", ON_STREAM(engine, given, &operation, NULL, output, pending));
            IS_NULL("output", ON_STREAM(engine, given, &operation, output, NULL, pending));
            IS_NULL("pending", ON_STREAM(engine, given, &operation, output, output, NULL));
            REFUSED(AES_BITSLICE_INVALID, "overlap", ON_STREAM(engine, given, &operation, output, output + 16, pending));
            REFUSED(AES_BITSLICE_INVALID, "message 3 has the key number 3", ON_STREAM(engine, &high, &operation, output, output, pending));
            REFUSED(AES_BITSLICE_INVALID, "`kind` is 5: give AES_BITSLICE_GCM_ENCRYPT_BATCH or", ON_STREAM(engine, given, CTR(nonces, 0), output, output, pending));

            /* The same nonce under one key, which only numbers tell. */
            uint8_t third[12];
            memcpy(third, nonces + 24, 12);
            memcpy(nonces + 24, nonces, 12);
            if (given->numbers != NULL) {
                REFUSED(AES_BITSLICE_INVALID, "messages 0 and 2 have the same key number and", aes_bitslice_run_under_keys(engine, given, &operation, plain, output, 96, made, sizeof made));
                REFUSED(AES_BITSLICE_INVALID, "messages 0 and 2 have the same key number and", ON_STREAM(engine, given, &operation, output, output, pending));
            }
            memcpy(nonces + 24, third, 12);
        }
        messages[4].nonce_len = 13;
        REFUSED(AES_BITSLICE_INVALID, "the nonce of message 4 has 13 bytes", aes_bitslice_run_under_keys(engine, GIVEN, GCM_BATCH(messages, MESSAGES), plain, output, 96, state.tags, 16 * MESSAGES));
    }
    const aes_bitslice_keys none = {NULL, 16, 0, NULL};
    OK(aes_bitslice_run_under_keys(engine, &none, GCM_BATCH(NULL, 0), NULL, NULL, 0, NULL, 0));
    OK(aes_bitslice_run_under_keys(engine, &none, OPEN_BATCH(NULL, 0, NULL, 16), NULL, NULL, 0, NULL, 0));
}

/* Layouts need a GPU; errors that are found before any work need none. What needs one is in on_stream.cu, and on the stand-in for the driver. */
static void layouts(void)
{
    static const uint32_t PLACES[2] = {0, 32}, BYTES[2] = {32, 16};
    const aes_bitslice_ranges places = {.offsets = PLACES, .lengths = BYTES, .integer_bytes = 4}, odd = {.offsets = PLACES, .lengths = BYTES, .integer_bytes = 3};
    const aes_bitslice_range range = {0, 32};
    aes_bitslice_layout **const layout = (aes_bitslice_layout **)&state.handle;
    static const int KINDS[] = {AES_BITSLICE_CTR, AES_BITSLICE_KEYSTREAM, AES_BITSLICE_ECB_ENCRYPT, AES_BITSLICE_ECB_DECRYPT, AES_BITSLICE_GCM_ENCRYPT_BATCH, AES_BITSLICE_GCM_DECRYPT_BATCH};
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        const int is_gcm = k > 3;
        const aes_bitslice_operation *right = OP(KINDS[k], .arrays = &places, .count = 2);
        if (strstr(aes_bitslice_engine_description(engine), "(CUDA ") == NULL) {
            REFUSED(AES_BITSLICE_UNSUPPORTED, "needs a CUDA engine", aes_bitslice_layout_new(engine, right, 16, layout));
        }
        IS_NULL("engine", aes_bitslice_layout_new(NULL, right, 16, layout));
        IS_NULL("operation", aes_bitslice_layout_new(engine, NULL, 16, layout));
        IS_NULL("layout", aes_bitslice_layout_new(engine, right, 16, NULL));
        IS_NULL("arrays", aes_bitslice_layout_new(engine, OP(KINDS[k], .count = 2), 16, layout));
        REFUSED(AES_BITSLICE_INVALID, "not 17", aes_bitslice_layout_new(engine, right, 17, layout));
        REFUSED(AES_BITSLICE_INVALID, "`integer_bytes` is 3", aes_bitslice_layout_new(engine, OP(KINDS[k], .arrays = &odd, .count = 2), 16, layout));
        REFUSED(AES_BITSLICE_INVALID, "`messages` and `ranges` have to be", aes_bitslice_layout_new(engine, OP(KINDS[k], .arrays = &places, .count = 2, .ranges = &range), 16, layout));
        if (is_gcm) {
            REFUSED(AES_BITSLICE_INVALID, "`integer_bytes` is 3", aes_bitslice_layout_new(engine, OP(KINDS[k], .arrays = &places, .aad_arrays = &odd, .count = 2), 16, layout));
        }
        IS_NULL("layout", aes_bitslice_run_layout_on_stream(NULL, state.before, right, state.output, state.output, 48, NULL, state.tags));
    }
    REFUSED(AES_BITSLICE_INVALID, "`kind` is 0: give AES_BITSLICE_CTR, _KEYSTREAM", aes_bitslice_layout_new(engine, OP(0, .arrays = &places, .count = 2), 16, layout));
    REFUSED(AES_BITSLICE_INVALID, "`kind` is 9: give AES_BITSLICE_CTR, _KEYSTREAM", aes_bitslice_layout_new(engine, OP(AES_BITSLICE_GCM_ENCRYPT, .arrays = &places, .count = 2), 16, layout));
    aes_bitslice_layout_free(NULL);
}

/* What a call of each operation takes beside its data, and the bytes of its result. */
struct sort {
    aes_bitslice_operation operation;
    int reads, writes;
    size_t result;
};

/* A call of it, on a stream or in host memory. */
static int put(const struct sort *sort, int on_stream, const aes_bitslice_cipher *cipher, const aes_bitslice_operation *operation, const void *input,
               void *output, size_t len)
{
    return on_stream ? aes_bitslice_run_on_stream(cipher, operation, input, output, len, NULL, (aes_bitslice_pending **)&state.handle)
                     : aes_bitslice_run(cipher, operation, input, output, len, &state.tags, sort->result);
}

/* Each call makes a nonce, with which the message is the one of GCM. */
static void random_nonce(void)
{
    static const uint8_t plain[] = "a message";
    uint8_t data[2][9], made[2][28], expected[9], tag[16];
    aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[2][0], 0);
    const aes_bitslice_operation *const operation = OP(AES_BITSLICE_GCM_ENCRYPT_WITH_RANDOM_NONCE, .aad = "header", .aad_len = 6);
    for (int n = 0; n < 2; n++) {
        OK(aes_bitslice_run(cipher, operation, plain, data[n], 9, made[n], 28));
        OK(aes_bitslice_run(cipher, SEAL(AES_BITSLICE_GCM_ENCRYPT, made[n], 12, "header", 6), plain, expected, 9, tag, 16));
        EQUAL(data[n], expected, 9);
        EQUAL(made[n] + 12, tag, 16);
    }
    CHECK(memcmp(made[0], made[1], 12) != 0);
    aes_bitslice_cipher_free(cipher);
}

/* C2SP, XAES-256-GCM: all bytes of the key, additional data, ciphertext and tag. */
static void xaes(void)
{
    static const struct {
        uint8_t key;
        const char *aad, *sealed;
    } CASES[] = {
        {1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"},
        {3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"},
    };
    static const uint8_t nonce[] = "ABCDEFGHIJKLMNOPQRSTUVWX", plain[] = "XAES-256-GCM";
    uint8_t expected[28], data[12], made[16];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char key[65] = "";
        for (int n = 0; n < 32; n++) {
            snprintf(key + 2 * n, 3, "%02x", CASES[i].key);
        }
        const size_t aad_len = strlen(CASES[i].aad);
        aes_bitslice_cipher *cipher = cipher_of(key, 0);
        hex(CASES[i].sealed, expected);
        OK(aes_bitslice_run(cipher, SEAL(AES_BITSLICE_XAES_ENCRYPT, nonce, 24, CASES[i].aad, aad_len), plain, data, 12, made, 16));
        EQUAL(data, expected, 12);
        EQUAL(made, expected + 12, 16);
        OK(aes_bitslice_run(cipher, OPEN(AES_BITSLICE_XAES_DECRYPT, nonce, 24, CASES[i].aad, aad_len, made, 16), data, data, 12, NULL, 0));
        EQUAL(data, plain, 12);
        made[3] ^= 4;
        CHECK(aes_bitslice_run(cipher, OPEN(AES_BITSLICE_XAES_DECRYPT, nonce, 24, CASES[i].aad, aad_len, made, 16), expected, data, 12, NULL, 0) == AES_BITSLICE_UNAUTHENTICATED);
        EQUAL(data, (const uint8_t[12]){0}, 12);
        REFUSED(AES_BITSLICE_INVALID, "24 bytes", aes_bitslice_run(cipher, SEAL(AES_BITSLICE_XAES_ENCRYPT, nonce, 12, NULL, 0), plain, state.output, 12, state.tag, 16));
        aes_bitslice_cipher_free(cipher);
    }
    aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[0][0], 0);
    REFUSED(AES_BITSLICE_INVALID, "256 bits", aes_bitslice_run(cipher, SEAL(AES_BITSLICE_XAES_ENCRYPT, nonce, 24, NULL, 0), plain, state.output, 12, state.tag, 16));
    aes_bitslice_cipher_free(cipher);
}

/* Whatever is missing or too much in a call of any operation is refused by its name. */
static void refusals(void)
{
#define FIELD(name) {#name, offsetof(aes_bitslice_operation, name)}
    static const struct {
        const char *name;
        size_t at;
    } FIELDS[] = {FIELD(counter), FIELD(iv), FIELD(first_unit), FIELD(nonce), FIELD(aad), FIELD(tag), FIELD(messages), FIELD(ranges)};
    static const uint8_t block[64], *const null = NULL;
    const aes_bitslice_gcm_message message = {block, 12, block, 16, {0, 64}};
    const struct sort SORTS[] = {
        {*OP(AES_BITSLICE_ECB_ENCRYPT), 1, 1, 0}, {*OP(AES_BITSLICE_ECB_DECRYPT), 1, 1, 0},
        {*CBC(AES_BITSLICE_CBC_ENCRYPT, block), 1, 1, 0}, {*CBC(AES_BITSLICE_CBC_DECRYPT, block), 1, 1, 0},
        {*CTR(block, 0), 1, 1, 0}, {*KEYSTREAM(block, 0), 0, 1, 0},
        {*XTS(AES_BITSLICE_XTS_ENCRYPT, 16, block), 1, 1, 0}, {*XTS(AES_BITSLICE_XTS_DECRYPT, 16, block), 1, 1, 0},
        {*SEAL(AES_BITSLICE_GCM_ENCRYPT, block, 12, block, 16), 1, 1, 16},
        {*OPEN(AES_BITSLICE_GCM_DECRYPT, block, 12, block, 16, block, 16), 1, 1, 0},
        {*PART(AES_BITSLICE_GCM_ENCRYPT_PART, block, 12, 16), 1, 1, sizeof(aes_bitslice_part)},
        {*PART(AES_BITSLICE_GCM_DECRYPT_PART, block, 12, 16), 1, 1, sizeof(aes_bitslice_part)},
        {*SEAL(AES_BITSLICE_GCM_SIV_ENCRYPT, block, 12, block, 16), 1, 1, 16},
        {*OPEN(AES_BITSLICE_GCM_SIV_DECRYPT, block, 12, block, 16, block, 16), 1, 1, 0},
        {*GMAC(block, 12), 1, 0, 16}, {*OP(AES_BITSLICE_CMAC), 1, 0, 16},
        {*GCM_BATCH(&message, 1), 1, 1, 16}, {*OPEN_BATCH(&message, 1, block, 16), 1, 1, 1},
        {*CMAC_BATCH(&message.range, 1), 1, 0, 16}, {*VERIFY_BATCH(&message.range, 1, block, 16), 1, 0, 1},
        {*SEAL(AES_BITSLICE_XAES_ENCRYPT, block, 24, block, 16), 1, 1, 16},
        {*OPEN(AES_BITSLICE_XAES_DECRYPT, block, 24, block, 16, block, 16), 1, 1, 0}, {*OP(AES_BITSLICE_PRG), 1, 1, 0},
        {*OP(AES_BITSLICE_GCM_ENCRYPT_WITH_RANDOM_NONCE, .aad = block, .aad_len = 16), 1, 1, 28},
    };
    const int has_streams = strstr(aes_bitslice_engine_description(engine), "(CUDA ") != NULL;
    uint8_t *const output = state.output;
    aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[2][0], 0);
    for (size_t n = 0; n < sizeof SORTS / sizeof *SORTS; n++) {
        const struct sort *const sort = &SORTS[n];
        const aes_bitslice_operation *const operation = &sort->operation;
        const void *const in = sort->reads ? block : NULL;
        void *const out = sort->writes ? output : NULL;
        CHECK(operation->kind == (int)n + 1);
        for (int on_stream = 0; on_stream < 2; on_stream++) {
            IS_NULL("cipher", put(sort, on_stream, NULL, operation, in, out, 64));
            IS_NULL("operation", put(sort, on_stream, cipher, NULL, in, out, 64));
            for (size_t f = 0; f < sizeof FIELDS / sizeof *FIELDS; f++) {
                aes_bitslice_operation changed = *operation;
                void *const field = (uint8_t *)&changed + FIELDS[f].at;
                if (memcmp(field, &null, sizeof null) != 0) {
                    char words[30];
                    memcpy(field, &null, sizeof null);
                    snprintf(words, sizeof words, "`%s` is NULL", FIELDS[f].name);
                    REFUSED(AES_BITSLICE_INVALID, words, put(sort, on_stream, cipher, &changed, in, out, 64));
                }
            }
            if (sort->reads) {
                IS_NULL("input", put(sort, on_stream, cipher, operation, NULL, out, 64));
            } else {
                REFUSED(AES_BITSLICE_INVALID, "`input` is not NULL", put(sort, on_stream, cipher, operation, block, out, 64));
            }
            if (sort->writes) {
                IS_NULL("output", put(sort, on_stream, cipher, operation, in, NULL, 64));
            } else {
                REFUSED(AES_BITSLICE_INVALID, "`output` is not NULL", put(sort, on_stream, cipher, operation, in, output, 64));
            }
            if (sort->reads && sort->writes) {
                REFUSED(AES_BITSLICE_INVALID, "`input` and `output` overlap", put(sort, on_stream, cipher, operation, output, output + 1, 64));
                REFUSED(AES_BITSLICE_INVALID, "`input` and `output` overlap", put(sort, on_stream, cipher, operation, output + 16, output, 64));
            }
            REFUSED(AES_BITSLICE_INVALID, "more bytes than memory", put(sort, on_stream, cipher, operation, in, out, SIZE_MAX));
        }
        for (size_t len = 0; len <= 64; len++) {
            if (len != sort->result) {
                REFUSED(AES_BITSLICE_INVALID, "the result has", aes_bitslice_run(cipher, operation, in, out, 64, state.tags, len));
            }
        }
        if (sort->result > 0) {
            uint8_t *const end = output + 64 - sort->result;
            IS_NULL("result", aes_bitslice_run(cipher, operation, in, out, 64, NULL, sort->result));
            REFUSED(AES_BITSLICE_INVALID, "`result` overlaps the data", aes_bitslice_run(cipher, operation, sort->writes ? in : output, out, 64, end, sort->result));
        }
        const int is_late = sort->result > 0 || operation->tag != NULL;
        if (is_late) {
            IS_NULL("pending", aes_bitslice_run_on_stream(cipher, operation, in, out, 64, NULL, NULL));
        }
        if (!has_streams) {
            OK(aes_bitslice_prepare(cipher, operation)); /* there is nothing to load */
            REFUSED(AES_BITSLICE_UNSUPPORTED, "needs a CUDA engine", put(sort, 1, cipher, operation, in, out, 64));
        }
        IS_NULL("cipher", aes_bitslice_prepare(NULL, operation));
    }
    IS_NULL("operation", aes_bitslice_prepare(cipher, NULL));
    const int unknown[] = {-1, 0, AES_BITSLICE_GCM_ENCRYPT_WITH_RANDOM_NONCE + 1};
    for (size_t n = 0; n < 3; n++) {
        char words[60];
        snprintf(words, sizeof words, "`kind` is %d: give AES_BITSLICE_ECB_ENCRYPT", unknown[n]);
        REFUSED(AES_BITSLICE_INVALID, words, aes_bitslice_prepare(cipher, OP(unknown[n])));
        for (int on_stream = 0; on_stream < 2; on_stream++) {
            REFUSED(AES_BITSLICE_INVALID, words, put(SORTS, on_stream, cipher, OP(unknown[n]), block, output, 64));
        }
    }
    aes_bitslice_cipher_free(cipher);
}

/* Arrays in GPU memory need a GPU; errors that are found before any work, and what a call has written, need none. */
static void described(void)
{
    static const uint64_t PLACES[2] = {0, 32};
    uint8_t nonces[24] = {0}, aad[20] = {0}, tags[32] = {0}, *const output = state.output;
    aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[0][0], 0);
    const aes_bitslice_ranges equal = {.bytes = 20, .stride = 25}, both = {.offsets = PLACES, .lengths = PLACES, .integer_bytes = 8};
    uint32_t *const fault = (uint32_t *)state.tag;
#define DESCRIBED(...) OP(__VA_ARGS__, .count = 2)
#define PUT(operation, in, out, results, fault) aes_bitslice_run_described_on_stream(cipher, operation, in, out, 64, NULL, results, fault)
#define SEALED(form, ...) DESCRIBED(AES_BITSLICE_GCM_ENCRYPT_BATCH, .arrays = form, .nonce_len = 12, __VA_ARGS__)
#define OPENED(...) DESCRIBED(AES_BITSLICE_GCM_DECRYPT_BATCH, .arrays = &equal, .nonce_len = 12, .nonce = nonces, __VA_ARGS__)
    const aes_bitslice_operation *right = SEALED(&both, .nonce = nonces, .aad = aad, .aad_len = 20, .aad_arrays = &equal);
    if (strstr(aes_bitslice_engine_description(engine), "(CUDA ") == NULL) {
        REFUSED(AES_BITSLICE_UNSUPPORTED, "needs a CUDA engine", PUT(right, output, output, state.tags, fault));
        REFUSED(AES_BITSLICE_UNSUPPORTED, "needs a CUDA engine", PUT(OPENED(.tag = tags, .tag_len = 8, .short_tags = 1), output, output, state.tags, fault));
    }
    IS_NULL("cipher", aes_bitslice_run_described_on_stream(NULL, right, output, output, 64, NULL, state.tags, fault));
    IS_NULL("operation", PUT(NULL, output, output, state.tags, fault));
    IS_NULL("input", PUT(right, NULL, output, state.tags, fault));
    IS_NULL("output", PUT(right, output, NULL, state.tags, fault));
    IS_NULL("results", PUT(right, output, output, NULL, fault));
    IS_NULL("fault", PUT(right, output, output, state.tags, NULL));
    REFUSED(AES_BITSLICE_INVALID, "overlap", PUT(right, output, output + 16, state.tags, fault));
    REFUSED(AES_BITSLICE_INVALID, "AES_BITSLICE_GCM_DECRYPT_BATCH", PUT(CTR(nonces, 0), output, output, state.tags, fault));
    const struct {
        const char *words;
        const aes_bitslice_operation *operation;
    } WRONG[] = {
        {"`arrays` is NULL", SEALED(NULL, .nonce = nonces)},
        {"`messages` and `ranges` have to be", SEALED(&equal, .nonce = nonces, .ranges = (const aes_bitslice_range[]){{0, 64}})},
        {"`integer_bytes` is 0", SEALED((&(const aes_bitslice_ranges){.offsets = PLACES, .lengths = PLACES}), .nonce = nonces)},
        {"`lengths` is NULL", SEALED((&(const aes_bitslice_ranges){.offsets = PLACES, .integer_bytes = 8}), .nonce = nonces)},
        {"`offsets` is NULL", SEALED((&(const aes_bitslice_ranges){.lengths = PLACES, .integer_bytes = 8}), .nonce = nonces)},
        {"begins at a multiple", SEALED((&(const aes_bitslice_ranges){.offsets = (const uint8_t *)PLACES + 4, .lengths = PLACES, .integer_bytes = 8}), .nonce = nonces)},
        {"`nonce` is NULL", SEALED(&equal, .nonce = NULL)},
        {"`nonce` is NULL", SEALED(&equal, .counter_bits = 32)},
        {"it has 32 or 64", SEALED(&equal, .nonce = nonces, .counter_bits = 96)},
        {"`nonce_len` is 8", DESCRIBED(AES_BITSLICE_GCM_ENCRYPT_BATCH, .arrays = &equal, .nonce = nonces, .nonce_len = 8)},
        {"`aad` is NULL", SEALED(&equal, .nonce = nonces, .aad_len = 20)},
        {"`tag` is NULL", OPENED(.tag_len = 16)},
        {"not 8", OPENED(.tag = tags, .tag_len = 8)},
        {"not 16", OPENED(.tag = tags, .tag_len = 16, .short_tags = 1)},
        {"`short_tags` is 2", OPENED(.tag = tags, .tag_len = 8, .short_tags = 2)},
    };
    for (size_t n = 0; n < sizeof WRONG / sizeof *WRONG; n++) {
        REFUSED(AES_BITSLICE_INVALID, WRONG[n].words, PUT(WRONG[n].operation, output, output, state.tags, fault));
    }
    aes_bitslice_cipher_free(cipher);

    OK(aes_bitslice_check_fault((const uint32_t[2]){0, 0}));
    REFUSED(AES_BITSLICE_INVALID, "message 7 ends before it begins", aes_bitslice_check_fault((const uint32_t[2]){2, 7}));
    REFUSED(AES_BITSLICE_INVALID, "nothing that a call has written", aes_bitslice_check_fault((const uint32_t[2]){0xa5a5a5a5, 7}));
    IS_NULL("fault", aes_bitslice_check_fault(NULL));
}

/* Streams need a GPU; errors that are found before any work need none. */
static void streams(void)
{
    uint8_t block[16] = {0}, twice[32] = {0}, *const output = state.output;
    aes_bitslice_pending **const pending = (aes_bitslice_pending **)&state.handle;
    aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[0][0], 0);
    const aes_bitslice_gcm_message message = {block, 12, NULL, 0, {0, 64}}, beyond = {block, 12, NULL, 0, {1, UINT64_MAX}}, pair[2] = {message, message};
    const aes_bitslice_job job = {block, 16, {0}, {0, 64}}, no_key = {NULL, 16, {0}, {0, 64}};
    const char *words = "needs a CUDA engine";
    if (strstr(aes_bitslice_engine_description(engine), "(CUDA ") == NULL) {
        OK(aes_bitslice_prepare_many_keys(engine));
        REFUSED(AES_BITSLICE_UNSUPPORTED, words, aes_bitslice_run_many_keys_on_stream(engine, JOBS(AES_BITSLICE_CTR, &job, 1), output, output, 64, NULL, pending));
        REFUSED(AES_BITSLICE_UNSUPPORTED, words, aes_bitslice_run_many_keys_on_stream(engine, EACH_KEY(AES_BITSLICE_CTR, block, 16, 1, block, 64), output, output, 64, NULL, NULL));
    }
    REFUSED(AES_BITSLICE_INVALID, "16 to 16777216", aes_bitslice_run_on_stream(cipher, XTS(AES_BITSLICE_XTS_ENCRYPT, 15, block), output, output, 64, NULL, NULL));
    REFUSED(AES_BITSLICE_INVALID, "16 to 16777216", aes_bitslice_run_on_stream(cipher, XTS(AES_BITSLICE_XTS_DECRYPT, (1 << 24) + 1, block), output, output, 64, NULL, NULL));
    REFUSED(AES_BITSLICE_INVALID, "a tag has 1", aes_bitslice_run_on_stream(cipher, OPEN(AES_BITSLICE_GCM_DECRYPT, block, 12, block, 16, block, 11), output, output, 64, NULL, pending));
    REFUSED(AES_BITSLICE_INVALID, "a tag has 1", aes_bitslice_run_on_stream(cipher, OPEN(AES_BITSLICE_GCM_SIV_DECRYPT, block, 12, block, 16, block, 11), output, output, 64, NULL, pending));
    REFUSED(AES_BITSLICE_INVALID, "message 0 ends past", aes_bitslice_run_on_stream(cipher, GCM_BATCH(&beyond, 1), output, output, 64, NULL, pending));
    REFUSED(AES_BITSLICE_INVALID, "same nonce", aes_bitslice_run_on_stream(cipher, GCM_BATCH(pair, 2), output, output, 64, NULL, pending));
    REFUSED(AES_BITSLICE_INVALID, "a tag has 1", aes_bitslice_run_on_stream(cipher, OPEN_BATCH(&message, 1, block, 11), output, output, 64, NULL, pending));
    REFUSED(AES_BITSLICE_INVALID, "do not overlap", aes_bitslice_run_on_stream(cipher, OPEN_BATCH(pair, 2, twice, 16), output, output, 64, NULL, pending));
    REFUSED(AES_BITSLICE_INVALID, "`tag_len` is 0", aes_bitslice_run_on_stream(cipher, VERIFY_BATCH(&message.range, 1, block, 0), output, NULL, 64, NULL, pending));
    IS_NULL("engine", aes_bitslice_prepare_many_keys(NULL));
    IS_NULL("engine", aes_bitslice_run_many_keys_on_stream(NULL, JOBS(AES_BITSLICE_CTR, &job, 1), output, output, 64, NULL, pending));
    REFUSED(AES_BITSLICE_INVALID, "`kind` is 0", aes_bitslice_run_many_keys_on_stream(engine, JOBS(0, &job, 1), output, output, 64, NULL, pending));
    REFUSED(AES_BITSLICE_INVALID, "both NULL: give one of them", aes_bitslice_run_many_keys_on_stream(engine, JOBS(AES_BITSLICE_CTR, NULL, 1), output, output, 64, NULL, pending));
    REFUSED(AES_BITSLICE_INVALID, "job 0: `key` is NULL", aes_bitslice_run_many_keys_on_stream(engine, JOBS(AES_BITSLICE_CTR, &no_key, 1), output, output, 64, NULL, pending));
    REFUSED(AES_BITSLICE_INVALID, "keystream reads nothing", aes_bitslice_run_many_keys_on_stream(engine, JOBS(AES_BITSLICE_KEYSTREAM, &job, 1), output, output, 64, NULL, pending));
    IS_NULL("input", aes_bitslice_run_many_keys_on_stream(engine, JOBS(AES_BITSLICE_CTR, &job, 1), NULL, output, 64, NULL, pending));
    IS_NULL("output", aes_bitslice_run_many_keys_on_stream(engine, JOBS(AES_BITSLICE_KEYSTREAM, &job, 1), NULL, NULL, 64, NULL, pending));
    IS_NULL("pending", aes_bitslice_run_many_keys_on_stream(engine, JOBS(AES_BITSLICE_CTR, &job, 1), output, output, 64, NULL, NULL));
    IS_NULL("engine", aes_bitslice_run_many_keys_on_stream(NULL, EACH_KEY(AES_BITSLICE_CTR, block, 16, 1, block, 64), output, output, 64, NULL, NULL));
    REFUSED(AES_BITSLICE_INVALID, "`kind` is 0", aes_bitslice_run_many_keys_on_stream(engine, EACH_KEY(0, block, 16, 1, block, 64), output, output, 64, NULL, NULL));
    REFUSED(AES_BITSLICE_INVALID, "both NULL: give one of them", aes_bitslice_run_many_keys_on_stream(engine, EACH_KEY(AES_BITSLICE_CTR, NULL, 16, 1, block, 64), output, output, 64, NULL, NULL));
    IS_NULL("counter", aes_bitslice_run_many_keys_on_stream(engine, EACH_KEY(AES_BITSLICE_CTR, block, 16, 1, NULL, 64), output, output, 64, NULL, NULL));
    IS_NULL("input", aes_bitslice_run_many_keys_on_stream(engine, EACH_KEY(AES_BITSLICE_CTR, block, 16, 1, block, 64), NULL, output, 64, NULL, NULL));
    IS_NULL("output", aes_bitslice_run_many_keys_on_stream(engine, EACH_KEY(AES_BITSLICE_KEYSTREAM, block, 16, 1, block, 64), NULL, NULL, 64, NULL, NULL));
    REFUSED(AES_BITSLICE_INVALID, "`keys` overlaps the data", aes_bitslice_run_many_keys_on_stream(engine, EACH_KEY(AES_BITSLICE_CTR, output + 16, 16, 1, block, 64), output, output, 64, NULL, NULL));
    REFUSED(AES_BITSLICE_INVALID, "20", aes_bitslice_run_many_keys_on_stream(engine, EACH_KEY(AES_BITSLICE_CTR, block, 20, 1, block, 64), output, output, 64, NULL, NULL));
    IS_NULL("many_keys", aes_bitslice_run_many_keys_on_stream(engine, NULL, output, output, 64, NULL, pending));
    IS_NULL("pending", aes_bitslice_pending_wait(NULL));
    IS_NULL("pending", aes_bitslice_pending_result(NULL, state.tags, 16));
    /* The place for a value is checked first: the handle is not a real one. */
    IS_NULL("result", aes_bitslice_pending_result((const aes_bitslice_pending *)&state, NULL, 1));
    REFUSED(AES_BITSLICE_INVALID, "more bytes than memory", aes_bitslice_pending_result((const aes_bitslice_pending *)&state, state.tags, SIZE_MAX));
    aes_bitslice_pending_free(NULL);
    aes_bitslice_cipher_free(cipher);
}

static void handles(void)
{
    uint8_t bytes[66];
    aes_bitslice_key **const key = (aes_bitslice_key **)&state.handle;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)i;
    }
    for (size_t len = 0; len <= 66; len++) {
        aes_bitslice_key *made;
        if (len == 16 || len == 24 || len == 32) {
            OK(aes_bitslice_key_new(bytes, len, &made));
            aes_bitslice_key_free(made);
        } else {
            REFUSED(AES_BITSLICE_INVALID, "a key has 16, 24 or 32 bytes", aes_bitslice_key_new(bytes, len, key));
        }
        if (len == 32 || len == 64) {
            OK(aes_bitslice_key_new_xts(bytes, len, &made));
            aes_bitslice_key_free(made);
        } else {
            REFUSED(AES_BITSLICE_INVALID, "not a key of XTS", aes_bitslice_key_new_xts(bytes, len, key));
        }
    }
    memset(bytes, 7, sizeof bytes);
    // It decrypts; that it encrypts nothing is tested on every engine in tests/tests/xts.rs.
    aes_bitslice_key *twice;
    OK(aes_bitslice_key_new_xts(bytes, 64, &twice));
    aes_bitslice_key_free(twice);
    IS_NULL("bytes", aes_bitslice_key_new(NULL, 16, key));
    IS_NULL("bytes", aes_bitslice_key_new_xts(NULL, 64, key));
    IS_NULL("key", aes_bitslice_key_new(bytes, 16, NULL));
    IS_NULL("key", aes_bitslice_key_new_xts(bytes, 64, NULL));

    /* RFC 5869, test case 1: its first 16 bytes, shown by a block that they encrypt. */
    uint8_t secret[22], salt[13], info[10], block[2][16] = {{0}, {0}};
    memset(secret, 0x0b, sizeof secret);
    hex("000102030405060708090a0b0c", salt);
    hex("f0f1f2f3f4f5f6f7f8f9", info);
    aes_bitslice_key *derived;
    aes_bitslice_cipher *by_derived, *by_bytes = cipher_of("3cb25f25faacd57a90434f64d0362f2a", 0);
    OK(aes_bitslice_key_derive(secret, 22, salt, 13, info, 10, 128, &derived));
    OK(aes_bitslice_cipher_new(engine, derived, &by_derived));
    OK(aes_bitslice_run(by_derived, OP(AES_BITSLICE_ECB_ENCRYPT), block[0], block[0], 16, NULL, 0));
    OK(aes_bitslice_run(by_bytes, OP(AES_BITSLICE_ECB_ENCRYPT), block[1], block[1], 16, NULL, 0));
    EQUAL(block[0], block[1], 16);
    aes_bitslice_key_free(derived);
    aes_bitslice_cipher_free(by_derived);
    aes_bitslice_cipher_free(by_bytes);
    OK(aes_bitslice_key_derive(secret, 16, NULL, 0, NULL, 0, 256, &derived));
    aes_bitslice_key_free(derived);
    REFUSED(AES_BITSLICE_INVALID, "16 random bytes or more, not 15", aes_bitslice_key_derive(secret, 15, salt, 13, info, 10, 128, key));
    REFUSED(AES_BITSLICE_INVALID, "`bits` is 127", aes_bitslice_key_derive(secret, 22, salt, 13, info, 10, 127, key));
    IS_NULL("secret", aes_bitslice_key_derive(NULL, 22, salt, 13, info, 10, 128, key));
    IS_NULL("salt", aes_bitslice_key_derive(secret, 22, NULL, 13, info, 10, 128, key));
    IS_NULL("info", aes_bitslice_key_derive(secret, 22, salt, 13, NULL, 10, 128, key));
    IS_NULL("key", aes_bitslice_key_derive(secret, 22, salt, 13, info, 10, 128, NULL));

    aes_bitslice_engine **const opened = (aes_bitslice_engine **)&state.handle;
    REFUSED(AES_BITSLICE_INVALID, "unknown backend `gpu`", aes_bitslice_engine_open("gpu", opened));
    REFUSED(AES_BITSLICE_INVALID, "unknown backend ``", aes_bitslice_engine_open("", opened));
    REFUSED(AES_BITSLICE_INVALID, "unknown backend", aes_bitslice_engine_open("cpu\xff", opened));
    REFUSED(AES_BITSLICE_UNAVAILABLE, "", aes_bitslice_engine_open("cuda:4000000", opened));
    IS_NULL("backend", aes_bitslice_engine_open(NULL, opened));
    IS_NULL("engine", aes_bitslice_engine_open("cpu", NULL));
    CHECK(aes_bitslice_engine_description(NULL) == NULL);
    CHECK(strstr(aes_bitslice_last_error(), "`engine` is NULL") != NULL);

    aes_bitslice_key *made;
    aes_bitslice_cipher *cipher;
    OK(aes_bitslice_key_new(bytes, 16, &made));
    OK(aes_bitslice_cipher_new(engine, made, &cipher));
    IS_NULL("engine", aes_bitslice_cipher_new(NULL, made, (aes_bitslice_cipher **)&state.handle));
    IS_NULL("key", aes_bitslice_cipher_new(engine, NULL, (aes_bitslice_cipher **)&state.handle));
    IS_NULL("cipher", aes_bitslice_cipher_new(engine, made, NULL));
    aes_bitslice_key_free(made);
    aes_bitslice_cipher_free(cipher);
    aes_bitslice_key_free(NULL);
    aes_bitslice_engine_free(NULL);
    aes_bitslice_cipher_free(NULL);

    /* A byte that is zero in all of 64 was not drawn. */
    uint8_t random[100], any[100] = {0};
    for (int n = 0; n < 64; n++) {
        OK(aes_bitslice_random(random, 100));
        for (int i = 0; i < 100; i++)
            any[i] |= random[i];
    }
    CHECK(memchr(any, 0, 100) == NULL);
    OK(aes_bitslice_random(NULL, 0));
    IS_NULL("output", aes_bitslice_random(NULL, 1));
    REFUSED(AES_BITSLICE_INVALID, "1 to 1024", aes_bitslice_set_threads(0));
}

static void write_file(const char *path, const uint8_t *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
}

static size_t read_file(const char *path, uint8_t *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t len = fread(bytes, 1, most, file);
    CHECK(fclose(file) == 0);
    return len;
}

/* The message names the file that cannot be written; a size limit stands in for a full disk. */
static void too_large(const aes_bitslice_key *key, const char *input, const char *output)
{
    char words[5000];
    snprintf(words, sizeof words, "cannot write `%s`: File too large", output);
    struct rlimit old, small;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0 && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    small = old;
    small.rlim_cur = 1000;
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    int status = aes_bitslice_seal_file(engine, key, input, output);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    REFUSED(AES_BITSLICE_IO, words, status);
}

struct sealing {
    const aes_bitslice_key *key;
    const char *input, *output;
    int status;
};

static void *seal_in_a_thread(void *given)
{
    struct sealing *sealing = given;
    sealing->status = aes_bitslice_seal_file(engine, sealing->key, sealing->input, sealing->output);
    return NULL;
}

/* An incomplete file has a name that shows whose it is: it exists until the input ends. */
static void unfinished(const aes_bitslice_key *key, const char *folder, const char *output)
{
    char pipe[4096];
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    CHECK(mkfifo(pipe, 0600) == 0);
    struct sealing sealing = {key, pipe, output, -1};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, seal_in_a_thread, &sealing) == 0);
    int input = open(pipe, O_WRONLY);
    CHECK(input >= 0);
    int found = 0;
    for (int tries = 0; !found && tries < 1000; tries++) {
        nanosleep(&(struct timespec){0, 10000000}, NULL);
        DIR *entries = opendir(folder);
        CHECK(entries != NULL);
        for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
            found |= strncmp(entry->d_name, ".aes-bitslice-", 14) == 0;
        }
        CHECK(closedir(entries) == 0);
    }
    CHECK(found);
    CHECK(close(input) == 0 && pthread_join(thread, NULL) == 0 && sealing.status == AES_BITSLICE_OK);
    CHECK(unlink(output) == 0 && unlink(pipe) == 0);
}

static void files(const char *folder)
{
    enum { LEN = 100000 };
    static uint8_t plain[LEN], bytes[LEN + 1000];
    char clear[4096], sealed[4096], opened[4096], changed[4096];
    snprintf(clear, sizeof clear, "%s/clear", folder);
    snprintf(sealed, sizeof sealed, "%s/sealed", folder);
    snprintf(opened, sizeof opened, "%s/opened", folder);
    snprintf(changed, sizeof changed, "%s/changed", folder);
    for (size_t i = 0; i < LEN; i++) {
        plain[i] = (uint8_t)(i * i >> 5);
    }
    write_file(clear, plain, LEN);
    uint8_t secret[32];
    OK(aes_bitslice_random(secret, 32));
    aes_bitslice_key *key, *other, *small;
    OK(aes_bitslice_key_new(secret, 32, &key));
    secret[31] ^= 1;
    OK(aes_bitslice_key_new(secret, 32, &other));
    OK(aes_bitslice_key_new(secret, 16, &small));

    OK(aes_bitslice_seal_file(engine, key, clear, sealed));
    struct stat status;
    CHECK(stat(sealed, &status) == 0 && status.st_size == LEN + 152 && (status.st_mode & 0777) == 0600);
    OK(aes_bitslice_open_file(engine, key, sealed, opened));
    CHECK(read_file(opened, bytes, sizeof bytes) == LEN);
    EQUAL(bytes, plain, LEN);

    REFUSED_AT(AES_BITSLICE_IO, sealed, "it exists already; remove it, or give another name", aes_bitslice_seal_file(engine, key, clear, sealed));
    REFUSED_AT(AES_BITSLICE_IO, opened, "cannot write", aes_bitslice_open_file(engine, key, sealed, opened));
    CHECK(unlink(opened) == 0);
    REFUSED_AT(AES_BITSLICE_UNAUTHENTICATED, sealed, "wrong key", aes_bitslice_open_file(engine, other, sealed, opened));
    REFUSED_AT(AES_BITSLICE_INVALID, clear, "not a sealed file", aes_bitslice_open_file(engine, key, clear, opened));
    const char *short_key = "`key`: a key of 256 bits (32 bytes) is needed here, and this one has 128 bits";
    REFUSED(AES_BITSLICE_INVALID, short_key, aes_bitslice_seal_file(engine, small, clear, opened));
    REFUSED(AES_BITSLICE_INVALID, short_key, aes_bitslice_open_file(engine, small, sealed, opened));
    REFUSED_AT(AES_BITSLICE_IO, opened, "cannot read", aes_bitslice_seal_file(engine, key, opened, changed));
    REFUSED_AT(AES_BITSLICE_IO, opened, "cannot read", aes_bitslice_open_file(engine, key, opened, changed));
    const char *is_folder = "it is a folder, not a file; give a file name";
    REFUSED_AT(AES_BITSLICE_IO, folder, is_folder, aes_bitslice_seal_file(engine, key, folder, opened));
    REFUSED_AT(AES_BITSLICE_IO, folder, is_folder, aes_bitslice_open_file(engine, key, folder, opened));
    REFUSED_AT(AES_BITSLICE_IO, folder, is_folder, aes_bitslice_seal_file(engine, key, clear, folder));
    REFUSED_AT(AES_BITSLICE_IO, folder, is_folder, aes_bitslice_open_file(engine, key, sealed, folder));
    REFUSED(AES_BITSLICE_IO, "cannot write `/no/such/folder/file`: the folder `/no/such/folder` does not exist; make it first",
            aes_bitslice_seal_file(engine, key, clear, "/no/such/folder/file"));
    REFUSED(AES_BITSLICE_IO, "cannot write `/proc/file`: no file can be made in the folder `/proc`: No such file or directory (os error 2)",
            aes_bitslice_seal_file(engine, key, clear, "/proc/file"));
    too_large(key, clear, opened);
    unfinished(key, folder, opened);
    IS_NULL("engine", aes_bitslice_seal_file(NULL, key, clear, opened));
    IS_NULL("key", aes_bitslice_seal_file(engine, NULL, clear, opened));
    IS_NULL("input", aes_bitslice_seal_file(engine, key, NULL, opened));
    IS_NULL("output", aes_bitslice_seal_file(engine, key, clear, NULL));
    IS_NULL("engine", aes_bitslice_open_file(NULL, key, sealed, opened));
    IS_NULL("key", aes_bitslice_open_file(engine, NULL, sealed, opened));
    IS_NULL("input", aes_bitslice_open_file(engine, key, NULL, opened));
    IS_NULL("output", aes_bitslice_open_file(engine, key, sealed, NULL));

    /* Changed or truncated: nothing is written. */
    CHECK(read_file(sealed, bytes, sizeof bytes) == LEN + 152);
    bytes[50000] ^= 4;
    write_file(changed, bytes, LEN + 152);
    REFUSED_AT(AES_BITSLICE_UNAUTHENTICATED, changed, "damaged", aes_bitslice_open_file(engine, key, changed, opened));
    bytes[50000] ^= 4;
    write_file(changed, bytes, LEN + 151);
    REFUSED_AT(AES_BITSLICE_UNAUTHENTICATED, changed, "damaged", aes_bitslice_open_file(engine, key, changed, opened));
    write_file(changed, bytes, 40);
    REFUSED_AT(AES_BITSLICE_UNAUTHENTICATED, changed, "cut off", aes_bitslice_open_file(engine, key, changed, opened));
    write_file(changed, bytes, 0);
    REFUSED_AT(AES_BITSLICE_INVALID, changed, "not a sealed file", aes_bitslice_open_file(engine, key, changed, opened));
    bytes[30] ^= 4;
    write_file(changed, bytes, LEN + 152);
    REFUSED_AT(AES_BITSLICE_UNAUTHENTICATED, changed, "header of the sealed file is damaged", aes_bitslice_open_file(engine, key, changed, opened));
    CHECK(access(opened, F_OK) != 0);

    CHECK(unlink(clear) == 0 && unlink(sealed) == 0 && unlink(changed) == 0);
    CHECK(rmdir(folder) == 0 && mkdir(folder, 0700) == 0); /* nothing else is left in it */
    aes_bitslice_key_free(key);
    aes_bitslice_key_free(other);
    aes_bitslice_key_free(small);
}

/* One cipher, used by several threads; each has its own message. */
static void *in_a_thread(void *cipher)
{
    enum { LEN = 200000 };
    uint8_t counter[16] = {0}, *data = calloc(1, LEN), *stream = malloc(LEN);
    CHECK(data != NULL && stream != NULL && *aes_bitslice_last_error() == 0);
    for (int i = 0; i < 4; i++) {
        memset(data, 0, LEN);
        OK(aes_bitslice_run(cipher, CTR(counter, 5), data, data, LEN, NULL, 0));
        OK(aes_bitslice_run(cipher, KEYSTREAM(counter, 5), NULL, stream, LEN, NULL, 0));
        EQUAL(data, stream, LEN);
    }
    CHECK(aes_bitslice_run(cipher, OP(AES_BITSLICE_ECB_DECRYPT), data, data, 1, NULL, 0) == AES_BITSLICE_INVALID && strstr(aes_bitslice_last_error(), "whole blocks") != NULL);
    free(data);
    free(stream);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[4];
    aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[2][0], 0);
    CHECK(aes_bitslice_random(NULL, 1) == AES_BITSLICE_INVALID);
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&thread[i], NULL, in_a_thread, cipher) == 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_join(thread[i], NULL) == 0);
    }
    told(__LINE__, "this thread's own", "`output` is NULL");
    aes_bitslice_cipher_free(cipher);
}

int main(int count, char **arguments)
{
    if (count < 3) {
        fprintf(stderr, "usage: all FOLDER ENGINE...\n");
        return 2;
    }
    CHECK(*aes_bitslice_last_error() == 0);
    CHECK(aes_bitslice_abi_version() == AES_BITSLICE_ABI_VERSION);
    CHECK(strchr(aes_bitslice_version(), '.') != NULL);
    memset(&state, 0xa5, sizeof state);
    for (int i = 2; i < count; i++) {
        OK(aes_bitslice_engine_open(arguments[i], &engine));
        CHECK(*aes_bitslice_engine_description(engine) != 0);
        handles();
        raw_modes();
        xts();
        gcm();
        gcm_siv();
        random_nonce();
        xaes();
        gcm_batch();
        arrays();
        cmac_batch();
        tags();
        many_keys();
        under_keys();
        layouts();
        refusals();
        streams();
        described();
        files(arguments[1]);
        threads();
        /* A cipher outlives its engine. */
        aes_bitslice_cipher *cipher = cipher_of(SP_800_38A[0][0], 0);
        aes_bitslice_engine_free(engine);
        uint8_t block[16] = {0};
        OK(aes_bitslice_run(cipher, OP(AES_BITSLICE_ECB_ENCRYPT), block, block, 16, NULL, 0));
        aes_bitslice_cipher_free(cipher);
        printf("%s: %d checks passed\n", arguments[i], checks);
    }
    return 0;
}
