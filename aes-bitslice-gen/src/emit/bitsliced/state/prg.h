// ---------------------------------------------------------------------------------------------------------------
// Encryption with feed-forward (Matyas, Meyer, Oseas 1985): out[n] = cipher(in[n]) ^ in[n] for n < blocks. `in` may
// equal `out`: a thread reads its blocks again before it writes them.
// ---------------------------------------------------------------------------------------------------------------

KERNEL @NAME@(DATA(uint4), u64 blocks@KEY_PARAMETER@) {
    LOCATE_DATA(uint4);
@KEY_LOAD@    const u64 first = warp_first_block() + lane();
    const int count = blocks_of_thread(first, blocks);
@LEAVE@    u32 s[128];
    UNROLL for (int j = 0; j < 32; j++) put_block(s, j, in[j < count ? first + 32 * j : 0]);
    transpose_state(s);
    cipher(s@KEY@);
    transpose_state(s);
    UNROLL for (int j = 0; j < 32; j++) {
        if (j >= count) continue;
        add_block(s, j, in[first + 32 * j]);
        out[first + 32 * j] = get_block(s, j);
    }
}

// The same where `in` or `out` is not aligned to 16 bytes: byte by byte, slower.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
@KEY_LOAD@    const u64 first = warp_first_block() + lane();
    const int count = blocks_of_thread(first, blocks);
@LEAVE@    u32 s[128], w[128];
    ROLLED for (int j = 0; j < count; j++) {
        IN_GLOBAL const u8 *block = in + 16 * (first + 32 * j);
        ROLLED for (int i = 0; i < 4; i++)
            w[32 * i + j] =
                block[4 * i] | (u32)block[4 * i + 1] << 8 | (u32)block[4 * i + 2] << 16 | (u32)block[4 * i + 3] << 24;
    }
    ROLLED for (int j = count; j < 32; j++)
        ROLLED for (int i = 0; i < 4; i++) w[32 * i + j] = 0;
    UNROLL for (int i = 0; i < 128; i++) s[i] = w[i];
    transpose_state(s);
    cipher(s@KEY@);
    transpose_state(s);
    UNROLL for (int i = 0; i < 128; i++) w[i] = s[i];
    ROLLED for (int j = 0; j < count; j++) {
        IN_GLOBAL const u8 *const from = in + 16 * (first + 32 * j);
        IN_GLOBAL u8 *const to = out + 16 * (first + 32 * j);
        ROLLED for (int i = 0; i < 16; i++) to[i] = from[i] ^ (u8)(w[32 * (i / 4) + j] >> 8 * (i % 4));
    }
}
