// ---------------------------------------------------------------------------------------------------------------
// Key stream (SP 800-38A, section 6.5): out[n] = cipher(counter + n) for n < blocks. Nothing is read.
// ---------------------------------------------------------------------------------------------------------------

KERNEL @NAME@(OUTPUT(uint4), u64 blocks, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_OUTPUT(uint4);
    SHARED counter_part part[4];
    SHARED counter_mask mask[WARPS];
@KEY_LOAD@    const u32 skipped = counter.word[0] % TILE_BLOCKS;
    const share mine = share_of(skipped + blocks);
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        u32 s[32];
        key_stream(s, part, mask, counter, skipped, tile, tile == mine.from, key);
        const u64 first = TILE_BLOCKS * tile + BLOCKS_PER_WARP * warp() - skipped;
        IN_GLOBAL u32 *to = (IN_GLOBAL u32 *)out + 4 * first + lane();
        const present p = blocks_present(first, blocks);
        if (is_whole(p)) {
            UNROLL for (int j = 0; j < 32; j++) to[32 * j] = s[j] ^ key.last;
        } else {
            UNROLL for (int j = 0; j < 32; j++) if (has(p, j)) to[32 * j] = s[j] ^ key.last;
        }
    }
}

// The same for any alignment and length: byte n of `out` is byte skip + n of the key stream, skip < 16. Slower.
KERNEL @NAME@_bytes(OUTPUT(u8), u64 length, u32 skip, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_OUTPUT(u8);
    SHARED counter_part part[4];
    SHARED counter_mask mask[WARPS];
@KEY_LOAD@    const u64 blocks = (skip + length + 15) / 16;
    const u32 skipped = counter.word[0] % TILE_BLOCKS;
    const share mine = share_of(skipped + blocks);
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        u32 s[32];
        key_stream(s, part, mask, counter, skipped, tile, tile == mine.from, key);
        const u64 first = TILE_BLOCKS * tile + BLOCKS_PER_WARP * warp() - skipped;
        // Bytes before the data have numbers that wrap.
        const u64 byte = 16 * first + 4 * lane() - skip;
        UNROLL for (int j = 0; j < 32; j++)
            UNROLL for (int i = 0; i < 4; i++) {
                const u64 n = byte + 128 * j + i;
                if (n < length) out[n] = (u8)((s[j] ^ key.last) >> 8 * i);
            }
    }
}
