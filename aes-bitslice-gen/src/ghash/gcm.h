// ---------------------------------------------------------------------------------------------------------------
// GCM in one launch (SP 800-38D): counter mode, and the hash of the ciphertext by the warps that have it.
//
// Four warps, a warpgroup, process a span of four tiles at a time, 1,024 blocks. Each warp writes its ciphertext to memory and to its part of
// shared memory; the tensor cores multiply that by powers of H^8, and their counts take the place of the state, which nobody needs any more.
// The rows' sums of one span go into the products of the warpgroup's next span.
//
// Spans are counted from the end: a warpgroup is a unit, and unit u has spans u, u + units, u + 2 units, ... So that a short message goes to
// as many multiprocessors as there are, the first units are the first warpgroups of all thread blocks.
//
// Tiles begin at multiples of TILE_BLOCKS of the counter, so that the first has no data in its first blocks, and the last span has none in
// its last. The hash is of zeros there. In front they change nothing; at the end, each multiplies the hash by H, and the caller's factor
// takes that back.
// ---------------------------------------------------------------------------------------------------------------

#define WARPGROUPS (THREADS / 128)
#define SPAN_BLOCKS (4 * TILE_BLOCKS)
// In shared memory: the tables, which are matrices, the last of which may be read past its end, times zeros, and powers for rows; ciphertext;
// the barrier of the tables.
#define TABLE_BYTES (MATRIX_BYTES + 16 * TILE_ROWS)
#define CIPHERTEXT_AT TABLE_BYTES
// Warps that are ahead write the next span's ciphertext while others multiply this one's.
#define SPAN_BYTES (16 * SPAN_BLOCKS)
#define BARRIER_AT (CIPHERTEXT_AT + WARPGROUPS * 2 * SPAN_BYTES)

#ifdef __CUDACC__
// A warpgroup waits for its four warps, and does as much as it has to.
#define MEET_WARPGROUP(group) asm volatile("bar.sync %0, 128;" ::"r"(1 + (group)) : "memory")
#define OWN_OR_ALL(own, all) (own)
#else
// All warps meet. Those that have nothing left to do go along, on blocks that do not exist.
#define MEET_WARPGROUP(group) BARRIER()
#define OWN_OR_ALL(own, all) (all)
#endif

#ifdef __CUDACC__
// Whether a thread block is the last of all to arrive: it sees what the others have written. The count begins anew then.
DEVICE int is_last(u32 *arrived) {
    __threadfence();
    if (atomicInc(arrived, gridDim.x - 1) != gridDim.x - 1) return 0;
    __threadfence();
    return 1;
}
#define TAKE(place) atomicExch(place, 0u)
#else
static int is_last(u32 *arrived) {
    *arrived = (*arrived + 1) % gridDim.x;
    return *arrived == 0;
}
static u32 take(u32 *place) {
    const u32 taken = *place;
    *place = 0;
    return taken;
}
#define TAKE(place) take(place)
#endif

// The ciphertext of a warpgroup's span, counted from any number: the one after the next takes its place.
DEVICE u32 *span_of(u8 *memory, u32 warpgroup, u32 n) { return (u32 *)(memory + CIPHERTEXT_AT + (2 * warpgroup + n % 2) * SPAN_BYTES); }

// Bytes of the thread's word of a block that are in the message, 0 to 4. A block in front of the message has a number that wraps.
DEVICE u32 bytes_there(u64 block, u64 length) {
    const u64 at = 16 * block + 4 * column();
    return at >= length ? 0 : length - at < 4 ? (u32)(length - at) : 4;
}

// The thread's words of a tile that is not all message, 0 for bytes that are not there.
DEVICE void read_there(u32 *w, const uint4 *data, u64 first, u64 length) {
    UNROLL for (int j = 0; j < 32; j++) {
        const u32 bytes = bytes_there(first + 8 * j, length);
        const u8 *const from = (const u8 *)data + (16 * (first + 8 * j) + 4 * column());
        w[j] = bytes == 4 ? *(const u32 *)from : 0;
        ROLLED for (u32 i = 0; i < bytes % 4; i++) w[j] |= (u32)from[i] << 8 * i;
    }
}

