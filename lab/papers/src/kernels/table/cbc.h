DEVICE void cbc(const u8 *in, u8 *out, u64 blocks, const u8 *previous, u64 stride, const block128 *iv,
                const round_keys *keys, int aligned) {
    SHARED uint4 ciphertext[TILE_BLOCKS]; // of the tile
    SHARED uint4 before[2];                           // the block before this tile and before the next, alternating
    const cipher_key key = prepare(keys);
    const share mine = share_of(blocks);
    if (threadIdx.x < 4 && mine.from < mine.to)
        ((u32 *)&before[mine.from % 2])[threadIdx.x] = word_before_share(iv, previous, stride, blockIdx.x, threadIdx.x);
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        const u64 first = TILE_BLOCKS * tile;
        state s = load(in, first, blocks, aligned), chained;
        BARRIER(); // the ciphertexts of the previous tile have been read
        UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
            const u32 i = place_in_tile(n);
            store_words((u8 *)&ciphertext[i], 4, s.column[n], 1);
            if (i == TILE_BLOCKS - 1) store_words((u8 *)&before[(tile + 1) % 2], 4, s.column[n], 1);
        }
        BARRIER();
        cipher(&s, key);
        UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
            const u32 i = place_in_tile(n);
            load_words(chained.column[n], 4, (const u8 *)(i == 0 ? &before[tile % 2] : &ciphertext[i - 1]), 1);
        }
        add_state(&s, &chained);
        store(out, first, blocks, s, aligned);
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
