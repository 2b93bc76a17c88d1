/*
 * Sealed data in files, in memory and through functions; and the files that were sealed once and are kept, which must open to the byte.
 *
 *     sealed FOLDER VECTORS [DISK]: an empty folder, the folder tests/vectors/sealed, and a block device that is written over
 */
#define _POSIX_C_SOURCE 200809L
#include "aes_bitslice.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 4 << 20 };

static aes_bitslice_engine *engine;
static aes_bitslice_key *key, *other;
static uint8_t message[ROOM], sealed[ROOM], opened[ROOM];

static void fail(int line, const char *what)
{
    fprintf(stderr, "sealed.c:%d: %s\n  last error: %s\n", line, what, aes_bitslice_last_error());
    exit(1);
}

#define CHECK(what) ((what) ? (void)0 : fail(__LINE__, #what))
#define OK(call) CHECK((call) == AES_BITSLICE_OK)
#define REFUSED(code, words, call) (CHECK((call) == (code)), CHECK(strstr(aes_bitslice_last_error(), words) != NULL))

static aes_bitslice_source from(const uint8_t *memory, size_t bytes)
{
    return (aes_bitslice_source){.memory = memory, .bytes = bytes};
}

static aes_bitslice_sink to(uint8_t *memory, size_t bytes)
{
    return (aes_bitslice_sink){.memory = memory, .bytes = bytes};
}

static int is_zero(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != 0) {
            return 0;
        }
    }
    return 1;
}

/* Each file that SHA256SUMS lists, with a name such as v1-key-3669920.sealed or aes256-4kb-4040.tink. */
static void kept_files(const char *folder)
{
    char path[4096], digest[65], name[100], keyset[4096];
    snprintf(path, sizeof path, "%s/SHA256SUMS", folder);
    FILE *list = fopen(path, "r");
    CHECK(list != NULL);
    int count = 0;
    while (fscanf(list, "%64s %99s", digest, name) == 2) {
        const char *format = strrchr(name, '.'), *bytes = strrchr(name, '-');
        if (strcmp(format, ".json") == 0) {
            continue;
        }
        aes_bitslice_secret secret = {0};
        int is_tink = strcmp(format, ".tink") == 0;
        if (is_tink) {
            secret.associated_data = (const uint8_t *)"associated";
            secret.associated_data_len = 10;
        }
        if (is_tink && strncmp(name, "key-", 4) == 0) {
            /* A key of 256 bits as a keyset: segments of 1 MiB. */
            secret.keyset = "{\"primaryKeyId\": 1, \"key\": [{\"keyData\": {\"typeUrl\": "
                            "\"type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey\", "
                            "\"value\": \"EggIgIBAECAYAxogAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\", "
                            "\"keyMaterialType\": \"SYMMETRIC\"}, \"status\": \"ENABLED\", \"keyId\": 1, \"outputPrefixType\": \"RAW\"}]}";
        } else if (is_tink) {
            snprintf(path, sizeof path, "%s/%.*s.json", folder, (int)(bytes - name), name);
            FILE *file = fopen(path, "r");
            CHECK(file != NULL);
            keyset[fread(keyset, 1, sizeof keyset - 1, file)] = 0;
            CHECK(fclose(file) == 0);
            secret.keyset = keyset;
        } else if (strstr(name, "passphrase") != NULL) {
            secret.passphrase = (const uint8_t *)"correct horse battery staple";
            secret.passphrase_len = 28;
        } else {
            secret.key = key;
        }
        snprintf(path, sizeof path, "%s/%s", folder, name);
        aes_bitslice_source source = {.path = path};
        aes_bitslice_sink sink = to(opened, ROOM);
        uint64_t written = 0, length = 0, expected = strtoull(bytes + 1, NULL, 10);
        OK(aes_bitslice_open(engine, &secret, &source, 0, UINT64_MAX, &sink, &written));
        CHECK(written == expected && memcmp(opened, message, written) == 0);
        OK(aes_bitslice_message_bytes(engine, &secret, &source, &length));
        CHECK(length == expected);
        count++;
    }
    CHECK(fclose(list) == 0);
    CHECK(count >= 19);
}

