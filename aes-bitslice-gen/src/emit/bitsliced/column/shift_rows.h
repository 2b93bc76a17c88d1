// ShiftRows: all rows except the first come from other threads of the state.
DEVICE void shift_rows(u32 *s, cipher_key key) {
#if SHUFFLES
    (void)key;
    UNROLL for (int row = 1; row < 4; row++)
        UNROLL for (int b = 0; b < 8; b++) s[8 * row + b] = FROM_COLUMN(s[8 * row + b], SHIFTED(row, column()));
#else
    UNROLL for (int i = 0; i < 24; i++) key.exchange[i][threadIdx.x] = s[8 + i];
    BARRIER();
    UNROLL for (int i = 0; i < 24; i++) s[8 + i] = key.exchange[i][(threadIdx.x & ~3u) + SHIFTED(1 + i / 8, column())];
    BARRIER();
#endif
}
