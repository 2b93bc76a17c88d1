// ---------------------------------------------------------------------------------------------------------------
// XTS (IEEE 1619) of data units of `unit_blocks` blocks, 1 to 2^20 of them: block j of a unit is XORed with the unit's tweak times α^j,
// before and after the cipher. The unit's tweak is its number, encrypted with a second key. The data begins `before` blocks into unit
// number `first_unit`. `in` may equal `out`.
//
// A warp takes a stretch of neighbouring tiles at a time. First it encrypts the numbers of the stretch's units at once, as many as a tile
// has blocks; then it works on the tiles. A tile is 32 rows of eight neighbouring blocks: each lane computes the tweaks of a row, and each
// thread reads the words for its blocks.
//
// Branches depend on places in the data and the size of units; nothing depends on a tweak.
// ---------------------------------------------------------------------------------------------------------------

// A warp keeps the tweaks of units, and the tweaks of the tile's blocks, by row. A row has room for one more, so that lanes that write rows
// have no bank conflicts.
typedef struct {
    uint4 unit[TILE_BLOCKS];
    uint4 row[32][9];
} warp_tweaks;

// Where a row begins: the unit, counted from the first of the stretch, and the block within it.
typedef struct { u32 unit, block; } place;

// The word shifted up by `distance` bits, 0 to 31, with bits of the one below it.
DEVICE u32 shifted(u32 high, u32 low, u32 distance) { return (u32)(((u64)high << 32 | low) << distance >> 32); }

// Adds x^(128 + 32 i) `word` to a polynomial, as the equal x^(32 i) (x^7 + x^2 + x + 1) `word`.
DEVICE void add_reduced(u32 *t, int i, u32 word) {
    t[i] ^= word ^ word << 1 ^ word << 2 ^ word << 7;
    t[i + 1] ^= word >> 31 ^ word >> 30 ^ word >> 25;
}

// A tweak, little-endian, times α.
DEVICE void times_alpha(u32 *t) {
    const u32 carry = (u32)((int)t[3] >> 31) & 0x87;
    UNROLL for (int i = 3; i > 0; i--) t[i] = shifted(t[i], t[i - 1], 1);
    t[0] = t[0] << 1 ^ carry;
}

// Times α^n, n < 32.
DEVICE void times_alpha_to(u32 *t, u32 n) {
    const u32 out = shifted(0, t[3], n);
    UNROLL for (int i = 3; i > 0; i--) t[i] = shifted(t[i], t[i - 1], n);
    t[0] <<= n;
    add_reduced(t, 0, out);
}

// Times α^(32 words), words being 1, 2 or 4.
DEVICE void times_alpha_by_words(u32 *t, int words) {
    u32 r[5];
    UNROLL for (int i = 0; i < 5; i++) r[i] = i >= words && i < 4 ? t[i - words] : 0;
    UNROLL for (int i = 0; i < words; i++) add_reduced(r, i, t[4 - words + i]);
    add_reduced(r, 0, r[4]);
    UNROLL for (int i = 0; i < 4; i++) t[i] = r[i];
}

// Times α^256 = x^14 + x^4 + x^2 + 1.
DEVICE void times_alpha_to_256(u32 *t) {
    const u32 out = t[3] >> 30 ^ t[3] >> 28 ^ t[3] >> 18;
    UNROLL for (int i = 3; i > 0; i--)
        t[i] ^= shifted(t[i], t[i - 1], 2) ^ shifted(t[i], t[i - 1], 4) ^ shifted(t[i], t[i - 1], 14);
    t[0] ^= t[0] << 2 ^ t[0] << 4 ^ t[0] << 14;
    add_reduced(t, 0, out);
}

// Times α^2048 = x^112 + x^32 + x^16 + 1.
DEVICE void times_alpha_to_2048(u32 *t) {
    u32 r[8];
    UNROLL for (int i = 0; i < 8; i++) {
        const u32 at = i < 4 ? t[i] : 0, below = i > 0 && i < 5 ? t[i - 1] : 0;
        r[i] = at ^ (at << 16 | below >> 16) ^ below;
        if (i > 2) r[i] ^= (i < 7 ? t[i - 3] << 16 : 0) | (i > 3 ? t[i - 4] >> 16 : 0);
    }
    UNROLL for (int i = 0; i < 4; i++) add_reduced(r, i, r[4 + i]);
    UNROLL for (int i = 0; i < 4; i++) t[i] = r[i];
}

