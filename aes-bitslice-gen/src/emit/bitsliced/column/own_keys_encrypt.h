// Round keys of encryption, in the order of use: as the schedule produces them.

// `k` becomes the planes of the first round key, in the standard basis.
DEVICE own_keys begin_own_keys(u32 *k, IN_SHARED own_words *words, IN_GLOBAL const u32 *cipher_keys, u32 key_words, u32 first, u32 blocks, u32 each) {
    return begin_schedule(k, words, cipher_keys, key_words, first, blocks, each);
}

// Round key `round`, requested in order, from 1 on: the planes of the thread's column, in the basis of the schedule.
DEVICE void next_own_round_key(u32 *k, own_keys keys, u32 round) {
    make_next_words(keys, round);
    get_own_round_key(k, keys, round);
}

// Jobs take round keys between the first and the last as they are.
DEVICE void to_inner_round_key(u32 *k) { (void)k; }
DEVICE void mix_columns_of_job(u32 *s, const u32 *k, cipher_key key) { mix_columns_with_key(s, k, key); }
