KERNEL @NAME@(OUTPUT(uint4), u64 blocks, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_OUTPUT(uint4);
@KEY_LOAD@    const u64 first = warp_first_block() + lane();
    const int count = blocks_of_thread(first, blocks);
@LEAVE@    u32 s[128];
    counter_planes(s, counter, first, 5);
    cipher(s@KEY@);
    transpose_state(s);
    if (count == 32) {
        UNROLL for (int j = 0; j < 32; j++) out[first + 32 * j] = get_block(s, j);
    } else {
        UNROLL for (int j = 0; j < 32; j++) if (j < count) out[first + 32 * j] = get_block(s, j);
    }
}

// For any alignment and length, but slower: byte n of `out` is byte skip + n of the key stream, skip < 16.
KERNEL @NAME@_bytes(OUTPUT(u8), u64 length, u32 skip, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_OUTPUT(u8);
@KEY_LOAD@    const u64 end = skip + length; // in bytes of key stream
    const u64 first = warp_first_block() + lane();
    const int count = blocks_of_thread(first, (end + 15) / 16);
@LEAVE@    u32 s[128], w[128];
    counter_planes(s, counter, first, 5);
    cipher(s@KEY@);
    transpose_state(s);
    UNROLL for (int i = 0; i < 128; i++) w[i] = s[i];
    ROLLED for (int j = 0; j < count; j++) {
        const u64 block = 16 * (first + 32 * j);
        ROLLED for (int i = 0; i < 16; i++)
            if (block + i >= skip && block + i < end) out[block + i - skip] = (u8)(w[32 * (i / 4) + j] >> 8 * (i % 4));
    }
}
