// ---------------------------------------------------------------------------------------------------------------
// mma.m16n8k256 on single bits, which compute capability 8.0 to 9.0 has: a warp multiplies matrices of 128 x 128 bits, from shared memory,
// by eight blocks of a segment, from registers. A lane holds word `lane` of 128 neighbouring bytes: word lane % 4 of block lane / 4, as the
// instruction requires.
// ---------------------------------------------------------------------------------------------------------------

#define SEGMENTS (ROWS / 8 / (THREADS / 32)) // of a tile, per warp
#define PAIRS (POWERS / 2)

// d += a b, counts of ones. Lane (g, q), where g = lane / 4 and q = lane % 4, has rows g and g + 8 of columns 2 q and 2 q + 1.
DEVICE void count_ones(u32 *d, uint4 a, u32 b0, u32 b1) {
#ifdef __CUDACC__
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
#else
    static u32 left[THREADS][4], right[THREADS][2];
    const u32 self = threadIdx.x, first = self & ~31u;
    left[self][0] = a.x, left[self][1] = a.y, left[self][2] = a.z, left[self][3] = a.w;
    right[self][0] = b0, right[self][1] = b1;
    WARP_BARRIER();
    for (u32 i = 0; i < 4; i++)
        for (u32 word = 0; word < 8; word++) {
            const u32 row = first + (self & 28) + word % 4, column = first + 4 * (2 * (self & 3) + i % 2) + word % 4;
            for (u32 bits = left[row][2 * (word / 4) + i / 2] & right[column][word / 4]; bits; bits &= bits - 1) d[i]++;
        }
    WARP_BARRIER();
#endif
}

// This thread's words of all 8 x POWERS blocks of a segment.
DEVICE void load_segment(u32 *x, const message *m, u64 at, int whole) {
    at += 4 * (threadIdx.x & 31);
    if (whole) {
        IN_GLOBAL const u32 *const from = (IN_GLOBAL const u32 *)(m->in + at);
        UNROLL for (int t = 0; t < POWERS; t++) x[t] = from[32 * t];
    } else {
        UNROLL for (int t = 0; t < POWERS; t++) x[t] = word_at(m, at + 128 * t);
    }
}

// Word lane % 4 of block lane / 4, where each lane (g, q) has bits 16 g to 16 g + 15 of blocks 2 q, in its lower half, and 2 q + 1.
DEVICE u32 word_of_block(u32 halves) {
    const u32 g = threadIdx.x / 4 & 7, q = threadIdx.x & 3;
    const u32 low = FROM_LANE(halves, 8 * q + g / 2), high = FROM_LANE(halves, 8 * q + 4 + g / 2);
    return BYTE_PERMUTE(low, high, g & 1 ? 0x7632 : 0x5410);
}

// Advances the sums of rows by one tile: `sum` is this lane's word of each segment, and `x` its words of the tile.
DEVICE void next_sums(u32 *sum, u32 (*x)[POWERS], const uint4 *matrix) {
    const u32 lane = threadIdx.x & 31;
    u32 d[SEGMENTS][8][4] = {0};
    // The sum so far is one more block of each row.
    UNROLL for (u32 i = 0; i < 8; i++)
        UNROLL for (u32 s = 0; s < SEGMENTS; s++) count_ones(d[s][i], matrix[256 * PAIRS + 32 * i + lane], sum[s], 0);
    UNROLL for (u32 p = 0; p < PAIRS; p++)
        UNROLL for (u32 i = 0; i < 8; i++) {
            const uint4 a = matrix[256 * p + 32 * i + lane];
            UNROLL for (u32 s = 0; s < SEGMENTS; s++) count_ones(d[s][i], a, x[s][2 * p], x[s][2 * p + 1]);
        }
    UNROLL for (u32 s = 0; s < SEGMENTS; s++) {
        u32 halves = 0;
        UNROLL for (int i = 15; i >= 0; i--) {
            const u32 *const counts = &d[s][i / 2][2 * (i % 2)];
            halves = next_parities(halves, counts[0], counts[1]);
        }
        sum[s] = word_of_block(halves);
    }
}

DEVICE void hash(const message *m, IN_GLOBAL const u32 *tables, IN_GLOBAL u32 *out, const block128 *factor,
                 const block128 *addend) {
    SHARED uint4 matrix[128 * (POWERS + 2)];
    SHARED element rows[ROWS];
    SHARED element weights[ROWS];
    EACH_THREAD(i, 128 * (POWERS + 2)) matrix[i] = ((IN_GLOBAL const uint4 *)tables)[i];
    put_weights(weights, tables + 512 * (POWERS + 2), factor);
    BARRIER();
    const u32 lane = threadIdx.x & 31, segment = threadIdx.x / 32 * SEGMENTS;
    u32 sum[SEGMENTS] = {0}, x[SEGMENTS][POWERS];
    ROLLED for (u32 n = 0; n < m->tiles; n++) {
        const u64 at = tile_at(m, n);
        const int whole = m->aligned && is_whole(m, at);
        UNROLL for (u32 s = 0; s < SEGMENTS; s++) load_segment(x[s], m, at + 128 * POWERS * (segment + s), whole);
        next_sums(sum, x, matrix);
    }
    UNROLL for (u32 s = 0; s < SEGMENTS; s++) rows[8 * (segment + s) + lane / 4].word[lane % 4] = reversed_bytes(sum[s]);
    BARRIER();
    add_rows(out, rows, weights, addend);
}

KERNEL @NAME@(INPUT(uint4), u64 length, IN_GLOBAL const u32 *tables, u32 units, OUTPUT(u32),
    KERNEL_PARAMETER block128 factor, KERNEL_PARAMETER block128 addend) {
    const message m = message_of((IN_GLOBAL const u8 *)in, length, units, 1);
    hash(&m, tables, out, &factor, &addend);
}

KERNEL @NAME@_bytes(INPUT(u8), u64 length, IN_GLOBAL const u32 *tables, u32 units, OUTPUT(u32),
    KERNEL_PARAMETER block128 factor, KERNEL_PARAMETER block128 addend) {
    const message m = message_of(in, length, units, 0);
    hash(&m, tables, out, &factor, &addend);
}
