#undef BLOCKS_PER_SM
#define BLOCKS_PER_SM 2
// Each message has a hash key H of its own: 1 << wide neighbouring threads share a message, whose blocks they take by turns, with zeros in
// front. A thread's sum goes from block to block times H^(1 << wide), and is then multiplied by H once for each block from its last one on.
KERNEL @NAME@_jobs(INPUT(u8), IN_GLOBAL const uint4 *messages, IN_GLOBAL const u32 *order, u32 all, u32 wide, IN_GLOBAL const u8 *aad,
    IN_GLOBAL const u32 *masks, IN_GLOBAL const u32 *hash_keys, OUTPUT(u32)) {
    SHARED element rows[THREADS];
    const u32 share = threadIdx.x & ((1u << wide) - 1), at_a_time = THREADS >> wide;
    ROLLED for (u32 first = at_a_time * blockIdx.x; first < all; first += at_a_time * gridDim.x) {
        const segment own = segment_at(order, messages, first + (threadIdx.x >> wide), all);
        element h = {{0, 0, 0, 0}}, weight = {{1, 0, 0, 0}}, sum = {{0, 0, 0, 0}};
        if (own.number != NO_MESSAGE) {
            u32 words[4];
            UNROLL for (int i = 0; i < 4; i++) words[i] = hash_keys[4 * (u64)own.number + i];
            h = element_of(words);
        }
        element step = h;
        ROLLED for (u32 i = 0; i <= wide; i++) {
            const element with = product(weight, step);
            // The bits of the number of blocks from the thread's last one to the end.
            if (((1u << wide) - share) >> i & 1) weight = with;
            if (i < wide) step = product(step, step);
        }
        const u64 blocks = bytes_of(own) / 16, rounds = (blocks + (1u << wide) - 1) >> wide;
        ROLLED for (u64 n = 0; n < rounds; n++) {
            const u64 at = (n << wide) + share - ((rounds << wide) - blocks); // wraps where zeros are in front
            element block = {{0, 0, 0, 0}};
            if (at < blocks) {
                const source from = source_of(own, in, aad, 16 * at);
                u32 words[4];
                if (from.bytes == 16 && ((u64)from.from & 15) == 0) {
                    const uint4 piece = *(IN_GLOBAL const uint4 *)from.from;
                    words[0] = piece.x, words[1] = piece.y, words[2] = piece.z, words[3] = piece.w;
                } else {
                    UNROLL for (int i = 0; i < 4; i++) words[i] = word_of(from, i);
                }
                block = element_of(words);
            }
            sum = product(sum, step);
            UNROLL for (int i = 0; i < 4; i++) sum.word[i] ^= block.word[i];
        }
        rows[threadIdx.x] = product(sum, weight);
        BARRIER();
        if (share == 0 && own.number != NO_MESSAGE) {
            element tag = lengths_of(own);
            ROLLED for (u32 r = 0; r < 1u << wide; r++)
                UNROLL for (int i = 0; i < 4; i++) tag.word[i] ^= rows[threadIdx.x + r].word[i];
            tag = product(tag, h);
            UNROLL for (int i = 0; i < 4; i++) {
                const u64 word = 4 * (u64)own.number + i;
                out[word] = reversed_bytes(tag.word[i]) ^ masks[word];
            }
        }
        BARRIER(); // all have read the rows
    }
}
