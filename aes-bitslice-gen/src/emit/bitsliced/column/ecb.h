// ---------------------------------------------------------------------------------------------------------------
// Electronic codebook (SP 800-38A, section 6.1): out[n] = cipher(in[n]) for n < blocks. `in` may equal `out`.
// ---------------------------------------------------------------------------------------------------------------

KERNEL @NAME@(DATA(uint4), u64 blocks@KEY_PARAMETER@) {
    LOCATE_DATA(uint4);
    SHARED u32 next;
    LET_NEXT_BEGIN();
    const tiles mine = share_of_block(blocks);
    if (threadIdx.x == 0) next = mine.from + WARPS;
@KEY_LOAD@    AWAIT_LAST();
    const u64 there = blocks_up_to(mine.to, 0, blocks);
    const tiles whole = whole_tiles(0, there);
    u32 s[32], tile = first_tile(mine.from);
    if (goes_on(tile, mine.to)) read_words(s, in, first_block(tile, 0), there, is_among(tile, whole));
    ROLLED while (goes_on(tile, mine.to)) {
        cipher_of_words(s, key);
        // The words of the next tile are in flight while those of this one are computed.
        const u32 after = tile_after(tile, &next);
        u32 w[32];
        if (goes_on(after, mine.to)) read_words(w, in, first_block(after, 0), there, is_among(after, whole));
        words_of_planes(s, key.last);
        write_words(out, s, first_block(tile, 0), there, is_among(tile, whole));
        UNROLL for (int j = 0; j < 32; j++) s[j] = w[j];
        tile = after;
    }
}

// The same where `in` or `out` is not aligned to 16 bytes: byte by byte, slower.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
    SHARED u32 next;
    LET_NEXT_BEGIN();
    const tiles mine = share_of_block(blocks);
    if (threadIdx.x == 0) next = mine.from + WARPS;
@KEY_LOAD@    AWAIT_LAST();
    const u64 there = blocks_up_to(mine.to, 0, blocks);
    ROLLED for (u32 tile = first_tile(mine.from); goes_on(tile, mine.to); tile = tile_after(tile, &next)) {
        u32 s[32];
        read_bytes(s, in, first_block(tile, 0), there);
        cipher_of_words(s, key);
        words_of_planes(s, key.last);
        write_bytes(out, s, first_block(tile, 0), there);
    }
}
