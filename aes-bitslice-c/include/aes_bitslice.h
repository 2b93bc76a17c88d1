/*
 * AES on NVIDIA GPUs, on devices behind OpenCL, and on CPUs: GCM, AES-GCM-SIV, GMAC, CMAC, XTS, CTR, CBC, ECB, key stream, sealed files.
 *
 * A key is brought to an engine, which makes a cipher, and operations are called on the cipher:
 *
 *     aes_bitslice_engine_open("auto", &engine)   aes_bitslice_key_new(bytes, 32, &key)
 *                  aes_bitslice_cipher_new(engine, key, &cipher)
 *     aes_bitslice_gcm_encrypt(cipher, ...)       aes_bitslice_gcm_encrypt_on_stream(cipher, ...)
 *
 * RETURN VALUES. Functions return AES_BITSLICE_OK, which is 0, or why they failed; aes_bitslice_last_error() tells in a sentence. A call
 * that is refused has changed nothing; one that fails after it has begun to write clears its output in host memory.
 *
 * POINTERS. Unless said otherwise none may be NULL, but those to data of no bytes. `input` and `output` have `len` bytes each, and are
 * the same range, or two that lie apart. Nonces, additional data, tags, keys and descriptions of messages and of jobs lie apart from the
 * output. Nothing is kept of what a pointer of the caller's points to, and nothing of it is freed.
 * Handles are made and freed by this library's functions; one that was freed must not be used.
 *
 * THREADS. Any number of threads may use the same key, engine and cipher at the same time. Nobody may be using a handle that is freed.
 * CPU engines start threads when they are first used, which last until the process ends: do not call this library in a child after
 * fork() where the parent has.
 *
 * GPU MEMORY. Functions whose names end with `_on_stream` take pointers to memory of an NVIDIA GPU (or other memory that it can reach),
 * as of cudaMalloc, and a cudaStream_t or CUstream as `stream`; NULL is the default stream. They need an engine of one GPU, such as
 * "cuda:0"; memory and streams belong to this device's primary context, which is that of the CUDA runtime. They return when the work is
 * on the stream; memory, stream and what it was made of stay alive until it is done, the cipher need not. An error on the device shows
 * where the stream is waited for. All other functions take host memory; pinned memory, as of cudaMallocHost, is copied to a GPU
 * faster. A thread's current device or context stays what it was.
 *
 * Made by cbindgen of aes-bitslice-c/src: change it there.
 */


#ifndef AES_BITSLICE_H
#define AES_BITSLICE_H

#include <stddef.h>
#include <stdint.h>

// The call did what it was asked for.
#define AES_BITSLICE_OK 0

// An argument is wrong: a NULL, a length, a name, buffers that overlap. Nothing was changed.
#define AES_BITSLICE_INVALID 1

// Authentication failed: the data was changed, or another key, nonce or additional data belongs to it. The output is cleared; of a batch,
// that of the messages which failed.
#define AES_BITSLICE_UNAUTHENTICATED 2

// The engine, or this kind of memory, does not have the operation. Nothing was changed.
#define AES_BITSLICE_UNSUPPORTED 3

// The device, or the driver for it, is not there. Nothing was changed.
#define AES_BITSLICE_UNAVAILABLE 4

// Too little memory is free, on the device or on the host.
#define AES_BITSLICE_NO_MEMORY 5

// A file could not be read or written.
#define AES_BITSLICE_IO 6

// The device, its driver or the operating system failed. If output had been written to, it is cleared where it is in host memory.
#define AES_BITSLICE_FAILED 7

// An error of this library: please report it. Output in host memory is cleared.
#define AES_BITSLICE_BUG 8

// The version of the binary interface. It is raised by every change after which programs that were compiled before no longer work.
#define AES_BITSLICE_ABI_VERSION 1

// The direction of decryption: ciphertext to plaintext.
#define AES_BITSLICE_DECRYPT 0

// The direction of encryption: plaintext to ciphertext.
#define AES_BITSLICE_ENCRYPT 1

// A key on an engine: what operations are called on. Any number of threads may use one at the same time.
typedef struct aes_bitslice_cipher aes_bitslice_cipher;

// A device, or the CPU, that was opened.
typedef struct aes_bitslice_engine aes_bitslice_engine;

// An AES key, or the two of XTS. It is wiped when it is freed, and never printed.
typedef struct aes_bitslice_key aes_bitslice_key;

// What a call on a stream returns when the stream has come to it: a tag, tags, a part of a message, or which messages are authentic.
// Freeing it waits for that, too.
typedef struct aes_bitslice_pending aes_bitslice_pending;

