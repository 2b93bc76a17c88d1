// A warp works through its share of tiles in order; each is chained to the block before it. Within a tile, ciphertext is read a second time
// after the cipher is done with it: nothing of the tile has been written by then.

// The number of a warp across all thread blocks, and its share where a tile depends on the one before: as many tiles as it takes for all
// warps to cover all.
DEVICE u32 number_of_warp(void) { return blockIdx.x * WARPS + warp(); }

DEVICE tiles share_of_warp(u64 blocks) {
    const u32 all = tiles_of(blocks), warps = gridDim.x * WARPS, each = (all + warps - 1) / warps;
    tiles share;
    share.from = number_of_warp() * each;
    share.to = share.from + each;
#if SHUFFLES
    if (share.to > all) share.to = all;
#endif
    return share;
}

// The words one block before the thread's words of a tile; `before` in front of the tile's first block.
DEVICE void read_words_before(u32 *w, IN_GLOBAL const uint4 *data, u64 first, u64 blocks, int is_whole, u32 before) {
    IN_GLOBAL const u32 *const from = (IN_GLOBAL const u32 *)data + (4 * (first - 1) + column());
    if (is_whole) {
        w[0] = lane() < 4 ? before : from[0];
        UNROLL for (int j = 1; j < 32; j++) w[j] = from[32 * j];
    } else {
        w[0] = lane() < 4 ? before : first - 1 < blocks ? from[0] : 0;
        UNROLL for (int j = 1; j < 32; j++) w[j] = first - 1 + 8 * j < blocks ? from[32 * j] : 0;
    }
}

DEVICE void read_bytes_before(u32 *w, IN_GLOBAL const u8 *data, u64 first, u64 blocks, u32 before) {
    IN_GLOBAL const u8 *const from = data + (16 * (first - 1) + 4 * column());
    w[0] = lane() < 4 ? before : first - 1 < blocks ? word_at(from) : 0;
    UNROLL for (int j = 1; j < 32; j++) w[j] = first - 1 + 8 * j < blocks ? word_at(from + 128 * j) : 0;
}

KERNEL @NAME@(DATA(uint4), u64 blocks, POINTER(u8, previous), u64 stride, KERNEL_PARAMETER block128 iv@KEY_PARAMETER@) {
    LOCATE_DATA(uint4);
    LOCATE_POINTER(u8, previous);
@KEY_LOAD@    const tiles mine = share_of_warp(blocks), whole = whole_tiles(0, blocks);
    u32 before = 0;
    if (mine.from < tiles_of(blocks)) before = word_before_share(&iv, previous, stride, number_of_warp(), column());
    ROLLED for (u32 tile = mine.from; tile < mine.to; tile++) {
        const u64 first = first_block(tile, 0), last = (u64)TILE_BLOCKS * tile + TILE_BLOCKS - 1;
        u32 s[32], w[32];
        read_words(s, in, first, blocks, is_among(tile, whole));
        cipher_of_words(s, key);
        read_words_before(w, in, first, blocks, is_among(tile, whole), before);
        if (last < blocks) before = ((IN_GLOBAL const u32 *)in)[4 * last + column()];
        WARP_BARRIER(); // the whole warp has read
        words_of_planes(s, key.last);
        UNROLL for (int j = 0; j < 32; j++) s[j] ^= w[j];
        write_words(out, s, first, blocks, is_among(tile, whole));
    }
}

// The same where `in` or `out` is not aligned to 16 bytes: byte by byte, slower.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks, POINTER(u8, previous), u64 stride, KERNEL_PARAMETER block128 iv@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
    LOCATE_POINTER(u8, previous);
@KEY_LOAD@    const tiles mine = share_of_warp(blocks);
    u32 before = 0;
    if (mine.from < tiles_of(blocks)) before = word_before_share(&iv, previous, stride, number_of_warp(), column());
    ROLLED for (u32 tile = mine.from; tile < mine.to; tile++) {
        const u64 first = first_block(tile, 0), last = (u64)TILE_BLOCKS * tile + TILE_BLOCKS - 1;
        u32 s[32], w[32];
        read_bytes(s, in, first, blocks);
        cipher_of_words(s, key);
        read_bytes_before(w, in, first, blocks, before);
        if (last < blocks) before = word_at(in + 16 * last + 4 * column());
        WARP_BARRIER(); // the whole warp has read
        words_of_planes(s, key.last);
        UNROLL for (int j = 0; j < 32; j++) s[j] ^= w[j];
        write_bytes(out, s, first, blocks);
    }
}