// Times α^n, n < 256.
DEVICE void times_alpha_below_256(u32 *t, u32 n) {
    if (n & 128) times_alpha_by_words(t, 4);
    if (n & 64) times_alpha_by_words(t, 2);
    if (n & 32) times_alpha_by_words(t, 1);
    times_alpha_to(t, n % 32);
}

DEVICE u32 word_of_number(counter128 number, u32 i) {
    return i == 0 ? number.word[0] : i == 1 ? number.word[1] : i == 2 ? number.word[2] : number.word[3];
}

// Encrypts the numbers from `first` on, little-endian, as many as a tile has blocks; `first_key` is the thread's word of the first
// round key.
DEVICE void make_units(IN_SHARED warp_tweaks *tweaks, counter128 first, u32 first_key, cipher_key key) {
    const u32 low = first.word[0], here = word_of_number(first, column());
    const u32 wrapped = word_of_number(counter_plus(first, (u64)1 << 32), column());
    u32 s[32];
    UNROLL for (int j = 0; j < 32; j++) {
        const u32 word = low + lane() / 4 + 8 * j;
        s[j] = (column() == 0 ? word : word < low ? wrapped : here) ^ first_key;
    }
    transpose_32x32(s);
    @TWEAK@cipher(s, key);
    transpose_32x32(s);
    IN_SHARED u32 *const to = (IN_SHARED u32 *)tweaks->unit + lane();
    WARP_BARRIER(); // the previous stretch's have been read
    UNROLL for (int j = 0; j < 32; j++) to[32 * j] = s[j] ^ key.last;
    WARP_BARRIER();
}

// Writes the tweaks of the lane's row, which begins with `t`.
DEVICE void put_row(IN_SHARED warp_tweaks *tweaks, u32 unit_blocks, place at, u32 *t) {
    IN_SHARED uint4 *const row = tweaks->row[lane()];
    row[0] = piece_of(t);
    if (unit_blocks - at.block >= 8) {
        UNROLL for (int i = 1; i < 8; i++) {
            times_alpha(t);
            row[i] = piece_of(t);
        }
    } else {
        ROLLED for (int i = 1; i < 8; i++) {
            if (++at.block == unit_blocks) {
                at.block = 0;
                get_piece(t, tweaks->unit[++at.unit]);
            } else {
                times_alpha(t);
            }
            row[i] = piece_of(t);
        }
    }
}

// Computes the tweaks of a tile that begins with block `block` of the stretch's first unit; returns where the lane's row begins.
DEVICE place begin_rows(IN_SHARED warp_tweaks *tweaks, u32 unit_blocks, u32 block) {
    const u32 first = block + 8 * lane();
    place at;
    at.unit = first / unit_blocks;
    at.block = first % unit_blocks;
    u32 t[4], n = at.block;
    get_piece(t, tweaks->unit[at.unit]);
    ROLLED for (; n >= 2048; n -= 2048) times_alpha_to_2048(t);
    ROLLED for (; n >= 256; n -= 256) times_alpha_to_256(t);
    times_alpha_below_256(t, n);
    put_row(tweaks, unit_blocks, at, t);
    WARP_BARRIER();
    return at;
}

// Computes the tweaks of the tile after the one in which the lane's row begins at `at`.
DEVICE place next_rows(IN_SHARED warp_tweaks *tweaks, u32 unit_blocks, place at) {
    const u32 unit = at.unit;
    u32 t[4];
    at.unit += TILE_BLOCKS / unit_blocks;
    at.block += TILE_BLOCKS % unit_blocks;
    if (at.block >= unit_blocks) {
        at.block -= unit_blocks;
        at.unit++;
    }
    if (at.unit == unit) {
        get_piece(t, tweaks->row[lane()][0]);
        times_alpha_to_256(t);
    } else {
        get_piece(t, tweaks->unit[at.unit]);
        times_alpha_below_256(t, at.block); // the unit began less than a tile ago: fewer blocks than that precede this one
    }
    WARP_BARRIER(); // all have read the previous tile's
    put_row(tweaks, unit_blocks, at, t);
    WARP_BARRIER();
    return at;
}

// XORs the thread's words of a tile with their tweaks, and with `word`.
DEVICE void add_tweaks(u32 *s, IN_SHARED const warp_tweaks *tweaks, u32 word) {
    IN_SHARED const u32 *const from = (IN_SHARED const u32 *)tweaks->row + lane();
    UNROLL for (int j = 0; j < 32; j++) s[j] = LUT3(s[j], from[36 * j], word, 0x96);
}

