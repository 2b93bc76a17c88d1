// ---------------------------------------------------------------------------------------------------------------
// GCM of many messages in one launch (SP 800-38D), of any lengths, at any addresses.
//
// A warpgroup has 32 groups of four threads, which have a column each. It processes a unit of 32 >> wide messages at a time: 1 << wide groups
// share a message, whose neighbouring blocks they have. In a step, a group has 32 blocks of its message, 1 << wide apart. They are two rows of
// 16 blocks for the tensor cores, which multiply them by powers of H^(1 << wide); a row's sum goes into the products of the next step.
//
// What is hashed of a message, its additional data and its ciphertext, ends with the last step of the unit. In front of it come blocks of
// zeros, which change no hash. So a thread's block j is `rest` - (j << wide) blocks from the end, and `rest` is all that a step depends on.
//
// A message, as the launch has it in memory, is twelve words, of which 10 is for other kernels:
//   0 to 3    the first counter block: three words as its bytes are in memory, then the counter as a number; secret where the nonce does
//             not have 12 bytes, because it is then a hash under the hash key
//   4 and 5   its first byte in the data
//   6 and 7   its number of bytes
//   8 and 9   the first byte of its additional data, and the number of bytes of that
//   11        the number of bytes of its tag that count
// ---------------------------------------------------------------------------------------------------------------

#define MESSAGE_PIECES 3
#ifdef __CUDACC__
#define READ_AGAIN(number) asm volatile("" : "+r"(number)) // what was read of the message does not stay in registers
#define ALWAYS(place) asm volatile("" : "+l"(place)) // it is computed whether or not there is something
#else
#define READ_AGAIN(number)
#define ALWAYS(place)
#endif
#define NO_MESSAGE 0xffffffffu

typedef struct {
    u64 at, length;
    u32 aad_at, aad_length;
} place_of_message;

DEVICE place_of_message place_of(IN_GLOBAL const uint4 *messages, u32 number) {
    place_of_message m = {0, 0, 0, 0};
    if (number == NO_MESSAGE) return m;
    const uint4 data = PUBLIC_PIECE(messages + ((u64)MESSAGE_PIECES * number + 1)), more = PUBLIC_PIECE(messages + ((u64)MESSAGE_PIECES * number + 2));
    m.at = (u64)data.y << 32 | data.x;
    m.length = (u64)data.w << 32 | data.z;
    m.aad_at = more.x;
    m.aad_length = more.y;
    return m;
}

DEVICE u32 tag_bytes(IN_GLOBAL const uint4 *messages, u32 number) {
    return PUBLIC_WORD((IN_GLOBAL const u32 *)(messages + (u64)MESSAGE_PIECES * number) + 11);
}

// Blocks of its data, and of its additional data.
DEVICE u64 blocks_of(place_of_message m) { return (m.length + 15) / 16; }
DEVICE u32 aad_blocks_of(place_of_message m) { return m.aad_length / 16 + (m.aad_length % 16 != 0); }

// Blocks that a message has room for in a step.
DEVICE u32 step_blocks(u32 wide) { return 32u << wide; }

// The group's number in its warpgroup, and among those of its message.
DEVICE u32 group_of_warpgroup(void) { return threadIdx.x % 128 / 4; }
DEVICE u32 group_of_message(u32 wide) { return group_of_warpgroup() & ((1u << wide) - 1); }

// The first of the thread's blocks that is data; 32 if none is.
DEVICE u32 first_of_data(u64 rest, u64 blocks, u32 wide) {
    const u64 before = rest > blocks ? rest - blocks : 0;
    return before > 31u << wide ? 32 : ((u32)before + (1u << wide) - 1) >> wide;
}

// The bytes that exist of the thread's word of block 31: the message may end within it.
DEVICE u32 bytes_of_last(u64 rest, u64 length, u32 wide) {
    const u64 at = 16 * ((length + 15) / 16 - (rest - (31u << wide))) + 4 * column();
    return at >= length ? 0 : length - at < 4 ? (u32)(length - at) : 4;
}

// The word at a place that has this number of its bytes, the first ones; 0 for the others.
DEVICE u32 read_part(IN_GLOBAL const u8 *from, u32 bytes) {
    u32 word = 0;
    if (bytes == 4 && ((u64)from & 3) == 0) return *(IN_GLOBAL const u32 *)from;
    UNROLL for (u32 i = 0; i < 4; i++)
        if (i < bytes) word |= (u32)from[i] << 8 * i;
    return word;
}

