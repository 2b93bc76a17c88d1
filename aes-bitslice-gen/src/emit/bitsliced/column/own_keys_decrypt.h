// Round keys of decryption, in the order of use: forward to the end of the schedule, then back to its beginning. A word is the sum of an
// earlier word and a function of the word before it; so the earlier word is the sum of the other two.

// Computes words 4 round to 4 round + 3, the last first, from the words after them: round by round, from the last but two on, because the
// last eight words are there.
DEVICE void make_words_before(own_keys keys, u32 round) {
    u32 x[8], t[8];
    UNROLL for (u32 j = 0; j < 4; j++) {
        const u32 i = 3 - j, n = 4 * round + i + keys.key_words;
        const u32 turn = keys.key_words == 4 ? n / 4 : keys.key_words == 8 ? n / 8 : n / 6;
        const int is_first = i % 2 == 0 && turn * keys.key_words == n;
        if (i == 0) WARP_BARRIER(); // of short keys, word n - 1 has only just been made
        get_word_row(x, keys.words, n - 1, column() + (u32)is_first);
        if (is_first || (i == 0 && keys.key_words == 8)) sub_byte(x);
        const u32 constant = is_first && column() == 0 ? round_constant(turn) : 0;
        get_word_row(t, keys.words, n, column());
        UNROLL for (int b = 0; b < 8; b++) x[b] ^= i % 2 == 0 ? t[b] ^ spread_bit(constant, b) : t[b];
        put_word_row(keys.words, n - keys.key_words, column(), x);
    }
}

// `k` becomes the planes of the first round key, in the standard basis.
DEVICE own_keys begin_own_keys(u32 *k, IN_SHARED own_words *words, IN_GLOBAL const u32 *cipher_keys, u32 key_words, u32 first, u32 blocks, u32 each) {
    const own_keys keys = begin_schedule(k, words, cipher_keys, key_words, first, blocks, each);
    ROLLED for (u32 round = 1; round <= keys.rounds; round++) make_next_words(keys, round);
    get_own_round_key(k, keys, keys.rounds);
    to_outer_round_key(k);
    return keys;
}

// Round key `n`, requested in order, from 1 on: the planes of the thread's column, in the basis of the schedule.
DEVICE void next_own_round_key(u32 *k, own_keys keys, u32 n) {
    const u32 round = keys.rounds - n;
    if (n > 1) make_words_before(keys, round);
    WARP_BARRIER(); // the words are there, and those in whose place the next ones come have been read
    get_own_round_key(k, keys, round);
}

// Jobs take round keys between the first and the last as launches under one key do, because InvMixColumns has fewer gates with them.
DEVICE void to_inner_round_key(u32 *k) {
    u32 t[32];
    into_key_basis(k, t);
    UNROLL for (int i = 0; i < 32; i++) k[i] = t[i];
}

DEVICE void mix_columns_of_job(u32 *s, const u32 *k, cipher_key key) { mix_columns(s, k, key); }
