// ---------------------------------------------------------------------------------------------------------------
// Many keys: four neighbouring threads expand 32 keys side by side (FIPS 197, section 5.2), one key per bit lane, in bit-planes.
//
// The last eight words of the schedule are in shared memory, by rows, in the basis of the cipher's bytes. A thread computes the row of
// every word that has its column's number, so that sums of words stay within a thread and SubWord is an S-box in each; RotWord reads the
// row of the next thread. A round key is then read by columns. Rows move one place further with every word, so that no two of eight
// neighbouring threads access the same bank either way.
// ---------------------------------------------------------------------------------------------------------------

#define OWN_KEY_WARPS @OWN_KEY_WARPS@ // of a thread block at most, in entry points for many keys

// A warp's words: each as the eight planes of a row, in two pieces, by group of four threads and row.
typedef struct { uint4 piece[8][2][8][4]; } own_words;

typedef struct {
    IN_SHARED own_words *words;
    u32 key_words; // of a key: 4, 6 or 8
    u32 rounds;
} own_keys;

DEVICE void get_word_row(u32 *x, IN_SHARED const own_words *words, u32 n, u32 row) {
    UNROLL for (int h = 0; h < 2; h++) get_piece(&x[4 * h], words->piece[n % 8][h][lane() / 4][(row + n) % 4]);
}

DEVICE void put_word_row(IN_SHARED own_words *words, u32 n, u32 row, const u32 *x) {
    UNROLL for (int h = 0; h < 2; h++) words->piece[n % 8][h][lane() / 4][(row + n) % 4] = piece_of(&x[4 * h]);
}

// Stores the planes of word n of 32 keys as its rows, in the basis of the schedule.
DEVICE void put_key_word(IN_SHARED own_words *words, u32 n, const u32 *planes) {
    UNROLL for (int row = 0; row < 4; row++) {
        u32 x[8];
        into_basis(&planes[8 * row], x);
        put_word_row(words, n, row, x);
    }
}

// The place of a block in data with the same number of blocks for each key: block `block` of key `key`.
typedef struct { u32 key, block; } own_place;

DEVICE own_place place_of_block(u32 n, u32 each) {
    own_place place;
    place.key = n / each;
    place.block = n % each;
    return place;
}

// The place of the thread's next block: eight blocks on.
DEVICE own_place eight_blocks_on(own_place place, u32 each) {
    place.key += 8 / each;
    place.block += 8 % each;
    if (place.block >= each) {
        place.block -= each;
        place.key++;
    }
    return place;
}

// Word `word` of the keys of the thread's blocks of a tile. Where there is no such word or block, it is another, which has no effect.
DEVICE void read_key_words(u32 *w, IN_GLOBAL const u32 *keys, u32 key_words, u32 word, u32 first, u32 blocks, u32 each) {
    const u32 last = (blocks - 1) / each;
    IN_GLOBAL const u32 *const from = keys + (word < key_words ? word : key_words - 1);
    own_place place = place_of_block(first, each);
    UNROLL for (u32 j = 0; j < 32; j++) {
        w[j] = from[(u64)key_words * (place.key < last ? place.key : last)];
        place = eight_blocks_on(place, each);
    }
}

// Begins the schedules of the keys of the thread's blocks of a tile: `k` becomes the planes of the first round key, in the standard basis.
DEVICE own_keys begin_schedule(u32 *k, IN_SHARED own_words *words, IN_GLOBAL const u32 *cipher_keys, u32 key_words, u32 first, u32 blocks, u32 each) {
    own_keys keys;
    keys.words = words;
    keys.key_words = key_words;
    keys.rounds = key_words + 6;
    WARP_BARRIER(); // the words of the previous keys have been read
    // The last words of a long key come first.
    ROLLED for (u32 half = key_words > 4;; half--) {
        read_key_words(k, cipher_keys, key_words, 4 * half + column(), first, blocks, each);
        transpose_32x32(k);
        put_key_word(words, 4 * half + column(), k);
        if (half == 0) break;
    }
    WARP_BARRIER();
    return keys;
}

// Computes words 4 round to 4 round + 3 from the words before them: round by round, from 1 on. A word whose number is a multiple of
// `key_words` takes RotWord and SubWord: the first of a round key or, for keys of six words, the first, the third or none.
DEVICE void make_next_words(own_keys keys, u32 round) {
    u32 x[8], t[8];
    UNROLL for (u32 i = 0; i < 4; i++) {
        const u32 n = 4 * round + i;
        if (n < keys.key_words) continue; // a word of the key
        const u32 turn = keys.key_words == 4 ? n / 4 : keys.key_words == 8 ? n / 8 : n / 6;
        const int is_first = i % 2 == 0 && turn * keys.key_words == n;
        if (i == 0 || is_first) {
            if (i > 0) WARP_BARRIER(); // the word before is there
            get_word_row(x, keys.words, n - 1, column() + (u32)is_first);
            if (is_first || keys.key_words == 8) sub_byte(x);
        }
        const u32 constant = is_first && column() == 0 ? round_constant(turn) : 0;
        get_word_row(t, keys.words, n - keys.key_words, column());
        UNROLL for (int b = 0; b < 8; b++) x[b] ^= i % 2 == 0 ? t[b] ^ spread_bit(constant, b) : t[b];
        put_word_row(keys.words, n, column(), x);
    }
    WARP_BARRIER();
}

// The planes of the thread's column of a round key whose words are there, in the basis of the schedule.
DEVICE void get_own_round_key(u32 *k, own_keys keys, u32 round) {
    UNROLL for (int row = 0; row < 4; row++) get_word_row(&k[8 * row], keys.words, 4 * round + column(), row);
}

// The first and the last round key are added to bytes in the standard basis.
DEVICE void to_outer_round_key(u32 *k) {
    UNROLL for (int row = 0; row < 4; row++) {
        u32 x[8];
        out_of_basis(&k[8 * row], x);
        UNROLL for (int b = 0; b < 8; b++) k[8 * row + b] = x[b];
    }
}
