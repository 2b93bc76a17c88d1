// The key stream of the thread's blocks, from the counter of the tile's first block on.
DEVICE state key_stream(counter128 first, cipher_key key) {
    state s;
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        const counter128 counter = counter_plus(first, place_in_tile(n));
        UNROLL for (int c = 0; c < 4; c++) s.column[n][c] = BYTE_PERMUTE(counter.word[3 - c], 0, 0x0123);
    }
    cipher(&s, key);
    return s;
}

KERNEL @NAME@(DATA(uint4), u64 blocks, KERNEL_PARAMETER counter128 counter,
              KERNEL_PARAMETER round_keys keys) {
    const cipher_key key = prepare(&keys);
    const share mine = share_of(blocks);
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        const u64 first = TILE_BLOCKS * tile;
        state s = key_stream(counter_plus(counter, first), key);
        const state data = load((const u8 *)in, first, blocks, 1);
        add_state(&s, &data);
        store((u8 *)out, first, blocks, s, 1);
    }
}

// For any alignment and length, but slower: byte n of `in` is XORed with byte skip + n of the key stream, skip < 16.
KERNEL @NAME@_bytes(DATA(u8), u64 length, u32 skip, KERNEL_PARAMETER counter128 counter,
                    KERNEL_PARAMETER round_keys keys) {
    const cipher_key key = prepare(&keys);
    const share mine = share_of((skip + length + 15) / 16);
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        const u64 first = TILE_BLOCKS * tile;
        const state s = key_stream(counter_plus(counter, first), key);
        UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++)
            UNROLL for (int i = 0; i < 16; i++) {
                // Bytes before the data have numbers that wrap.
                const u64 byte = 16 * (first + place_in_tile(n)) + i - skip;
                if (byte < length) out[byte] = in[byte] ^ (u8)(s.column[n][i / 4] >> 8 * (i % 4));
            }
    }
}
