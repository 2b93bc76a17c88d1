// ---------------------------------------------------------------------------------------------------------------
// A thread has a row, which is a block of each tile: Horner's scheme.
// ---------------------------------------------------------------------------------------------------------------

DEVICE void hash(IN_SHARED element *rows, IN_SHARED element *weights, const message *m, IN_GLOBAL const u32 *tables,
                 IN_GLOBAL u32 *out, const block128 *factor, const block128 *addend) {
    put_weights(weights, tables + 8, factor);
    const element step = element_at(tables, 0);
    const u32 reversed = tables[4];
    element sum = {{0, 0, 0, 0}};
    ROLLED for (u32 n = 0; n < m->tiles; n++) {
        const u64 at = tile_at(m, n) + 16 * threadIdx.x;
        u32 words[4];
        UNROLL for (int i = 0; i < 4; i++) words[i] = word_at(m, at + 4 * i);
        const element block = element_of_block(words, reversed);
        sum = product(sum, step);
        UNROLL for (int i = 0; i < 4; i++) sum.word[i] ^= block.word[i];
    }
    rows[threadIdx.x] = sum;
    BARRIER();
    add_rows(out, rows, weights, addend);
}

KERNEL @NAME@(INPUT(uint4), u64 length, IN_GLOBAL const u32 *tables, u32 units, OUTPUT(u32),
    KERNEL_PARAMETER block128 factor, KERNEL_PARAMETER block128 addend) {
    SHARED element rows[ROWS];
    SHARED element weights[ROWS];
    LOCATE_INPUT(uint4);
    LOCATE_OUTPUT(u32);
    const message m = message_of((IN_GLOBAL const u8 *)in, length, units, 1);
    hash(rows, weights, &m, tables, out, &factor, &addend);
}

KERNEL @NAME@_bytes(INPUT(u8), u64 length, IN_GLOBAL const u32 *tables, u32 units, OUTPUT(u32),
    KERNEL_PARAMETER block128 factor, KERNEL_PARAMETER block128 addend) {
    SHARED element rows[ROWS];
    SHARED element weights[ROWS];
    LOCATE_INPUT(u8);
    LOCATE_OUTPUT(u32);
    const message m = message_of(in, length, units, 0);
    hash(rows, weights, &m, tables, out, &factor, &addend);
}
