// ---------------------------------------------------------------------------------------------------------------
// Dialect: CUDA C itself, and plain C11 so that a CPU can run the same text to check it.
// ---------------------------------------------------------------------------------------------------------------

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

// Pointers reach all memory, and data is where they point.
#define IN_GLOBAL
#define IN_SHARED
#define IN_CONSTANT
#define INPUT(type) const type *in
#define OUTPUT(type) type *out
#define POINTER(type, name) const type *name
#define LOCATE_INPUT(type)
#define LOCATE_OUTPUT(type)
#define LOCATE_POINTER(type, name)
#ifndef SHUFFLES
#define SHUFFLES 1 // threads of a warp exchange words without memory
#endif

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
#define DEVICE static __device__ __forceinline__
#define KERNEL_PARAMETER const __grid_constant__
#define SHARED __shared__
#define CONSTANT static __constant__ const
#define GLOBAL static __device__ const
#define DYNAMIC_SHARED(name) extern __shared__ uint4 name[] // SHARED_BYTES, passed at launch
#define BARRIER() __syncthreads()
#define WARP_BARRIER() __syncwarp()
#define COMPILER_BARRIER() asm volatile("" ::: "memory")
#define FROM_COLUMN(value, column) __shfl_sync(0xffffffff, value, column, 4) // of four neighbouring lanes
#define FROM_LANE(value, lane) __shfl_sync(0xffffffff, value, lane) // of the warp
// Lane 0's value; the other lanes pass 0. Where possible, the compiler can tell that all lanes get the same.
#if __CUDA_ARCH__ >= 800
#define FROM_FIRST_LANE(value) __reduce_or_sync(0xffffffff, value)
#else
#define FROM_FIRST_LANE(value) FROM_LANE(value, 0)
#endif
#define TAKE_NUMBER(next) atomicAdd(next, 1u) // from a counter in shared memory
// Kernels of a stream that overlap: the next one may begin; the previous one has finished, and its writes are visible.
#if __CUDA_ARCH__ >= 900
#define LET_NEXT_BEGIN() asm volatile("griddepcontrol.launch_dependents;")
#define AWAIT_LAST() asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define LET_NEXT_BEGIN()
#define AWAIT_LAST()
#endif
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
// Output bit = bit 4a + 2b + c of the table: one LOP3 instruction.
template <int TABLE> DEVICE u32 lut3(u32 a, u32 b, u32 c) {
    u32 d;
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "n"(TABLE));
    return d;
}
#define LUT3(a, b, c, table) lut3<table>(a, b, c)
#define BYTE_PERMUTE(a, b, selector) __byte_perm(a, b, selector)
#define DOT_PRODUCT(a, b, c) __dp4a((u32)(a), (u32)(b), (u32)(c)) // of four bytes, plus c
#define SIGNED_DOT_PRODUCT(a, b, c) (u32)__dp4a((int)(a), (int)(b), (int)(c))
#else
#define KERNEL void
#define DEVICE static inline
#define KERNEL_PARAMETER const
#define SHARED static
#define CONSTANT static const
#define GLOBAL static const
#define DYNAMIC_SHARED(name) static uint4 name[SHARED_BYTES / 16]
#define BARRIER() meet(blockDim.x)
#define WARP_BARRIER() meet(32)
#define COMPILER_BARRIER()
#define FROM_COLUMN(value, column) from_lane(value, (threadIdx.x & ~3u) | (column))
#define FROM_LANE(value, lane) from_lane(value, (threadIdx.x & ~31u) | (lane))
static void meet(u32 neighbours);            // on a CPU threads take turns: each waits here until all threads of its warp
static u32 from_lane(u32 value, u32 thread); // or thread block have arrived
#define FROM_FIRST_LANE(value) FROM_LANE(value, 0)
#define TAKE_NUMBER(next) ((*(next))++)
#define LET_NEXT_BEGIN()
#define AWAIT_LAST()
#define UNROLL
#define ROLLED
typedef struct { u32 x, y, z, w; } uint4;
typedef struct { u32 x, y, z; } dim3;
static dim3 gridDim, blockDim, blockIdx, threadIdx;
static inline u32 lut3(u32 a, u32 b, u32 c, int table) {
    u32 d = 0;
    if (table & 0x01) d |= ~a & ~b & ~c;
    if (table & 0x02) d |= ~a & ~b & c;
    if (table & 0x04) d |= ~a & b & ~c;
    if (table & 0x08) d |= ~a & b & c;
    if (table & 0x10) d |= a & ~b & ~c;
    if (table & 0x20) d |= a & ~b & c;
    if (table & 0x40) d |= a & b & ~c;
    if (table & 0x80) d |= a & b & c;
    return d;
}
#define LUT3(a, b, c, table) lut3(a, b, c, table)
static inline u32 byte_permute(u32 a, u32 b, u32 selector) {
    u64 bytes = (u64)b << 32 | a;
    u32 d = 0;
    for (int i = 0; i < 4; i++)
        d |= (u32)(u8)(bytes >> 8 * (selector >> 4 * i & 7)) << 8 * i;
    return d;
}
#define BYTE_PERMUTE(a, b, selector) byte_permute(a, b, selector)
static inline u32 dot_product(u32 a, u32 b, u32 c) {
    for (int i = 0; i < 4; i++) c += (u32)(u8)(a >> 8 * i) * (u8)(b >> 8 * i);
    return c;
}
#define DOT_PRODUCT(a, b, c) dot_product(a, b, c)
static inline u32 signed_dot_product(u32 a, u32 b, u32 c) {
    for (int i = 0; i < 4; i++) c += (u32)((int)(signed char)(a >> 8 * i) * (int)(signed char)(b >> 8 * i));
    return c;
}
#define SIGNED_DOT_PRODUCT(a, b, c) signed_dot_product(a, b, c)
#endif