// What comes of a part of a GCM message, and the tag of all parts is made of. It tells about the hash key: keep it as secret as the
// key until the tag is made.
typedef struct aes_bitslice_part {
  // Where in the message the part begins, in bytes.
  uint64_t offset;
  // Bytes of the part.
  uint64_t bytes;
  // GHASH of its ciphertext (SP 800-38D, section 6.4).
  uint8_t hash[16];
} aes_bitslice_part;

// Where a message, or what a job is for, lies in the data of a call.
typedef struct aes_bitslice_range {
  // Where it begins, in bytes.
  uint64_t offset;
  // How many bytes it has; it may have none.
  uint64_t bytes;
} aes_bitslice_range;

// A message of a batch of GCM. All are under one key, and no two of them may have the same nonce.
typedef struct aes_bitslice_gcm_message {
  // The nonce, `nonce_len` bytes.
  const uint8_t *nonce;
  // Bytes of the nonce: 12 as a rule.
  size_t nonce_len;
  // Additional data, `aad_len` bytes, which is authenticated and not encrypted.
  const void *aad;
  // Bytes of the additional data; there may be none.
  size_t aad_len;
  // Where the message lies in the data of the call.
  struct aes_bitslice_range range;
} aes_bitslice_gcm_message;

// A job of a call under many keys. The keys of all jobs have the same length.
typedef struct aes_bitslice_job {
  // The key, `key_len` bytes.
  const uint8_t *key;
  // Bytes of the key: 16, 24 or 32.
  size_t key_len;
  // The first counter block, all 128 bits of which count, big-endian; ECB takes no notice of it.
  uint8_t counter[16];
  // Where in the data of the call its bytes lie; of ECB whole blocks of 16.
  struct aes_bitslice_range range;
} aes_bitslice_job;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, such as "0.1.0". It lives as long as the process.
const char *aes_bitslice_version(void);

// The version of the library's binary interface. A program that loads the library by itself compares it with
// AES_BITSLICE_ABI_VERSION; one that is linked with it cannot get another.
uint32_t aes_bitslice_abi_version(void);

// What went wrong and what to do about it, in one sentence: of the last call on this thread that failed. Empty if none has. It
// may be read until the next call on this thread.
const char *aes_bitslice_last_error(void);

// Fills `output` with `len` bytes of the operating system's random number generator: for keys, nonces, IVs and counters.
int aes_bitslice_random(void *output,
                        size_t len);

// A key of `len` bytes: 16, 24 or 32, in the byte order of FIPS 197. `bytes` is copied: wipe it when it is no longer needed.
//
// Writes the key to `key`, to be freed by aes_bitslice_key_free.
int aes_bitslice_key_new(const uint8_t *bytes,
                         size_t len,
                         struct aes_bitslice_key **key);

// A key of XTS of `len` bytes, 32 or 64: the key of the data, then that of the tweaks (IEEE 1619, section 5.1). Two halves that are
// equal are refused. `bytes` is copied: wipe it when it is no longer needed.
//
// Writes the key to `key`, to be freed by aes_bitslice_key_free.
int aes_bitslice_key_new_xts(const uint8_t *bytes,
                             size_t len,
                             struct aes_bitslice_key **key);

// Wipes and frees a key; does nothing for NULL. Ciphers that were made of it stay usable: they have a copy.
void aes_bitslice_key_free(struct aes_bitslice_key *key);

// Opens an engine by its name: "auto" (the first NVIDIA GPU, or the CPU), "cpu", "cpu-bitsliced", "cuda" or "cuda:N" (the NVIDIA GPU
// with this number, from 0), "cuda:all", "opencl", "opencl:P.D". With "auto", data in host memory goes to whichever of GPU and CPU is
// faster for it.
//
// Writes the engine to `engine`, to be freed by aes_bitslice_engine_free. Fails with AES_BITSLICE_UNAVAILABLE where the device or
// its driver is missing.
int aes_bitslice_engine_open(const char *backend,
                             struct aes_bitslice_engine **engine);

// One line about the engine: the device, and for "auto" why it is this one. It lives as long as the engine. NULL, and a message,
// where `engine` is NULL.
const char *aes_bitslice_engine_description(const struct aes_bitslice_engine *engine);

// Frees an engine; does nothing for NULL. Ciphers that were made on it stay usable: they keep the device open.
void aes_bitslice_engine_free(struct aes_bitslice_engine *engine);

