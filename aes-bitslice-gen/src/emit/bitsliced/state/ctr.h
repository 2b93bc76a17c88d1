KERNEL @NAME@(DATA(uint4), u64 blocks, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_DATA(uint4);
@KEY_LOAD@    const u64 first = warp_first_block() + lane();
    const int count = blocks_of_thread(first, blocks);
@LEAVE@    u32 s[128];
    counter_planes(s, counter, first, 5);
    cipher(s@KEY@);
    transpose_state(s);
    if (count == 32) {
        // Several loads in flight before the first store: the compiler cannot know whether `in` is `out`.
        UNROLL for (int group = 0; group < 32; group += 8) {
            uint4 data[8];
            UNROLL for (int j = 0; j < 8; j++) data[j] = in[first + 32 * (group + j)];
            UNROLL for (int j = 0; j < 8; j++) {
                const uint4 stream = get_block(s, group + j);
                data[j].x ^= stream.x;
                data[j].y ^= stream.y;
                data[j].z ^= stream.z;
                data[j].w ^= stream.w;
                out[first + 32 * (group + j)] = data[j];
            }
        }
    } else {
        UNROLL for (int j = 0; j < 32; j++) if (j < count) {
            uint4 data = in[first + 32 * j];
            const uint4 stream = get_block(s, j);
            data.x ^= stream.x;
            data.y ^= stream.y;
            data.z ^= stream.z;
            data.w ^= stream.w;
            out[first + 32 * j] = data;
        }
    }
}

// For any alignment and length, but slower: byte n of `in` is XORed with byte skip + n of the key stream, skip < 16.
KERNEL @NAME@_bytes(DATA(u8), u64 length, u32 skip, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
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
            if (block + i >= skip && block + i < end)
                out[block + i - skip] = in[block + i - skip] ^ (u8)(w[32 * (i / 4) + j] >> 8 * (i % 4));
    }
}
