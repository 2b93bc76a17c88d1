// ---------------------------------------------------------------------------------------------------------------
// Round keys in the order of use. They come as bytes; a thread block keeps them in shared memory, prepared for the thread of each column.
// ---------------------------------------------------------------------------------------------------------------

@KEY_FORM@
// The round keys, as a thread block keeps them.
typedef struct {
    shared_round_key round_key[MAX_ROUNDS + 1];
    uint4 first[2][4];
    u32 last[4];
#if !SHUFFLES
    u32 exchange[24][THREADS];
#endif
} key_memory;

typedef struct {
    IN_SHARED const shared_round_key *round_key;
    IN_SHARED const uint4 (*first)[4]; // the first round key as halves of bytes, by half and column
    u32 last;                // the thread's column of the last round key, bytes in little-endian order
    u32 rounds;
#if !SHUFFLES
    IN_SHARED u32 (*exchange)[THREADS]; // brings columns from other threads
#endif
} cipher_key;

// The planes of the thread's column of a round key.
DEVICE void get_round_key(u32 *k, cipher_key key, u32 round) { read_round_key(k, &key.round_key[round]); }

@KEY_SOURCE@
DEVICE cipher_key share_keys(IN_SHARED key_memory *memory@KEY_SOURCE_PARAMETER@) {
    for (u32 i = threadIdx.x; i < 4 * (@ROUNDS@ + 1); i += 32 * WARPS) {
        const u32 bytes = @KEY_WORD@;
        put_round_key(&memory->round_key[i / 4], i % 4, bytes);
        if (i / 4 == 0) {
            u32 s[8];
            halves_of_bytes(s, bytes);
            UNROLL for (int h = 0; h < 2; h++) memory->first[h][i % 4] = piece_of(&s[4 * h]);
        }
        if (i / 4 == @ROUNDS@) memory->last[i % 4] = bytes;
    }
    BARRIER();
    cipher_key key;
    key.round_key = memory->round_key;
    key.first = (IN_SHARED const uint4 (*)[4])memory->first;
    key.last = memory->last[column()];
    key.rounds = @ROUNDS@;
#if !SHUFFLES
    key.exchange = memory->exchange;
#endif
    return key;
}
