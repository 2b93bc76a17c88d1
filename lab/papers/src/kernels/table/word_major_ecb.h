
KERNEL word_major(const void *in, void *out, u64 blocks) {
    const cipher_key key = prepare(&baked_keys);
    const u64 block = (u64)THREADS * blockIdx.x + threadIdx.x;
    state s = load_word_major((const u32 *)in, block, blocks);
    cipher(&s, key);
    store_word_major((u32 *)out, block, blocks, s);
}
