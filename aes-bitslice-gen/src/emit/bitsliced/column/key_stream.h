// The first two rounds of a tile of neighbouring counters, done once for all of them.
//
// Counters that differ in their last four bytes only: each of these is in another row of column 3, so ShiftRows takes
// each to another column, and a column after round 1 depends on one of them. Up to its linear layer, round 2 keeps
// columns apart; and behind it the state is a sum of four parts, each a function of one counter byte:
//
//   state after MixColumns of round 2 = part 0 (byte 15) ^ part 1 (byte 14) ^ part 2 (byte 13) ^ part 3 (byte 12)
//
// (Bernstein and Schwabe, "New AES software speed records", INDOCRYPT 2008, section 4.4, for round 1 and some of
// round 2; Park and Lee, "FACE", TCHES 2018.) The last byte takes all its 256 values within a warp, so part 0 is
// planes; of the other parts a warp needs one value each, a mask for each plane. Layout of a part: that of the state,
// block e of the warp being the value e of the byte.

// What a thread block keeps of them: the parts, and for each warp masks.
typedef uint4 counter_part[8][32];
typedef uint4 counter_mask[8][4];

// Makes the parts for the counters from `counter` on that differ from it in the last four bytes only.
DEVICE void make_parts(IN_SHARED counter_part *part, counter128 counter, cipher_key key) {
    BARRIER(); // the last parts have been read
    if (!SHUFFLES || warp() == 0) { // without shuffles, all warps come to the barriers in between
        // Column 3 takes all values of its bytes at once, for no two of them meet.
        const u32 e = lane() / 4; // a thread's block j is e + 8 j
        const u32 value[8] = {spread_bit(e, 0), spread_bit(e, 1), spread_bit(e, 2), 0xaaaaaaaa,
                              0xcccccccc,       0xf0f0f0f0,       0xff00ff00,       0xffff0000};
        u32 s[32], k[32];
        UNROLL for (int b = 0; b < 32; b++) {
            const u32 word = column() == 0 ? counter.word[3] : column() == 1 ? counter.word[2] : counter.word[1];
            s[b] = column() == 3 ? value[b % 8] : spread_bit(word, 8 * (3 - b / 8) + b % 8);
        }
        begin(s, key);
        get_round_key(k, key, 1);
        mix_columns(s, k, key);
        sub_bytes(s);
        if (SHUFFLES || warp() == 0) put_planes(&part[3][0][lane()], 32, s);
    }
    BARRIER();
    u32 s[32];
    UNROLL for (int row = 0; row < 4; row++) {
        const u32 there = (lane() & ~3u) | SHIFTED(row, column());
        UNROLL for (int i = 0; i < 2; i++) get_piece(&s[8 * row + 4 * i], part[3][2 * row + i][there]);
    }
    BARRIER(); // all have read it: it is overwritten
    ROLLED for (u32 n = warp(); n < 4; n += WARPS) {
        u32 x[32], k[32], sum[32];
        UNROLL for (int row = 0; row < 4; row++)
            UNROLL for (int b = 0; b < 8; b++) x[8 * row + b] = SHIFTED(row, column()) == n ? s[8 * row + b] : 0;
        // The round key goes into one part only.
        get_round_key(k, key, 2);
        UNROLL for (int i = 0; i < 32; i++) k[i] = n == 0 ? k[i] : 0;
        mix_column(&x[0], &x[8], &x[16], &x[24], k, sum);
        put_planes(&part[n][0][lane()], 32, sum);
    }
    BARRIER();
}

// The state after MixColumns of round 2 for the 256 counters of which `low` holds the last four bytes.
DEVICE void sum_of_parts(u32 *s, IN_SHARED counter_part *part, IN_SHARED counter_mask *masks, u32 low) {
    IN_SHARED uint4 (*const mask)[4] = masks[warp()];
    // A lane makes the masks of four planes: of piece lane / 4 of column lane % 4.
    uint4 sum;
    sum.x = sum.y = sum.z = sum.w = 0;
    UNROLL for (int n = 1; n < 4; n++) {
        const u32 value = low >> 8 * n & 255;
        const uint4 planes = part[n][lane() / 4][4 * (value % 8) + column()];
        sum.x ^= spread_bit(planes.x, value / 8);
        sum.y ^= spread_bit(planes.y, value / 8);
        sum.z ^= spread_bit(planes.z, value / 8);
        sum.w ^= spread_bit(planes.w, value / 8);
    }
    WARP_BARRIER(); // the last masks have been read
    mask[lane() / 4][column()] = sum;
    WARP_BARRIER();
    u32 m[32];
    get_planes(s, &part[0][0][lane()], 32);
    get_planes(m, &mask[0][column()], 4);
    UNROLL for (int i = 0; i < 32; i++) s[i] ^= m[i];
}

// The key stream of a tile of the thread block but for the last round key, as words of blocks, the block of counter `counter` being number
// `skipped` of tile 0. A tile begins at a multiple of its length, so that within it only the last bytes of counters
// differ, and the last four of them wrap between two tiles if at all.
DEVICE void key_stream(u32 *s, IN_SHARED counter_part *part, IN_SHARED counter_mask *mask, counter128 counter, u32 skipped,
                       u64 tile, int is_first, cipher_key key) {
    counter.word[0] -= skipped;
    counter = counter_plus(counter, TILE_BLOCKS * tile);
    if (is_first || counter.word[0] == 0) make_parts(part, counter, key);
    sum_of_parts(s, part, mask, counter.word[0] + BLOCKS_PER_WARP * warp());
    sub_bytes(s);
    finish(s, key, 3);
    transpose_32x32(s);
}
