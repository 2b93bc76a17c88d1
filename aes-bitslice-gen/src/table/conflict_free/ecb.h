// ---------------------------------------------------------------------------------------------------------------
// Electronic codebook (SP 800-38A, section 6.1): out[n] = cipher(in[n]) for n < blocks. `in` may equal `out`.
// ---------------------------------------------------------------------------------------------------------------

// The blocks of a turn, adjacent across all threads of the grid: measured, this is faster than a share of neighbouring blocks for each
// thread block.
DEVICE state load_turn(const u8 *in, u64 first, u64 threads, u64 blocks, int aligned) {
    state s;
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        const u64 block = first + threads * n;
        if (block < blocks) load_words(s.column[n], 4, in + 16 * block, aligned);
    }
    return s;
}

DEVICE void ecb(const u8 *in, u8 *out, u64 blocks, const round_keys *keys, int aligned) {
    load_tables();
    BARRIER();
    const u64 threads = (u64)gridDim.x * THREADS;
    u64 first = (u64)blockIdx.x * THREADS + threadIdx.x;
    state next = load_turn(in, first, threads, blocks, aligned);
    ROLLED for (; first < blocks; first += BLOCKS_PER_THREAD * threads) {
        state s = next;
        // In flight while the rounds of this turn run.
        next = load_turn(in, first + BLOCKS_PER_THREAD * threads, threads, blocks, aligned);
        cipher(&s, keys);
        UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
            const u64 block = first + threads * n;
            if (block < blocks) store_words(out + 16 * block, 4, s.column[n], aligned);
        }
    }
}

KERNEL @NAME@(DATA(uint4), u64 blocks, KERNEL_PARAMETER round_keys keys) {
    ecb((const u8 *)in, (u8 *)out, blocks, &keys, 1);
}

// The same where `in` or `out` is not aligned to 16 bytes: byte by byte, slower.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks, KERNEL_PARAMETER round_keys keys) {
    ecb(in, out, blocks, &keys, 0);
}
