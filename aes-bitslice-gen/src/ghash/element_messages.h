// A thread has a row of a message: Horner's scheme. It takes more registers than for one message, so fewer thread blocks fit.
#undef BLOCKS_PER_SM
#define BLOCKS_PER_SM 1
KERNEL @NAME@_messages(INPUT(u8), IN_GLOBAL const uint4 *messages, IN_GLOBAL const u32 *order, u32 all, IN_GLOBAL const u8 *aad,
    IN_GLOBAL const u32 *masks, IN_GLOBAL const u32 *tables, OUTPUT(u32)) {
    SHARED element rows[ROWS + GROUP];
    SHARED element weights[SEGMENT_ROWS + 1];
    put_weights_of_messages(weights, tables + 8);
    const element step = element_at(tables, 0);
    ROLLED for (u32 first = GROUP * blockIdx.x; first < all; first += GROUP * gridDim.x) {
        const segment own = segment_at(order, messages, first + threadIdx.x / SEGMENT_ROWS, all);
        const u32 tiles = tiles_of(own);
        element sum = {{0, 0, 0, 0}};
        ROLLED for (u32 n = 0; n < tiles; n++) {
            const source block_at = source_of(own, in, aad, share_at(own, n, tiles) + 16 * (threadIdx.x % SEGMENT_ROWS));
            u32 words[4];
            UNROLL for (int i = 0; i < 4; i++) words[i] = word_of(block_at, i);
            const element block = element_of(words);
            sum = product(sum, step);
            UNROLL for (int i = 0; i < 4; i++) sum.word[i] ^= block.word[i];
        }
        rows[threadIdx.x] = sum;
        BARRIER();
        put_tags(out, rows, weights, order, messages, first, all, masks);
        BARRIER(); // all have read the rows
    }
}
