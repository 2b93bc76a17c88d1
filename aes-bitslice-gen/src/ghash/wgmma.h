// ---------------------------------------------------------------------------------------------------------------
// wgmma.m64n128k256 on single bits, which only compute capability 9.0 has: four warps multiply 64 rows, a tile as it is in shared memory,
// by matrices of 128 x 128 bits. Eight neighbouring blocks are a core matrix of the instruction: eight rows of 16 bytes. The copy engine
// fetches tiles, STAGES of them ahead.
//
// Thread (g, q) of warp w, g = lane / 4, q = lane % 4, has columns 8 i + 2 q and 8 i + 2 q + 1 of rows 16 w + g and 16 w + g + 8. The
// tables put the bits of word q there, so a thread packs one word of each of its two rows, as the instruction requires for the left operand
// of the next product.
// ---------------------------------------------------------------------------------------------------------------

#define TILE_WORDS (TILE_BYTES / 4)
#define MATRIX_BYTES (2048 * (POWERS + 1))
// In shared memory: matrices, the last of which may be read past its end, times zeros; tiles; weights; barriers.
#define TILES_AT MATRIX_BYTES
#define WEIGHTS_AT (TILES_AT + STAGES * TILE_BYTES)
#define BARRIERS_AT (WEIGHTS_AT + 16 * ROWS)

#ifdef __CUDACC__
DEVICE u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
// A barrier at which this number of threads arrive at a time.
DEVICE void new_arrivals(u64 *barrier, u32 threads) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(threads) : "memory");
}
// Makes ordinary writes visible to the copy engine and the tensor cores.
DEVICE void publish(void) { asm volatile("fence.proxy.async;" ::: "memory"); }
// A thread arrives at the barrier when the bytes do, even if there are none.
DEVICE void copy(void *to, const void *from, u32 bytes, u64 *barrier) {
    const u32 at = shared_address(barrier);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
    if (bytes > 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(at)
                     : "memory");
}
// All threads wait for the n-th arrival at the barrier, counted from 0.
DEVICE void wait_for(u64 *barrier, u32 n) {
    asm volatile("{\n"
                 ".reg .pred arrived;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 arrived, [%0], %1;\n"
                 "@arrived bra done;\n"
                 "bra again;\n"
                 "done:\n"
                 "}" ::"r"(shared_address(barrier)), "r"(n & 1)
                 : "memory");
}
// An operand without swizzle: `along_k` and `across` are the distances in bytes of its core matrices along K and along rows or columns.
DEVICE u64 operand(const void *p, u32 along_k, u32 across) {
    return (u64)(shared_address(p) >> 4) | (u64)(along_k >> 4) << 16 | (u64)(across >> 4) << 32;
}
#define EIGHT(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), "+r"(d[i + 6]), "+r"(d[i + 7])
#define COUNTS                                                                                                          \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "  \
    "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "    \
    "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
#define WGMMA "wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc " COUNTS
// Blocks 2 p and 2 p + 1 of each row: 256 bytes further in the tile, 4,096 in the matrices.
#define PAIR(p) "add.s64 left, %66, 16 * " #p "; add.s64 right, %67, 256 * " #p "; " WGMMA "left, right, more;\n"
#if POWERS != 16
#error "PAIR is written for 16 powers"
#endif
#define UNROLL_BY_8 _Pragma("unroll 8")
#else
static void new_arrivals(u64 *barrier, u32 threads) { *barrier = threads; }
static void publish(void) {}
static void copy(void *to, const void *from, u32 bytes, u64 *barrier) {
    (void)barrier;
    for (u32 i = 0; i < bytes; i++) ((u8 *)to)[i] = ((const u8 *)from)[i];
}
static void wait_for(u64 *barrier, u32 n) {
    (void)barrier, (void)n;
    BARRIER();
}
#define UNROLL_BY_8
#endif

// d = (sum, sum8) times the last matrix + the tile times the others, as counts of ones: `sum` is this thread's word of row 16 w + g, and
// `sum8` its word of row 16 w + g + 8.
DEVICE void count_ones(u32 *d, u32 sum, u32 sum8, const u32 *tile, const u32 *matrix) {
#ifdef __CUDACC__
    asm volatile("{\n"
                 ".reg .b64 left, right;\n"
                 ".reg .pred fresh, more;\n"
                 "setp.ne.b32 more, %69, 1;\n"
                 "setp.eq.b32 fresh, %69, 1;\n"
                 "wgmma.fence.sync.aligned;\n" WGMMA "{%64, %65, %69, %69}, %68, fresh;\n" //
                 PAIR(0) PAIR(1) PAIR(2) PAIR(3) PAIR(4) PAIR(5) PAIR(6) PAIR(7) //
                 "wgmma.commit_group.sync.aligned;\n"
                 "wgmma.wait_group.sync.aligned 0;\n"
                 "}"
                 : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)
                 : "r"(sum), "r"(sum8), "l"(operand(tile, 128, 128 * POWERS)), "l"(operand(matrix, 2048, 128)),
                   "l"(operand(matrix + 512 * POWERS, 0, 128)), "r"(0)
                 : "memory");
#else
    static u32 sums[ROWS][4];
    const u32 row = threadIdx.x / 32 * 16 + threadIdx.x / 4 % 8, q = threadIdx.x % 4;
    sums[row][q] = sum;
    sums[row + 8][q] = sum8;
    BARRIER();
    for (u32 i = 0; i < 64; i++) {
        const u32 r = row + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * q + i % 2;
        d[i] = 0;
        for (u32 t = 0; t <= POWERS; t++)
            for (u32 k = 0; k < 4; k++) {
                const u32 left = t == POWERS ? sums[r][k] : tile[32 * POWERS * (r / 8) + 32 * t + 4 * (r % 8) + k];
                for (u32 bits = left & matrix[512 * t + 4 * column + k]; bits; bits &= bits - 1) d[i]++;
            }
    }
    BARRIER();
#endif
}

// The word of row 16 w + g, or, with `second`, of row 16 w + g + 8.
DEVICE u32 word_of_row(const u32 *d, int second) {
    u32 word = 0;
    UNROLL for (int i = 15; i >= 0; i--) {
        const u32 *const counts = &d[4 * (i / 2) + 2 * second + i % 2];
        word = next_parities(word, counts[0], counts[32]);
    }
    return word;
}

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
