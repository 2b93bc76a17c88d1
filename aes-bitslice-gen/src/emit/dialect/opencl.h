// ---------------------------------------------------------------------------------------------------------------
// Dialect: OpenCL C 1.2, in CUDA's terms: a thread is a work-item, a thread block a work-group, shared memory is local
// memory. On NVIDIA's compiler, inline PTX supplies what the language lacks; elsewhere it is built from what the
// language has.
// ---------------------------------------------------------------------------------------------------------------

typedef uchar u8;
typedef uint u32;
typedef ulong u64;

#define KERNEL __kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
#define KERNEL_PARAMETER const
#define IN_GLOBAL __global
#define IN_SHARED __local
#define IN_CONSTANT __constant
#define SHARED __local
#define CONSTANT __constant
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")

// Data begins at an offset, because a launch takes whole buffers, not pointers into them.
#define INPUT(type) __global const type *in_buffer, u64 in_at
#define OUTPUT(type) __global type *out_buffer, u64 out_at
#define POINTER(type, name) __global const type *name##_buffer, u64 name##_at
#define LOCATE_INPUT(type) __global const type *const in = in_buffer + in_at
#define LOCATE_OUTPUT(type) __global type *const out = out_buffer + out_at
#define LOCATE_POINTER(type, name) __global const type *const name = name##_buffer + name##_at

typedef struct { u32 x; } thread_index;
#define threadIdx ((thread_index){(u32)get_local_id(0)})
#define blockIdx ((thread_index){(u32)get_group_id(0)})
#define blockDim ((thread_index){(u32)get_local_size(0)})
#define gridDim ((thread_index){(u32)get_num_groups(0)})
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define TAKE_NUMBER(next) atomic_inc(next) // from a counter in local memory
#define LET_NEXT_BEGIN()
#define AWAIT_LAST()

#ifdef __NV_CL_C_VERSION
#define DEVICE static inline __attribute__((always_inline))
#define SHUFFLES 1 // threads of a warp exchange words without memory
DEVICE u32 from_lane(u32 value, u32 lane, u32 width) {
    u32 d;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, %3, 0xffffffff;"
                 : "=r"(d) : "r"(value), "r"(lane), "r"((32 - width) << 8 | 31));
    return d;
}
#define FROM_COLUMN(value, column) from_lane(value, column, 4) // of four neighbouring lanes
#define FROM_FIRST_LANE(value) from_lane(value, 0, 32)
#define WARP_BARRIER() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
DEVICE u32 byte_permute(u32 a, u32 b, u32 selector) {
    u32 d;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(selector));
    return d;
}
DEVICE u32 signed_dot_product(u32 a, u32 b, u32 c) {
    u32 d;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
#define DEFINE_LUT3(table, expression)                                                                  \
    DEVICE u32 LUT3_##table(u32 a, u32 b, u32 c) {                                                      \
        u32 d;                                                                                          \
        asm("lop3.b32 %0, %1, %2, %3, " #table ";" : "=r"(d) : "r"(a), "r"(b), "r"(c));                 \
        return d;                                                                                       \
    }
#else
#define DEVICE static // GPU compilers inline by themselves; a CPU compiler would take minutes to inline it all
#define SHUFFLES 0
#define WARP_BARRIER() BARRIER()
DEVICE u32 byte_permute(u32 a, u32 b, u32 selector) {
    const u64 bytes = (u64)b << 32 | a;
    u32 d = 0;
    UNROLL for (int i = 0; i < 4; i++) d |= (u32)(u8)(bytes >> 8 * (selector >> 4 * i & 7)) << 8 * i;
    return d;
}
DEVICE u32 signed_dot_product(u32 a, u32 b, u32 c) {
    UNROLL for (int i = 0; i < 4; i++) c += (u32)((int)(char)(a >> 8 * i) * (int)(char)(b >> 8 * i));
    return c;
}
#define DEFINE_LUT3(table, expression) \
    DEVICE u32 LUT3_##table(u32 a, u32 b, u32 c) { return expression; }
#endif
#define BYTE_PERMUTE(a, b, selector) byte_permute(a, b, selector)
#define SIGNED_DOT_PRODUCT(a, b, c) signed_dot_product(a, b, c) // of four bytes, plus c

// Output bit = bit 4a + 2b + c of the table, in the fewest operators possible.
#define LUT3(a, b, c, table) LUT3_##table(a, b, c)
