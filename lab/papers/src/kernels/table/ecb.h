// ---------------------------------------------------------------------------------------------------------------
// Electronic codebook (SP 800-38A, section 6.1): out[n] = cipher(in[n]) for n < blocks. `in` may equal `out`.
// ---------------------------------------------------------------------------------------------------------------

DEVICE void ecb(const u8 *in, u8 *out, u64 blocks, const round_keys *keys, int aligned) {
    const cipher_key key = prepare(keys);
    const share mine = share_of(blocks);
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        const u64 first = TILE_BLOCKS * tile;
        state s = load(in, first, blocks, aligned);
        cipher(&s, key);
        store(out, first, blocks, s, aligned);
    }
}

KERNEL @NAME@(DATA(uint4), u64 blocks, KERNEL_PARAMETER round_keys keys) {
    ecb((const u8 *)in, (u8 *)out, blocks, &keys, 1);
}

// The same where `in` or `out` is not aligned to 16 bytes: byte by byte, slower.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks, KERNEL_PARAMETER round_keys keys) {
    ecb(in, out, blocks, &keys, 0);
}
