// Round keys in shared memory, packed as the state is, each bit as many times as a thread has blocks. The thread block packs them.
typedef struct { u32 rounds; } cipher_key;

SHARED u32 round_key[MAX_ROUNDS + 1][WORDS];

DEVICE cipher_key prepare(const round_keys *keys) {
    ROLLED EACH_THREAD(i, WORDS * (keys->rounds + 1)) {
        const u32 round = i / WORDS, half = i / 8 % HALVES, bit = i % 8;
        u32 packed = 0;
        UNROLL for (u32 n = 0; n < 32 / BLOCKS_PER_THREAD; n++) {
            const u32 row = n / 4 + 2 * half, column = n % 4;
            const u32 here = ((1u << BLOCKS_PER_THREAD) - 1) << BLOCKS_PER_THREAD * n;
            packed |= spread_bit(keys->word[round][column], 8 * row + bit) & here;
        }
        round_key[round][i % WORDS] = packed;
    }
    BARRIER();
    cipher_key key;
    key.rounds = keys->rounds;
    return key;
}