// Brings a key to an engine: expands it, and copies it to the device. Key and engine may be freed afterwards.
//
// Writes the cipher to `cipher`, to be freed by aes_bitslice_cipher_free.
int aes_bitslice_cipher_new(const struct aes_bitslice_engine *engine,
                            const struct aes_bitslice_key *key,
                            struct aes_bitslice_cipher **cipher);

// Wipes and frees a cipher; does nothing for NULL. Work that it has put on streams is not disturbed.
void aes_bitslice_cipher_free(struct aes_bitslice_cipher *cipher);

// CTR, which encrypts and decrypts alike (SP 800-38A, section 6.5), of `len` bytes, any number.
//
// `counter` is the initial counter block of the message, 16 bytes, all 128 bits of which count, big-endian, as OpenSSL counts.
// `offset` is where in the message `input` begins, in bytes: any part of a message can be done alone. Never use a key twice with
// counter blocks that overlap.
int aes_bitslice_ctr(const struct aes_bitslice_cipher *cipher,
                     const uint8_t *counter,
                     uint64_t offset,
                     const void *input,
                     void *output,
                     size_t len);

// The key stream of CTR: `len` bytes, any number, from byte `offset` of the stream that begins with the encrypted block `counter`
// (16 bytes) on. It is what aes_bitslice_ctr makes of zeros: never use both under one key where their counter blocks overlap.
int aes_bitslice_keystream(const struct aes_bitslice_cipher *cipher,
                           const uint8_t *counter,
                           uint64_t offset,
                           void *output,
                           size_t len);

// ECB (SP 800-38A, section 6.1) of `len` bytes, a multiple of 16, in a `direction`. It shows which blocks are equal: do not encrypt
// messages with it.
int aes_bitslice_ecb(const struct aes_bitslice_cipher *cipher,
                     int direction,
                     const void *input,
                     void *output,
                     size_t len);

// CBC (SP 800-38A, section 6.2) of `len` bytes, a multiple of 16, in a `direction`; there is no padding. Encryption is serial, on one
// core of the CPU with every engine.
//
// `iv` is the initialisation vector, 16 bytes: for a new message random ones, for the next part of a message the last block of
// ciphertext before it.
int aes_bitslice_cbc(const struct aes_bitslice_cipher *cipher,
                     int direction,
                     const uint8_t *iv,
                     const void *input,
                     void *output,
                     size_t len);

// XTS (IEEE 1619; SP 800-38E) of `len` bytes in a `direction`, with a key of aes_bitslice_key_new_xts: neighbouring data units of
// `unit_bytes` bytes, 16 to 16 777 216, the last of which may be shorter, down to 16 bytes. In units of whole blocks by every engine, else by the CPU.
//
// `first_unit` is the number of the first data unit, 16 bytes, little-endian; each unit has the number after that before it.
int aes_bitslice_xts(const struct aes_bitslice_cipher *cipher,
                     int direction,
                     uint64_t unit_bytes,
                     const uint8_t *first_unit,
                     const void *input,
                     void *output,
                     size_t len);

// Encrypts a whole message with GCM (SP 800-38D, section 7.1), of `len` bytes, 0 to 2^36 - 32, and writes its tag, 16 bytes, to `tag`.
//
// `nonce` has `nonce_len` bytes, 12 as a rule, and must be new for every message under a key. `aad` is additional data of `aad_len`
// bytes, which is authenticated and not encrypted; there may be none.
int aes_bitslice_gcm_encrypt(const struct aes_bitslice_cipher *cipher,
                             const uint8_t *nonce,
                             size_t nonce_len,
                             const void *aad,
                             size_t aad_len,
                             const void *input,
                             void *output,
                             size_t len,
                             uint8_t *tag);

// Decrypts a whole message with GCM (SP 800-38D, section 7.2), if it is the one that the tag was made of: otherwise it fails with
// AES_BITSLICE_UNAUTHENTICATED, and clears the output.
//
// Nonce and additional data are those of the encryption. `tag` has `tag_len` bytes: 16, or the first 12 to 15, 8 or 4 where both sides
// agreed on that.
int aes_bitslice_gcm_decrypt(const struct aes_bitslice_cipher *cipher,
                             const uint8_t *nonce,
                             size_t nonce_len,
                             const void *aad,
                             size_t aad_len,
                             const void *input,
                             void *output,
                             size_t len,
                             const uint8_t *tag,
                             size_t tag_len);