DEVICE void write_part(IN_GLOBAL u8 *to, u32 word, u32 bytes) {
    if (bytes == 4 && ((u64)to & 3) == 0) {
        *(IN_GLOBAL u32 *)to = word;
    } else {
        UNROLL for (u32 i = 0; i < 4; i++)
            if (i < bytes) to[i] = (u8)(word >> 8 * i);
    }
}

// The thread's words from block `data` on, 0 before it; `from` is the place of its word of block 0, and `last` counts bytes of that of block 31.
// Words at other addresses than multiples of four come through `own`, the thread's place in shared memory for each block.
DEVICE void read_blocks(u32 *w, IN_GLOBAL const u8 *from, u32 data, u32 last, u32 wide, IN_SHARED u32 *own) {
    if (((u64)from & 3) == 0) {
        UNROLL for (u32 j = 0; j < 31; j++) {
            w[j] = 0;
            if (j >= data) w[j] = *(IN_GLOBAL const u32 *)from;
            from += 16 << wide;
            ALWAYS(from);
        }
        w[31] = data < 32 ? read_part(from, last) : 0;
    } else {
        ROLLED for (u32 j = data; j < 32; j++) own[32 * j] = read_part(from + ((u64)(16 * j) << wide), j < 31 ? 4 : last);
        UNROLL for (u32 j = 0; j < 32; j++) w[j] = j >= data ? own[32 * j] : 0;
    }
}

DEVICE void write_blocks(IN_GLOBAL u8 *to, const u32 *s, u32 data, u32 last, u32 wide, IN_SHARED u32 *own) {
    if (((u64)to & 3) == 0) {
        UNROLL for (u32 j = 0; j < 31; j++) {
            if (j >= data) *(IN_GLOBAL u32 *)to = s[j];
            to += 16 << wide;
            ALWAYS(to);
        }
        if (data < 32) write_part(to, s[31], last);
    } else {
        UNROLL for (u32 j = 0; j < 32; j++) own[32 * j] = s[j];
        ROLLED for (u32 j = data; j < 32; j++) write_part(to + ((u64)(16 * j) << wide), own[32 * j], j < 31 ? 4 : last);
    }
}

// Puts the thread's words of additional data, which come before block `data`, among those that are hashed.
DEVICE void put_aad(u32 *hashed, IN_GLOBAL const u8 *aad, place_of_message m, u64 rest, u32 data, u32 wide) {
    const u64 from_end = rest - blocks_of(m);
    ROLLED for (u32 j = 0; j < data; j++) {
        const u64 end = from_end - (j << wide);
        if (end > aad_blocks_of(m)) continue;
        const u64 at = 16 * (aad_blocks_of(m) - end) + 4 * column();
        const u32 bytes = at >= m.aad_length ? 0 : m.aad_length - at < 4 ? (u32)(m.aad_length - at) : 4;
        hashed[32 * j] = read_part(aad + (m.aad_at + at), bytes);
    }
}

// From the planes of blocks with the first round key to their words, except for the last one.
DEVICE void encrypt_planes(u32 *s, cipher_key key) {
    UNROLL for (int row = 0; row < 4; row++) begin_byte(&s[8 * row]);
    rounds(s, key, 1);
    end(s, key);
    transpose_32x32(s);
}

// The thread's word of a message's first counter block, the first byte highest.
DEVICE u32 counter_word(IN_GLOBAL const uint4 *messages, u32 number) {
    const u32 word = ((IN_GLOBAL const u32 *)(messages + (u64)MESSAGE_PIECES * number))[column()];
    return column() == 3 ? word : BYTE_PERMUTE(word, 0, 0x0123);
}

// Planes of j << wide for j < 32: the lowest ten bits.
#define COUNTS 0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0, 0xff00ff00, 0xffff0000
CONSTANT u32 counts[6][10] = {{COUNTS}, {0, COUNTS}, {0, 0, COUNTS}, {0, 0, 0, COUNTS}, {0, 0, 0, 0, COUNTS}, {0, 0, 0, 0, 0, COUNTS}};

