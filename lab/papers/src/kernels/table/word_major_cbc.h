
// Ciphertext block n waits in shared memory for block n + 1 (algorithm 2). The block before a thread block's first is read again, or is the
// IV, which precedes the data; the last one is stored after the output.
KERNEL word_major(const void *in, void *out, u64 blocks) {
    SHARED u32 ciphertext[4][THREADS + 1];
    const cipher_key key = prepare(&baked_keys);
    const u32 *const iv = (const u32 *)in, *const data = iv + 4;
    const u64 block = (u64)THREADS * blockIdx.x + threadIdx.x;
    state s = load_word_major(data, block, blocks);
    UNROLL for (int c = 0; c < 4; c++) {
        if (threadIdx.x == 0) ciphertext[c][0] = block == 0 ? iv[c] : block <= blocks ? data[c * blocks + block - 1] : 0;
        ciphertext[c][threadIdx.x + 1] = s.column[0][c];
        if (block == blocks - 1) ((u32 *)out)[4 * blocks + c] = s.column[0][c];
    }
    BARRIER();
    cipher(&s, key);
    UNROLL for (int c = 0; c < 4; c++) s.column[0][c] ^= ciphertext[c][threadIdx.x];
    store_word_major((u32 *)out, block, blocks, s);
}
