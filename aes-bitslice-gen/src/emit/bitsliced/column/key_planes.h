// A round key as bit-planes, all ones or zero: a thread reads the 32 planes of its column in eight pieces of 16 bytes,
// and the pieces of the four columns are adjacent, so that a warp reads 64 neighbouring bytes at once.
typedef struct { uint4 piece[8][4]; } shared_round_key;

DEVICE void put_round_key(IN_SHARED shared_round_key *key, u32 at_column, u32 bytes) {
    u32 s[32];
    UNROLL for (int b = 0; b < 32; b++) s[b] = spread_bit(bytes, b);
    put_planes(&key->piece[0][at_column], 4, s);
}

DEVICE void read_round_key(u32 *k, IN_SHARED const shared_round_key *key) { get_planes(k, &key->piece[0][column()], 4); }
