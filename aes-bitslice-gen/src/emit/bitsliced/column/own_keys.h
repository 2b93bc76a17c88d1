// ---------------------------------------------------------------------------------------------------------------
// Keys of their own: four neighbouring threads expand 32 keys side by side (FIPS 197, section 5.2), a key a bit lane, in bit-planes.
//
// Words of the schedule lie in shared memory, the last eight of them, by rows, in the basis of the cipher's bytes. Of every word a thread
// makes the row of its column's number, so that the sums of words stay within a thread and SubWord is an S-box for each; RotWord is to
// read the row of the next thread. A round key is then read by columns. Rows lie one place further for every word, so that
// neither way two of eight neighbouring threads meet in a bank.
// ---------------------------------------------------------------------------------------------------------------

#define OWN_KEY_WARPS @OWN_KEY_WARPS@ // of a thread block at most, whose entry points have keys of their own

// A warp's words: of each eight planes of a row, as two pieces, by four threads and row.
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

// The planes of word n of 32 keys, in the basis of the schedule, become its rows.
DEVICE void put_key_word(IN_SHARED own_words *words, u32 n, const u32 *planes) {
    UNROLL for (int row = 0; row < 4; row++) {
        u32 x[8];
        into_basis(&planes[8 * row], x);
        put_word_row(words, n, row, x);
    }
}

// Where block n of the data is that has the same number of blocks for each key: block `block` of those of key `key`.
typedef struct { u32 key, block; } own_place;

DEVICE own_place place_of_block(u32 n, u32 each) {
    own_place place;
    place.key = n / each;
    place.block = n % each;
    return place;
}

// The place of the thread's next block: eight on.
DEVICE own_place eight_blocks_on(own_place place, u32 each) {
    place.key += 8 / each;
    place.block += 8 % each;
    if (place.block >= each) {
        place.block -= each;
        place.key++;
    }
    return place;
}

// Word `word` of the keys of the thread's blocks of a tile. Where there is no such word or no such block, it is another: nothing comes of it.
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
DEVICE own_keys begin_own_keys(u32 *k, IN_SHARED own_words *words, IN_GLOBAL const u32 *cipher_keys, u32 key_words, u32 first, u32 blocks, u32 each) {
    own_keys keys;
    keys.words = words;
    keys.key_words = key_words;
    keys.rounds = key_words + 6;
    WARP_BARRIER(); // the words of the last keys have been read
    // Of a long key the last words first.
    ROLLED for (u32 half = key_words > 4;; half--) {
        read_key_words(k, cipher_keys, key_words, 4 * half + column(), first, blocks, each);
        transpose_32x32(k);
        put_key_word(words, 4 * half + column(), k);
        if (half == 0) break;
    }
    WARP_BARRIER();
    return keys;
}

// Makes round key `round` from those before it: the planes of the thread's column, in the basis of the schedule. Asked for one after the
// other, from 1 on. A word of the same number in the key as its first goes through RotWord and SubWord: the first of a round key, or of
// keys of six words the third.
DEVICE void next_own_round_key(u32 *k, own_keys keys, u32 round) {
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
    UNROLL for (int row = 0; row < 4; row++) get_word_row(&k[8 * row], keys.words, 4 * round + column(), row);
}

// The last round key meets bytes in the standard basis.
DEVICE void to_last_round_key(u32 *k) {
    UNROLL for (int row = 0; row < 4; row++) {
        u32 x[8];
        out_of_basis(&k[8 * row], x);
        UNROLL for (int b = 0; b < 8; b++) k[8 * row + b] = x[b];
    }
}

// The cipher under these keys from the planes of blocks, the first round key added, to the words of their results.
DEVICE void cipher_of_own_keys(u32 *s, own_keys keys) {
    const cipher_key none = {0};
    u32 k[32];
    begin(s, none);
    ROLLED for (u32 round = 1;; round++) {
        next_own_round_key(k, keys, round);
        if (round == keys.rounds) break;
        if (round > 1) sub_bytes(s);
        mix_columns_with_key(s, k, none);
    }
    end(s, none);
    to_last_round_key(k);
    UNROLL for (int i = 0; i < 32; i++) s[i] ^= k[i];
    transpose_32x32(s);
}

// The word of the thread's column of the counters from one on.
typedef struct { u32 low, word, carried; } own_counter;

DEVICE u32 upper_word(counter128 counter) {
    return BYTE_PERMUTE(column() == 0 ? counter.word[3] : column() == 1 ? counter.word[2] : counter.word[1], 0, 0x0123);
}

DEVICE own_counter own_counter_of(counter128 counter) {
    own_counter own;
    own.low = counter.word[0];
    own.word = upper_word(counter);
    own.carried = upper_word(counter_plus(counter, (u64)1 << 32));
    return own;
}