// Encrypts or decrypts a part of a GCM message, `len` bytes from byte `offset` of the message on, and writes what the tag is made of to
// `part`. Parts may be done in any order, and at the same time; `offset` is a multiple of 16, and so is `len` but for the last part.
//
// The tag of the whole message comes of all parts, by aes_bitslice_gcm_tag; plaintext that was decrypted is NOT AUTHENTIC before
// aes_bitslice_gcm_verify has found the tag right.
int aes_bitslice_gcm_part(const struct aes_bitslice_cipher *cipher,
                          int direction,
                          const uint8_t *nonce,
                          size_t nonce_len,
                          uint64_t offset,
                          const void *input,
                          void *output,
                          size_t len,
                          struct aes_bitslice_part *part);

// The tag, 16 bytes, of a GCM message that was encrypted in parts: of all its `count` parts, in any order, and its additional data.
// Parts that overlap, or one that is missing between others, are refused with AES_BITSLICE_INVALID; that one is missing at the end
// cannot be seen.
int aes_bitslice_gcm_tag(const struct aes_bitslice_cipher *cipher,
                         const uint8_t *nonce,
                         size_t nonce_len,
                         const void *aad,
                         size_t aad_len,
                         const struct aes_bitslice_part *parts,
                         size_t count,
                         uint8_t *tag);

// Whether a GCM message that was decrypted in parts is the one that the tag, of `tag_len` bytes, was made of: AES_BITSLICE_OK, or
// AES_BITSLICE_UNAUTHENTICATED, and then its plaintext must be thrown away.
int aes_bitslice_gcm_verify(const struct aes_bitslice_cipher *cipher,
                            const uint8_t *nonce,
                            size_t nonce_len,
                            const void *aad,
                            size_t aad_len,
                            const struct aes_bitslice_part *parts,
                            size_t count,
                            const uint8_t *tag,
                            size_t tag_len);

// Encrypts a whole message with AES-GCM-SIV (RFC 8452), of `len` bytes, 0 to 2^36, and writes its tag, 16 bytes, to `tag`. The key
// has 128 or 256 bits.
//
// `nonce` has `nonce_len` bytes, which is 12, and is new for every message; one that is used twice under a key tells whether two messages
// with the same additional data are equal, and nothing else. `aad` is additional data of `aad_len` bytes, which is authenticated and not
// encrypted; there may be none.
int aes_bitslice_gcm_siv_encrypt(const struct aes_bitslice_cipher *cipher,
                                 const uint8_t *nonce,
                                 size_t nonce_len,
                                 const void *aad,
                                 size_t aad_len,
                                 const void *input,
                                 void *output,
                                 size_t len,
                                 uint8_t *tag);

// Decrypts a whole message with AES-GCM-SIV (RFC 8452), if it is the one that the tag was made of: otherwise it fails with
// AES_BITSLICE_UNAUTHENTICATED, and clears the output.
//
// Nonce and additional data are those of the encryption. `tag` has `tag_len` bytes, which is 16.
int aes_bitslice_gcm_siv_decrypt(const struct aes_bitslice_cipher *cipher,
                                 const uint8_t *nonce,
                                 size_t nonce_len,
                                 const void *aad,
                                 size_t aad_len,
                                 const void *input,
                                 void *output,
                                 size_t len,
                                 const uint8_t *tag,
                                 size_t tag_len);

// GMAC (SP 800-38D, section 3): the tag, 16 bytes, of `len` bytes that are authenticated and not encrypted, any number. As in GCM, the
// nonce must be new for every message under a key.
int aes_bitslice_gmac(const struct aes_bitslice_cipher *cipher,
                      const uint8_t *nonce,
                      size_t nonce_len,
                      const void *input,
                      size_t len,
                      uint8_t *tag);

// CMAC (SP 800-38B): the tag, 16 bytes, of `len` bytes, any number. Serial, on one core of the CPU with every engine.
int aes_bitslice_cmac(const struct aes_bitslice_cipher *cipher, const void *input, size_t len, uint8_t *tag);

// Compares a tag that was computed, 16 bytes, with one that was received, the first `received_len` bytes of it (16 to 12, 8 or 4), in
// constant time: AES_BITSLICE_OK, or AES_BITSLICE_UNAUTHENTICATED. Never compare tags with memcmp, whose time tells how much was right.
int aes_bitslice_tag_verify(const uint8_t *computed,
                            const uint8_t *received,
                            size_t received_len);

// Encrypts `count` messages with GCM (SP 800-38D, section 7.1), each with a nonce and additional data of its own, and writes their tags,
// of 16 bytes each, side by side to `tags`. In host memory, on the cores of the CPU with every engine.
//
// Messages are ranges of the data, of `len` bytes; they ascend and do not overlap. Bytes of `output` between them stay as they are. Two
// with the same nonce are refused.
int aes_bitslice_gcm_encrypt_batch(const struct aes_bitslice_cipher *cipher,
                                   const struct aes_bitslice_gcm_message *messages,
                                   size_t count,
                                   const void *input,
                                   void *output,
                                   size_t len,
                                   uint8_t *tags);

