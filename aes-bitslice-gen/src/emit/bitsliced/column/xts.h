// ---------------------------------------------------------------------------------------------------------------
// XTS (IEEE 1619) of data units of `unit_bytes` bytes, 16 to 2^24 of them: block j of a unit is XORed with the unit's tweak times α^j,
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

// Where a block is: the unit, counted from the first of the stretch, and the block within it.
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

// Where a stretch begins: the unit, counted from the first of the data, and the block within it.
typedef struct { u64 unit; u32 block; } beginning;

// Computes the tweaks of the unit that a block is in and of the units after it; returns where they begin. Both by long division, 12 bits at
// a time: a remainder has 20 bits.
DEVICE beginning begin_stretch(IN_SHARED warp_tweaks *tweaks, u64 block, u32 unit_blocks, counter128 first_unit, u32 first_key,
                               cipher_key key) {
    beginning at;
    at.unit = 0;
    at.block = 0;
    ROLLED for (int i = 48; i >= 0; i -= 12) {
        const u32 part = at.block << 12 | ((u32)(block >> i) & 0xfff);
        at.unit = at.unit << 12 | part / unit_blocks;
        at.block = part % unit_blocks;
    }
    make_units(tweaks, counter_plus(first_unit, at.unit), first_key, key);
    return at;
}

