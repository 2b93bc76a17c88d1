// ---------------------------------------------------------------------------------------------------------------
// Round keys in the order of use. They come as bytes, and a thread block spreads them over bit-planes in shared
// memory, all ones or zero: a thread reads the 32 planes of its column in eight pieces of 16 bytes, and the pieces of
// the four columns lie side by side, so that a warp reads 64 neighbouring bytes at once.
// ---------------------------------------------------------------------------------------------------------------

typedef struct {
    const uint4 (*plane)[8][4]; // by round, piece and column
    const uint4 (*first)[4];    // the first round key as halves of bytes, by half of those and column
    u32 last;                   // the bytes of the thread's column, little-endian, of the last round key
    u32 rounds;
} cipher_key;

// The planes of the thread's column of a round key.
DEVICE void get_round_key(u32 *k, cipher_key key, u32 round) { get_planes(k, &key.plane[round][0][column()], 4); }

@KEY_SOURCE@
DEVICE cipher_key share_keys(@KEY_SOURCE_PARAMETER@) {
    SHARED uint4 plane[MAX_ROUNDS + 1][8][4];
    SHARED uint4 first[2][4];
    SHARED u32 last[4];
    EACH_THREAD(i, 4 * (@ROUNDS@ + 1)) {
        const u32 bytes = @KEY_WORD@;
        u32 s[32];
        UNROLL for (int b = 0; b < 32; b++) s[b] = spread_bit(bytes, b);
        put_planes(&plane[i / 4][0][i % 4], 4, s);
        if (i / 4 == 0) {
            halves_of_bytes(s, bytes);
            UNROLL for (int half = 0; half < 2; half++) first[half][i % 4] = piece_of(&s[4 * half]);
        }
        if (i / 4 == @ROUNDS@) last[i % 4] = bytes;
    }
    BARRIER();
    cipher_key key;
    key.plane = (const uint4 (*)[8][4])plane;
    key.first = (const uint4 (*)[4])first;
    key.last = last[column()];
    key.rounds = @ROUNDS@;
    return key;
}