// Decrypts `count` messages with GCM (SP 800-38D, section 7.2), and writes to `authentic`, a byte for each, 1 if the message is the one
// that its tag was made of, and 0 if it is not: then its output is cleared. Fails with AES_BITSLICE_UNAUTHENTICATED if any is not; the
// others are good all the same.
//
// Messages are those of the encryption, or some of them. `tags` are their tags side by side, of `tag_len` bytes each: 16, or the first 12
// to 15, 8 or 4 where both sides agreed on that.
int aes_bitslice_gcm_decrypt_batch(const struct aes_bitslice_cipher *cipher,
                                   const struct aes_bitslice_gcm_message *messages,
                                   size_t count,
                                   const void *input,
                                   void *output,
                                   size_t len,
                                   const uint8_t *tags,
                                   size_t tag_len,
                                   uint8_t *authentic);

// CMAC (SP 800-38B) of `count` messages: writes their tags, of 16 bytes each, side by side to `tags`. In host memory, on the cores of the
// CPU with every engine.
//
// Messages are ranges of the data, of `len` bytes, in any order; they may overlap.
int aes_bitslice_cmac_batch(const struct aes_bitslice_cipher *cipher,
                            const struct aes_bitslice_range *messages,
                            size_t count,
                            const void *input,
                            size_t len,
                            uint8_t *tags);

// Writes to `authentic`, a byte for each of `count` messages, 1 if the message is the one that its tag was made of by CMAC (SP 800-38B),
// and 0 if it is not. Fails with AES_BITSLICE_UNAUTHENTICATED if any is not. Tags are compared in constant time.
//
// Messages are ranges of the data, of `len` bytes, in any order; they may overlap. `tags` are their tags side by side, of `tag_len` bytes
// each: 16, or the first 12 to 15, 8 or 4 where both sides agreed on that.
int aes_bitslice_cmac_verify_batch(const struct aes_bitslice_cipher *cipher,
                                   const struct aes_bitslice_range *messages,
                                   size_t count,
                                   const void *input,
                                   size_t len,
                                   const uint8_t *tags,
                                   size_t tag_len,
                                   uint8_t *authentic);

// Loads the kernels that calls of a mode take, and waits until they have given a known answer, so that no later call has to: before time
// counts, and before a stream is captured into a graph. `mode` is "ctr", "ctr-le32" (for AES-GCM-SIV), "keystream", "ecb-encrypt",
// "ecb-decrypt", "cbc-decrypt", "xts-encrypt" or "xts-decrypt"; "gcm", with what the key's tags take, "gcm-batch" or "cmac-batch".
int aes_bitslice_prepare(const struct aes_bitslice_cipher *cipher,
                         const char *mode);

// aes_bitslice_ctr in memory of the GPU, on a stream.
int aes_bitslice_ctr_on_stream(const struct aes_bitslice_cipher *cipher,
                               const uint8_t *counter,
                               uint64_t offset,
                               const void *input,
                               void *output,
                               size_t len,
                               void *stream);

// aes_bitslice_keystream in memory of the GPU, on a stream.
int aes_bitslice_keystream_on_stream(const struct aes_bitslice_cipher *cipher,
                                     const uint8_t *counter,
                                     uint64_t offset,
                                     void *output,
                                     size_t len,
                                     void *stream);

// aes_bitslice_ecb in memory of the GPU, on a stream.
int aes_bitslice_ecb_on_stream(const struct aes_bitslice_cipher *cipher,
                               int direction,
                               const void *input,
                               void *output,
                               size_t len,
                               void *stream);

// Decryption of aes_bitslice_cbc in memory of the GPU, on a stream. (Encryption is serial: the CPU does it, in host memory.)
int aes_bitslice_cbc_decrypt_on_stream(const struct aes_bitslice_cipher *cipher,
                                       const uint8_t *iv,
                                       const void *input,
                                       void *output,
                                       size_t len,
                                       void *stream);

// aes_bitslice_xts in memory of the GPU, on a stream; `first_unit` is in host memory. `unit_bytes` is a multiple of 16: units that are not
// whole blocks are refused with AES_BITSLICE_UNSUPPORTED.
int aes_bitslice_xts_on_stream(const struct aes_bitslice_cipher *cipher,
                               int direction,
                               uint64_t unit_bytes,
                               const uint8_t *first_unit,
                               const void *input,
                               void *output,
                               size_t len,
                               void *stream);