// The planes of counter blocks, of which the thread has this word, plus j << wide where it counts; with the first round key. The sum has its carries
// from plane to plane.
DEVICE void planes_of_counters(u32 *s, u32 word, u32 wide, cipher_key key) {
    const u32 is_counted = 0u - (column() == COUNTING_COLUMN);
    u32 carry = 0, k[32];
    get_round_key(k, key, 0);
    UNROLL for (u32 b = 0; b < 32; b++) {
        const u32 plane = 8 * (3 - b / 8) + b % 8, bit = spread_bit(word, b);
        if (b < 10) {
            const u32 count = counts[wide][b] & is_counted;
            s[plane] = LUT3(bit, count, carry, 0x96) ^ k[plane];
            carry = LUT3(bit, count, carry, 0xe8);
        } else {
            s[plane] = LUT3(bit, k[plane], carry, 0x96);
            carry &= bit;
        }
    }
}

// Processes the thread's blocks of a step, and puts what is hashed of them to `hashed`.
DEVICE void process_step(u32 *hashed, IN_GLOBAL u8 *out, IN_GLOBAL const u8 *in, IN_GLOBAL const uint4 *messages, IN_GLOBAL const u8 *aad,
    u32 number, u64 rest, u32 wide, int decrypts, cipher_key key) {
    u32 s[32], w[32];
    const u32 first = 1 + (u32)(blocks_of(place_of(messages, number)) - rest);
    planes_of_counters(s, (number == NO_MESSAGE ? 0 : counter_word(messages, number)) + (column() == COUNTING_COLUMN ? first : 0), wide, key);
    encrypt_planes(s, key);
    READ_AGAIN(number);
    const place_of_message m = place_of(messages, number);
    const u64 blocks = blocks_of(m), at = m.at + 16 * (blocks - rest) + 4 * column();
    const u32 data = first_of_data(rest, blocks, wide), last = data < 32 ? bytes_of_last(rest, m.length, wide) : 0;
    read_blocks(w, in + at, data, last, wide, hashed);
    UNROLL for (u32 j = 0; j < 32; j++) s[j] = LUT3(w[j], s[j], key.last, 0x96);
    write_blocks(out + at, s, data, last, wide, hashed);
    if (decrypts) {
        UNROLL for (u32 j = 0; j < 32; j++) hashed[32 * j] = w[j];
    } else {
        if (last < 4) s[31] &= (1u << 8 * last) - 1;
        UNROLL for (u32 j = 0; j < 32; j++) hashed[32 * j] = j >= data ? s[j] : 0;
    }
    if (m.aad_length != 0) put_aad(hashed, aad, m, rest, data, wide);
}

// The thread's word of its group's part of a message's hash, from the sums of the group's two rows. `weights` are for the second rows of groups,
// for the first ones, and for the lengths.
DEVICE u32 part_of_hash(u32 sum, u32 sum8, place_of_message m, IN_GLOBAL const u32 *weights, u32 wide) {
    const u32 group = group_of_message(wide), groups = 1u << wide;
    const u64 aad = 8 * (u64)m.aad_length, data = 8 * m.length;
    const u32 lengths[4] = {(u32)(aad >> 32), (u32)aad, (u32)(data >> 32), (u32)data};
    element x;
    UNROLL for (int i = 0; i < 4; i++) {
        const u32 first = FROM_COLUMN(sum, i), second = FROM_COLUMN(sum8, i);
        const u32 others = column() == 2 && group == 0 ? BYTE_PERMUTE(lengths[i], 0, 0x0123) : 0;
        x.word[i] = reversed_bytes(column() == 0 ? second : column() == 1 ? first : others);
    }
    x = product(x, element_at(weights, column() == 0 ? group : column() == 1 ? groups + group : 2 * groups));
    UNROLL for (u32 d = 1; d < 4; d <<= 1)
        UNROLL for (int i = 0; i < 4; i++) x.word[i] ^= FROM_LANE(x.word[i], lane() ^ d);
    return column() == 0 ? x.word[0] : column() == 1 ? x.word[1] : column() == 2 ? x.word[2] : x.word[3];
}