KERNEL @NAME@(DATA(uint4), u64 blocks, u32 unit_bytes, u32 before, KERNEL_PARAMETER counter128 first_unit,
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
    const u32 unit_blocks = unit_bytes / 16, longest = longest_stretch(unit_blocks, before);
    IN_SHARED warp_tweaks *const tweaks = (IN_SHARED warp_tweaks *)shared + warp();
    ROLLED for (u32 n = first_tile(0); goes_on_with(n, mine, longest); n = tile_after(n, &next)) {
        const tiles stretch = stretch_of(n, mine, longest);
        u32 tile = stretch.from, s[32];
        const beginning begins = begin_stretch(tweaks, before + (u64)TILE_BLOCKS * tile, unit_blocks, first_unit,
                                               tweak_keys.word[0][column()], tweak_key);
        read_words(s, in, first_block(tile, 0), there, is_among(tile, whole));
        place at = begin_rows(tweaks, unit_blocks, begins.block);
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

// ---------------------------------------------------------------------------------------------------------------
// Units that are not whole blocks, and any alignment; slower. The last, partial block of a unit shares bytes with the block before it, the
// unit's last whole one (sections 5.3.2 and 5.4.2), which goes through the cipher twice:
//
//   1. With its tile, as every other block, but in decryption under the tweak of the block after it. The result is written.
//   2. After the tiles of the stretch, at the unit's end: the first bytes of that result become the partial block of the output. The partial
//      block of the input replaces them, and the cipher makes the last whole block of it.
//
// A warp has the ends of a stretch's units in a tile of their own, by unit. It alone reads and writes the bytes of an end.
// ---------------------------------------------------------------------------------------------------------------

// A stretch's part of the data: `blocks` whole blocks, from block `before` of its first unit on. Units are counted from there; `whole` of
// them end here with `unit_blocks` whole blocks and `ragged` bytes. Unit number `last` is the last of the data, which may be shorter, with
// `last_ragged` bytes after its whole blocks.
typedef struct { u32 blocks, before, unit_blocks, whole, ragged, last, last_ragged; } part;

// How many bytes follow the last whole block of a unit, if that is in this part; else 0.
DEVICE u32 ragged_of(part here, u32 unit) {
    return unit == here.last ? here.last_ragged : unit < here.whole ? here.ragged : 0;
}

// The number of a unit's last whole block.
DEVICE u32 last_block_of(part here, u32 unit) {
    return (unit == here.last ? here.blocks : (unit + 1) * here.unit_blocks - here.before) - 1;
}

// The bytes of a stretch of `count` tiles, from block `first` of the data on.
DEVICE part part_of(u64 first, u32 count, u64 there, u64 blocks, u32 unit_bytes, u32 before, u32 ragged) {
    const u64 rest = first < there ? there - first : 0, most = (u64)TILE_BLOCKS * count;
    part here;
    here.blocks = (u32)(rest < most ? rest : most);
    here.before = before;
    here.unit_blocks = unit_bytes / 16;
    here.whole = (before + here.blocks) / here.unit_blocks;
    here.ragged = unit_bytes % 16;
    here.last = 0xffffffff;
    if (here.blocks > 0 && first + here.blocks == blocks) here.last = (before + here.blocks - 1) / here.unit_blocks;
    here.last_ragged = ragged;
    return here;
}

// Whether units of it have ends. Where warps work in step, all have them if any may have.
DEVICE int has_ends(part here) {
#if SHUFFLES
    return (here.ragged > 0 && here.whole > 0) || (here.last_ragged > 0 && here.last != 0xffffffff);
#else
    return (here.ragged | here.last_ragged) > 0;
#endif
}

// Gives tweaks to the ends of units in the lane's row, which begins at `at` with block `first`. Of an end's two tweaks, the one that is used
// first becomes that of the last whole block, and the other that of the unit, which no other block needs any more.
DEVICE void put_ends(IN_SHARED warp_tweaks *tweaks, part here, place at, u32 first) {
    ROLLED for (u32 unit = at.unit;; unit++) {
        const u32 i = last_block_of(here, unit) - first;
        if (i >= 8) break;
        if (ragged_of(here, unit) == 0) continue;
        IN_SHARED uint4 *const own = &tweaks->row[lane()][i], *const other = &tweaks->unit[unit];
        u32 t[4];
        get_piece(t, *own);
        if (@DECRYPTS@) *other = *own;
        times_alpha(t);
        *(@DECRYPTS@ ? own : other) = piece_of(t);
    }
    WARP_BARRIER();
}

// Where a thread's word is: byte `at` of the data, in block `block` of a unit.
typedef struct { u64 at; u32 block; } word_place;

// Bytes from there to the thread's word `blocks` blocks later; moves `block` there.
DEVICE u32 bytes_to(part here, u32 *block, u32 blocks) {
    u32 bytes = 16 * blocks + here.ragged * (blocks / here.unit_blocks);
    *block += blocks % here.unit_blocks;
    if (*block >= here.unit_blocks) {
        *block -= here.unit_blocks;
        bytes += here.ragged;
    }
    return bytes;
}

DEVICE u32 word_of(IN_GLOBAL const u8 *from, int is_aligned) {
    return is_aligned ? *(IN_GLOBAL const u32 *)from : word_at(from);
}

DEVICE void put_word(IN_GLOBAL u8 *to, u32 word, int is_aligned) {
    if (is_aligned) {
        *(IN_GLOBAL u32 *)to = word;
    } else {
        UNROLL for (int b = 0; b < 4; b++) to[b] = (u8)(word >> 8 * b);
    }
}

// The thread's words of a tile, of which the first is at `first`, and the first `count` exist. In place of others it reads its last one again,
// and writes it again: so every address is computed whatever exists.
DEVICE void read_ragged(u32 *w, IN_GLOBAL const u8 *data, part here, word_place first, u32 count, int are_aligned) {
    UNROLL for (int j = 0; j < 32; j++) w[j] = 0;
    if (count == 0) return;
    IN_GLOBAL const u8 *from = data + first.at;
    UNROLL for (u32 j = 0; j < 32; j++) {
        const u32 word = word_of(from, are_aligned), bytes = bytes_to(here, &first.block, 8);
        if (j < count) w[j] = word;
        if (j + 1 < count) from += bytes;
    }
}

DEVICE void write_ragged(IN_GLOBAL u8 *data, const u32 *w, part here, word_place first, u32 count, int are_aligned) {
    if (count == 0) return;
    IN_GLOBAL u8 *to = data + first.at;
    u32 word = 0;
    UNROLL for (u32 j = 0; j < 32; j++) {
        const u32 bytes = bytes_to(here, &first.block, 8);
        if (j < count) word = w[j];
        put_word(to, word, are_aligned);
        if (j + 1 < count) to += bytes;
    }
}

// From the first byte of the stretch on, where the thread's word of a unit's last whole block is.
DEVICE u64 place_of_end(part here, u32 unit) {
    return 16 * (u64)last_block_of(here, unit) + here.ragged * unit + 4 * column();
}

// The words of last whole blocks, before their second time through the cipher; `first_key` is the thread's word of the first round key. They
// go through the memory of rows, where a loop can have them: few stretches have many ends.
DEVICE void read_ends(u32 *s, IN_GLOBAL const u8 *from, IN_GLOBAL u8 *to, IN_SHARED warp_tweaks *tweaks, part here, u32 first_key) {
    IN_SHARED const u32 *const tweak = (IN_SHARED const u32 *)tweaks->unit + lane();
    IN_SHARED u32 *const words = (IN_SHARED u32 *)tweaks->row + lane();
    ROLLED for (u32 j = 0; j < 32; j++) {
        const u32 unit = lane() / 4 + 8 * j, ragged = ragged_of(here, unit);
        u32 word = 0;
        if (ragged > 0) {
            const u64 at = place_of_end(here, unit);
            const u32 whole = word_at(to + at);
            UNROLL for (int b = 0; b < 4; b++) {
                if (4 * column() + b < ragged) {
                    word |= (u32)from[at + 16 + b] << 8 * b;
                    to[at + 16 + b] = (u8)(whole >> 8 * b);
                } else {
                    word |= whole & 0xffu << 8 * b;
                }
            }
            word ^= tweak[32 * j];
        }
        words[32 * j] = word ^ first_key;
    }
    UNROLL for (int j = 0; j < 32; j++) s[j] = words[32 * j];
}

DEVICE void write_ends(IN_GLOBAL u8 *to, const u32 *s, IN_SHARED warp_tweaks *tweaks, part here, u32 last_key) {
    IN_SHARED const u32 *const tweak = (IN_SHARED const u32 *)tweaks->unit + lane();
    IN_SHARED u32 *const words = (IN_SHARED u32 *)tweaks->row + lane();
    UNROLL for (int j = 0; j < 32; j++) words[32 * j] = s[j] ^ last_key;
    ROLLED for (u32 j = 0; j < 32; j++) {
        const u32 unit = lane() / 4 + 8 * j;
        if (ragged_of(here, unit) > 0) put_word(to + place_of_end(here, unit), words[32 * j] ^ tweak[32 * j], 0);
    }
}

// Where a warp reads what its other threads have written to the output.
#if defined(__OPENCL_VERSION__) && !SHUFFLES
#define OUTPUT_BARRIER() barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)
#else
#define OUTPUT_BARRIER() WARP_BARRIER()
#endif

// `blocks` are all whole blocks of the data; `ragged`, 0 to 15, the bytes after the last one.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks, u32 ragged, u32 unit_bytes, u32 before, KERNEL_PARAMETER counter128 first_unit,
                    KERNEL_PARAMETER round_keys tweak_keys@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
    SHARED u32 next;
    SHARED key_memory tweak_memory;
    DYNAMIC_SHARED(shared);
    const tiles mine = share_of_block(blocks);
    if (threadIdx.x == 0) next = WARPS;
    const cipher_key tweak_key = share_keys(&tweak_memory, &tweak_keys);
@KEY_LOAD@    const u64 there = blocks_up_to(mine.to, 0, blocks);
    const u32 unit_blocks = unit_bytes / 16, longest = longest_stretch(unit_blocks, before);
    const int by_words = (((u64)in | (u64)out | unit_bytes) & 3) == 0;
    IN_SHARED warp_tweaks *const tweaks = (IN_SHARED warp_tweaks *)shared + warp();
    ROLLED for (u32 n = first_tile(0); goes_on_with(n, mine, longest); n = tile_after(n, &next)) {
        const tiles stretch = stretch_of(n, mine, longest);
        const u64 first = (u64)TILE_BLOCKS * stretch.from;
        const u32 count = stretch.to - stretch.from;
        const beginning begins =
            begin_stretch(tweaks, before + first, unit_blocks, first_unit, tweak_keys.word[0][column()], tweak_key);
        const part here = part_of(first, count, there, blocks, unit_bytes, begins.block, ragged);
        const u64 skipped = 16 * first + here.ragged * begins.unit;
        place at = begin_rows(tweaks, unit_blocks, begins.block);
        word_place word;
        word.at = skipped + 16 * (lane() / 4) + 4 * column() + here.ragged * ((begins.block + lane() / 4) / unit_blocks);
        word.block = (begins.block + lane() / 4) % unit_blocks;
        ROLLED for (u32 tile = 0; tile <= count; tile++) {
            u32 s[32];
            const int is_of_ends = tile == count;
            const u32 row = TILE_BLOCKS * tile + 8 * lane(), block = TILE_BLOCKS * tile + lane() / 4;
            const u32 exist = block < here.blocks ? (here.blocks - block + 7) / 8 : 0;
            if (is_of_ends) {
                if (!has_ends(here)) break;
                OUTPUT_BARRIER();
                read_ends(s, in + skipped, out + skipped, tweaks, here, keys.word[0][column()]);
            } else {
                if (tile > 0) at = next_rows(tweaks, unit_blocks, at);
                put_ends(tweaks, here, at, row);
                if (by_words) read_ragged(s, in, here, word, exist, 1);
                else read_ragged(s, in, here, word, exist, 0);
                add_tweaks(s, tweaks, keys.word[0][column()]);
            }
            transpose_32x32(s);
            cipher(s, key);
            transpose_32x32(s);
            if (is_of_ends) {
                write_ends(out + skipped, s, tweaks, here, key.last);
            } else {
                add_tweaks(s, tweaks, key.last);
                if (by_words) write_ragged(out, s, here, word, exist, 1);
                else write_ragged(out, s, here, word, exist, 0);
                word.at += bytes_to(here, &word.block, TILE_BLOCKS);
            }
        }
    }
}
