/* Encrypts and authenticates a message with GCM, decrypts it again, and has it refused after one bit was changed.
 *
 *     cc -std=c11 message.c $(pkg-config --cflags --libs aes_bitslice) -o message
 *     ./message [ENGINE]
 */
#include <aes_bitslice.h>
#include <stdio.h>
#include <string.h>

static int report(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, aes_bitslice_last_error());
    return 1;
}

int main(int count, char **arguments)
{
    const char *backend = count > 1 ? arguments[1] : "auto"; /* the first NVIDIA GPU, or the CPU, whichever is faster */
    uint8_t secret[32], nonce[12], tag[16];
    char message[] = "any number of bytes", header[] = "not secret, but authenticated";
    aes_bitslice_engine *engine = NULL;
    aes_bitslice_key *key = NULL;
    aes_bitslice_cipher *cipher = NULL;
    int status = 1;

    if (aes_bitslice_random(secret, sizeof secret) || aes_bitslice_random(nonce, sizeof nonce)) {
        return report("random bytes");
    }
    if (aes_bitslice_engine_open(backend, &engine) || aes_bitslice_key_new(secret, sizeof secret, &key)
        || aes_bitslice_cipher_new(engine, key, &cipher)) {
        report("a cipher");
        goto end;
    }
    printf("aes_bitslice %s on %s\n", aes_bitslice_version(), aes_bitslice_engine_description(engine));

    /* In place, with a nonce that no other message under this key has. */
    aes_bitslice_operation gcm = {
        .kind = AES_BITSLICE_GCM_ENCRYPT, .nonce = nonce, .nonce_len = sizeof nonce, .aad = header, .aad_len = sizeof header};
    if (aes_bitslice_run(cipher, &gcm, message, message, sizeof message, tag, sizeof tag)) {
        report("encryption");
        goto end;
    }
    char changed[sizeof message];
    memcpy(changed, message, sizeof message);
    changed[3] ^= 1;

    gcm.kind = AES_BITSLICE_GCM_DECRYPT;
    gcm.tag = tag;
    gcm.tag_len = sizeof tag;
    if (aes_bitslice_run(cipher, &gcm, message, message, sizeof message, NULL, 0)) {
        report("decryption");
        goto end;
    }
    printf("authentic: \"%s\"\n", message);

    int refused = aes_bitslice_run(cipher, &gcm, changed, changed, sizeof changed, NULL, 0);
    printf("one bit changed: %s\n", refused == AES_BITSLICE_UNAUTHENTICATED ? aes_bitslice_last_error() : "NOT NOTICED");
    status = refused != AES_BITSLICE_UNAUTHENTICATED;

end:
    aes_bitslice_cipher_free(cipher);
    aes_bitslice_key_free(key);
    aes_bitslice_engine_free(engine);
    return status;
}