// The most tiles of a stretch, so that it has no more units than are encrypted at once, wherever in a unit it begins.
DEVICE u32 longest_stretch(u32 unit_blocks, u32 before) {
    // Units of at most a tile, a power of two of blocks: every tile begins where a unit does.
    if (before == 0 && unit_blocks <= TILE_BLOCKS && (unit_blocks & (unit_blocks - 1)) == 0) return unit_blocks;
    return ((TILE_BLOCKS - 1) * unit_blocks + 1) / TILE_BLOCKS;
}

// Stretch number `n` of a thread block's share: `longest` tiles, and in the last turn an equal share of the rest for each warp.
DEVICE tiles stretch_of(u32 n, tiles share, u32 longest) {
    const u32 turn = longest * WARPS, whole_turns = (share.to - share.from) / turn;
    const u32 turns = n / WARPS < whole_turns ? n / WARPS : whole_turns;
    const u32 from = share.from + turns * turn;
    n -= turns * WARPS;
    u32 each = (share.to - from + WARPS - 1) / WARPS;
    if (each > longest) each = longest;
    tiles stretch;
    stretch.from = n < WARPS ? from + n * each : share.to;
    stretch.to = stretch.from + each;
#if SHUFFLES
    if (stretch.to > share.to) stretch.to = share.to;
#endif
    return stretch;
}

// Whether a warp whose next stretch is number `n` goes on. Where warps take their tiles in step, all go on as long as the first has tiles,
// and each has the same number.
DEVICE int goes_on_with(u32 n, tiles share, u32 longest) {
#if !SHUFFLES
    n -= warp();
#endif
    const tiles stretch = stretch_of(n, share, longest);
    return stretch.from < stretch.to && stretch.from < share.to;
}

// Computes the tweaks of the unit that a block is in and of the units after it; returns which block of its unit it is. Both by long
// division, 12 bits at a time: a remainder has 20 bits.
DEVICE u32 begin_stretch(IN_SHARED warp_tweaks *tweaks, u64 block, u32 unit_blocks, counter128 first_unit, u32 first_key,
                         cipher_key key) {
    u64 unit = 0;
    u32 rest = 0;
    ROLLED for (int at = 48; at >= 0; at -= 12) {
        const u32 part = rest << 12 | ((u32)(block >> at) & 0xfff);
        unit = unit << 12 | part / unit_blocks;
        rest = part % unit_blocks;
    }
    make_units(tweaks, counter_plus(first_unit, unit), first_key, key);
    return rest;
}

KERNEL @NAME@(DATA(uint4), u64 blocks, u32 unit_blocks, u32 before, KERNEL_PARAMETER counter128 first_unit,
              KERNEL_PARAMETER round_keys tweak_keys@KEY_PARAMETER@) {
    LOCATE_DATA(uint4);
    SHARED u32 next;
    SHARED key_memory tweak_memory;
    DYNAMIC_SHARED(shared);
    const tiles mine = share_of_block(blocks);
    if (threadIdx.x == 0) next = WARPS;
    const cipher_key tweak_key = share_keys(&tweak_memory, &tweak_keys);
@KEY_LOAD@    const u64 there = blocks_up_to(mine.to, 0, blocks);
    const tiles whole = whole_tiles(0, there);
    const u32 longest = longest_stretch(unit_blocks, before);
    IN_SHARED warp_tweaks *const tweaks = (IN_SHARED warp_tweaks *)shared + warp();
    ROLLED for (u32 n = first_tile(0); goes_on_with(n, mine, longest); n = tile_after(n, &next)) {
        const tiles stretch = stretch_of(n, mine, longest);
        u32 tile = stretch.from, s[32];
        const u32 block = begin_stretch(tweaks, before + (u64)TILE_BLOCKS * tile, unit_blocks, first_unit,
                                        tweak_keys.word[0][column()], tweak_key);
        read_words(s, in, first_block(tile, 0), there, is_among(tile, whole));
        place at = begin_rows(tweaks, unit_blocks, block);
        ROLLED for (;;) {
            add_tweaks(s, tweaks, keys.word[0][column()]);
            transpose_32x32(s);
            cipher(s, key);
            // The words of the next tile are in flight while those of this one are computed.
            const u32 after = tile + 1;
            u32 w[32];
            if (after < stretch.to) read_words(w, in, first_block(after, 0), there, is_among(after, whole));
            transpose_32x32(s);
            add_tweaks(s, tweaks, key.last);
            write_words(out, s, first_block(tile, 0), there, is_among(tile, whole));
            if (after >= stretch.to) break;
            UNROLL for (int j = 0; j < 32; j++) s[j] = w[j];
            at = next_rows(tweaks, unit_blocks, at);
            tile = after;
        }
    }
}

