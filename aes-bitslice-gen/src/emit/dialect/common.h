
// What is read and what is written.
#define DATA(type) INPUT(type), OUTPUT(type)
#define LOCATE_DATA(type) \
    LOCATE_INPUT(type);   \
    LOCATE_OUTPUT(type)

// Each thread of a thread block takes its share of i = 0..n - 1.
#define EACH_THREAD(i, n) for (u32 i = threadIdx.x; i < (n); i += THREADS)

// All bits of the result equal bit `bit` of `word`.
DEVICE u32 spread_bit(u32 word, u32 bit) { return (u32)((int)(word << (31 - bit)) >> 31); }
