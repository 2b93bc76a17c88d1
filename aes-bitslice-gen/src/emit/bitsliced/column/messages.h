// ---------------------------------------------------------------------------------------------------------------
// Counter mode of many messages under one key (SP 800-38D, GCTR): each has its own first counter block, whose last four bytes count, and
// wrap. The encrypted first counter is the mask of the message's tag; the next ones are XORed with its data.
//
// A run is 32 neighbouring counters of a message, and a tile is eight runs, of one or several messages. Run n has counters 32 (n - first)
// to 32 (n - first) + 31 of the last message whose first run, `first`, is not after run n. Columns of a block aside, a thread's block j is
// counter lane / 4 + 8 (j % 4) of the tile's run j / 4.
// ---------------------------------------------------------------------------------------------------------------

// A message, as the launch has it in memory: twelve words.
//   0 to 3    the first counter block: three words as its bytes are in memory, then the counter as a number; secret where the nonce does
//             not have 12 bytes, because it is then a hash under the hash key
//   4 and 5   its first byte in the data
//   6 and 7   its number of bytes
//   10        its first run; one more entry follows the last message, in which this is the number of all runs
#define MESSAGE_PIECES 3

// A run, as four threads have it, each with a word of its counter block.
typedef struct {
    u32 word;    // of the thread's column
    u32 message; // its number
    u32 low, high; // where the data for counter 0 of the run begins; before the message where that is the mask's counter
    u32 bytes;   // of the run, 512 at most: the bytes from `from` on, up to but not including `to`, as from | to << 16
} run_of_message;

DEVICE u32 first_run(IN_GLOBAL const uint4 *messages, u32 n) {
    return PUBLIC_WORD((IN_GLOBAL const u32 *)(messages + (u64)MESSAGE_PIECES * n) + 10);
}

// Run n of `all`.
DEVICE run_of_message run_at(IN_GLOBAL const uint4 *messages, IN_GLOBAL const u32 *first_messages, u32 n, u32 all) {
    run_of_message run = {0, 0, 0, 0, 0};
    if (n >= all) return run;
    run.message = PUBLIC_WORD(&first_messages[n / 8]);
    ROLLED while (first_run(messages, run.message + 1) <= n) run.message++;
    IN_GLOBAL const uint4 *const message = messages + (u64)MESSAGE_PIECES * run.message;
    const u32 counter = 32 * (n - first_run(messages, run.message));
    run.word = ((IN_GLOBAL const u32 *)message)[column()] + (column() == 3 ? counter : 0);
    const uint4 place = PUBLIC_PIECE(message + 1);
    const u64 at = ((u64)place.y << 32 | place.x) + 16 * (u64)counter - 16;
    const u64 rest = ((u64)place.w << 32 | place.z) + 16 - 16 * (u64)counter;
    run.low = (u32)at;
    run.high = (u32)(at >> 32);
    run.bytes = (counter == 0 ? 16 : 0) | (u32)(rest < 512 ? rest : 512) << 16;
    return run;
}

// Run k of the tile, which threads 4 k to 4 k + 3 of the warp have.
DEVICE run_of_message run_of_tile(run_of_message mine, u32 k) {
    run_of_message run;
    run.word = FROM_LANE(mine.word, 4 * k + column());
    run.message = FROM_LANE(mine.message, 4 * k);
    run.low = FROM_LANE(mine.low, 4 * k);
    run.high = FROM_LANE(mine.high, 4 * k);
    run.bytes = FROM_LANE(mine.bytes, 4 * k);
    return run;
}

// The words of a run's counter blocks, as the thread's blocks 4 k to 4 k + 3.
DEVICE void counters_of_run(u32 *w, run_of_message run) {
    UNROLL for (u32 i = 0; i < 4; i++)
        w[i] = column() == 3 ? BYTE_PERMUTE(run.word + lane() / 4 + 8 * i, 0, 0x0123) : run.word;
}

// The byte offset of the thread's first word in a run; the next ones follow every 128 bytes.
DEVICE u32 word_in_run(void) { return 16 * (lane() / 4) + 4 * column(); }

DEVICE u64 place_of_run(run_of_message run) { return ((u64)run.high << 32 | run.low) + word_in_run(); }

// Whether all of a run is data, at a multiple of four bytes.
DEVICE int is_plain(run_of_message run, u64 address) { return run.bytes == 512 << 16 && (address & 3) == 0; }

