// The cipher (FIPS 197, section 5.1).
DEVICE void cipher(u8 *state, IN_TABLE const u8 *table, IN_SCHEDULE const u32 *schedule, u32 rounds) {
    add_round_key(state, schedule, 0);
    @ROUNDS_IN_TURN@
        substitute(state, table);
        shift_rows(state, 1);
        mix_columns(state);
        add_round_key(state, schedule, round);
    }
    substitute(state, table);
    shift_rows(state, 1);
    add_round_key(state, schedule, rounds);
}
