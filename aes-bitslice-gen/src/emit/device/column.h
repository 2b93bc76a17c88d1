// ---------------------------------------------------------------------------------------------------------------
// Encryption of blocks that a warp has in registers. Four neighbouring lanes encrypt 32 blocks, a warp 256: lane l has word l % 4 of each
// of its four lanes' blocks, bytes 4 (l % 4) to 4 (l % 4) + 3 in little-endian order, and w[j] is that of block j. All 32 lanes of the warp
// call it together.
// ---------------------------------------------------------------------------------------------------------------

DEVICE void encrypt(u32 *w, cipher_key key) {
    u32 first[8];
    UNROLL for (int h = 0; h < 2; h++) get_piece(&first[4 * h], key.first[h][column()]);
    planes_of_words(w, first);
    cipher(w, key);
    words_of_planes(w, key.last);
}