/* A buffer that functions read and write, a few bytes at a time, up to `end`. */
struct buffer {
    uint8_t *bytes;
    size_t end, at;
};

static ptrdiff_t read_some(void *context, uint64_t offset, uint8_t *bytes, size_t len)
{
    const struct buffer *buffer = context;
    if (offset > buffer->end) {
        return -1;
    }
    size_t left = buffer->end - offset, some = len < 70000 ? len : 70000;
    some = some < left ? some : left;
    memcpy(bytes, buffer->bytes + offset, some);
    return (ptrdiff_t)some;
}

static ptrdiff_t read_too_much(void *context, uint64_t offset, uint8_t *bytes, size_t len)
{
    (void)context, (void)offset, (void)bytes;
    return (ptrdiff_t)len + 1;
}

/* A read that enters the folder of its context and ends the data. */
static ptrdiff_t read_elsewhere(void *context, uint64_t offset, uint8_t *bytes, size_t len)
{
    (void)offset, (void)bytes, (void)len;
    return chdir(context);
}

static int write_all(void *context, const uint8_t *bytes, size_t len)
{
    struct buffer *buffer = context;
    if (len > buffer->end - buffer->at) {
        return 7;
    }
    memcpy(buffer->bytes + buffer->at, bytes, len);
    buffer->at += len;
    return 0;
}

