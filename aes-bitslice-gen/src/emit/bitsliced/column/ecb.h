// ---------------------------------------------------------------------------------------------------------------
// Electronic codebook (SP 800-38A, section 6.1): out[n] = cipher(in[n]) for n < blocks. `in` may equal `out`.
// ---------------------------------------------------------------------------------------------------------------

KERNEL @NAME@(DATA(uint4), u64 blocks@KEY_PARAMETER@) {
    LOCATE_DATA(uint4);
@KEY_LOAD@    const share mine = share_of(blocks);
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        const u64 first = TILE_BLOCKS * tile + BLOCKS_PER_WARP * warp();
        IN_GLOBAL const u32 *from = (IN_GLOBAL const u32 *)in + 4 * first + lane();
        IN_GLOBAL u32 *to = (IN_GLOBAL u32 *)out + 4 * first + lane();
        const present p = blocks_present(first, blocks);
        u32 s[32];
        if (is_whole(p)) {
            UNROLL for (int j = 0; j < 32; j++) s[j] = from[32 * j];
        } else {
            UNROLL for (int j = 0; j < 32; j++) s[j] = has(p, j) ? from[32 * j] : 0;
        }
        cipher_of_words(s, key);
        if (is_whole(p)) {
            UNROLL for (int j = 0; j < 32; j++) to[32 * j] = s[j];
        } else {
            UNROLL for (int j = 0; j < 32; j++) if (has(p, j)) to[32 * j] = s[j];
        }
    }
}

// The same where `in` or `out` is not aligned to 16 bytes: byte by byte, slower.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
@KEY_LOAD@    const share mine = share_of(blocks);
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        const u64 first = TILE_BLOCKS * tile + BLOCKS_PER_WARP * warp();
        IN_GLOBAL const u8 *from = in + 16 * first + 4 * lane();
        IN_GLOBAL u8 *to = out + 16 * first + 4 * lane();
        const present p = blocks_present(first, blocks);
        u32 s[32];
        UNROLL for (int j = 0; j < 32; j++) {
            s[j] = 0;
            if (has(p, j)) UNROLL for (int i = 0; i < 4; i++) s[j] |= (u32)from[128 * j + i] << 8 * i;
        }
        cipher_of_words(s, key);
        UNROLL for (int j = 0; j < 32; j++)
            if (has(p, j)) UNROLL for (int i = 0; i < 4; i++) to[128 * j + i] = (u8)(s[j] >> 8 * i);
    }
}
