// A warp spreads the keys over its registers, two words per lane, and lanes exchange them by shuffles: all lanes must
// ask, for the same round.
typedef struct { u32 low, high; u32 rounds; } cipher_key; // word number `lane`, and 32 words on

DEVICE cipher_key load_keys(const round_keys *keys) {
    const u32 *const words = &keys->word[0][0], lane = threadIdx.x % 32;
    cipher_key key;
    key.low = words[lane];
    key.high = lane < 4 * (MAX_ROUNDS + 1) - 32 ? words[32 + lane] : 0;
    key.rounds = keys->rounds;
    return key;
}

DEVICE u32 key_word(cipher_key key, u32 round, u32 column) {
    return FROM_LANE(round < 8 ? key.low : key.high, 4 * (round % 8) + column);
}
