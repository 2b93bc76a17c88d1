// ---------------------------------------------------------------------------------------------------------------
// Messages that arrays in device memory describe: their table, and the order in which they are processed, by two launches.
//
//   describe  writes each message, counts those of each length, and finds the first one that is wrong
//   order     writes their numbers, the longest first; if one is wrong, it writes that there are none
//
// An array is four words: the address of its first number, the bytes from one to the next, and from bit 24 of the last word on what is there;
// or, without an address, the first number and the difference of the next. aes_bitslice_core::described has all numbers used here.
// ---------------------------------------------------------------------------------------------------------------

#define LENGTHS 1024 // lengths are told apart in steps of 32 blocks; the last is of all longer ones
#define LONGEST 0xfffffffe0ull // bytes of a message (SP 800-38D, section 5.2.1.1)

// What is counted: messages of each length; of these, the ones that have a place; the first that is wrong.
#define PLACED_AT LENGTHS
#define WRONG_AT (2 * LENGTHS)

#ifdef __CUDACC__
#define COUNT(place, n) atomicAdd(place, n) // returns what was there
#define KEEP_LARGER(place, n) atomicMax(place, n)
#else
#define COUNT(place, n) ((*(place) += (n)) - (n))
#define KEEP_LARGER(place, n) *(place) = *(place) < (n) ? (n) : *(place)
#endif

#define IS_VALUE 0 // or an array of u32, i32, u64, i64
#define IS_LENGTH 8 // not the end

enum { NO_POSITION = 1, ENDS_FIRST, TOO_LONG, OVERLAPS, BEYOND, OF_AAD = 8, NONCES_END = 16 };

DEVICE u32 form_of(const block128 *array) { return array->word[3] >> 24; }

// The number or the address with index n.
DEVICE u64 place_in(const block128 *array, u32 n) {
    const u64 first = (u64)array->word[1] << 32 | array->word[0], step = (u64)(array->word[3] & 0xffffff) << 32 | array->word[2];
    return first + n * step;
}

typedef struct { u64 value; u32 is_wrong; } position;

DEVICE position position_in(const block128 *array, u32 n) {
    const u64 place = place_in(array, n);
    const u32 form = form_of(array) & 7;
    position p = {place, 0};
    if (form == IS_VALUE) return p;
    const int is_signed = form % 2 == 0;
    if (form <= 2) {
        const u32 word = PUBLIC_WORD((IN_GLOBAL const u32 *)place);
        p.value = word;
        p.is_wrong = is_signed && word >> 31;
    } else {
        p.value = PUBLIC_WORD((IN_GLOBAL const u64 *)place);
        p.is_wrong = is_signed && p.value >> 63;
    }
    return p;
}

typedef struct { u64 begin, end; u32 fault; } range;

// The range with index n of data of `length` bytes, and what is wrong with it by itself.
DEVICE range range_in(const block128 *starts, const block128 *ends, u32 n, u64 length, u64 longest) {
    const position begin = position_in(starts, n), other = position_in(ends, n);
    const u64 end = other.value + (form_of(ends) & IS_LENGTH ? begin.value : 0);
    const u32 wraps = form_of(ends) & IS_LENGTH && end < begin.value;
    range r = {begin.value, end, 0};
    r.fault = begin.is_wrong | other.is_wrong | wraps ? NO_POSITION
        : end < begin.value                           ? ENDS_FIRST
        : end - begin.value > longest                 ? TOO_LONG
        : end > length                                ? BEYOND
                                                      : 0;
    return r;
}

// The words of a nonce, and whether there is none with this number. The last 32 or 64 bits of nonces that count up are a big-endian number.
DEVICE u32 put_nonce(u32 *words, const block128 *nonces, u32 n) {
    const u32 bits = 32 * form_of(nonces);
    IN_GLOBAL const u8 *const at = (IN_GLOBAL const u8 *)place_in(nonces, n);
    UNROLL for (int i = 0; i < 3; i++)
        words[i] = at[4 * i] | (u32)at[4 * i + 1] << 8 | (u32)at[4 * i + 2] << 16 | (u32)at[4 * i + 3] << 24;
    if (bits == 0) return 0;
    const u32 last = BYTE_PERMUTE(words[2], 0, 0x0123), sum = last + n, carry = sum < last;
    words[2] = BYTE_PERMUTE(sum, 0, 0x0123);
    if (bits == 32 || !carry) return carry;
    const u32 before = BYTE_PERMUTE(words[1], 0, 0x0123) + 1;
    words[1] = BYTE_PERMUTE(before, 0, 0x0123);
    return before == 0;
}

// The index of a number of bytes among those that are counted; the longest come first.
DEVICE u32 length_index(u64 length, u32 aad_length) {
    const u64 steps = ((length + 15) / 16 + ((u64)aad_length + 15) / 16) / 32;
    return steps < LENGTHS ? LENGTHS - 1 - (u32)steps : 0;
}

