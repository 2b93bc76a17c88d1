// ---------------------------------------------------------------------------------------------------------------
// Electronic codebook (SP 800-38A, section 6.1): out[n] = cipher(in[n]) for n < blocks. `in` may equal `out`.
// ---------------------------------------------------------------------------------------------------------------

DEVICE void ecb(const u8 *in, u8 *out, u64 blocks, const round_keys *keys, int aligned) {
    load_tables();
    BARRIER();
    const share mine = share_of(blocks);
    state next = load_run(in, mine.from, mine.to, blocks, aligned);
    ROLLED for (u64 run = mine.from; run < mine.to; run++) {
        state s = next;
        // On its way while this run's rounds are done.
        next = load_run(in, run + 1, mine.to, blocks, aligned);
        cipher(&s, keys);
        store_run(out, run, blocks, &s, aligned);
    }
}

KERNEL @NAME@(const uint4 *in, uint4 *out, u64 blocks, KERNEL_PARAMETER round_keys keys) {
    ecb((const u8 *)in, (u8 *)out, blocks, &keys, 1);
}

// The same where `in` or `out` is not aligned to 16 bytes: byte by byte, slower.
KERNEL @NAME@_bytes(const u8 *in, u8 *out, u64 blocks, KERNEL_PARAMETER round_keys keys) {
    ecb(in, out, blocks, &keys, 0);
}
