// ---------------------------------------------------------------------------------------------------------------
// Key stream (SP 800-38A, section 6.5): out[n] = cipher(counter + n) for n < blocks. Nothing is read.
// ---------------------------------------------------------------------------------------------------------------

KERNEL @NAME@(OUTPUT(uint4), u64 blocks, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_OUTPUT(uint4);
    SHARED counter_part part[4];
    SHARED counter_mask mask[THREADS / 32];
    SHARED u32 next;
    LET_NEXT_BEGIN();
@KEY_LOAD@    const u32 skipped = counter.word[0] % TILE_BLOCKS;
    const tiles mine = share_of_block(skipped + blocks);
    ROLLED for (u32 from = mine.from, to; from < mine.to; from = to) {
        to = begin_run(part, &next, counter, from, mine.to, key);
        const u64 there = blocks_up_to(to, skipped, blocks);
        const tiles whole = whole_tiles(skipped, there);
        ROLLED for (u32 tile = first_tile(from); goes_on(tile, to); tile = tile_after(tile, &next)) {
            u32 s[32];
            begin_key_stream(s, part, mask, counter.word[0] + TILE_BLOCKS * tile, key);
            end_key_stream(s, key);
            UNROLL for (int j = 0; j < 32; j++) s[j] ^= key.last;
            AWAIT_LAST();
            write_words(out, s, first_block(tile, skipped), there, is_among(tile, whole));
        }
    }
}

// For any alignment and length, but slower: byte n of `out` is byte skip + n of the key stream, skip < 16.
KERNEL @NAME@_bytes(OUTPUT(u8), u64 length, u32 skip, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_OUTPUT(u8);
    SHARED counter_part part[4];
    SHARED counter_mask mask[THREADS / 32];
    SHARED u32 next;
    LET_NEXT_BEGIN();
@KEY_LOAD@    const u64 blocks = (skip + length + 15) / 16;
    const u32 skipped = counter.word[0] % TILE_BLOCKS;
    const tiles mine = share_of_block(skipped + blocks);
    ROLLED for (u32 from = mine.from, to; from < mine.to; from = to) {
        to = begin_run(part, &next, counter, from, mine.to, key);
        const u64 there = blocks_up_to(to, skipped, blocks);
        ROLLED for (u32 tile = first_tile(from); goes_on(tile, to); tile = tile_after(tile, &next)) {
            const u64 first = first_block(tile, skipped);
            u32 s[32];
            begin_key_stream(s, part, mask, counter.word[0] + TILE_BLOCKS * tile, key);
            end_key_stream(s, key);
            AWAIT_LAST();
            UNROLL for (int j = 0; j < 32; j++)
                if (first + 8 * j < there) UNROLL for (int i = 0; i < 4; i++) {
                    // Bytes before the data have numbers that wrap.
                    const u64 n = 16 * (first + 8 * j) + 4 * column() + i - skip;
                    if (n < length) out[n] = (u8)((s[j] ^ key.last) >> 8 * i);
                }
        }
    }
}
