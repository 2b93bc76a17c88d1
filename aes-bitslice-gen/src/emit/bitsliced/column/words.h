// Words of a tile, read and written byte by byte.
DEVICE u32 word_at(IN_GLOBAL const u8 *data) {
    return data[0] | (u32)data[1] << 8 | (u32)data[2] << 16 | (u32)data[3] << 24;
}

DEVICE void read_bytes(u32 *w, IN_GLOBAL const u8 *data, u64 first, u64 blocks) {
    IN_GLOBAL const u8 *const from = data + (16 * first + 4 * column());
    UNROLL for (int j = 0; j < 32; j++) w[j] = first + 8 * j < blocks ? word_at(from + 128 * j) : 0;
}

DEVICE void write_bytes(IN_GLOBAL u8 *data, const u32 *w, u64 first, u64 blocks) {
    IN_GLOBAL u8 *const to = data + (16 * first + 4 * column());
    UNROLL for (int j = 0; j < 32; j++)
        if (first + 8 * j < blocks) UNROLL for (int i = 0; i < 4; i++) to[128 * j + i] = (u8)(w[j] >> 8 * i);
}

// From the words of 32 blocks to the planes of their results, except for the last round key.
DEVICE void cipher_of_words(u32 *s, cipher_key key) {
    u32 first[8];
    UNROLL for (int h = 0; h < 2; h++) get_piece(&first[4 * h], key.first[h][column()]);
    planes_of_words(s, first);
    cipher(s, key);
}
