// The cipher of blocks with their own keys: from planes, with the first round key added, to the words of the results.
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
    to_outer_round_key(k);
    UNROLL for (int i = 0; i < 32; i++) s[i] ^= k[i];
    transpose_32x32(s);
}

// The thread's column of a counter and of the counters after it.
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

// The thread's words of a tile; words of the last block where a block does not exist.
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
// The same number of blocks for each of many keys: fewer than 2^32 blocks in all, the next `each` of them for each key. `cipher_keys` are
// the keys, one after the other, at a multiple of four bytes. The cipher's input is blocks of `in` or, if `counts`, the counters from
// `counter` on, the same for each key. Its output, XORed with `in` if `adds`, is `out`. `in` may equal `out`.
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
// The round keys of each of `all` keys, one after the other in the order of use, as words in the basis that jobs take.
// ---------------------------------------------------------------------------------------------------------------

// Lanes without a key have the last key, and write it once more.
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
            if (round == keys.rounds) to_outer_round_key(k);
            else if (round > 0) to_inner_round_key(k);
            transpose_32x32(k);
            write_round_key(round_keys, k, round, keys.rounds, first, all);
        }
    }
}
