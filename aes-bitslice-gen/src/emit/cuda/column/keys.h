// ---------------------------------------------------------------------------------------------------------------
// Round keys in the order of use. They come as bytes, and a thread block keeps them in shared memory, made ready for the
// thread of each column.
// ---------------------------------------------------------------------------------------------------------------

@KEY_FORM@
typedef struct {
    const shared_round_key *round_key;
    const uint4 (*first)[4]; // the first round key as halves of bytes, by half of those and column
    u32 last;                // the bytes of the thread's column, little-endian, of the last round key
    u32 rounds;
} cipher_key;

// The planes of the thread's column of a round key.
DEVICE void get_round_key(u32 *k, cipher_key key, u32 round) { read_round_key(k, &key.round_key[round]); }

@KEY_SOURCE@
DEVICE cipher_key share_keys(@KEY_SOURCE_PARAMETER@) {
    SHARED shared_round_key round_key[MAX_ROUNDS + 1];
    SHARED uint4 first[2][4];
    SHARED u32 last[4];
    EACH_THREAD(i, 4 * (@ROUNDS@ + 1)) {
        const u32 bytes = @KEY_WORD@;
        put_round_key(&round_key[i / 4], i % 4, bytes);
        if (i / 4 == 0) {
            u32 s[8];
            halves_of_bytes(s, bytes);
            UNROLL for (int half = 0; half < 2; half++) first[half][i % 4] = piece_of(&s[4 * half]);
        }
        if (i / 4 == @ROUNDS@) last[i % 4] = bytes;
    }
    BARRIER();
    cipher_key key;
    key.round_key = round_key;
    key.first = (const uint4 (*)[4])first;
    key.last = last[column()];
    key.rounds = @ROUNDS@;
    return key;
}