// Writes the thread's words of such a tile, and clears the bytes that are not there.
DEVICE void write_there(uint4 *data, u32 *w, u64 first, u64 length) {
    UNROLL for (int j = 0; j < 32; j++) {
        const u32 bytes = bytes_there(first + 8 * j, length);
        u8 *const to = (u8 *)data + (16 * (first + 8 * j) + 4 * column());
        if (bytes == 4) *(u32 *)to = w[j];
        else w[j] &= (1u << 8 * bytes) - 1;
        ROLLED for (u32 i = 0; i < bytes % 4; i++) to[i] = (u8)(w[j] >> 8 * i);
    }
}

// Takes the sum of the terms to `hash`, unless bits of it are checked: then what goes there is all zeros or all ones, and whether a checked
// bit is 1 is returned.
DEVICE u32 finish(u32 *sums, u32 *hash, const block128 *checked) {
    u32 sum[4], wrong = 0;
    UNROLL for (int i = 0; i < 4; i++) sum[i] = TAKE(&sums[i]);
    if (checked) {
        UNROLL for (int i = 0; i < 4; i++) wrong |= sum[i] & checked->word[i];
        const u32 is_checked = 0u - (checked->word[0] != 0), is_wrong = 0u - (wrong != 0);
        UNROLL for (int i = 0; i < 4; i++) sum[i] = LUT3(is_checked, is_wrong, sum[i], 0xca);
    }
    UNROLL for (int i = 0; i < 4; i++) hash[i] = sum[i];
    return wrong;
}

// Begins to fetch the tables.
DEVICE void begin_hash(u8 *memory, const u32 *tables) {
    if (threadIdx.x != 0) return;
    u64 *const barrier = (u64 *)(memory + BARRIER_AT);
    new_arrivals(barrier, 1);
    publish();
    copy(memory, tables, TABLE_BYTES, barrier);
}

