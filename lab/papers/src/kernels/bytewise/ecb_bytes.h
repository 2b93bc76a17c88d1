KERNEL @NAME@(DATA(uint4), u64 blocks, @KEY_PARAMETERS@) {
    LOCATE_DATA(uint4);
@PREPARE@    const u64 n = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (n >= blocks) return;
    IN_GLOBAL const u8 *const from = (IN_GLOBAL const u8 *)(in + n);
    IN_GLOBAL u8 *const to = (IN_GLOBAL u8 *)(out + n);
    u8 state[16];
    UNROLL for (int i = 0; i < 16; i++) state[AT(i % 4, i / 4)] = from[i];
    cipher(state, table, schedule, @ROUNDS@);
    UNROLL for (int i = 0; i < 16; i++) to[i] = state[AT(i % 4, i / 4)];
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
