/* Calls when a thread and the process end: its own values are gone then, those of the library among them. And on a thread with a small stack. */
#define _POSIX_C_SOURCE 200809L
#include <aes_bitslice.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEN ((size_t)4 << 20)

static void check(int is_right, int line)
{
    if (!is_right) {
        fprintf(stderr, "ending.c:%d: %s\n", line, aes_bitslice_last_error());
        _exit(1);
    }
}

#define CHECK(what) check(what, __LINE__)
#define OK(call) CHECK((call) == AES_BITSLICE_OK)

static uint8_t expected[LEN], data[LEN];

/* Large calls, which are divided between threads, small ones and failures, on new engines. Returns what is encrypted in `output`. */
static void calls(uint8_t *output)
{
    const char *names[] = {"cpu-bitsliced", "cpu"};
    const uint8_t bytes[32] = {1}, iv[16] = {2};
    for (int i = 0; i < 2; i++) {
        aes_bitslice_engine *engine;
        aes_bitslice_key *key;
        aes_bitslice_cipher *cipher;
        uint8_t tag[16], message[100] = {0};
        CHECK(aes_bitslice_engine_open("no such\nengine", &engine) == AES_BITSLICE_INVALID);
        OK(aes_bitslice_engine_open(names[i], &engine));
        OK(aes_bitslice_key_new(bytes, sizeof bytes, &key));
        OK(aes_bitslice_cipher_new(engine, key, &cipher));
        const aes_bitslice_operation ctr = {.kind = AES_BITSLICE_CTR, .counter = iv};
        const aes_bitslice_operation gcm = {.kind = AES_BITSLICE_GCM_ENCRYPT, .nonce = iv, .nonce_len = 12};
        memset(output, 0, LEN);
        OK(aes_bitslice_run(cipher, &ctr, output, output, LEN, NULL, 0));
        OK(aes_bitslice_run(cipher, &gcm, output, output, LEN, tag, sizeof tag));
        OK(aes_bitslice_run(cipher, &gcm, message, message, sizeof message, tag, sizeof tag));
        const aes_bitslice_secret secret = {.key = key};
        const aes_bitslice_source source = {.memory = output, .bytes = LEN / 4};
        const aes_bitslice_sink sink = {.memory = output + LEN / 2, .bytes = LEN / 2};
        uint64_t sealed;
        OK(aes_bitslice_seal(engine, &secret, &source, &sink, &sealed));
        const aes_bitslice_source again = {.memory = output + LEN / 2, .bytes = sealed};
        const aes_bitslice_sink opened = {.memory = output, .bytes = LEN / 4};
        OK(aes_bitslice_open(engine, &secret, &again, 0, UINT64_MAX, &opened, NULL));
        memset(output + LEN / 2, 0, LEN / 2); /* what is sealed is new each time */
        aes_bitslice_cipher_free(cipher);
        aes_bitslice_key_free(key);
        aes_bitslice_engine_free(engine);
    }
}

static void compared(void *nothing)
{
    (void)nothing;
    calls(data);
    CHECK(memcmp(data, expected, LEN) == 0);
}

static pthread_key_t at_end;

static void *thread(void *nothing)
{
    compared(nothing);
    CHECK(pthread_setspecific(at_end, data) == 0);
    return NULL;
}

static void after_main(void)
{
    compared(NULL);
    puts("ending: all checks passed");
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t started;
    OK(aes_bitslice_set_threads(2));
    CHECK(atexit(after_main) == 0);
    calls(expected);
    CHECK(strstr(aes_bitslice_last_error(), "unknown backend `no such\\nengine`") != NULL);
    CHECK(pthread_key_create(&at_end, compared) == 0);
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 128 << 10) == 0);
    CHECK(pthread_create(&started, &attributes, thread, NULL) == 0 && pthread_join(started, NULL) == 0);
    CHECK(pthread_attr_destroy(&attributes) == 0);
    return 0;
}
