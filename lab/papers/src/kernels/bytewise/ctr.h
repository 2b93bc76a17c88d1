// The counter of block n, as the block that the cipher takes: most significant byte first.
DEVICE void load_counter(u8 *state, counter128 counter, u64 n) {
    counter = counter_plus(counter, n);
    UNROLL for (int i = 0; i < 16; i++)
        state[AT(i % 4, i / 4)] = (u8)(counter.word[(15 - i) / 4] >> 8 * ((15 - i) % 4));
}

KERNEL @NAME@(DATA(uint4), u64 blocks, KERNEL_PARAMETER counter128 counter, @KEY_PARAMETERS@) {
    LOCATE_DATA(uint4);
@PREPARE@    const u64 n = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (n >= blocks) return;
    IN_GLOBAL const u8 *const from = (IN_GLOBAL const u8 *)(in + n);
    IN_GLOBAL u8 *const to = (IN_GLOBAL u8 *)(out + n);
    u8 state[16];
    load_counter(state, counter, n);
    cipher(state, table, schedule, @ROUNDS@);
    UNROLL for (int i = 0; i < 16; i++) to[i] = from[i] ^ state[AT(i % 4, i / 4)];
}

// For any alignment and length: byte n of `in` is XORed with byte skip + n of the key stream, skip < 16.
KERNEL @NAME@_bytes(DATA(u8), u64 length, u32 skip, KERNEL_PARAMETER counter128 counter, @KEY_PARAMETERS@) {
    LOCATE_DATA(u8);
@PREPARE@    const u64 n = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (16 * n >= skip + length) return;
    u8 state[16];
    load_counter(state, counter, n);
    cipher(state, table, schedule, @ROUNDS@);
    UNROLL for (int i = 0; i < 16; i++) {
        // Bytes before the data have numbers that wrap.
        const u64 byte = 16 * n + i - skip;
        if (byte < length) out[byte] = in[byte] ^ state[AT(i % 4, i / 4)];
    }
}
