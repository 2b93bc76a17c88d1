// ---------------------------------------------------------------------------------------------------------------
// Encryption of 32 blocks that a thread has in registers: w[32 i + j] is word i of block j, bytes 4 i to 4 i + 3 in little-endian order.
// Threads need not call it together.
// ---------------------------------------------------------------------------------------------------------------

DEVICE void encrypt(u32 *w, cipher_key key) {
    transpose_state(w);
    cipher(w, key);
    transpose_state(w);
}