KERNEL @NAME@_batch_describe(KERNEL_PARAMETER block128 starts, KERNEL_PARAMETER block128 ends, KERNEL_PARAMETER block128 nonces,
    KERNEL_PARAMETER block128 aad_starts, KERNEL_PARAMETER block128 aad_ends, u64 length, u64 aad_length, u32 tag_bytes, u32 all,
    IN_GLOBAL uint4 *messages, IN_GLOBAL u32 *tally) {
    SHARED u32 counts[LENGTHS];
    EACH_THREAD(i, LENGTHS) counts[i] = 0;
    BARRIER();
    ROLLED for (u32 n = THREADS * blockIdx.x + threadIdx.x; n < all; n += THREADS * gridDim.x) {
        const range data = range_in(&starts, &ends, n, length, LONGEST);
        const range aad = range_in(&aad_starts, &aad_ends, n, aad_length, 0xffffffff);
        u32 words[3];
        const u32 is_over = put_nonce(words, &nonces, n);
        // If the message before is wrong itself, that is what counts.
        const int overlaps = n > 0 && data.begin < range_in(&starts, &ends, n - 1, length, LONGEST).end;
        const u32 fault = data.fault ? data.fault : overlaps ? OVERLAPS : aad.fault ? OF_AAD + aad.fault : is_over ? NONCES_END : 0;
        if (fault) KEEP_LARGER((IN_GLOBAL u64 *)(tally + WRONG_AT), (u64)(0xffffffff - n) << 32 | fault);
        const u64 bytes = data.end - data.begin;
        const u32 aad_bytes = (u32)(aad.end - aad.begin);
        const uint4 first = {words[0], words[1], words[2], 1};
        const uint4 place = {(u32)data.begin, (u32)(data.begin >> 32), (u32)bytes, (u32)(bytes >> 32)};
        const uint4 more = {(u32)aad.begin, aad_bytes, 0, tag_bytes};
        IN_GLOBAL uint4 *const message = messages + (u64)MESSAGE_PIECES * n;
        message[0] = first;
        message[1] = place;
        message[2] = more;
        COUNT(&counts[length_index(bytes, aad_bytes)], 1);
    }
    BARRIER();
    EACH_THREAD(i, LENGTHS) {
        if (counts[i]) COUNT(&tally[i], counts[i]);
    }
}

KERNEL @NAME@_batch_order(u32 all, IN_GLOBAL const uint4 *messages, IN_GLOBAL u32 *tally, IN_GLOBAL u32 *order, IN_GLOBAL u32 *fault) {
    SHARED u32 counts[LENGTHS];
    SHARED u32 places[LENGTHS];
    const u64 wrong = *(IN_GLOBAL const u64 *)(tally + WRONG_AT);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        fault[0] = (u32)wrong;
        fault[1] = wrong ? 0xffffffff - (u32)(wrong >> 32) : 0;
    }
    EACH_THREAD(i, LENGTHS) {
        counts[i] = 0;
        places[i] = tally[i];
    }
    BARRIER();
    ROLLED for (u32 n = THREADS * blockIdx.x + threadIdx.x; n < all; n += THREADS * gridDim.x) {
        const uint4 place = PUBLIC_PIECE(messages + (u64)MESSAGE_PIECES * n + 1), more = PUBLIC_PIECE(messages + (u64)MESSAGE_PIECES * n + 2);
        COUNT(&counts[length_index((u64)place.w << 32 | place.z, more.y)], 1);
    }
    // Each place becomes the sum of those up to it.
    ROLLED for (u32 apart = 1; apart < LENGTHS; apart *= 2) {
        u32 sums[(LENGTHS + THREADS - 1) / THREADS];
        BARRIER();
        UNROLL for (u32 i = 0; i < (LENGTHS + THREADS - 1) / THREADS; i++) {
            const u32 at = THREADS * i + threadIdx.x;
            if (at < LENGTHS) sums[i] = places[at] + (at >= apart ? places[at - apart] : 0);
        }
        BARRIER();
        EACH_THREAD(i, LENGTHS) places[i] = sums[i / THREADS];
    }
    BARRIER();
    // Where those of this thread block begin: after all longer ones, and after the places that other thread blocks have taken.
    EACH_THREAD(i, LENGTHS) {
        if (counts[i]) places[i] += COUNT(&tally[PLACED_AT + i], counts[i]) - tally[i];
    }
    BARRIER();
    ROLLED for (u32 n = THREADS * blockIdx.x + threadIdx.x; n < all; n += THREADS * gridDim.x) {
        const uint4 place = PUBLIC_PIECE(messages + (u64)MESSAGE_PIECES * n + 1), more = PUBLIC_PIECE(messages + (u64)MESSAGE_PIECES * n + 2);
        order[COUNT(&places[length_index((u64)place.w << 32 | place.z, more.y)], 1)] = wrong ? NO_MESSAGE : n;
    }
}
