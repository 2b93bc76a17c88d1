// ---------------------------------------------------------------------------------------------------------------
// Many messages at a time: a thread block takes a group of GROUP messages, each of which has a segment of every tile. The hashed bytes of a
// message are its additional data and its ciphertext, each padded with zeros to a whole block, with blocks of zeros in front, so that all
// messages of a group end with its last tile. The block of lengths, which comes last, is multiplied as one more row.
//
// Messages are as in counter mode of messages, with two more words:
//   8   the first byte of its additional data, within that of all messages
//   9   its number of bytes
// ---------------------------------------------------------------------------------------------------------------

#define MESSAGE_PIECES 3
#define GROUP 8
#define SEGMENT_ROWS (ROWS / GROUP)
#define SEGMENT_BYTES (TILE_BYTES / GROUP)

typedef struct {
    u32 number; // of the message, or NO_MESSAGE
    u64 at, length; // in the data
    u32 aad_at, aad_length;
} segment;

#define NO_MESSAGE 0xffffffffu

// The segment of the message that is number n of `all` in the order of hashing.
DEVICE segment segment_at(IN_GLOBAL const u32 *order, IN_GLOBAL const uint4 *messages, u32 n, u32 all) {
    segment s = {NO_MESSAGE, 0, 0, 0, 0};
    if (n >= all) return s;
    s.number = PUBLIC_WORD(&order[n]);
    IN_GLOBAL const uint4 *const message = messages + (u64)MESSAGE_PIECES * s.number;
    const uint4 data = PUBLIC_PIECE(message + 1), more = PUBLIC_PIECE(message + 2);
    s.at = (u64)data.y << 32 | data.x;
    s.length = (u64)data.w << 32 | data.z;
    s.aad_at = more.x;
    s.aad_length = more.y;
    return s;
}

// Bytes of the additional data with its padding, and of all that is hashed except the lengths.
DEVICE u64 aad_bytes(segment s) { return ((u64)s.aad_length + 15) / 16 * 16; }
DEVICE u64 bytes_of(segment s) { return aad_bytes(s) + (s.length + 15) / 16 * 16; }

// The number of tiles that it takes.
DEVICE u32 tiles_of(segment s) { return (u32)((bytes_of(s) + SEGMENT_BYTES - 1) / SEGMENT_BYTES); }

// Where its share of tile n of `tiles` begins; below 0, which wraps, where it has zeros in front.
DEVICE u64 share_at(segment s, u32 n, u32 tiles) { return bytes_of(s) - (u64)(tiles - n) * SEGMENT_BYTES; }

// Whether the share that begins there is ciphertext only, at a multiple of 16.
DEVICE int is_plain(segment s, IN_GLOBAL const u8 *in, u64 at) {
    const u64 from = at - aad_bytes(s);
    return from < s.length && s.length - from >= SEGMENT_BYTES && ((u64)(in + s.at + from) & 15) == 0;
}

// The ciphertext at byte `at` of what is hashed.
DEVICE IN_GLOBAL const u8 *place_of(segment s, IN_GLOBAL const u8 *in, u64 at) { return in + (s.at + at - aad_bytes(s)); }

// The part of a message in a hashed block, and where it is: `bytes` bytes, 16 at most.
typedef struct {
    IN_GLOBAL const u8 *from;
    u32 bytes;
} source;

// The part from byte `at` on, which is not in the middle of a word.
DEVICE source source_of(segment s, IN_GLOBAL const u8 *in, IN_GLOBAL const u8 *aad, u64 at) {
    const int is_aad = at < aad_bytes(s);
    const u64 skipped = is_aad ? at : at - aad_bytes(s), length = is_aad ? s.aad_length : s.length;
    source block;
    block.from = (is_aad ? aad + s.aad_at : in + s.at) + skipped;
    block.bytes = skipped >= length ? 0 : length - skipped < 16 ? (u32)(length - skipped) : 16;
    return block;
}

// Its word i.
DEVICE u32 word_of(source block, u32 i) {
    if (block.bytes >= 4 * i + 4 && ((u64)block.from & 3) == 0) return ((IN_GLOBAL const u32 *)block.from)[i];
    u32 word = 0;
    UNROLL for (u32 b = 4 * i; b < 4 * i + 4; b++)
        if (b < block.bytes) word |= (u32)block.from[b] << 8 * (b % 4);
    return word;
}

// The block of lengths.
DEVICE element lengths_of(segment s) {
    const u64 aad = 8 * (u64)s.aad_length, data = 8 * s.length;
    const u32 words[4] = {(u32)(aad >> 32), (u32)aad, (u32)(data >> 32), (u32)data};
    element lengths;
    UNROLL for (int i = 0; i < 4; i++) lengths.word[i] = reversed_bytes(BYTE_PERMUTE(words[i], 0, 0x0123));
    return lengths;
}

// The weights of a segment's rows, then of the block of lengths. `elements` are the powers of rows, the last of which is H.
DEVICE void put_weights_of_messages(IN_SHARED element *weights, IN_GLOBAL const u32 *elements) {
    EACH_THREAD(r, SEGMENT_ROWS + 1) {
        const element h = element_at(elements, SEGMENT_ROWS - 1);
        weights[r] = r < SEGMENT_ROWS ? product(element_at(elements, r), h) : h;
    }
}

// The tags of a group. Each thread comes after a barrier, with the rows in memory; there is room for one more row per message.
DEVICE void put_tags(IN_GLOBAL u32 *out, IN_SHARED element *rows, IN_SHARED const element *weights, IN_GLOBAL const u32 *order,
                     IN_GLOBAL const uint4 *messages, u32 first, u32 all, IN_GLOBAL const u32 *masks) {
    EACH_THREAD(i, ROWS) rows[i] = product(rows[i], weights[i % SEGMENT_ROWS]);
    // The last threads, which may have had no row.
    const u32 place = THREADS - 1 - threadIdx.x;
    if (place < GROUP)
        rows[ROWS + place] = product(lengths_of(segment_at(order, messages, first + place, all)), weights[SEGMENT_ROWS]);
    BARRIER();
    EACH_THREAD(i, 4 * GROUP) {
        if (first + i / 4 < all) {
            const u32 number = PUBLIC_WORD(&order[first + i / 4]);
            u32 sum = rows[ROWS + i / 4].word[i % 4];
            for (u32 r = 0; r < SEGMENT_ROWS; r++) sum ^= rows[SEGMENT_ROWS * (i / 4) + r].word[i % 4];
            out[4 * (u64)number + i % 4] = reversed_bytes(sum) ^ masks[4 * (u64)number + i % 4];
        }
    }
}
