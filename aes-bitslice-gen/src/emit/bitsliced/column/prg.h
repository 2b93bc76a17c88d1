// ---------------------------------------------------------------------------------------------------------------
// Encryption with feed-forward (Matyas, Meyer, Oseas 1985): out[n] = cipher(in[n]) ^ in[n] for n < blocks. `in` may
// equal `out`: a thread reads its words of a tile again before it writes them, and no other thread writes them.
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
    ROLLED for (u32 tile = first_tile(mine.from); goes_on(tile, mine.to); tile = tile_after(tile, &next)) {
        const u64 first = first_block(tile, 0);
        u32 s[32], w[32];
        read_words(s, in, first, there, is_among(tile, whole));
        cipher_of_words(s, key);
        // In flight while planes become words.
        read_words(w, in, first, there, is_among(tile, whole));
        words_of_planes(s, key.last);
        UNROLL for (int j = 0; j < 32; j++) s[j] ^= w[j];
        write_words(out, s, first, there, is_among(tile, whole));
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
        const u64 first = first_block(tile, 0);
        u32 s[32], w[32];
        read_bytes(s, in, first, there);
        cipher_of_words(s, key);
        read_bytes(w, in, first, there);
        words_of_planes(s, key.last);
        UNROLL for (int j = 0; j < 32; j++) s[j] ^= w[j];
        write_bytes(out, s, first, there);
    }
}