// Comes after a barrier. Each thread block has a span, so its tables have come before it ends.
DEVICE void crypt_and_hash(u8 *memory, const uint4 *in, uint4 *out, u64 length, counter128 counter, cipher_key key, const u32 *tables,
    u32 units, u32 *sums, u32 *arrived, u32 *hash, const block128 *factor, const block128 *addend, const block128 *checked) {
    SHARED counter_part part[4];
    SHARED counter_mask mask[THREADS / 32];
    SHARED u32 is_wrong;
    const u32 skipped = counter.word[0] % TILE_BLOCKS;
    const u32 spans = (u32)((skipped + (length + 15) / 16 + SPAN_BLOCKS - 1) / SPAN_BLOCKS);
    const tiles whole = whole_tiles(skipped, length / 16);
    const u32 group = FROM_FIRST_LANE(lane() == 0 ? warp() / 4 : 0), of_group = FROM_FIRST_LANE(lane() == 0 ? warp() % 4 : 0);
    const u32 apart = units / WARPGROUPS, unit = group * apart + blockIdx.x;
    const u32 own = spans > unit ? (spans - unit - 1) / units + 1 : 0, most = (spans - blockIdx.x - 1) / units + 1;
    (void)own, (void)most;
    make_parts(part, counter, key);

    u32 sum = 0, sum8 = 0;
    ROLLED for (u32 n = OWN_OR_ALL(own, most); n-- > 0;) {
        const u32 tile = 4 * (spans - 1 - unit - n * units) + of_group;
        const u64 first = first_block(tile, skipped);
        const int is_whole = is_among(tile, whole);
        u32 *const ciphertext = span_of(memory, group, n), *const mine = ciphertext + 4 * TILE_BLOCKS * of_group;
        u32 s[32], w[32], d[64];
        begin_key_stream(s, part, mask, counter.word[0] + TILE_BLOCKS * tile, key);
        AWAIT_LAST();
        if (is_whole) read_words(w, in, first, 0, 1);
        else read_there(w, in, first, length);
        end_key_stream(s, key);
        UNROLL for (int j = 0; j < 32; j++) s[j] = LUT3(w[j], s[j], key.last, 0x96);
        if (is_whole) write_words(out, s, first, 0, 1);
        else write_there(out, s, first, length);
        UNROLL for (int j = 0; j < 32; j++) mine[32 * j + lane()] = checked ? w[j] : s[j];
        publish();
        MEET_WARPGROUP(group);
        wait_for((u64 *)(memory + BARRIER_AT), 0);
        count_ones(d, sum, sum8, ciphertext, (const u32 *)memory);
        sum = word_of_row(d, 0);
        sum8 = word_of_row(d, 1);
    }
    BARRIER();
    element *const rows = (element *)(memory + CIPHERTEXT_AT);
    const u32 row = threadIdx.x / 32 * 16 + threadIdx.x / 4 % 8;
    rows[row].word[column()] = reversed_bytes(sum);
    rows[row + 8].word[column()] = reversed_bytes(sum8);
    BARRIER();
    // Only warps that have had spans, and have waited for the tables, read powers.
    const u32 with_spans = (spans - blockIdx.x - 1) / apart + 1;
    add_units(sums, rows, with_spans < UNITS ? with_spans : UNITS, apart, (const element *)(memory + MATRIX_BYTES), tables + TABLE_BYTES / 4,
        factor, addend);
    BARRIER();
    if (threadIdx.x == 0) {
        const u32 found = is_last(arrived) ? finish(sums, hash, checked) : 0;
        if (checked) is_wrong = found;
    }
    if (!checked) return;
    BARRIER();
    if (is_wrong == 0) return;
    const uint4 nothing = {0, 0, 0, 0};
    ROLLED for (u64 i = threadIdx.x; i < length / 16; i += THREADS) out[i] = nothing;
    EACH_THREAD(i, length % 16) ((u8 *)(out + length / 16))[i] = 0;
}

// out[n] = in[n] ^ key stream for n < length, and the terms of the hash of `out` go to `hash`. `in` may equal `out`.
KERNEL @NAME@_encrypt(DATA(uint4), u64 length, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@, IN_GLOBAL const u32 *tables, u32 units,
    IN_GLOBAL u32 *sums, IN_GLOBAL u32 *arrived, IN_GLOBAL u32 *hash, KERNEL_PARAMETER block128 factor, KERNEL_PARAMETER block128 addend) {
    DYNAMIC_SHARED(shared);
    LET_NEXT_BEGIN();
    begin_hash((u8 *)shared, tables);
@KEY_LOAD@    crypt_and_hash((u8 *)shared, in, out, length, counter, key, tables, units, sums, arrived, hash, &factor, &addend, 0);
}

// out[n] = in[n] ^ key stream for n < length, and the terms of the hash of `in` go to `hash`. `in` may equal `out`. With bits in `mask`, `out`
// is cleared by the last thread block if the terms have one of these. Whether they have one is no secret, because the caller learns it.
KERNEL @NAME@_decrypt(DATA(uint4), u64 length, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@, IN_GLOBAL const u32 *tables, u32 units,
    IN_GLOBAL u32 *sums, IN_GLOBAL u32 *arrived, IN_GLOBAL u32 *hash, KERNEL_PARAMETER block128 factor, KERNEL_PARAMETER block128 addend,
    KERNEL_PARAMETER block128 mask) {
    DYNAMIC_SHARED(shared);
    LET_NEXT_BEGIN();
    begin_hash((u8 *)shared, tables);
@KEY_LOAD@    crypt_and_hash((u8 *)shared, in, out, length, counter, key, tables, units, sums, arrived, hash, &factor, &addend, &mask);
}
