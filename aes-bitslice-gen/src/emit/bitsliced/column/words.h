// From the words of 32 blocks to those of their results.
DEVICE void cipher_of_words(u32 *s, cipher_key key) {
    u32 first[8];
    UNROLL for (int h = 0; h < 2; h++) get_piece(&first[4 * h], key.first[h][column()]);
    planes_of_words(s, first);
    cipher(s, key);
    words_of_planes(s, key.last);
}