// aes_bitslice_gcm_encrypt in memory of the GPU, on a stream; nonce and additional data are in host memory. The tag is there when the
// stream has come to it: aes_bitslice_pending_tag gives it. Cannot be captured into a graph.
//
// Writes what the tag comes by to `pending`, to be freed by aes_bitslice_pending_free.
int aes_bitslice_gcm_encrypt_on_stream(const struct aes_bitslice_cipher *cipher,
                                       const uint8_t *nonce,
                                       size_t nonce_len,
                                       const void *aad,
                                       size_t aad_len,
                                       const void *input,
                                       void *output,
                                       size_t len,
                                       void *stream,
                                       struct aes_bitslice_pending **pending);

// aes_bitslice_gcm_decrypt in memory of the GPU, on a stream; nonce, additional data and tag are in host memory. Output that is not
// authentic is cleared on the same stream, so that what comes next on it sees the message or zeros; aes_bitslice_pending_wait tells
// which. From the host or from another stream, do not look at the output before that. Cannot be captured into a graph.
//
// Writes what tells it to `pending`, to be freed by aes_bitslice_pending_free.
int aes_bitslice_gcm_decrypt_on_stream(const struct aes_bitslice_cipher *cipher,
                                       const uint8_t *nonce,
                                       size_t nonce_len,
                                       const void *aad,
                                       size_t aad_len,
                                       const void *input,
                                       void *output,
                                       size_t len,
                                       const uint8_t *tag,
                                       size_t tag_len,
                                       void *stream,
                                       struct aes_bitslice_pending **pending);

// aes_bitslice_gcm_siv_encrypt in memory of the GPU, on a stream; nonce and additional data are in host memory. It goes through the data
// twice, and waits until the stream has come to the end of the first time. The tag is there when the stream has come to it:
// aes_bitslice_pending_tag gives it. Cannot be captured into a graph. Each call has tables of its own on the GPU: to wait for its value, or
// to free it, waits for all that the GPU is doing.
//
// Writes what the tag comes by to `pending`, to be freed by aes_bitslice_pending_free.
int aes_bitslice_gcm_siv_encrypt_on_stream(const struct aes_bitslice_cipher *cipher,
                                           const uint8_t *nonce,
                                           size_t nonce_len,
                                           const void *aad,
                                           size_t aad_len,
                                           const void *input,
                                           void *output,
                                           size_t len,
                                           void *stream,
                                           struct aes_bitslice_pending **pending);

// aes_bitslice_gcm_siv_decrypt in memory of the GPU, on a stream; nonce, additional data and tag are in host memory. Output that is not
// authentic is cleared on the same stream, so that what comes next on it sees the message or zeros; aes_bitslice_pending_wait tells
// which. From the host or from another stream, do not look at the output before that. Cannot be captured into a graph. Each call has tables
// of its own: it waits until they are on the GPU, so also for the default stream and for streams made without cudaStreamNonBlocking. To wait
// for it, or to free it, waits for all that the GPU is doing.
//
// Writes what tells it to `pending`, to be freed by aes_bitslice_pending_free.
int aes_bitslice_gcm_siv_decrypt_on_stream(const struct aes_bitslice_cipher *cipher,
                                           const uint8_t *nonce,
                                           size_t nonce_len,
                                           const void *aad,
                                           size_t aad_len,
                                           const void *input,
                                           void *output,
                                           size_t len,
                                           const uint8_t *tag,
                                           size_t tag_len,
                                           void *stream,
                                           struct aes_bitslice_pending **pending);

// aes_bitslice_gcm_part in memory of the GPU, on a stream; the nonce is in host memory. aes_bitslice_pending_part gives what the tag is
// made of when the stream has come to it. Cannot be captured into a graph.
//
// Writes what the part comes by to `pending`, to be freed by aes_bitslice_pending_free.
int aes_bitslice_gcm_part_on_stream(const struct aes_bitslice_cipher *cipher,
                                    int direction,
                                    const uint8_t *nonce,
                                    size_t nonce_len,
                                    uint64_t offset,
                                    const void *input,
                                    void *output,
                                    size_t len,
                                    void *stream,
                                    struct aes_bitslice_pending **pending);

