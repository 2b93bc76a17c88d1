// ---------------------------------------------------------------------------------------------------------------
// The state (FIPS 197, section 3.4): row r of column c is byte r + 4 c of the block. It is stored by row, at state[4 r + c], so that data
// is read in the order of columns (Ul Haq et al. 2011, section "Indexing Schemes").
// ---------------------------------------------------------------------------------------------------------------

#define AT(row, column) (4 * (row) + (column))

DEVICE void substitute(u8 *state, IN_TABLE const u8 *table) {
    UNROLL for (int i = 0; i < 16; i++) state[i] = table[state[i]];
}

// Shifts row r to the left by `by` r places.
DEVICE void shift_rows(u8 *state, int by) {
    u8 shifted[16];
    UNROLL for (int row = 0; row < 4; row++)
        UNROLL for (int column = 0; column < 4; column++)
            shifted[AT(row, column)] = state[AT(row, (column + by * row) & 3)];
    UNROLL for (int i = 0; i < 16; i++) state[i] = shifted[i];
}

DEVICE void mix_columns(u8 *state) {
    UNROLL for (int column = 0; column < 4; column++) {
        u8 x[4];
        UNROLL for (int row = 0; row < 4; row++) x[row] = state[AT(row, column)];
        const u8 sum = x[0] ^ x[1] ^ x[2] ^ x[3];
        // 2 x[row] + 3 x[row + 1] + x[row + 2] + x[row + 3]
        UNROLL for (int row = 0; row < 4; row++)
            state[AT(row, column)] = (u8)(x[row] ^ sum ^ x_time(x[row] ^ x[(row + 1) & 3]));
    }
}

DEVICE void add_round_key(u8 *state, IN_SCHEDULE const u32 *schedule, u32 round) {
    UNROLL for (int i = 0; i < 16; i++) state[AT(i % 4, i / 4)] ^= (u8)(schedule[4 * round + i / 4] >> 8 * (i % 4));
}
