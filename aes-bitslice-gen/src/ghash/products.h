// ---------------------------------------------------------------------------------------------------------------
// wgmma.m64n128k256 on single bits, which only compute capability 9.0 has: four warps, a warpgroup, multiply 64 rows, a tile as it is in
// shared memory, by matrices of 128 x 128 bits. Eight neighbouring blocks are a core matrix of the instruction: eight rows of 16 bytes.
//
// Thread (g, q) of warp w of a warpgroup, g = lane / 4, q = lane % 4, has columns 8 i + 2 q and 8 i + 2 q + 1 of rows 16 w + g and
// 16 w + g + 8. The tables put the bits of word q there, so a thread packs one word of each of its two rows, as the instruction requires
// for the left operand of the next product.
// ---------------------------------------------------------------------------------------------------------------

#define MATRIX_BYTES (2048 * (POWERS + 1))

#ifdef __CUDACC__
DEVICE u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
// Makes ordinary writes to shared memory visible to the copy engine and the tensor cores.
DEVICE void publish(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
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
#else
static void publish(void) {}
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
    static u32 sums[THREADS / 2][4];
    const u32 row = threadIdx.x / 32 * 16 + threadIdx.x / 4 % 8, q = threadIdx.x % 4;
    sums[row][q] = sum;
    sums[row + 8][q] = sum8;
    BARRIER();
    for (u32 i = 0; i < 64; i++) {
        const u32 r = row + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * q + i % 2;
        d[i] = 0;
        for (u32 t = 0; t <= POWERS; t++)
            for (u32 k = 0; k < 4; k++) {
                const u32 left = t == POWERS ? sums[r][k] : tile[32 * POWERS * (r % 64 / 8) + 32 * t + 4 * (r % 8) + k];
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