// aes_bitslice_gmac in memory of the GPU, on a stream; the nonce is in host memory. aes_bitslice_pending_tag gives the tag when the
// stream has come to it. Cannot be captured into a graph.
//
// Writes what the tag comes by to `pending`, to be freed by aes_bitslice_pending_free.
int aes_bitslice_gmac_on_stream(const struct aes_bitslice_cipher *cipher,
                                const uint8_t *nonce,
                                size_t nonce_len,
                                const void *input,
                                size_t len,
                                void *stream,
                                struct aes_bitslice_pending **pending);

// aes_bitslice_gcm_encrypt_batch in memory of the GPU, on a stream; descriptions of messages, nonces and additional data are in host
// memory. The tags are there when the stream has come to them: aes_bitslice_pending_tags gives them. Fast for messages at multiples of 16
// bytes, nearly as fast at multiples of 4. Cannot be captured into a graph.
//
// Writes what the tags come by to `pending`, to be freed by aes_bitslice_pending_free.
int aes_bitslice_gcm_encrypt_batch_on_stream(const struct aes_bitslice_cipher *cipher,
                                             const struct aes_bitslice_gcm_message *messages,
                                             size_t count,
                                             const void *input,
                                             void *output,
                                             size_t len,
                                             void *stream,
                                             struct aes_bitslice_pending **pending);

// aes_bitslice_gcm_decrypt_batch in memory of the GPU, on a stream; descriptions of messages, nonces, additional data and tags are in host
// memory. Output of messages that are not authentic is cleared on the same stream: what comes next on it sees each message or zeros.
// aes_bitslice_pending_authentic tells which are. From the host or from another stream, do not look at the output before that. Cannot be
// captured into a graph.
//
// Writes what tells it to `pending`, to be freed by aes_bitslice_pending_free.
int aes_bitslice_gcm_decrypt_batch_on_stream(const struct aes_bitslice_cipher *cipher,
                                             const struct aes_bitslice_gcm_message *messages,
                                             size_t count,
                                             const void *input,
                                             void *output,
                                             size_t len,
                                             const uint8_t *tags,
                                             size_t tag_len,
                                             void *stream,
                                             struct aes_bitslice_pending **pending);

// aes_bitslice_cmac_batch in memory of the GPU, on a stream; the ranges are in host memory. The tags are there when the stream has come to
// them: aes_bitslice_pending_tags gives them. The blocks of a message come one after the other: thousands of messages are fast, and few
// are not. Cannot be captured into a graph.
//
// Writes what the tags come by to `pending`, to be freed by aes_bitslice_pending_free.
int aes_bitslice_cmac_batch_on_stream(const struct aes_bitslice_cipher *cipher,
                                      const struct aes_bitslice_range *messages,
                                      size_t count,
                                      const void *input,
                                      size_t len,
                                      void *stream,
                                      struct aes_bitslice_pending **pending);

// aes_bitslice_cmac_verify_batch in memory of the GPU, on a stream; ranges and tags are in host memory. aes_bitslice_pending_authentic
// tells which messages are authentic when the stream has come to it. Cannot be captured into a graph.
//
// Writes what tells it to `pending`, to be freed by aes_bitslice_pending_free.
int aes_bitslice_cmac_verify_batch_on_stream(const struct aes_bitslice_cipher *cipher,
                                             const struct aes_bitslice_range *messages,
                                             size_t count,
                                             const void *input,
                                             size_t len,
                                             const uint8_t *tags,
                                             size_t tag_len,
                                             void *stream,
                                             struct aes_bitslice_pending **pending);

// Does `count` jobs, each with a key, a first counter block and a range of the data, in host memory on the cores of the CPU with every
// engine. `mode` is "ctr", "ecb-encrypt", "ecb-decrypt" or "keystream"; of key stream, `input` is NULL.
//
// Ranges of the data, of `len` bytes, ascend and do not overlap. Bytes of `output` between them stay as they are. Jobs with one key must
// have no counter in common: nothing looks for that.
int aes_bitslice_run_jobs(const struct aes_bitslice_engine *engine,
                          const char *mode,
                          const struct aes_bitslice_job *jobs,
                          size_t count,
                          const void *input,
                          void *output,
                          size_t len);

// Does the same number of bytes under each of `count` keys, which lie side by side: the first key is for the first `bytes_per_key` bytes,
// a multiple of 16. In host memory, on the cores of the CPU with every engine. `mode` is "ctr", "ecb-encrypt", "ecb-decrypt" or
// "keystream"; of key stream, `input` is NULL.
//
// Each key has `key_len` bytes: 16, 24 or 32. `counter` is the first counter block under each, 16 bytes; NULL for ECB. `len` is
// `count` times `bytes_per_key`. The keys lie apart from the output.
int aes_bitslice_run_each_key(const struct aes_bitslice_engine *engine,
                              const char *mode,
                              const uint8_t *keys,
                              size_t key_len,
                              size_t count,
                              const uint8_t *counter,
                              uint64_t bytes_per_key,
                              const void *input,
                              void *output,
                              size_t len);

