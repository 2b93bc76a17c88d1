// ---------------------------------------------------------------------------------------------------------------
// GF(2^128) modulo x^128 + x^7 + x^2 + x + 1: words of coefficients, x^0 lowest. No branch, address or table index depends on an element.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u32 word[4]; } element;
typedef struct { u32 word[4]; } block128; // the bytes in order, as little-endian words

// Reverses the bits of each byte: from words of a block to coefficients (SP 800-38D, section 6.3), and back.
DEVICE u32 reversed_bytes(u32 x) {
#ifdef __CUDACC__
    return BYTE_PERMUTE(__brev(x), 0, 0x0123);
#else
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    return (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
#endif
}

DEVICE element element_of(const u32 *words) {
    element x;
    UNROLL for (int i = 0; i < 4; i++) x.word[i] = reversed_bytes(words[i]);
    return x;
}

// The same for a block with its bytes reversed if `reversed` is all ones; for the block itself if it is 0.
DEVICE element element_of_block(const u32 *words, u32 reversed) {
    element x;
    UNROLL for (int i = 0; i < 4; i++)
        x.word[i] = reversed_bytes((words[i] & ~reversed) | (BYTE_PERMUTE(words[3 - i], 0, 0x0123) & reversed));
    return x;
}

DEVICE element element_at(IN_GLOBAL const u32 *elements, u32 n) {
    element x;
    UNROLL for (int i = 0; i < 4; i++) x.word[i] = elements[4 * n + i];
    return x;
}

// The product of two words as polynomials, by multiplication of integers with holes: one of every four bits is kept, at most eight products
// meet in a bit, and three bits hold the carries. (Thomas Pornin, BearSSL, src/hash/ghash_ctmul.c.)
DEVICE u64 product_of_words(u32 x, u32 y) {
    u32 a[4], b[4];
    u64 z = 0;
    UNROLL for (int i = 0; i < 4; i++) {
        a[i] = x & 0x11111111u << i;
        b[i] = y & 0x11111111u << i;
    }
    UNROLL for (int i = 0; i < 4; i++) {
        u64 sum = 0;
        UNROLL for (int j = 0; j < 4; j++) sum ^= (u64)a[j] * b[(i - j) & 3];
        z |= sum & (u64)(0x11111111u << i) * 0x100000001u;
    }
    return z;
}

// Where products are few, they are calls, because code that runs once costs the time to fetch it.
#if defined __CUDACC__ && !PRODUCTS_ARE_MANY
#define CALLED static __device__ __noinline__
#else
#define CALLED DEVICE
#endif

typedef struct { u64 low, high; } two_pairs;

// The product of two pairs of words, by three products (Karatsuba).
CALLED two_pairs product_of_pairs(u32 x0, u32 x1, u32 y0, u32 y1) {
    const u64 low = product_of_words(x0, y0), high = product_of_words(x1, y1);
    const u64 middle = product_of_words(x0 ^ x1, y0 ^ y1) ^ low ^ high;
    two_pairs z;
    z.low = low ^ middle << 32;
    z.high = high ^ middle >> 32;
    return z;
}

// The element that is low + x^128 high.
DEVICE element reduced(two_pairs low, two_pairs high) {
    // x^128 = x^7 + x^2 + x + 1: what the shifts push out at the top first enters the bottom of the upper half.
    high.low ^= high.high >> 63 ^ high.high >> 62 ^ high.high >> 57;
    low.low ^= high.low ^ high.low << 1 ^ high.low << 2 ^ high.low << 7;
    low.high ^= high.high ^ (high.high << 1 | high.low >> 63) ^ (high.high << 2 | high.low >> 62) ^
                (high.high << 7 | high.low >> 57);
    element z;
    z.word[0] = (u32)low.low;
    z.word[1] = (u32)(low.low >> 32);
    z.word[2] = (u32)low.high;
    z.word[3] = (u32)(low.high >> 32);
    return z;
}

DEVICE element product(element x, element y) {
    const u32 *const a = x.word, *const b = y.word;
    two_pairs low = product_of_pairs(a[0], a[1], b[0], b[1]);
    two_pairs high = product_of_pairs(a[2], a[3], b[2], b[3]);
    const two_pairs middle = product_of_pairs(a[0] ^ a[2], a[1] ^ a[3], b[0] ^ b[2], b[1] ^ b[3]);
    const u64 from_low = middle.low ^ low.low ^ high.low, from_high = middle.high ^ low.high ^ high.high;
    low.high ^= from_low;
    high.low ^= from_high;
    return reduced(low, high);
}