// The sum of the parts of all groups of a message; all threads of the warpgroup meet in it.
DEVICE u32 sum_of_groups(u32 part, IN_SHARED u32 (*parts)[4], u32 warpgroup, u32 wide) {
    ROLLED for (u32 d = 4; d < 4u << wide && d < 32; d <<= 1) part ^= FROM_LANE(part, lane() ^ d);
    if (lane() < 4) parts[warp()][column()] = part;
    MEET_WARPGROUP(warpgroup);
    if (wide <= 3) return part;
    const u32 warps = 1u << (wide - 3);
    part = 0;
    ROLLED for (u32 i = 0; i < warps; i++) part ^= parts[(warp() & ~(warps - 1)) + i][column()];
    return part;
}

// The number of the message at a place in the order.
DEVICE u32 message_at(IN_GLOBAL const u32 *order, u64 place, u32 all) { return place < all ? PUBLIC_WORD(&order[place]) : NO_MESSAGE; }

// The most steps that a message takes of those at 32 >> wide places from `first` on; of `units` times as many, `apart` places from each other.
DEVICE u32 most_steps(IN_GLOBAL const uint4 *messages, IN_GLOBAL const u32 *order, u64 first, u32 units, u64 apart, u32 all, u32 wide) {
    u32 most = 0;
    ROLLED for (u32 i = 0; i < units; i++) {
        const u64 place = first + i * apart + (lane() & ((32u >> wide) - 1));
        const place_of_message m = place_of(messages, message_at(order, place, all));
        const u32 steps = (u32)((blocks_of(m) + aad_blocks_of(m) + step_blocks(wide) - 1) / step_blocks(wide));
        most = steps > most ? steps : most;
    }
    UNROLL for (u32 d = 1; d < 32; d <<= 1) {
        const u32 other = FROM_LANE(most, lane() ^ d);
        most = other > most ? other : most;
    }
    return FROM_FIRST_LANE(lane() == 0 ? most : 0);
}

// Whether a tag is wrong in the bytes that count, of which the thread has a word. Whether it is wrong is no secret, because the caller learns it.
DEVICE u32 is_tag_wrong(u32 tag, u32 expected, u32 bytes) {
    const u32 here = bytes <= 4 * column() ? 0 : bytes - 4 * column();
    u32 wrong = (tag ^ expected) & (here >= 4 ? 0xffffffff : (1u << 8 * here) - 1);
    UNROLL for (u32 d = 1; d < 4; d <<= 1) wrong |= FROM_LANE(wrong, lane() ^ d);
    return wrong != 0;
}

// Encrypts messages and writes their tags to `results`; or, where tags are `expected`, decrypts them, writes a word for each, 1 if its tag is
// wrong, else 0, and clears those with 1. What tables and keys need was put into shared memory before a barrier.
DEVICE void process_batch(u8 *memory, IN_GLOBAL u8 *out, IN_GLOBAL const u8 *in, IN_GLOBAL const uint4 *messages, IN_GLOBAL const u32 *order,
    u32 all, u32 wide, IN_GLOBAL const u8 *aad, IN_GLOBAL const u32 *masks, IN_GLOBAL const u32 *expected, IN_GLOBAL const u32 *tables,
    IN_GLOBAL u32 *results, cipher_key key) {
    SHARED u32 parts[THREADS / 32][4];
    const u32 warpgroup = FROM_FIRST_LANE(lane() == 0 ? warp() / 4 : 0), of_group = FROM_FIRST_LANE(lane() == 0 ? warp() % 4 : 0);
    const u32 at_a_time = 32u >> wide;
    ROLLED for (u32 first = blockIdx.x; at_a_time * (u64)OWN_OR_ALL(first + warpgroup * gridDim.x, first) < all; first += WARPGROUPS * gridDim.x) {
        const u64 unit = first + warpgroup * gridDim.x, apart = (u64)at_a_time * gridDim.x;
        const u32 number = message_at(order, at_a_time * unit + (group_of_warpgroup() >> wide), all);
        u32 sum = 0, sum8 = 0;
        ROLLED for (u32 n = most_steps(messages, order, at_a_time * OWN_OR_ALL(unit, (u64)first), OWN_OR_ALL(1, WARPGROUPS), apart, all, wide); n > 0; n--) {
            u32 *const ciphertext = span_of(memory, warpgroup, n), *const mine = ciphertext + 4 * TILE_BLOCKS * of_group;
            const u64 rest = (u64)n * step_blocks(wide) - group_of_message(wide);
            process_step(mine + lane(), out, in, messages, aad, number, rest, wide, expected != 0, key);
            publish();
            MEET_WARPGROUP(warpgroup);
            u32 d[64];
            count_ones(d, sum, sum8, ciphertext, (const u32 *)memory);
            sum = word_of_row(d, 0);
            sum8 = word_of_row(d, 1);
        }
        const place_of_message m = place_of(messages, number);
        const u32 part = part_of_hash(sum, sum8, m, tables + MATRIX_BYTES / 4, wide);
        u32 tag = reversed_bytes(sum_of_groups(part, parts, warpgroup, wide));
        const u32 thread = 4 * group_of_message(wide) + column(), is_there = number != NO_MESSAGE;
        const u64 word = 4 * (u64)number + column();
        AWAIT_LAST(); // the launch that computes masks
        if (is_there) tag ^= masks[word];
        if (!expected) {
            if (is_there && thread < 4) results[word] = tag;
        } else {
            const u32 is_wrong = is_tag_wrong(tag, is_there ? expected[word] : tag, is_there ? tag_bytes(messages, number) : 0);
            if (is_there && thread == 0) results[number] = is_wrong;
            if (is_wrong) ROLLED for (u64 i = thread; i < m.length; i += 4u << wide) out[m.at + i] = 0;
        }
    }
}

