/* No copy of a key is left in the memory of a process that has used it on the engines named as arguments, and freed it. */
#define _POSIX_C_SOURCE 200809L
#include <aes_bitslice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The key is in this program's own memory only while it is handed over; otherwise the program keeps it XOR this mask. */
enum { MASK = 0x5a, BYTES = 32, LEN = 100000 };
static uint8_t masked[BYTES];

static void check(int status)
{
    if (status != AES_BITSLICE_OK) {
        fprintf(stderr, "%s\n", aes_bitslice_last_error());
        exit(1);
    }
}

/* How often either half of the key occurs in writable memory. */
static int copies(void)
{
    static uint8_t page[1 << 16];
    FILE *maps = fopen("/proc/self/maps", "r"), *memory = fopen("/proc/self/mem", "rb");
    char line[4096], access[5];
    unsigned long long from, to;
    int found = 0;
    if (maps == NULL || memory == NULL) {
        fprintf(stderr, "cannot read /proc/self/mem\n");
        exit(1);
    }
    setvbuf(memory, NULL, _IONBF, 0);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%llx-%llx %4s", &from, &to, access) != 3 || strncmp(access, "rw", 2) != 0) {
            continue;
        }
        while (from < to) {
            size_t len = to - from < sizeof page ? (size_t)(to - from) : sizeof page;
            if (fseek(memory, (long)from, SEEK_SET) != 0 || fread(page, 1, len, memory) != len) {
                break;
            }
            for (size_t i = 0; i + 16 <= len; i++) {
                for (int half = 0; half < BYTES; half += 16) {
                    int same = 0;
                    while (same < 16 && (page[i + same] ^ MASK) == masked[half + same]) {
                        same++;
                    }
                    found += same == 16;
                }
            }
            from += len;
        }
    }
    memset(page, 0, sizeof page);
    fclose(maps);
    fclose(memory);
    return found;
}

static void wipe(uint8_t *secret)
{
    for (volatile uint8_t *byte = secret; byte < secret + BYTES; byte++) {
        *byte = 0;
    }
}

static aes_bitslice_key *handed_over(void)
{
    uint8_t *secret = malloc(BYTES);
    aes_bitslice_key *key;
    for (int i = 0; i < BYTES; i++) {
        secret[i] = masked[i] ^ MASK;
    }
    check(aes_bitslice_key_new(secret, BYTES, &key));
    wipe(secret);
    free(secret);
    return key;
}

int main(int count, char **arguments)
{
    static uint8_t data[LEN], block[16], nonce[12], tag[16], keys[BYTES];
    check(aes_bitslice_random(masked, BYTES));
    for (int i = 1; i < count; i++) {
        aes_bitslice_engine *engine;
        aes_bitslice_cipher *cipher;
        check(aes_bitslice_engine_open(arguments[i], &engine));
        aes_bitslice_key *key = handed_over();
        check(aes_bitslice_cipher_new(engine, key, &cipher));
        const aes_bitslice_gcm_message message = {nonce, 12, NULL, 0, {1, LEN - 1}};
        aes_bitslice_operation operation = {
            .counter = block, .iv = block, .nonce = nonce, .nonce_len = 12, .messages = &message, .ranges = &message.range, .count = 1};
        const struct {
            int kind, writes;
            size_t len, result_len;
        } CALLS[] = {{AES_BITSLICE_CTR, 1, LEN, 0}, {AES_BITSLICE_CBC_ENCRYPT, 1, LEN / 16 * 16, 0}, {AES_BITSLICE_GCM_ENCRYPT, 1, LEN, 16},
                     {AES_BITSLICE_CMAC, 0, LEN, 16}, {AES_BITSLICE_GCM_SIV_ENCRYPT, 1, LEN, 16}, {AES_BITSLICE_GCM_ENCRYPT_BATCH, 1, LEN, 16},
                     {AES_BITSLICE_CMAC_BATCH, 0, LEN, 16}};
        for (size_t n = 0; n < sizeof CALLS / sizeof *CALLS; n++) {
            operation.kind = CALLS[n].kind;
            check(aes_bitslice_run(cipher, &operation, data, CALLS[n].writes ? data : NULL, CALLS[n].len, tag, CALLS[n].result_len));
        }
        for (int n = 0; n < BYTES; n++) {
            keys[n] = masked[n] ^ MASK;
        }
        const aes_bitslice_job job = {keys, BYTES, {0}, {1, LEN - 1}};
        const aes_bitslice_many_keys jobs = {.kind = AES_BITSLICE_CTR, .count = 1, .jobs = &job};
        const aes_bitslice_many_keys each = {
            .kind = AES_BITSLICE_KEYSTREAM, .count = 1, .keys = keys, .key_len = BYTES, .bytes_per_key = LEN / 16 * 16, .counter = block};
        check(aes_bitslice_run_many_keys(engine, &jobs, data, data, LEN));
        check(aes_bitslice_run_many_keys(engine, &each, NULL, data, LEN / 16 * 16));
        const aes_bitslice_keys own = {keys, BYTES, 1, NULL};
        operation.kind = AES_BITSLICE_GCM_ENCRYPT_BATCH;
        check(aes_bitslice_run_under_keys(engine, &own, &operation, data, data, LEN, tag, 16));
        wipe(keys);
        check(aes_bitslice_seal_file(engine, key, arguments[0], "sealed"));
        check(aes_bitslice_open_file(engine, key, "sealed", "opened"));
        if (remove("sealed") != 0 || remove("opened") != 0) {
            return 1;
        }
        int before = copies();
        aes_bitslice_cipher_free(cipher);
        aes_bitslice_key_free(key);
        aes_bitslice_engine_free(engine);
        int after = copies();
        printf("%s: %d places before, %d after\n", arguments[i], before, after);
        if (before == 0 || after != 0) {
            return 1;
        }
    }
    return 0;
}
