KERNEL @NAME@(DATA(uint4), u64 blocks, @KEY_PARAMETERS@) {
    LOCATE_DATA(uint4);
@PREPARE@    const u64 n = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (n >= blocks) return;
    const uint4 block = in[n];
    u32 word[4];
    word[0] = block.x;
    word[1] = block.y;
    word[2] = block.z;
    word[3] = block.w;
    u8 state[16];
    UNROLL for (int i = 0; i < 16; i++) state[AT(i % 4, i / 4)] = (u8)(word[i / 4] >> 8 * (i % 4));
    cipher(state, table, schedule, @ROUNDS@);
    UNROLL for (int i = 0; i < 4; i++) word[i] = 0;
    UNROLL for (int i = 0; i < 16; i++) word[i / 4] |= (u32)state[AT(i % 4, i / 4)] << 8 * (i % 4);
    uint4 result;
    result.x = word[0];
    result.y = word[1];
    result.z = word[2];
    result.w = word[3];
    out[n] = result;
}

// The same where `in` or `out` is not aligned to 16 bytes.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks, @KEY_PARAMETERS@) {
    LOCATE_DATA(u8);
@PREPARE@    const u64 n = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (n >= blocks) return;
    u8 state[16];
    UNROLL for (int i = 0; i < 16; i++) state[AT(i % 4, i / 4)] = in[16 * n + i];
    cipher(state, table, schedule, @ROUNDS@);
    UNROLL for (int i = 0; i < 16; i++) out[16 * n + i] = state[AT(i % 4, i / 4)];
}
