/* The number of threads, and calls in forked processes, on the CPU: a call that is divided between threads, before and after fork(). */
#define _POSIX_C_SOURCE 200809L
#include <aes_bitslice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEN ((size_t)10 << 20)

static void check(int is_right, int line)
{
    if (!is_right) {
        fprintf(stderr, "threads.c:%d: %s\n", line, aes_bitslice_last_error());
        _exit(1);
    }
}

#define CHECK(what) check(what, __LINE__)
#define OK(call) CHECK((call) == AES_BITSLICE_OK)

static uint8_t expected[LEN], data[LEN];

static void encrypt(const aes_bitslice_cipher *cipher, uint8_t *output)
{
    const uint8_t counter[16] = {0};
    const aes_bitslice_operation ctr = {.kind = AES_BITSLICE_CTR, .counter = counter};
    memset(output, 0, LEN);
    OK(aes_bitslice_run(cipher, &ctr, output, output, LEN, NULL, 0));
}

static aes_bitslice_cipher *cipher_on(const char *name)
{
    const uint8_t bytes[16] = {1};
    aes_bitslice_engine *engine;
    aes_bitslice_key *key;
    aes_bitslice_cipher *cipher;
    OK(aes_bitslice_engine_open(name, &engine));
    CHECK(strstr(aes_bitslice_engine_description(engine), "4 threads") != NULL);
    OK(aes_bitslice_key_new(bytes, sizeof bytes, &key));
    OK(aes_bitslice_cipher_new(engine, key, &cipher));
    aes_bitslice_key_free(key);
    aes_bitslice_engine_free(engine);
    return cipher;
}

/* The parent's cipher and new ones, in this process, in its child, and in the child's child. One that hangs is ended by its alarm. */
static void in_processes(const aes_bitslice_cipher *parents, int levels)
{
    const char *names[] = {"cpu", "cpu-bitsliced"};
    encrypt(parents, data);
    CHECK(memcmp(data, expected, LEN) == 0);
    for (int i = 0; i < 2; i++) {
        aes_bitslice_cipher *own = cipher_on(names[i]);
        encrypt(own, data);
        CHECK(memcmp(data, expected, LEN) == 0);
        aes_bitslice_cipher_free(own);
    }
    if (levels > 0) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(120);
            in_processes(parents, levels - 1);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
}

int main(void)
{
    CHECK(aes_bitslice_set_threads(0) == AES_BITSLICE_INVALID && strstr(aes_bitslice_last_error(), "1 to 1024") != NULL);
    CHECK(aes_bitslice_set_threads(1025) == AES_BITSLICE_INVALID);
    OK(aes_bitslice_set_threads(4));
    aes_bitslice_cipher *cipher = cipher_on("cpu");
    OK(aes_bitslice_set_threads(4));
    CHECK(aes_bitslice_set_threads(2) == AES_BITSLICE_INVALID && strstr(aes_bitslice_last_error(), "4 are in use") != NULL);
    encrypt(cipher, expected);
    in_processes(cipher, 2);
    aes_bitslice_cipher_free(cipher);
    return 0;
}
