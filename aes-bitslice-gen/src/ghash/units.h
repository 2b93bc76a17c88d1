// ---------------------------------------------------------------------------------------------------------------
// The end, where a thread block has several units: each row times its power of the hash key; a unit's sum times the unit's power and the
// factor. A warp takes half of a unit's rows.
// ---------------------------------------------------------------------------------------------------------------

#define UNITS (ROWS / TILE_ROWS)
#if TILE_ROWS != 64
#error "a warp takes half of a unit's rows"
#endif

#ifdef __CUDACC__
#define ADD_TO(place, value) atomicXor(place, value)
#else
#define ADD_TO(place, value) *(place) ^= (value)
#endif

// The sum of all threads of a warp, in each of them.
DEVICE u32 sum_of_warp(u32 x) {
    UNROLL for (u32 d = 1; d < 32; d <<= 1) x ^= FROM_LANE(x, lane() ^ d);
    return x;
}

// The product of two elements that all threads of a warp have: each adds what one bit of each word of x contributes. All threads of a thread
// block would wait for one that calls `product`.
DEVICE element product_by_warp(element x, element y) {
    u32 z[8] = {0};
    UNROLL for (int i = 0; i < 5; i++) {
        const u32 high = i < 4 ? y.word[i] : 0, low = i > 0 ? y.word[i - 1] : 0;
        const u32 shifted = (u32)(((u64)high << 32 | low) << lane() >> 32); // word i of y x^lane
        UNROLL for (int k = 0; k < 4; k++) z[i + k] ^= shifted * (x.word[k] >> lane() & 1);
    }
    two_pairs low, high;
    UNROLL for (int i = 0; i < 8; i++) z[i] = sum_of_warp(z[i]);
    low.low = (u64)z[1] << 32 | z[0];
    low.high = (u64)z[3] << 32 | z[2];
    high.low = (u64)z[5] << 32 | z[4];
    high.high = (u64)z[7] << 32 | z[6];
    return reduced(low, high);
}

// Adds the rows of the first `used` units, which are in memory before a barrier. The thread block's units are `apart` units apart. `powers` are
// those of a tile's rows; `of_units`, those of all units.
DEVICE void add_units(IN_GLOBAL u32 *out, IN_SHARED element *rows, u32 used, u32 apart, IN_SHARED const element *powers,
    IN_GLOBAL const u32 *of_units, const block128 *factor, const block128 *addend) {
    SHARED element weight[UNITS], sum[2 * UNITS];
    const u32 own = FROM_FIRST_LANE(lane() == 0 ? warp() : 0);
    const int has_rows = own < 2 * used;
    element x = {{0, 0, 0, 0}};
    if (has_rows) {
        x = product(rows[threadIdx.x], powers[threadIdx.x % TILE_ROWS]);
        UNROLL for (int i = 0; i < 4; i++) x.word[i] = sum_of_warp(x.word[i]);
    } else if (own >= WARPS - used) {
        const u32 unit = WARPS - 1 - own;
        const element w = product_by_warp(element_at(of_units, unit * apart + blockIdx.x), element_of(factor->word));
        if (lane() == 0) weight[unit] = w;
    }
    BARRIER();
    if (has_rows) {
        x = product_by_warp(x, weight[own / 2]);
        if (lane() == 0) sum[own] = x;
    }
    BARRIER();
    EACH_THREAD(i, 4) {
        u32 word = 0;
        for (u32 s = 0; s < 2 * used; s++) word ^= sum[s].word[i];
        word = reversed_bytes(word);
        ADD_TO(&out[i], blockIdx.x == 0 ? word ^ addend->word[i] : word);
    }
}