// Loads the kernels for many keys, and waits until they have given a known answer, so that no later call has to: before time counts, and
// before a stream is captured into a graph. It needs an engine of one GPU.
int aes_bitslice_prepare_many_keys(const struct aes_bitslice_engine *engine);

// aes_bitslice_run_jobs in memory of the GPU, on a stream, which expands the keys; descriptions of jobs and keys are in host memory. Fast
// for jobs of a few KiB or more. Cannot be captured into a graph.
//
// Writes what waits for the call to `pending`, to be freed by aes_bitslice_pending_free: the library's copy of the keys is wiped then.
int aes_bitslice_run_jobs_on_stream(const struct aes_bitslice_engine *engine,
                                    const char *mode,
                                    const struct aes_bitslice_job *jobs,
                                    size_t count,
                                    const void *input,
                                    void *output,
                                    size_t len,
                                    void *stream,
                                    struct aes_bitslice_pending **pending);

// aes_bitslice_run_each_key in memory of the GPU, on a stream; the keys are there, too, at a multiple of four bytes, and the counter is in
// host memory. The keys are expanded while they are used, and stay as they are: clearing them is the caller's. May be captured into a
// graph after aes_bitslice_prepare_many_keys.
int aes_bitslice_run_each_key_on_stream(const struct aes_bitslice_engine *engine,
                                        const char *mode,
                                        const uint8_t *keys,
                                        size_t key_len,
                                        size_t count,
                                        const uint8_t *counter,
                                        uint64_t bytes_per_key,
                                        const void *input,
                                        void *output,
                                        size_t len,
                                        void *stream);

// Waits until the stream has come to it: AES_BITSLICE_OK, or AES_BITSLICE_UNAUTHENTICATED where a call that decrypts or verifies has found
// a message that is not authentic; of a batch, aes_bitslice_pending_authentic tells which. It may be asked again.
int aes_bitslice_pending_wait(const struct aes_bitslice_pending *pending);

// Waits until the stream has come to a tag, and writes it, 16 bytes, to `tag` in host memory. It may be asked again.
int aes_bitslice_pending_tag(const struct aes_bitslice_pending *pending, uint8_t *tag);

// Waits until the stream has come to the tags of a batch of `count` messages, and writes them, 16 bytes each, side by side to `tags` in
// host memory. It may be asked again.
int aes_bitslice_pending_tags(const struct aes_bitslice_pending *pending,
                              uint8_t *tags,
                              size_t count);

// Waits until the stream has come to a batch of `count` messages that were decrypted or verified, and writes to `authentic` in host
// memory, a byte for each, 1 if the message is authentic and 0 if it is not. Fails with AES_BITSLICE_UNAUTHENTICATED if any is not. It may
// be asked again.
int aes_bitslice_pending_authentic(const struct aes_bitslice_pending *pending,
                                   uint8_t *authentic,
                                   size_t count);

// Waits until the stream has come to a part, and writes what the tag is made of to `part`. It may be asked again.
int aes_bitslice_pending_part(const struct aes_bitslice_pending *pending, struct aes_bitslice_part *part);

// Waits until the stream has come to it, and frees it; does nothing for NULL.
void aes_bitslice_pending_free(struct aes_bitslice_pending *pending);

// Seals the file `input` to the new file `output`: encrypts and authenticates it, as `aes-bitslice seal` does, with a key of 256 bits.
// `output` appears whole or not at all, readable by its owner only; a file of that name is not replaced. Until it is complete it is
// `.aes-bitslice-*` in the same folder; a process that is killed leaves that file there.
int aes_bitslice_seal_file(const struct aes_bitslice_engine *engine,
                           const struct aes_bitslice_key *key,
                           const char *input,
                           const char *output);

// Opens the sealed file `input` to the new file `output`. Fails with AES_BITSLICE_UNAUTHENTICATED for another key and for a file that
// was changed or cut off, and then nothing of it is written. `output` appears whole or not at all, readable by its owner only; a file
// of that name is not replaced. Until it is complete it is `.aes-bitslice-*` in the same folder; a process that is killed leaves that
// file there.
int aes_bitslice_open_file(const struct aes_bitslice_engine *engine,
                           const struct aes_bitslice_key *key,
                           const char *input,
                           const char *output);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* AES_BITSLICE_H */