DEVICE u32 counter_word(own_counter own, u32 n) {
    const u32 low = own.low + n;
    return column() == 3 ? BYTE_PERMUTE(low, 0, 0x0123) : low < n ? own.carried : own.word;
}

// The thread's words of a tile; where there is no such block, of the last one.
DEVICE void read_own_blocks(u32 *w, IN_GLOBAL const u8 *in, u32 first, u32 blocks, int by_words) {
    if (by_words) {
        UNROLL for (u32 j = 0; j < 32; j++) {
            const u32 n = first + 8 * j;
            w[j] = ((IN_GLOBAL const u32 *)in)[4 * (u64)(n < blocks ? n : blocks - 1) + column()];
        }
    } else {
        UNROLL for (u32 j = 0; j < 32; j++) {
            const u32 n = first + 8 * j;
            w[j] = word_at(in + (16 * (u64)(n < blocks ? n : blocks - 1) + 4 * column()));
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// The same number of blocks for each of many keys: fewer than 2^32 blocks in all, `each` of them for a key, which are the next ones.
// `cipher_keys` are the keys, side by side, at a multiple of four bytes. The cipher is given blocks of `in`, or if it `counts` the counters from
// `counter` on, the same for each key; and what comes of it is `out`, or if it `adds` is added to `in`. `in` may equal `out`.
// ---------------------------------------------------------------------------------------------------------------

KERNEL @NAME@_each(DATA(u8), u32 blocks, u32 each, IN_GLOBAL const u32 *cipher_keys, u32 key_words, KERNEL_PARAMETER counter128 counter, u32 counts, u32 adds) {
    LOCATE_DATA(u8);
    SHARED own_words words[OWN_KEY_WARPS];
    SHARED u32 next;
    const tiles mine = share_of_block(blocks), whole = whole_tiles(0, blocks);
    if (threadIdx.x == 0) next = mine.from + WARPS;
    BARRIER();
    const int by_words = (((u64)in | (u64)out) & 3) == 0;
    ROLLED for (u32 tile = first_tile(mine.from); goes_on(tile, mine.to); tile = tile_after(tile, &next)) {
        const u32 first = (u32)first_block(tile, 0);
        u32 s[32], k[32];
        const own_keys keys = begin_own_keys(k, &words[warp()], cipher_keys, key_words, first, blocks, each);
        if (counts) {
            const own_counter own = own_counter_of(counter);
            own_place place = place_of_block(first, each);
            UNROLL for (u32 j = 0; j < 32; j++) {
                s[j] = counter_word(own, place.block);
                place = eight_blocks_on(place, each);
            }
        } else {
            read_own_blocks(s, in, first, blocks, by_words);
        }
        transpose_32x32(s);
        UNROLL for (int i = 0; i < 32; i++) s[i] ^= k[i];
        cipher_of_own_keys(s, keys);
        if (adds) {
            u32 t[32];
            read_own_blocks(t, in, first, blocks, by_words);
            UNROLL for (int j = 0; j < 32; j++) s[j] ^= t[j];
        }
        if (by_words) write_words((IN_GLOBAL uint4 *)out, s, first, blocks, is_among(tile, whole));
        else write_bytes(out, s, first, blocks);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// The round keys of each of `all` keys, one after the other, as words in the basis of what they meet.
// ---------------------------------------------------------------------------------------------------------------

// Lanes without a key have the last one, and write that once more.
DEVICE void write_round_key(IN_GLOBAL u32 *round_keys, const u32 *w, u32 round, u32 rounds, u32 first, u32 all) {
    const u32 apart = 4 * (rounds + 1);
    const u64 last = (u64)apart * (all - 1) + 4 * round + column();
    u64 at = (u64)apart * first + 4 * round + column();
    UNROLL for (u32 j = 0; j < 32; j++) {
        at = at < last ? at : last;
        round_keys[at] = w[j];
        at += 8 * apart;
    }
}

KERNEL @NAME@_expand(IN_GLOBAL const u32 *cipher_keys, u32 all, u32 key_words, IN_GLOBAL u32 *round_keys) {
    SHARED own_words words[OWN_KEY_WARPS];
    SHARED u32 next;
    const tiles mine = share_of_block(all);
    if (threadIdx.x == 0) next = mine.from + WARPS;
    BARRIER();
    ROLLED for (u32 tile = first_tile(mine.from); goes_on(tile, mine.to); tile = tile_after(tile, &next)) {
        const u32 first = (u32)first_block(tile, 0);
        u32 k[32];
        const own_keys keys = begin_own_keys(k, &words[warp()], cipher_keys, key_words, first, all, 1);
        ROLLED for (u32 round = 0; round <= keys.rounds; round++) {
            if (round > 0) next_own_round_key(k, keys, round);
            if (round == keys.rounds) to_last_round_key(k);
            transpose_32x32(k);
            write_round_key(round_keys, k, round, keys.rounds, first, all);
        }
    }
}