// masks[n] is the encrypted first counter block of message n, of `all`.
KERNEL @NAME@_batch_masks(IN_GLOBAL const uint4 *messages, u32 all, IN_GLOBAL u32 *masks@KEY_PARAMETER@) {
    LET_NEXT_BEGIN();
@KEY_LOAD@    ROLLED for (u64 tile = blockIdx.x + gridDim.x * (u64)FROM_FIRST_LANE(lane() == 0 ? warp() : 0); TILE_BLOCKS * tile < all; tile += gridDim.x * WARPS) {
        u32 s[32], first[8];
        const u64 own = TILE_BLOCKS * tile + lane() / 4;
        UNROLL for (u32 j = 0; j < 32; j++) s[j] = BYTE_PERMUTE(counter_word(messages, own + 8 * j < all ? (u32)own + 8 * j : all - 1), 0, 0x0123);
        UNROLL for (int h = 0; h < 2; h++) get_piece(&first[4 * h], key.first[h][column()]);
        planes_of_words(s, first);
        encrypt_planes(s, key);
        UNROLL for (u32 j = 0; j < 32; j++)
            if (own + 8 * j < all) masks[4 * (own + 8 * j) + column()] = s[j] ^ key.last;
    }
}

// The messages with the numbers in `order`, of which there are `all`; NO_MESSAGE stands for none. out[n] = in[n] ^ key stream, for the bytes of
// messages and no others; `out` may equal `in`. The tag of message n goes to tags[n].
KERNEL @NAME@_batch_encrypt(DATA(u8), IN_GLOBAL const uint4 *messages, IN_GLOBAL const u32 *order, u32 all, u32 wide, IN_GLOBAL const u8 *aad,
    IN_GLOBAL const u32 *masks@KEY_PARAMETER@, IN_GLOBAL const u32 *tables, IN_GLOBAL u32 *tags) {
    DYNAMIC_SHARED(shared);
    EACH_THREAD(i, MATRIX_BYTES / 16) shared[i] = ((IN_GLOBAL const uint4 *)tables)[i];
    publish();
@KEY_LOAD@    process_batch((u8 *)shared, out, in, messages, order, all, wide, aad, masks, 0, tables, tags, key);
}

// Likewise for messages that should have the tags in `expected`. verdicts[n] is 0 if message n is authentic, else 1, and its output is cleared.
KERNEL @NAME@_batch_decrypt(DATA(u8), IN_GLOBAL const uint4 *messages, IN_GLOBAL const u32 *order, u32 all, u32 wide, IN_GLOBAL const u8 *aad,
    IN_GLOBAL const u32 *masks, IN_GLOBAL const u32 *expected@KEY_PARAMETER@, IN_GLOBAL const u32 *tables, IN_GLOBAL u32 *verdicts) {
    DYNAMIC_SHARED(shared);
    EACH_THREAD(i, MATRIX_BYTES / 16) shared[i] = ((IN_GLOBAL const uint4 *)tables)[i];
    publish();
@KEY_LOAD@    process_batch((u8 *)shared, out, in, messages, order, all, wide, aad, masks, expected, tables, verdicts, key);
}
