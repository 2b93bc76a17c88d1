// ---------------------------------------------------------------------------------------------------------------
// Access to the data: one, two or four words, aligned to their size, or else read and written byte by byte.
// ---------------------------------------------------------------------------------------------------------------

DEVICE void load_words(u32 *w, int words, const u8 *from, int aligned) {
    if (!aligned) {
        UNROLL for (int i = 0; i < words; i++)
            w[i] = from[4 * i] | (u32)from[4 * i + 1] << 8 | (u32)from[4 * i + 2] << 16 | (u32)from[4 * i + 3] << 24;
    } else if (words == 4) {
        const uint4 block = *(const uint4 *)from;
        w[0] = block.x;
        w[1] = block.y;
        w[2] = block.z;
        w[3] = block.w;
    } else if (words == 2) {
        const u64 half = *(const u64 *)from;
        w[0] = (u32)half;
        w[1] = (u32)(half >> 32);
    } else {
        w[0] = *(const u32 *)from;
    }
}

DEVICE void store_words(u8 *to, int words, const u32 *w, int aligned) {
    if (!aligned) {
        UNROLL for (int i = 0; i < 4 * words; i++) to[i] = (u8)(w[i / 4] >> 8 * (i % 4));
    } else if (words == 4) {
        uint4 block;
        block.x = w[0];
        block.y = w[1];
        block.z = w[2];
        block.w = w[3];
        *(uint4 *)to = block;
    } else if (words == 2) {
        *(u64 *)to = (u64)w[1] << 32 | w[0];
    } else {
        *(u32 *)to = w[0];
    }
}
