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

/* One direction of a mode without a tag. */
static int raw(const aes_bitslice_cipher *c, const vector *v, int direction, data from, uint8_t *out)
{
    if (has_mode(v, "ecb")) {
        return aes_bitslice_ecb(c, direction, from.bytes, out, from.len);
    } else if (has_mode(v, "cbc")) {
        return aes_bitslice_cbc(c, direction, v->iv.bytes, from.bytes, out, from.len);
    } else if (has_mode(v, "ctr")) {
        return aes_bitslice_ctr(c, v->iv.bytes, 0, from.bytes, out, from.len);
    }
    check(has_mode(v, "xts"), v->mode);
    return aes_bitslice_xts(c, direction, from.len, v->iv.bytes, from.bytes, out, from.len);
}

/* Whether a case is accepted in both directions; if it is in one only, -1. */
static int accepted(const aes_bitslice_cipher *c, const vector *v, uint8_t *out)
{
    uint8_t tag[16];
    int is_siv = has_mode(v, "gcm-siv"), is_gmac = has_mode(v, "gmac"), makes, takes;
    if (is_siv || has_mode(v, "gcm")) {
        makes = (is_siv ? aes_bitslice_gcm_siv_encrypt : aes_bitslice_gcm_encrypt)(
            c, v->iv.bytes, v->iv.len, v->aad.bytes, v->aad.len, v->plain.bytes, out, v->plain.len, tag) == AES_BITSLICE_OK
            && is(out, v->secret) && is(tag, v->tag);
        takes = (is_siv ? aes_bitslice_gcm_siv_decrypt : aes_bitslice_gcm_decrypt)(
            c, v->iv.bytes, v->iv.len, v->aad.bytes, v->aad.len, v->secret.bytes, out, v->secret.len, v->tag.bytes,
            v->tag.len) == AES_BITSLICE_OK && is(out, v->plain);
    } else if (is_gmac || has_mode(v, "cmac")) {
        int status = is_gmac ? aes_bitslice_gmac(c, v->iv.bytes, v->iv.len, v->aad.bytes, v->aad.len, tag)
                             : aes_bitslice_cmac(c, v->plain.bytes, v->plain.len, tag);
        makes = takes = status == AES_BITSLICE_OK && is(tag, v->tag);
    } else {
        makes = v->plain.len == v->secret.len && raw(c, v, AES_BITSLICE_ENCRYPT, v->plain, out) == AES_BITSLICE_OK
                && is(out, v->secret);
        takes = v->plain.len == v->secret.len && raw(c, v, AES_BITSLICE_DECRYPT, v->secret, out) == AES_BITSLICE_OK
                && is(out, v->plain);
    }
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
