// A round key with a byte, 0 or 1, for each bit. A thread reads the 32 bytes of its column in two pieces of 16, a quarter of the size of
// planes, and turns each byte into a plane: minus the byte, by a dot product of bytes.
typedef struct { uint4 piece[2][4]; } shared_round_key;

DEVICE void put_round_key(IN_SHARED shared_round_key *key, u32 at_column, u32 bytes) {
    u32 s[8];
    UNROLL for (int i = 0; i < 8; i++) {
        s[i] = 0;
        UNROLL for (int b = 0; b < 4; b++) s[i] |= (bytes >> (4 * i + b) & 1) << 8 * b;
    }
    UNROLL for (int i = 0; i < 2; i++) key->piece[i][at_column] = piece_of(&s[4 * i]);
}

DEVICE void read_round_key(u32 *k, IN_SHARED const shared_round_key *key) {
    u32 s[8];
    UNROLL for (int i = 0; i < 2; i++) get_piece(&s[4 * i], key->piece[i][column()]);
    UNROLL for (int b = 0; b < 32; b++) k[b] = SIGNED_DOT_PRODUCT(s[b / 4], 0xffu << 8 * (b % 4), 0);
}
