// The blocks before the thread's blocks of a tile. `first` is the first block of the share.
DEVICE state load_before(const u8 *in, u64 tile, u64 first, u64 to, u64 blocks, const u32 *before, int aligned) {
    state s;
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        const u64 block = TILE_BLOCKS * tile + place_in_tile(n);
        UNROLL for (int c = 0; c < 4; c++) s.column[n][c] = before[c];
        if (tile < to && block != first && block < blocks) load_words(s.column[n], 4, in + 16 * (block - 1), aligned);
    }
    return s;
}

DEVICE void cbc(const u8 *in, u8 *out, u64 blocks, const u8 *previous, u64 stride, const block128 *iv,
                const round_keys *keys, int aligned) {
    load_tables();
    BARRIER();
    const share mine = share_of(blocks);
    if (mine.from >= mine.to) return;
    const u64 first = TILE_BLOCKS * mine.from;
    u32 before[4];
    UNROLL for (int i = 0; i < 4; i++) before[i] = word_before_share(iv, previous, stride, blockIdx.x, i);
    state next = load_tile(in, mine.from, mine.to, blocks, aligned);
    state next_chained = load_before(in, mine.from, first, mine.to, blocks, before, aligned);
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        state s = next, chained = next_chained;
        next = load_tile(in, tile + 1, mine.to, blocks, aligned);
        next_chained = load_before(in, tile + 1, first, mine.to, blocks, before, aligned);
        BARRIER(); // all have the ciphertext that is overwritten from here on
        cipher(&s, keys);
        add_state(&s, &chained);
        store_tile(out, tile, blocks, &s, aligned);
    }
}

KERNEL @NAME@(DATA(uint4), u64 blocks, POINTER(u8, previous), u64 stride,
              KERNEL_PARAMETER block128 iv, KERNEL_PARAMETER round_keys keys) {
    cbc((const u8 *)in, (u8 *)out, blocks, previous, stride, &iv, &keys, 1);
}

// The same where `in` or `out` is not aligned to 16 bytes: byte by byte, slower.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks, POINTER(u8, previous), u64 stride,
                    KERNEL_PARAMETER block128 iv, KERNEL_PARAMETER round_keys keys) {
    cbc(in, out, blocks, previous, stride, &iv, &keys, 0);
}
