// The first two rounds of neighbouring counters, computed once for all of them.
//
// The counters differ only in the four bytes of one column. Each of these is in a different row, so ShiftRows moves each to a different
// column, and a column after round 1 depends on one of them. Up to its linear layer, round 2 keeps columns apart; after it, the state is a
// sum of four parts, each a function of one byte of the counter's low word:
//
//   state after MixColumns of round 2 = part 0 (its lowest byte) ^ part 1 ^ part 2 ^ part 3 (its highest byte)
//
// (Bernstein and Schwabe, "New AES software speed records", INDOCRYPT 2008, section 4.4, for round 1 and some of round 2; Park and Lee,
// "FACE", TCHES 2018.) The lowest byte takes all its 256 values within a tile, so part 0 is planes; of the other parts, a tile needs one
// value each, a mask for each plane. A part has the layout of the state, where block e of the tile is value e of the byte.

// A thread block keeps the parts, and masks for each warp.
typedef uint4 counter_part[8][32];
typedef uint4 counter_mask[8][4];

// The thread's column after ShiftRows, from the rows of all columns.
DEVICE void get_shifted(u32 *s, IN_SHARED counter_part *rows) {
    UNROLL for (int row = 0; row < 4; row++) {
        const u32 there = (lane() & ~3u) | SHIFTED(row, column());
        UNROLL for (int i = 0; i < 2; i++) get_piece(&s[8 * row + 4 * i], (*rows)[2 * row + i][there]);
    }
}

// Takes a row from a column's planes, and puts it beside those of other columns.
DEVICE void pick_row(u32 *x, const u32 *s, u32 row) {
    UNROLL for (int b = 0; b < 8; b++) x[b] = row == 0 ? s[b] : row == 1 ? s[8 + b] : row == 2 ? s[16 + b] : s[24 + b];
}

DEVICE void put_row(IN_SHARED counter_part *rows, u32 row, const u32 *x) {
    UNROLL for (int i = 0; i < 2; i++) (*rows)[2 * row + i][lane()] = piece_of(&x[4 * i]);
}

// Computes the parts for the counters that differ from `counter` in the low word only: each warp takes a row of SubBytes, then a part.
DEVICE void make_parts(IN_SHARED counter_part *part, counter128 counter, cipher_key key) {
    u32 s[32], k[32], t[32];
    ROLLED for (u32 row = warp(); row < 4; row += WARPS) {
        // The counting column takes all values of its bytes at once, because no two of them meet.
        const u32 e = lane() / 4; // a thread's block j is e + 8 j
        const u32 value[8] = {spread_bit(e, 0), spread_bit(e, 1), spread_bit(e, 2), 0xaaaaaaaa,
                              0xcccccccc,       0xf0f0f0f0,       0xff00ff00,       0xffff0000};
        const u32 word = word_of_column(counter);
        get_round_key(t, key, 0);
        pick_row(k, t, row);
        UNROLL for (int b = 0; b < 8; b++)
            s[b] = (column() == COUNTING_COLUMN ? value[b] : spread_bit(word, BIT_OF_ROW(row) + b)) ^ k[b];
        begin_byte(s);
        put_row(&part[3], row, s);
    }
    BARRIER();
    ROLLED for (u32 row = warp(); row < 4; row += WARPS) {
        get_shifted(s, &part[3]);
        get_round_key(k, key, 1);
        mix_column(&s[0], &s[8], &s[16], &s[24], k, t);
        pick_row(s, t, row);
        sub_byte(s);
        put_row(&part[2], row, s);
    }
    BARRIER();
    get_shifted(s, &part[2]);
    BARRIER(); // all have read it; it is overwritten next
    ROLLED for (u32 n = warp(); n < 4; n += WARPS) {
        u32 x[32];
        UNROLL for (int row = 0; row < 4; row++)
            UNROLL for (int b = 0; b < 8; b++) x[8 * row + b] = SHIFTED(row, column()) == COLUMN_OF_PART(n) ? s[8 * row + b] : 0;
        // The round key goes into one part only.
        get_round_key(k, key, 2);
        UNROLL for (int i = 0; i < 32; i++) k[i] = n == 0 ? k[i] : 0;
        mix_column(&x[0], &x[8], &x[16], &x[24], k, t);
        put_planes(&part[n][0][lane()], 32, t);
    }
    BARRIER();
}

// The sum, as a mask, of bits of the same plane of three parts, each shifted to the top of its word.
DEVICE u32 mask_of_sum(u32 x, u32 y, u32 z) { return spread_bit(LUT3(x, y, z, 0x96), 31); }

// The state after MixColumns of round 2 for a tile's counters; `low` is the low word of one of them.
DEVICE void sum_of_parts(u32 *s, IN_SHARED counter_part *part, IN_SHARED counter_mask *masks, u32 low) {
    IN_SHARED uint4 (*const mask)[4] = masks[warp()];
    // A lane computes the masks of four planes: piece lane / 4 of column lane % 4.
    uint4 bits[3];
    UNROLL for (int n = 0; n < 3; n++) {
        const u32 value = low >> (8 * n + 8) & 255, up = 31 - value / 8;
        bits[n] = part[n + 1][lane() / 4][4 * (value % 8) + column()];
        bits[n].x <<= up;
        bits[n].y <<= up;
        bits[n].z <<= up;
        bits[n].w <<= up;
    }
    uint4 sum;
    sum.x = mask_of_sum(bits[0].x, bits[1].x, bits[2].x);
    sum.y = mask_of_sum(bits[0].y, bits[1].y, bits[2].y);
    sum.z = mask_of_sum(bits[0].z, bits[1].z, bits[2].z);
    sum.w = mask_of_sum(bits[0].w, bits[1].w, bits[2].w);
    WARP_BARRIER(); // the previous masks have been read
    mask[lane() / 4][column()] = sum;
    WARP_BARRIER();
    u32 m[32];
    get_planes(s, &part[0][0][lane()], 32);
    get_planes(m, &mask[0][column()], 4);
    UNROLL for (int i = 0; i < 32; i++) s[i] ^= m[i];
}

// A thread block works through its share of tiles in runs: the tiles from `from` on whose counters share all but their low word, up to `to`
// at most. Computes their parts and returns where the run ends. `counter` is one of tile 0's; `next` is for `tile_after`.
DEVICE u32 begin_run(IN_SHARED counter_part *part, IN_SHARED u32 *next, counter128 counter, u32 from, u32 to, cipher_key key) {
    counter = counter_plus(counter, (u64)TILE_BLOCKS * from);
    const u32 run = 0xffffffff / TILE_BLOCKS + 1 - counter.word[0] / TILE_BLOCKS; // tiles until 32 bits wrap
    BARRIER(); // the previous parts have been read
    if (threadIdx.x == 0) *next = from + WARPS;
    make_parts(part, counter, key);
    return to - from < run ? to : from + run;
}

// The planes of the key stream of a tile's counters, up to the last MixColumns.
DEVICE void begin_key_stream(u32 *s, IN_SHARED counter_part *part, IN_SHARED counter_mask *masks, u32 low, cipher_key key) {
    sum_of_parts(s, part, masks, low);
    sub_bytes(s);
    rounds(s, key, 3);
}

// The rest, up to words of blocks, except for the last round key.
DEVICE void end_key_stream(u32 *s, cipher_key key) {
    end(s, key);
    transpose_32x32(s);
}
