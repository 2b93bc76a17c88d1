// InvMixColumns (FIPS 197, section 5.3.3): MixColumns of the column times 4 x^2 + 5, modulo x^4 + 1.
DEVICE void inv_mix_columns(u8 *state) {
    UNROLL for (int column = 0; column < 4; column++) {
        UNROLL for (int row = 0; row < 2; row++) {
            u8 *const x = &state[AT(row, column)], *const y = &state[AT(row + 2, column)];
            const u8 sum = x_time(x_time(*x ^ *y));
            *x ^= sum;
            *y ^= sum;
        }
    }
    mix_columns(state);
}

// The inverse cipher (FIPS 197, section 5.3): the transformations' inverses in reverse order, with the schedule of encryption.
DEVICE void cipher(u8 *state, IN_TABLE const u8 *table, IN_SCHEDULE const u32 *schedule, u32 rounds) {
    add_round_key(state, schedule, rounds);
    @ROUNDS_IN_TURN@
        shift_rows(state, 3);
        substitute(state, table);
        add_round_key(state, schedule, round);
        inv_mix_columns(state);
    }
    shift_rows(state, 3);
    substitute(state, table);
    add_round_key(state, schedule, 0);
}