static void memory_and_functions(void)
{
    enum { LEN = 2500000 };
    const aes_bitslice_secret secret = {.key = key}, wrong = {.key = other};
    aes_bitslice_source clear = from(message, LEN);
    aes_bitslice_sink room = to(sealed, LEN + LEN / 65000 + 168);
    uint64_t bytes = 0, written = 0, length = 0;
    OK(aes_bitslice_seal(engine, &secret, &clear, &room, &bytes));
    CHECK(bytes == LEN + 136 + 3 * 16 && memcmp(sealed, "AESBSEAL", 8) == 0);

    /* All, parts of it, and its length, from memory and through functions. */
    struct buffer input = {sealed, bytes, 0}, output = {opened, ROOM, 0};
    const aes_bitslice_source sources[] = {from(sealed, bytes), {.read = read_some, .context = &input, .bytes = bytes}};
    const aes_bitslice_sink sinks[] = {to(opened, ROOM), {.write = write_all, .context = &output}};
    const uint64_t ranges[][2] = {{0, UINT64_MAX}, {0, LEN}, {1, UINT64_MAX}, {1048519, 1048522}, {LEN, UINT64_MAX}, {5, 5}};
    for (size_t n = 0; n < 2; n++) {
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            uint64_t start = ranges[r][0], end = ranges[r][1] == UINT64_MAX ? LEN : ranges[r][1];
            output.at = 0;
            memset(opened, 0, ROOM);
            OK(aes_bitslice_open(engine, &secret, &sources[n], start, ranges[r][1], &sinks[n], &written));
            CHECK(written == end - start && memcmp(opened, message + start, written) == 0);
            CHECK(is_zero(opened + written, 100));
        }
        OK(aes_bitslice_message_bytes(engine, &secret, &sources[n], &length));
        CHECK(length == LEN);
        REFUSED(AES_BITSLICE_INVALID, "no range 5..2500001", aes_bitslice_open(engine, &secret, &sources[n], 5, LEN + 1, &sinks[n], NULL));
        REFUSED(AES_BITSLICE_UNAUTHENTICATED, "wrong key", aes_bitslice_open(engine, &wrong, &sources[n], 0, UINT64_MAX, &sinks[n], NULL));
    }
    /* Functions that seal; where the length is known only at the end. */
    struct buffer plain = {message, LEN, 0}, out = {opened, ROOM, 0};
    const aes_bitslice_source reads = {.read = read_some, .context = &plain};
    const aes_bitslice_sink writes = {.write = write_all, .context = &out};
    OK(aes_bitslice_seal(engine, &secret, &reads, &writes, &written));
    CHECK(written == bytes && out.at == bytes && memcmp(opened, sealed, 24) == 0 && memcmp(opened + 24, sealed + 24, 32) != 0);

    /* A failure clears the memory that was written. */
    aes_bitslice_source cut = from(sealed, bytes);
    aes_bitslice_sink all = to(opened, ROOM), small = to(opened, LEN - 1);
    memset(opened, 0, ROOM);
    sealed[bytes - 1] ^= 1;
    REFUSED(AES_BITSLICE_UNAUTHENTICATED, "segment 2 is damaged", aes_bitslice_open(engine, &secret, &cut, 0, UINT64_MAX, &all, NULL));
    REFUSED(AES_BITSLICE_UNAUTHENTICATED, "segment 2 is damaged", aes_bitslice_message_bytes(engine, &secret, &cut, &length));
    CHECK(is_zero(opened, ROOM));
    sealed[bytes - 1] ^= 1;
    const aes_bitslice_source longer = from(sealed, bytes + 1);
    REFUSED(AES_BITSLICE_UNAUTHENTICATED, "goes on after the sealed data, give a `memory`", aes_bitslice_open(engine, &secret, &longer, 0, UINT64_MAX, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "too small: it has 2499999 bytes", aes_bitslice_open(engine, &secret, &cut, 0, UINT64_MAX, &small, NULL));
    CHECK(is_zero(opened, ROOM));

    /* Functions that fail. */
    plain.end = 0;
    plain.at = 0;
    const aes_bitslice_source too_much = {.read = read_too_much}, late = {.read = read_some, .context = &plain, .bytes = bytes};
    REFUSED(AES_BITSLICE_IO, "`read` of `source` returned", aes_bitslice_seal(engine, &secret, &too_much, &all, NULL));
    REFUSED(AES_BITSLICE_IO, "`read` of `source` failed at byte", aes_bitslice_open(engine, &secret, &(aes_bitslice_source){.read = read_some, .context = &(struct buffer){sealed, 200, 0}, .bytes = bytes}, 1500000, 1500001, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "not a sealed file", aes_bitslice_open(engine, &secret, &late, 0, 1, &all, NULL));
    out.at = ROOM - 10;
    REFUSED(AES_BITSLICE_IO, "`write` of `sink` failed: 7", aes_bitslice_seal(engine, &secret, &clear, &writes, NULL));

    /* Descriptions that are wrong, each before anything is read. */
    const aes_bitslice_secret none = {0}, both = {.key = key, .passphrase = message, .passphrase_len = 1};
    const aes_bitslice_secret empty = {.passphrase = message}, bad = {.keyset = "{}"};
    const aes_bitslice_secret not_text = {.passphrase = (const uint8_t *)"caf\xe9", .passphrase_len = 4};
    const aes_bitslice_source salted = from((const uint8_t *)"Salted__12345678", 16);
    REFUSED(AES_BITSLICE_INVALID, "exactly one of `key`", aes_bitslice_seal(engine, &none, &clear, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "exactly one of `key`", aes_bitslice_seal(engine, &both, &clear, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "passphrase is empty", aes_bitslice_seal(engine, &empty, &clear, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "one line of text in UTF-8", aes_bitslice_seal(engine, &not_text, &clear, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "begins with `Salted__`", aes_bitslice_open(engine, &secret, &salted, 0, 1, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "Tink keyset", aes_bitslice_seal(engine, &bad, &clear, &all, NULL));
    const aes_bitslice_source nothing = {0}, two = {.memory = message, .path = "x"};
    aes_bitslice_secret with_data = {.key = key, .associated_data = message, .associated_data_len = 5};
    REFUSED(AES_BITSLICE_INVALID, "is for a Tink stream", aes_bitslice_seal(engine, &with_data, &clear, &all, NULL));
    with_data.key = NULL, with_data.passphrase = message, with_data.passphrase_len = 5;
    REFUSED(AES_BITSLICE_INVALID, "is for a Tink stream", aes_bitslice_seal(engine, &with_data, &clear, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "`source` must have", aes_bitslice_seal(engine, &secret, &nothing, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "`source` must have", aes_bitslice_message_bytes(engine, &secret, &two, &length));
    const aes_bitslice_sink nowhere = {0}, twice = {.memory = opened, .write = write_all};
    REFUSED(AES_BITSLICE_INVALID, "`sink` must have", aes_bitslice_seal(engine, &secret, &clear, &nowhere, NULL));
    REFUSED(AES_BITSLICE_INVALID, "`sink` must have", aes_bitslice_seal(engine, &secret, &clear, &twice, NULL));
    aes_bitslice_sink over = to(message + LEN - 1, 1000);
    REFUSED(AES_BITSLICE_INVALID, "overlap", aes_bitslice_seal(engine, &secret, &clear, &over, NULL));
    REFUSED(AES_BITSLICE_INVALID, "`engine` is NULL", aes_bitslice_seal(NULL, &secret, &clear, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "`secret` is NULL", aes_bitslice_open(engine, NULL, &clear, 0, 1, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "`source` is NULL", aes_bitslice_open(engine, &secret, NULL, 0, 1, &all, NULL));
    REFUSED(AES_BITSLICE_INVALID, "`sink` is NULL", aes_bitslice_open(engine, &secret, &clear, 0, 1, NULL, NULL));
    REFUSED(AES_BITSLICE_INVALID, "`bytes` is NULL", aes_bitslice_message_bytes(engine, &secret, &clear, NULL));
}

/* A passphrase, and files that are replaced or not. */
static void files(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/sealed", folder);
    const aes_bitslice_secret words = {.passphrase = (const uint8_t *)"correct horse", .passphrase_len = 13};
    const aes_bitslice_source clear = from(message, 1000), file = {.path = path};
    aes_bitslice_sink new = {.path = path}, memory = to(opened, 1000);
    uint64_t written = 0;
    OK(aes_bitslice_seal(engine, &words, &clear, &new, &written));
    struct stat before, after;
    CHECK(written == 1152 && stat(path, &before) == 0 && before.st_size == 1152 && (before.st_mode & 0777) == 0600);
    REFUSED(AES_BITSLICE_IO, "exists already", aes_bitslice_seal(engine, &words, &clear, &new, NULL));
    OK(aes_bitslice_open(engine, &words, &file, 0, UINT64_MAX, &memory, &written));
    CHECK(written == 1000 && memcmp(opened, message, 1000) == 0);
    const aes_bitslice_secret secret = {.key = key};
    REFUSED(AES_BITSLICE_INVALID, "sealed with a passphrase", aes_bitslice_open(engine, &secret, &file, 0, 1, &memory, NULL));
    const aes_bitslice_source from_nowhere = {.path = ""};
    const aes_bitslice_sink to_nowhere[2] = {{.path = ""}, {.path = "", .overwrite = 1}};
    REFUSED(AES_BITSLICE_INVALID, "the name of a file is empty", aes_bitslice_open(engine, &words, &from_nowhere, 0, 1, &memory, NULL));
    REFUSED(AES_BITSLICE_INVALID, "the name of a file is empty", aes_bitslice_seal(engine, &words, &clear, &to_nowhere[0], NULL));
    REFUSED(AES_BITSLICE_INVALID, "the name of a file is empty", aes_bitslice_seal(engine, &words, &clear, &to_nowhere[1], NULL));
    /* At once, before anything is read. */
    const aes_bitslice_source unread = {.read = read_too_much};
    const aes_bitslice_sink a_folder = {.path = "missing/"};
    REFUSED(AES_BITSLICE_IO, "`missing/`: it is a folder, not a file", aes_bitslice_seal(engine, &words, &unread, &a_folder, NULL));
    new.overwrite = 1;
    OK(aes_bitslice_seal(engine, &secret, &clear, &new, NULL));
    CHECK(stat(path, &after) == 0 && after.st_ino != before.st_ino && (after.st_mode & 0777) == 0600);
    /* A replaced file keeps its access, a link stays one, and a pipe is not replaced. */
    char link[4096], pipe[4096];
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    CHECK(chmod(path, 0640) == 0 && symlink("sealed", link) == 0 && mkfifo(pipe, 0600) == 0);
    new.path = link;
    OK(aes_bitslice_seal(engine, &secret, &clear, &new, NULL));
    CHECK(lstat(link, &before) == 0 && S_ISLNK(before.st_mode) && stat(path, &after) == 0 && (after.st_mode & 0777) == 0640);
    new.path = pipe;
    for (new.overwrite = 0; new.overwrite <= 1; new.overwrite++) {
        REFUSED(AES_BITSLICE_IO, "which is not replaced", aes_bitslice_seal(engine, &secret, &clear, &new, NULL));
    }
    new.overwrite = 1;
    /* Nor is the source, by this name or another. */
    const char *names[] = {path, link};
    for (int i = 0; i < 2; i++) {
        new.path = names[i];
        REFUSED(AES_BITSLICE_IO, "it is the source", aes_bitslice_seal(engine, &secret, &file, &new, NULL));
        REFUSED(AES_BITSLICE_IO, "it is the source", aes_bitslice_open(engine, &secret, &file, 0, UINT64_MAX, &new, NULL));
    }
    CHECK(stat(path, &before) == 0 && before.st_ino == after.st_ino);
    /* Nor is a file that is named by its descriptor. */
    const int descriptor = open(path, O_RDONLY);
    char numbered[4][64];
    snprintf(numbered[0], sizeof numbered[0], "/dev/fd/%d", descriptor);
    snprintf(numbered[1], sizeof numbered[1], "/proc/self/fd/%d", descriptor);
    snprintf(numbered[2], sizeof numbered[2], "/proc/%d/fd/%d", (int)getpid(), descriptor);
    snprintf(numbered[3], sizeof numbered[3], "%s", "/dev/stdout");
    CHECK(descriptor >= 0 && unlink(link) == 0 && symlink(numbered[0], link) == 0);
    for (int i = 0; i < 5; i++) {
        new.path = i < 4 ? numbered[i] : link;
        for (new.overwrite = 0; new.overwrite <= 1; new.overwrite++) {
            REFUSED(AES_BITSLICE_IO, "an open file of this process", aes_bitslice_seal(engine, &secret, &clear, &new, NULL));
            CHECK(strstr(aes_bitslice_last_error(), "in the function `write` of a sink") != NULL);
        }
        REFUSED(AES_BITSLICE_IO, "an open file of this process", aes_bitslice_seal_file(engine, key, path, new.path));
    }
    snprintf(numbered[0], sizeof numbered[0], "/proc/%d/fd/1", (int)getppid());
    new = (aes_bitslice_sink){.path = numbered[0], .overwrite = 1};
    REFUSED(AES_BITSLICE_IO, "an open file of another process", aes_bitslice_seal(engine, &secret, &clear, &new, NULL));
    CHECK(stat(path, &before) == 0 && before.st_ino == after.st_ino && close(descriptor) == 0);
    /* Another file is, whose source is a file, too. */
    char other[4096];
    snprintf(other, sizeof other, "%s/other", folder);
    new.path = other;
    for (int i = 0; i < 2; i++) OK(aes_bitslice_open(engine, &secret, &file, 0, UINT64_MAX, &new, NULL));
    CHECK(stat(other, &before) == 0 && before.st_size == 1000 && unlink(other) == 0);
    CHECK(unlink(link) == 0 && unlink(pipe) == 0);
    new.path = path;
    new.overwrite = 2;
    REFUSED(AES_BITSLICE_INVALID, "`overwrite` of `sink` is 2", aes_bitslice_seal(engine, &secret, &clear, &new, NULL));
    /* A file that cannot be opened is not replaced. */
    new.overwrite = 1;
    REFUSED(AES_BITSLICE_INVALID, "not a sealed file", aes_bitslice_open(engine, &secret, &clear, 0, UINT64_MAX, &new, NULL));
    CHECK(stat(path, &before) == 0 && before.st_ino == after.st_ino);
    CHECK(unlink(path) == 0);
    /* A name is of the folder that the program was in when it made the call. */
    char elsewhere[4096], there[4200];
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder);
    snprintf(there, sizeof there, "%s/sealed", elsewhere);
    CHECK(mkdir(elsewhere, 0700) == 0);
    const aes_bitslice_source moving = {.read = read_elsewhere, .context = elsewhere};
    for (int overwrite = 0; overwrite <= 1; overwrite++) {
        FILE *kept = fopen(there, "w");
        CHECK(kept != NULL && fputs("kept", kept) >= 0 && fclose(kept) == 0 && chdir(folder) == 0);
        new = (aes_bitslice_sink){.path = "sealed", .overwrite = overwrite};
        OK(aes_bitslice_seal(engine, &secret, &moving, &new, NULL));
        CHECK(stat(there, &after) == 0 && after.st_size == 4 && unlink(path) == 0);
    }
    CHECK(unlink(there) == 0 && rmdir(elsewhere) == 0);
    CHECK(rmdir(folder) == 0 && mkdir(folder, 0700) == 0); /* nothing else is left in it */
}

/* Nothing marks on a disk where sealed data ends. */
static void disk(const char *path)
{
    aes_bitslice_secret secret = {.key = key};
    aes_bitslice_source source = from(message, 1234567), whole = {.path = path};
    aes_bitslice_sink sink = to(sealed, ROOM), device = {.path = path, .overwrite = 1};
    uint64_t length = 0, written = 0;
    REFUSED(AES_BITSLICE_IO, "a device", aes_bitslice_seal(engine, &secret, &source, &device, NULL));
    OK(aes_bitslice_seal(engine, &secret, &source, &sink, &length));
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(sealed, 1, length, file) == length && fclose(file) == 0);
    memset(opened, 0, ROOM);
    sink = to(opened, ROOM);
    REFUSED(AES_BITSLICE_UNAUTHENTICATED, "it is a disk", aes_bitslice_open(engine, &secret, &whole, 0, UINT64_MAX, &sink, NULL));
    REFUSED(AES_BITSLICE_UNAUTHENTICATED, "give a `read` that ends there", aes_bitslice_open(engine, &secret, &whole, 1200000, 1200001, &sink, NULL));
    REFUSED(AES_BITSLICE_UNAUTHENTICATED, "it is a disk", aes_bitslice_message_bytes(engine, &secret, &whole, &written));
    CHECK(is_zero(opened, ROOM));
    secret.key = other;
    CHECK(aes_bitslice_open(engine, &secret, &whole, 0, UINT64_MAX, &sink, NULL) == AES_BITSLICE_UNAUTHENTICATED);
    CHECK(strstr(aes_bitslice_last_error(), "disk") == NULL);
    secret.key = key;
    struct buffer buffer = {.bytes = sealed, .end = length};
    aes_bitslice_source part = {.read = read_some, .context = &buffer, .bytes = length};
    OK(aes_bitslice_open(engine, &secret, &part, 0, UINT64_MAX, &sink, &written));
    CHECK(written == 1234567 && memcmp(opened, message, written) == 0);
}

int main(int count, char **arguments)
{
    CHECK(count == 3 || count == 4);
    uint8_t bytes[32];
    for (unsigned i = 0; i < 32; i++) {
        bytes[i] = (uint8_t)i;
    }
    OK(aes_bitslice_engine_open("cpu", &engine));
    OK(aes_bitslice_key_new(bytes, 32, &key));
    bytes[0] ^= 1;
    OK(aes_bitslice_key_new(bytes, 32, &other));
    for (uint32_t i = 0; i < ROOM; i++) {
        message[i] = (uint8_t)(i * 0x9e3779b1u >> 13);
    }
    kept_files(arguments[2]);
    memory_and_functions();
    files(arguments[1]);
    if (count == 4) {
        disk(arguments[3]);
    }
    aes_bitslice_key_free(key);
    aes_bitslice_key_free(other);
    aes_bitslice_engine_free(engine);
    puts("sealed: all checks passed");
    return 0;
}