DEVICE int has_byte(run_of_message run, u32 byte) { return byte >= (run.bytes & 0xffff) && byte < run.bytes >> 16; }

// Whether a word of the run is complete and at a multiple of four bytes.
DEVICE int has_word(run_of_message run, u64 address, u32 byte) {
    return (address & 3) == 0 && byte >= (run.bytes & 0xffff) && byte + 4 <= run.bytes >> 16;
}

// The thread's words of a run, 0 for missing bytes.
DEVICE void read_run(u32 *w, IN_GLOBAL const u8 *in, run_of_message run) {
    IN_GLOBAL const u8 *const from = in + place_of_run(run);
    if (is_plain(run, (u64)from)) {
        UNROLL for (u32 i = 0; i < 4; i++) w[i] = *(IN_GLOBAL const u32 *)(from + 128 * i);
    } else {
        UNROLL for (u32 i = 0; i < 4; i++) {
            const u32 byte = word_in_run() + 128 * i;
            w[i] = 0;
            if (has_word(run, (u64)from, byte)) w[i] = *(IN_GLOBAL const u32 *)(from + 128 * i);
            else UNROLL for (u32 b = 0; b < 4; b++)
                if (has_byte(run, byte + b)) w[i] |= (u32)from[128 * i + b] << 8 * b;
        }
    }
}

DEVICE void write_run(IN_GLOBAL u8 *out, const u32 *w, run_of_message run) {
    IN_GLOBAL u8 *const to = out + place_of_run(run);
    if (is_plain(run, (u64)to)) {
        UNROLL for (u32 i = 0; i < 4; i++) *(IN_GLOBAL u32 *)(to + 128 * i) = w[i];
    } else {
        UNROLL for (u32 i = 0; i < 4; i++) {
            const u32 byte = word_in_run() + 128 * i;
            if (has_word(run, (u64)to, byte)) *(IN_GLOBAL u32 *)(to + 128 * i) = w[i];
            else UNROLL for (u32 b = 0; b < 4; b++)
                if (has_byte(run, byte + b)) to[128 * i + b] = (u8)(w[i] >> 8 * b);
        }
    }
}

// XORs the key stream of a tile's runs with data; `own` is the thread's run. Masks of messages go to `masks`.
DEVICE void process_runs(IN_GLOBAL u8 *out, IN_GLOBAL const u8 *in, run_of_message own, IN_GLOBAL u32 *masks, cipher_key key) {
    u32 s[32], w[32], first[8];
    UNROLL for (u32 k = 0; k < 8; k++) counters_of_run(&s[4 * k], run_of_tile(own, k));
    UNROLL for (int h = 0; h < 2; h++) get_piece(&first[4 * h], key.first[h][column()]);
    planes_of_words(s, first);
    UNROLL for (int row = 0; row < 4; row++) begin_byte(&s[8 * row]);
    rounds(s, key, 1);
    UNROLL for (u32 k = 0; k < 8; k++) read_run(&w[4 * k], in, run_of_tile(own, k));
    end(s, key);
    words_of_planes(s, key.last);
    UNROLL for (u32 k = 0; k < 8; k++) {
        const run_of_message run = run_of_tile(own, k);
        if ((run.bytes & 0xffff) != 0 && lane() < 4) masks[4 * run.message + column()] = s[4 * k];
        UNROLL for (u32 i = 0; i < 4; i++) w[4 * k + i] ^= s[4 * k + i];
        write_run(out, &w[4 * k], run);
    }
}

// Processes `all` runs; first_messages[n] is the message of tile n's first run. out[n] = in[n] ^ key stream, for the bytes of messages and
// no others; `out` may equal `in`. masks[n] is the mask of message n.
KERNEL @NAME@_messages(DATA(u8), IN_GLOBAL const uint4 *messages, IN_GLOBAL const u32 *first_messages, u32 all,
                       IN_GLOBAL u32 *masks@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
    SHARED u32 next;
    const tiles mine = share_of_block(32 * (u64)all);
    if (threadIdx.x == 0) next = mine.from + WARPS;
@KEY_LOAD@    ROLLED for (u32 tile = first_tile(mine.from); goes_on(tile, mine.to); tile = tile_after(tile, &next))
        process_runs(out, in, run_at(messages, first_messages, 8 * tile + lane() / 4, all), masks, key);
}
