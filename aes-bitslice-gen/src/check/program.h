
// ---------------------------------------------------------------------------------------------------------------
// A program around the kernel above, to run it on a CPU: answers launches on standard input until that ends.
//
//   launch  request, the planes of the round keys, the data
//   answer  a byte, 0 if nothing but the output was changed; the output, as long as the data
//
// Defined by the command line: ENTRY, ENTRY_BYTES, COUNTER_MODE, KEYS_AT_LAUNCH.
// ---------------------------------------------------------------------------------------------------------------

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    u64 by_bytes, in_place, in_offset, out_offset, length, skip, counter_low, counter_high, round_keys;
} request;

// Data with room on both sides that must stay as it was.
#define MARGIN 64
typedef struct { u8 *start, *data, *end; } buffer;

static u8 margin_byte(u64 i) { return (u8)(0xa5 + 29 * i); }

static buffer new_buffer(u64 length, u64 offset) {
    const u64 size = MARGIN + offset + length + MARGIN;
    buffer b;
    b.start = malloc(size); // aligned for every type, so to 16 bytes
    if (!b.start || (size_t)b.start % 16) exit(3);
    b.data = b.start + MARGIN + offset;
    b.end = b.start + size;
    for (u64 i = 0; i < size; i++) b.start[i] = margin_byte(i);
    return b;
}

static int margins_changed(buffer b, u64 length) {
    for (u8 *p = b.start; p < b.end; p++) {
        if (p == b.data) p += length;
        if (*p != margin_byte((u64)(p - b.start))) return 1;
    }
    return 0;
}

static int get(void *to, u64 bytes) { return fread(to, 1, bytes, stdin) == bytes; }

int main(void) {
    request r;
    while (get(&r, sizeof r)) {
#if KEYS_AT_LAUNCH
        round_keys keys;
        memset(&keys, 0x5a, sizeof keys);
        keys.rounds = (u32)r.round_keys - 1;
        if (r.round_keys < 2 || r.round_keys > MAX_ROUNDS + 1) return 2;
        if (!get(keys.plane, r.round_keys * sizeof keys.plane[0])) return 2;
#define KEYS , keys
#else
        if (r.round_keys != 0) return 2;
#define KEYS
#endif
        u8 *const original = malloc(r.length + 1);
        if (!original || !get(original, r.length)) return 2;
        const buffer out = new_buffer(r.length, r.out_offset);
        const buffer in = r.in_place ? out : new_buffer(r.length, r.in_offset);
        memcpy(in.data, original, r.length);

        const u64 blocks = (r.skip + r.length + 15) / 16, block_covers = 32 * THREADS;
        const u64 grid = blocks ? (blocks + block_covers - 1) / block_covers : 1;
#if COUNTER_MODE
        const counter128 counter = {
            {(u32)r.counter_low, (u32)(r.counter_low >> 32), (u32)r.counter_high, (u32)(r.counter_high >> 32)}};
#define ALIGNED_ARGUMENTS blocks, counter KEYS
#define BYTES_ARGUMENTS r.length, (u32)r.skip, counter KEYS
#else
#define ALIGNED_ARGUMENTS blocks KEYS
#define BYTES_ARGUMENTS blocks KEYS
#endif
        for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++)
            for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++) {
                if (r.by_bytes) ENTRY_BYTES(in.data, out.data, BYTES_ARGUMENTS);
                else ENTRY((const uint4 *)in.data, (uint4 *)out.data, ALIGNED_ARGUMENTS);
            }

        int changed = margins_changed(out, r.length);
        if (!r.in_place) changed |= margins_changed(in, r.length) || memcmp(in.data, original, r.length);
        putchar(changed);
        fwrite(out.data, 1, r.length, stdout);
        fflush(stdout);
        if (!r.in_place) free(in.start);
        free(out.start);
        free(original);
    }
    return 0;
}
