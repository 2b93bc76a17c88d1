// ---------------------------------------------------------------------------------------------------------------
// A thread block is a warpgroup. The copy engine fetches tiles, STAGES of them ahead.
// ---------------------------------------------------------------------------------------------------------------

#define TILE_WORDS (TILE_BYTES / 4)
// In shared memory: matrices, the last of which may be read past its end, times zeros; tiles; weights; barriers.
#define TILES_AT MATRIX_BYTES
#define WEIGHTS_AT (TILES_AT + STAGES * TILE_BYTES)
#define BARRIERS_AT (WEIGHTS_AT + 16 * ROWS)

#ifdef __CUDACC__
#define UNROLL_BY_8 _Pragma("unroll 8")
#else
#define UNROLL_BY_8
#endif

// Begins to fetch tile n, if there is one: called by one thread.
DEVICE void bring(u8 *memory, u64 *barriers, const message *m, u32 n) {
    if (n >= m->tiles) return;
    const u64 at = tile_at(m, n);
    const u32 bytes = m->aligned && is_whole(m, at) ? TILE_BYTES : 0; // else it is filled below
    copy(memory + TILES_AT + n % STAGES * TILE_BYTES, m->in + at, bytes, &barriers[n % STAGES]);
}

DEVICE void hash(const message *m, const u32 *tables, u32 *out, const block128 *factor, const block128 *addend) {
    DYNAMIC_SHARED(shared);
    u8 *const memory = (u8 *)shared;
    const u32 *const matrix = (const u32 *)memory;
    element *const weights = (element *)(memory + WEIGHTS_AT);
    u64 *const barriers = (u64 *)(memory + BARRIERS_AT);
    LET_NEXT_BEGIN();
    if (threadIdx.x == 0) {
        for (u32 i = 0; i <= STAGES; i++) new_arrivals(&barriers[i], 1);
        publish();
    }
    BARRIER();
    if (threadIdx.x == ROWS) { // the first with no weight to compute
        copy(memory, tables, MATRIX_BYTES, &barriers[STAGES]);
        AWAIT_LAST();
        for (u32 n = 0; n < STAGES; n++) bring(memory, barriers, m, n);
    }
    put_weights(weights, tables + MATRIX_BYTES / 4, factor);
    AWAIT_LAST();
    wait_for(&barriers[STAGES], 0);

    u32 sum = 0, sum8 = 0;
    ROLLED for (u32 n = 0; n < m->tiles; n++) {
        u32 *const tile = (u32 *)(memory + TILES_AT + n % STAGES * TILE_BYTES);
        const u64 at = tile_at(m, n);
        wait_for(&barriers[n % STAGES], n / STAGES);
        if (!(m->aligned && is_whole(m, at))) {
            UNROLL_BY_8 for (u32 i = threadIdx.x; i < TILE_WORDS; i += THREADS) tile[i] = word_at(m, at + 4 * i);
            publish();
            BARRIER();
        }
        u32 d[64];
        count_ones(d, sum, sum8, tile, matrix);
        sum = word_of_row(d, 0);
        sum8 = word_of_row(d, 1);
        BARRIER();
        if (threadIdx.x == 0) bring(memory, barriers, m, n + STAGES);
    }
    element *const rows = (element *)(memory + TILES_AT);
    const u32 row = threadIdx.x / 32 * 16 + threadIdx.x / 4 % 8, q = threadIdx.x % 4;
    rows[row].word[q] = reversed_bytes(sum);
    rows[row + 8].word[q] = reversed_bytes(sum8);
    BARRIER();
    add_rows(out, rows, weights, addend);
}

KERNEL @NAME@(INPUT(uint4), u64 length, IN_GLOBAL const u32 *tables, u32 units, OUTPUT(u32),
    KERNEL_PARAMETER block128 factor, KERNEL_PARAMETER block128 addend) {
    const message m = message_of((const u8 *)in, length, units, 1);
    hash(&m, tables, out, &factor, &addend);
}

KERNEL @NAME@_bytes(INPUT(u8), u64 length, IN_GLOBAL const u32 *tables, u32 units, OUTPUT(u32),
    KERNEL_PARAMETER block128 factor, KERNEL_PARAMETER block128 addend) {
    const message m = message_of(in, length, units, 0);
    hash(&m, tables, out, &factor, &addend);
}
