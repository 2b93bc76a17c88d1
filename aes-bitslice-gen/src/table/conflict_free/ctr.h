// The first two rounds of neighbouring counters, computed once for all of them.
//
// The counters differ only in their last four bytes. Each of these is in a different row of column 3, so ShiftRows
// moves each to a different column, and column p after round 1 depends on byte 15 - p alone. Round 2 sums what columns
// add, so after it the state is a sum of four parts, each a function of one counter byte:
//
//   state after round 2 = part 0 (byte 15) ^ part 1 (byte 14) ^ part 2 (byte 13) ^ part 3 (byte 12)
//
// (Bernstein and Schwabe, "New AES software speed records", INDOCRYPT 2008, section 4.4, for round 1 and some of round
// 2; Park and Lee, "FACE", TCHES 2018.) A warp has COUNTERS_PER_THREAD * 32 neighbouring counters: each lane needs its
// own entries of part 0, and all lanes need the same entries of the others.

#define BLOCKS_PER_WARP (COUNTERS_PER_THREAD * 32)

DEVICE u32 first_of_warp(void) { return threadIdx.x / 32 * BLOCKS_PER_WARP; }

// Computes the parts, four tables of 256 states, for the counters from `counter` on that differ from it in the last
// four bytes only.
DEVICE void make_parts(uint4 *part, counter128 counter, const round_keys *keys) {
    BARRIER(); // the previous parts have been read
    ROLLED EACH_THREAD(i, 4 * 256) {
        const u32 p = i / 256, value = i % 256;
        u32 before[4], after = 0, column[4];
        UNROLL for (int c = 0; c < 3; c++) before[c] = BYTE_PERMUTE(counter.word[3 - c], 0, 0x0123) ^ keys->word[0][c];
        // The other bytes of column 3 do not reach column p.
        before[3] = value << 8 * (3 - p) ^ keys->word[0][3];
        UNROLL for (u32 c = 0; c < 4; c++) {
            u32 sum = keys->word[1][c];
            UNROLL for (int row = 0; row < 4; row++) sum ^= look_up(before[SHIFTED(row, c)], row);
            if (c == p) after = sum;
        }
        // The round key goes into one part only.
        UNROLL for (int c = 0; c < 4; c++) column[c] = p == 0 ? keys->word[2][c] : 0;
        UNROLL for (int row = 0; row < 4; row++) {
            const u32 entry = look_up(after, row);
            UNROLL for (int c = 0; c < 4; c++) column[c] ^= SHIFTED(row, c) == p ? entry : 0;
        }
        store_words((u8 *)&part[i], 4, column, 1);
    }
    BARRIER();
}

// A thread's part of the tables for a tile of the thread block: the sum of the entries common to its warp, and where
// its entries of part 0 are, 32 apart.
typedef struct { u32 common[4]; const uint4 *own; } parts;

DEVICE parts parts_of(const uint4 *part, u32 low) {
    parts p;
    UNROLL for (int c = 0; c < 4; c++) p.common[c] = 0;
    UNROLL for (int n = 1; n < 4; n++) {
        u32 entry[4];
        load_words(entry, 4, (const u8 *)&part[256 * n + (low >> 8 * n & 255)], 1);
        UNROLL for (int c = 0; c < 4; c++) p.common[c] ^= entry[c];
    }
    p.own = &part[first_of_warp() % 256 + threadIdx.x % 32];
    return p;
}

// The key stream of the thread's counters j, j + 1, ..., except for the last round key.
DEVICE state key_stream(parts p, int j, const round_keys *keys) {
    state s;
    UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
        load_words(s.column[n], 4, (const u8 *)(p.own + 32 * (j + n)), 1);
        UNROLL for (int c = 0; c < 4; c++) s.column[n][c] ^= p.common[c];
    }
    finish(&s, keys, 3);
    return s;
}

// A tile begins at a multiple of its length, so that within it only the last bytes of counters differ, and the last
// four wrap between two tiles if at all. The data begins `skip` bytes into the first block.
DEVICE void ctr(const u8 *in, u8 *out, u64 length, u32 skip, counter128 counter, const round_keys *keys, int aligned) {
    load_tables();
    BARRIER();
    uint4 *const part = tables_in_shared_memory + TABLES_BYTES / 16;
    const u32 skipped = counter.word[0] % TILE_BLOCKS;
    const u64 blocks = (skip + length + 15) / 16;
    const share mine = share_of(skipped + blocks);
    counter.word[0] -= skipped;
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        const counter128 of_tile = counter_plus(counter, TILE_BLOCKS * tile);
        if (tile == mine.from || of_tile.word[0] == 0) make_parts(part, of_tile, keys);
        const parts p = parts_of(part, of_tile.word[0] + first_of_warp());
        // Blocks before the data have numbers that wrap.
        const u64 first = TILE_BLOCKS * tile + first_of_warp() + threadIdx.x % 32 - skipped;
        ROLLED for (int j = 0; j < COUNTERS_PER_THREAD; j += BLOCKS_PER_THREAD) {
            if (aligned) {
                state data;
                UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
                    UNROLL for (int c = 0; c < 4; c++) data.column[n][c] = 0;
                    const u64 block = first + 32 * (j + n);
                    if (block < blocks) load_words(data.column[n], 4, in + 16 * block, 1);
                }
                const state s = key_stream(p, j, keys);
                add_state(&data, &s);
                add_words(&data, keys->word[keys->rounds]);
                UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++) {
                    const u64 block = first + 32 * (j + n);
                    if (block < blocks) store_words(out + 16 * block, 4, data.column[n], 1);
                }
            } else {
                state s = key_stream(p, j, keys);
                add_words(&s, keys->word[keys->rounds]);
                UNROLL for (int n = 0; n < BLOCKS_PER_THREAD; n++)
                    UNROLL for (int i = 0; i < 16; i++) {
                        const u64 byte = 16 * (first + 32 * (j + n)) + i - skip;
                        if (byte < length) out[byte] = in[byte] ^ (u8)(s.column[n][i / 4] >> 8 * (i % 4));
                    }
            }
        }
    }
}

KERNEL @NAME@(DATA(uint4), u64 blocks, KERNEL_PARAMETER counter128 counter,
              KERNEL_PARAMETER round_keys keys) {
    ctr((const u8 *)in, (u8 *)out, 16 * blocks, 0, counter, &keys, 1);
}

// For any alignment and length, but slower: byte n of `in` is XORed with byte skip + n of the key stream, skip < 16.
KERNEL @NAME@_bytes(DATA(u8), u64 length, u32 skip, KERNEL_PARAMETER counter128 counter,
                    KERNEL_PARAMETER round_keys keys) {
    ctr(in, out, length, skip, counter, &keys, 0);
}
