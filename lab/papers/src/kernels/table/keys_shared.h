// A thread block copies the keys to shared memory.
typedef struct { u32 rounds; } cipher_key;

SHARED u32 round_key[MAX_ROUNDS + 1][4];

DEVICE cipher_key load_keys(const round_keys *keys) {
    ROLLED EACH_THREAD(i, 4 * (keys->rounds + 1)) round_key[i / 4][i % 4] = keys->word[i / 4][i % 4];
    cipher_key key;
    key.rounds = keys->rounds;
    return key;
}

DEVICE u32 key_word(cipher_key key, u32 round, u32 column) {
    (void)key;
    return round_key[round][column];
}
