// The keys stay where launch arguments are, in constant memory: one access serves a warp whose lanes read the same
// word.
typedef struct { const round_keys *keys; u32 rounds; } cipher_key;

DEVICE cipher_key load_keys(const round_keys *keys) {
    cipher_key key;
    key.keys = keys;
    key.rounds = keys->rounds;
    return key;
}

DEVICE u32 key_word(cipher_key key, u32 round, u32 column) { return key.keys->word[round][column]; }
