/* Test vectors on the engines named after a file of them. Each line of the file is a case: its name, its mode, 1 if it is
 * valid and 0 if it must be refused, and as hexadecimal digits, or - for none, key, IV, additional data, plaintext,
 * ciphertext and tag. Prints the names of the cases that fail, and how many there were. */
#define _POSIX_C_SOURCE 200809L
#include <aes_bitslice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t *bytes;
    size_t len;
} data;

typedef struct {
    const char *name, *mode;
    int valid;
    data key, iv, aad, plain, secret, tag;
} vector;

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s: %s\n", what, aes_bitslice_last_error());
        exit(1);
    }
}

/* The next word of the line. */
static char *word(void)
{
    char *found = strtok(NULL, " \n");
    check(found != NULL, "a line ends early");
    return found;
}

/* The next word as bytes, in the place of its digits. */
static data next(void)
{
    char *digits = word();
    data found = {(uint8_t *)digits, strcmp(digits, "-") == 0 ? 0 : strlen(digits) / 2};
    for (size_t i = 0; i < found.len; i++) {
        unsigned byte;
        check(sscanf(digits + 2 * i, "%2x", &byte) == 1, "no digits");
        found.bytes[i] = (uint8_t)byte;
    }
    return found;
}

static int is(const uint8_t *found, data expected)
{
    return memcmp(found, expected.bytes, expected.len) == 0;
}

static int has_mode(const vector *v, const char *mode)
{
    return strcmp(v->mode, mode) == 0;
}

static aes_bitslice_cipher *cipher_of(const aes_bitslice_engine *engine, const vector *v)
{
    aes_bitslice_key *key;
    aes_bitslice_cipher *cipher;
    if ((has_mode(v, "xts") ? aes_bitslice_key_new_xts : aes_bitslice_key_new)(v->key.bytes, v->key.len, &key)) {
        return NULL;
    }
    check(aes_bitslice_cipher_new(engine, key, &cipher) == AES_BITSLICE_OK, v->name);
    aes_bitslice_key_free(key);
    return cipher;
}

/* The modes, and their operations in both directions. */
static const struct {
    const char *name;
    int makes, takes, has_tag;
} MODES[] = {
    {"ecb", AES_BITSLICE_ECB_ENCRYPT, AES_BITSLICE_ECB_DECRYPT, 0},
    {"cbc", AES_BITSLICE_CBC_ENCRYPT, AES_BITSLICE_CBC_DECRYPT, 0},
    {"ctr", AES_BITSLICE_CTR, AES_BITSLICE_CTR, 0},
    {"xts", AES_BITSLICE_XTS_ENCRYPT, AES_BITSLICE_XTS_DECRYPT, 0},
    {"gcm", AES_BITSLICE_GCM_ENCRYPT, AES_BITSLICE_GCM_DECRYPT, 1},
    {"gcm-siv", AES_BITSLICE_GCM_SIV_ENCRYPT, AES_BITSLICE_GCM_SIV_DECRYPT, 1},
    {"gmac", AES_BITSLICE_GMAC, 0, 1},
    {"cmac", AES_BITSLICE_CMAC, 0, 1},
};

/* Whether a case is accepted in both directions; if it is in one only, -1. An operation reads its own fields alone. */
static int accepted(const aes_bitslice_cipher *c, const vector *v, uint8_t *out)
{
    uint8_t tag[16];
    size_t n = 0;
    while (n < sizeof MODES / sizeof *MODES && !has_mode(v, MODES[n].name)) {
        n++;
    }
    check(n < sizeof MODES / sizeof *MODES, v->mode);
    const size_t tag_len = MODES[n].has_tag ? 16 : 0;
    aes_bitslice_operation operation = {
        .kind = MODES[n].makes, .counter = v->iv.bytes, .iv = v->iv.bytes, .unit_bytes = v->plain.len, .first_unit = v->iv.bytes,
        .nonce = v->iv.bytes, .nonce_len = v->iv.len, .aad = v->aad.bytes, .aad_len = v->aad.len, .tag = v->tag.bytes, .tag_len = v->tag.len,
        .short_tags = v->tag.len < 12};
    if (MODES[n].takes == 0) { /* a tag alone, of additional data in GMAC */
        const data of = has_mode(v, "gmac") ? v->aad : v->plain;
        return aes_bitslice_run(c, &operation, of.bytes, NULL, of.len, tag, 16) == AES_BITSLICE_OK && is(tag, v->tag);
    }
    if (v->plain.len != v->secret.len) {
        return 0;
    }
    const int makes = aes_bitslice_run(c, &operation, v->plain.bytes, out, v->plain.len, tag, tag_len) == AES_BITSLICE_OK
                      && is(out, v->secret) && (tag_len == 0 || is(tag, v->tag));
    operation.kind = MODES[n].takes;
    const int takes = aes_bitslice_run(c, &operation, v->secret.bytes, out, v->secret.len, NULL, 0) == AES_BITSLICE_OK && is(out, v->plain);
    return makes == takes ? makes : -1;
}

static void run(const char *path, const char *backend)
{
    aes_bitslice_engine *engine;
    check(aes_bitslice_engine_open(backend, &engine) == AES_BITSLICE_OK, backend);
    FILE *file = fopen(path, "r");
    check(file != NULL, path);
    char *line = NULL;
    size_t room = 0;
    int count = 0;
    for (; getline(&line, &room, file) > 0; count++) {
        vector v = {.name = strtok(line, " \n")};
        v.mode = word();
        v.valid = strcmp(word(), "1") == 0;
        v.key = next(), v.iv = next(), v.aad = next(), v.plain = next(), v.secret = next(), v.tag = next();
        aes_bitslice_cipher *cipher = cipher_of(engine, &v);
        uint8_t *out = malloc(v.plain.len + v.secret.len + 1);
        check(out != NULL, "memory");
        if ((cipher != NULL && v.tag.len <= 16 ? accepted(cipher, &v, out) : 0) != v.valid) {
            printf("%s fails on %s\n", v.name, backend);
        }
        free(out);
        aes_bitslice_cipher_free(cipher);
    }
    printf("%d cases on %s\n", count, backend);
    free(line);
    fclose(file);
    aes_bitslice_engine_free(engine);
}

int main(int count, char **arguments)
{
    for (int i = 2; i < count; i++) {
        run(arguments[1], arguments[i]);
    }
    return 0;
}
