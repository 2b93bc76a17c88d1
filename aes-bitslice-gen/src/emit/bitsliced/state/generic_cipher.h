DEVICE void shift_rows(u32 *s) {
    u32 t[128];
    UNROLL for (int j = 0; j < 16; j++) UNROLL for (int b = 0; b < 8; b++) {
        t[8 * j + b] = s[SHIFTED(j % 4, j / 4) + b];
    }
    UNROLL for (int i = 0; i < 128; i++) s[i] = t[i];
}

DEVICE void cipher(u32 *s) {
    ROLLED for (u32 round = 0;; round++) {
        add_round_keys(s, round);
        if (round == @ROUNDS@) break; // The number of a round is no secret.
        sub_bytes(s);
        if (round == @ROUNDS@ - 1) shift_rows(s);
        else mix_columns(s);
    }
}