// The same for any alignment, slower. If `ragged` is not 0, but 1 to 15, one more whole block follows, then a last block of that many
// bytes, which shares bytes with it (sections 5.3.2 and 5.4.2). `blocks` does not count these two.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks, u32 ragged, u32 unit_blocks, u32 before, KERNEL_PARAMETER counter128 first_unit,
                    KERNEL_PARAMETER round_keys tweak_keys@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
    SHARED u32 next;
    SHARED key_memory tweak_memory;
    DYNAMIC_SHARED(shared);
    const tiles mine = share_of_block(blocks);
    if (threadIdx.x == 0) next = WARPS;
    const cipher_key tweak_key = share_keys(&tweak_memory, &tweak_keys);
@KEY_LOAD@    const u64 there = blocks_up_to(mine.to, 0, blocks);
    const u32 longest = longest_stretch(unit_blocks, before);
    IN_SHARED warp_tweaks *const tweaks = (IN_SHARED warp_tweaks *)shared + warp();
    // The last two blocks are a stretch of their own, in the first thread block, which goes through the tile twice. All its warps do the
    // same, and one writes.
    int is_last = 0;
    u32 stolen = 0;
    ROLLED for (u32 n = first_tile(0);; n = tile_after(n, &next)) {
        if (!goes_on_with(n, mine, longest)) {
            if (ragged == 0 || blockIdx.x != 0) break;
            is_last = 1;
        }
        const tiles stretch = stretch_of(n, mine, longest);
        const u64 first = is_last ? blocks : (u64)TILE_BLOCKS * stretch.from;
        const u32 block =
            begin_stretch(tweaks, before + first, unit_blocks, first_unit, tweak_keys.word[0][column()], tweak_key);
        const u32 count = is_last ? 2 : stretch.to - stretch.from;
        place at = begin_rows(tweaks, unit_blocks, block);
        ROLLED for (u32 i = 0; i < count; i++) {
            u32 s[32];
            IN_SHARED u32 *const pair = (IN_SHARED u32 *)tweaks->row;
            // Which of the two tweaks comes first.
            const u32 turn = 4 * (i ^ @DECRYPTS@) + column();
            // In place, threads other than the writers would read what is being written.
            const int is_writer = threadIdx.x < 4;
            if (is_last) {
                IN_GLOBAL const u8 *const from = in + 16 * blocks + 4 * column();
                UNROLL for (int j = 0; j < 32; j++) s[j] = 0;
                if (is_writer && i == 0) s[0] = word_at(from);
                if (is_writer && i == 1) UNROLL for (int b = 0; b < 4; b++)
                    s[0] |= (4 * column() + b < ragged ? (u32)from[16 + b] << 8 * b : stolen & 0xffu << 8 * b);
                UNROLL for (int j = 0; j < 32; j++) s[j] ^= pair[turn] ^ keys.word[0][column()];
            } else {
                if (i > 0) at = next_rows(tweaks, unit_blocks, at);
                read_bytes(s, in, first_block(stretch.from + i, 0), there);
                add_tweaks(s, tweaks, keys.word[0][column()]);
            }
            transpose_32x32(s);
            cipher(s, key);
            transpose_32x32(s);
            if (is_last) {
                s[0] ^= pair[turn] ^ key.last;
                IN_GLOBAL u8 *const to = out + 16 * blocks + 4 * column();
                if (is_writer && i == 1) UNROLL for (int b = 0; b < 4; b++) {
                    to[b] = (u8)(s[0] >> 8 * b);
                    if (4 * column() + b < ragged) to[16 + b] = (u8)(stolen >> 8 * b);
                }
                stolen = s[0];
            } else {
                add_tweaks(s, tweaks, key.last);
                write_bytes(out, s, first_block(stretch.from + i, 0), there);
            }
        }
        if (is_last) break;
    }
}
