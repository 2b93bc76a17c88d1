// The first threads fetch the shares of tiles, each for one message of the group; what the copy engine cannot fetch is filled in by the
// same number of threads for each message.

#define FILLERS (THREADS / GROUP)

typedef struct {
    u32 tiles;  // of the longest message
    u32 plain;  // tiles at the end that are plain in all of its messages, except the last `ragged` ones
    u32 ragged;
} group;

DEVICE group group_at(IN_GLOBAL const u8 *in, IN_GLOBAL const u32 *order, IN_GLOBAL const uint4 *messages, u32 first, u32 all) {
    group g = {0, 0xffffffff, 0};
    UNROLL for (u32 i = 0; i < GROUP; i++) {
        const segment s = segment_at(order, messages, first + i, all);
        const u32 tiles = tiles_of(s), whole = (u32)((s.length + 15) / 16 * 16 / SEGMENT_BYTES);
        const u32 plain = ((u64)(in + s.at) & 15) == 0 ? whole : 0;
        g.tiles = tiles > g.tiles ? tiles : g.tiles;
        g.plain = plain < g.plain ? plain : g.plain;
        g.ragged |= s.length % 16 != 0;
    }
    return g;
}

DEVICE int is_all_plain(group g, u32 n) { return g.tiles - n <= g.plain && g.tiles - n > g.ragged; }

// Begins to fetch this thread's share of tile n of the group, which is tile `before` + n of the thread block: what is not plain is filled
// in below.
DEVICE void bring_share(u8 *memory, u64 *barriers, segment own, IN_GLOBAL const u8 *in, u32 before, u32 n, u32 tiles) {
    if (threadIdx.x >= GROUP || n >= tiles) return;
    const u64 at = share_at(own, n, tiles);
    const u32 bytes = is_plain(own, in, at) ? SEGMENT_BYTES : 0, stage = (before + n) % STAGES;
    copy(memory + TILES_AT + stage * TILE_BYTES + threadIdx.x * SEGMENT_BYTES, place_of(own, in, at), bytes, &barriers[stage]);
}

// Writes a share that begins at byte `at`, unless the copy engine fetches it.
DEVICE void fill_share(u32 *share, segment s, IN_GLOBAL const u8 *in, IN_GLOBAL const u8 *aad, u64 at) {
    if (is_plain(s, in, at)) return;
    ROLLED for (u32 n = 0; n < SEGMENT_BYTES / 4 / FILLERS; n += 16) {
        const u32 first = threadIdx.x % FILLERS + n * FILLERS;
        u32 w[16], by_bytes = 0; // all whole words are in flight before the first is written
        UNROLL for (u32 i = 0; i < 16; i++) {
            const source word = source_of(s, in, aad, at + 4 * (first + i * FILLERS));
            const int is_whole = word.bytes >= 4 && ((u64)word.from & 3) == 0;
            w[i] = is_whole ? *(IN_GLOBAL const u32 *)word.from : 0;
            by_bytes |= (u32)(word.bytes > 0 && !is_whole) << i;
        }
        UNROLL for (u32 i = 0; i < 16; i++) share[first + i * FILLERS] = w[i];
        ROLLED for (u32 i = 0; by_bytes >> i != 0; i++)
            if (by_bytes >> i & 1)
                share[first + i * FILLERS] = word_of(source_of(s, in, aad, at + 4 * (first + i * FILLERS)), 0);
    }
}

KERNEL @NAME@_messages(INPUT(u8), IN_GLOBAL const uint4 *messages, IN_GLOBAL const u32 *order, u32 all, IN_GLOBAL const u8 *aad,
    IN_GLOBAL const u32 *masks, IN_GLOBAL const u32 *tables, OUTPUT(u32)) {
    DYNAMIC_SHARED(shared);
    u8 *const memory = (u8 *)shared;
    const u32 *const matrix = (const u32 *)memory;
    element *const weights = (element *)(memory + WEIGHTS_AT), *const rows = (element *)(memory + TILES_AT);
    u64 *const barriers = (u64 *)(memory + BARRIERS_AT);
    if (threadIdx.x == 0) {
        for (u32 i = 0; i < STAGES; i++) new_arrivals(&barriers[i], GROUP);
        new_arrivals(&barriers[STAGES], 1);
        publish();
    }
    BARRIER();
    if (threadIdx.x == 0) copy(memory, tables, MATRIX_BYTES, &barriers[STAGES]);
    put_weights_of_messages(weights, tables + MATRIX_BYTES / 4);
    wait_for(&barriers[STAGES], 0);

    const u32 row = threadIdx.x / 32 * 16 + threadIdx.x / 4 % 8, q = threadIdx.x % 4;
    u32 before = 0; // tiles of this thread block so far
    ROLLED for (u32 first = GROUP * blockIdx.x; first < all; first += GROUP * gridDim.x) {
        const group whole = group_at(in, order, messages, first, all);
        const segment own = segment_at(order, messages, first + threadIdx.x % GROUP, all);
        const segment filled = segment_at(order, messages, first + threadIdx.x / FILLERS, all);
        const u32 tiles = whole.tiles;
        for (u32 n = 0; n < STAGES; n++) bring_share(memory, barriers, own, in, before, n, tiles);
        u32 sum = 0, sum8 = 0;
        ROLLED for (u32 n = 0; n < tiles; n++) {
            const u32 stage = (before + n) % STAGES;
            u32 *const tile = (u32 *)(memory + TILES_AT + stage * TILE_BYTES);
            wait_for(&barriers[stage], (before + n) / STAGES);
            if (!is_all_plain(whole, n)) {
                fill_share(tile + SEGMENT_BYTES / 4 * (threadIdx.x / FILLERS), filled, in, aad, share_at(filled, n, tiles));
                publish();
                BARRIER();
            }
            u32 d[64];
            count_ones(d, sum, sum8, tile, matrix);
            sum = word_of_row(d, 0);
            sum8 = word_of_row(d, 1);
            BARRIER();
            bring_share(memory, barriers, own, in, before, n + STAGES, tiles);
        }
        before += tiles;
        rows[row].word[q] = reversed_bytes(sum);
        rows[row + 8].word[q] = reversed_bytes(sum8);
        BARRIER();
        put_tags(out, rows, weights, order, messages, first, all, masks);
        publish(); // the copy engine writes there next
        BARRIER();
    }
}
