// ---------------------------------------------------------------------------------------------------------------
// Jobs: each has a key, a range of the data and, where the cipher takes counters, a first counter (SP 800-38A, section 6.5), a 128-bit
// number that wraps.
//
// A run is 32 << wide neighbouring blocks of a job, and a tile is 8 >> wide runs. Four neighbouring threads, group lane / 4 of a tile, have
// 32 blocks of one run, so that a round key is the same for all of a thread's blocks: one word for its column, each bit of which becomes a
// plane. Run n has the blocks of job runs[n] from (n - first) << (5 + wide) on, where `first` is the job's first run. Block j of a group is
// j << wide blocks after the group's first, and the groups of a run are one block apart.
// ---------------------------------------------------------------------------------------------------------------

// A job, as the launch has it in memory: eight words.
//   0 and 1   its first byte in the data
//   2 and 3   its number of bytes
//   4         its first run
// Where `stride` is not 0, only the first job is there; all have as many bytes, and each begins `stride` bytes after the one before it.
#define JOB_PIECES 2

// A thread's part of a job.
typedef struct {
    u32 job;        // its number
    u64 block;      // the number in the job of the thread's block 0
    u64 at;         // the thread's first byte of that block, in the data
    u32 bytes;      // of the job from there on, as far as the thread's blocks reach
    u32 apart;      // from one block of the thread to the next, in bytes
} part_of_job;

DEVICE part_of_job part_of_run(IN_GLOBAL const uint4 *jobs, IN_GLOBAL const u32 *runs, u64 stride, u32 tile, u32 all, u32 wide) {
    const u32 n = (8 * tile + lane() / 4) >> wide;
    part_of_job part = {0, 0, 0, 0, 16u << wide};
    if (n >= all) return part;
    if (stride == 0) part.job = PUBLIC_WORD(&runs[n]);
    IN_GLOBAL const uint4 *const job = jobs + (u64)JOB_PIECES * part.job;
    const uint4 place = PUBLIC_PIECE(job);
    const u64 bytes = (u64)place.w << 32 | place.z;
    u32 first = PUBLIC_WORD((IN_GLOBAL const u32 *)job + 4);
    if (stride != 0) {
        const u32 each = (u32)((bytes + (512u << wide) - 1) >> (9 + wide));
        part.job = n / each;
        first = part.job * each;
    }
    part.block = ((u64)(n - first) << (5 + wide)) + (lane() / 4 & ((1u << wide) - 1));
    const u64 from = 16 * part.block + 4 * column();
    part.at = ((u64)place.y << 32 | place.x) + stride * part.job + from;
    const u64 rest = from < bytes ? bytes - from : 0;
    part.bytes = rest < 32 * part.apart ? (u32)rest : 32 * part.apart;
    return part;
}

// `counters` are the first counter blocks of jobs.
DEVICE void counters_of_part(u32 *w, IN_GLOBAL const uint4 *counters, part_of_job part, u32 wide) {
    u32 block[4];
    get_piece(block, PUBLIC_PIECE(counters + part.job));
    counter128 counter;
    UNROLL for (int i = 0; i < 4; i++) counter.word[i] = BYTE_PERMUTE(block[3 - i], 0, 0x0123);
    const own_counter own = own_counter_of(counter_plus(counter, part.block));
    UNROLL for (u32 j = 0; j < 32; j++) w[j] = counter_word(own, j << wide);
}

// Whether all of the thread's words exist, at multiples of four bytes.
DEVICE int is_plain(part_of_job part, u64 address) { return (address & 3) == 0 && part.bytes >= 31 * part.apart + 4; }

// The thread's words of a part, 0 for missing bytes.
DEVICE void read_part(u32 *w, IN_GLOBAL const u8 *in, part_of_job part) {
    IN_GLOBAL const u8 *const from = in + part.at;
    if (is_plain(part, (u64)from)) {
        UNROLL for (u32 j = 0; j < 32; j++) w[j] = *(IN_GLOBAL const u32 *)(from + part.apart * j);
    } else {
        UNROLL for (u32 j = 0; j < 32; j++) {
            const u32 byte = part.apart * j;
            w[j] = 0;
            if (((u64)from & 3) == 0 && byte + 4 <= part.bytes) w[j] = *(IN_GLOBAL const u32 *)(from + byte);
            else UNROLL for (u32 b = 0; b < 4; b++)
                if (byte + b < part.bytes) w[j] |= (u32)from[byte + b] << 8 * b;
        }
    }
}

DEVICE void write_part(IN_GLOBAL u8 *out, const u32 *w, part_of_job part) {
    IN_GLOBAL u8 *const to = out + part.at;
    if (is_plain(part, (u64)to)) {
        UNROLL for (u32 j = 0; j < 32; j++) *(IN_GLOBAL u32 *)(to + part.apart * j) = w[j];
    } else {
        UNROLL for (u32 j = 0; j < 32; j++) {
            const u32 byte = part.apart * j;
            if (((u64)to & 3) == 0 && byte + 4 <= part.bytes) *(IN_GLOBAL u32 *)(to + byte) = w[j];
            else UNROLL for (u32 b = 0; b < 4; b++)
                if (byte + b < part.bytes) to[byte + b] = (u8)(w[j] >> 8 * b);
        }
    }
}

// The planes of a column's word of a round key: each is minus a bit, from a dot product of bytes.
DEVICE void planes_of_key_word(u32 *k, u32 word) {
    UNROLL for (int b = 0; b < 8; b++) {
        const u32 bits = word >> b & 0x01010101;
        UNROLL for (int row = 0; row < 4; row++) k[8 * row + b] = SIGNED_DOT_PRODUCT(bits, 0xffu << 8 * row, 0);
    }
}

// The cipher, from words to words; `round_keys` are the words of the thread's column, four words apart.
DEVICE void cipher_of_job(u32 *s, IN_GLOBAL const u32 *round_keys, u32 rounds) {
    const cipher_key none = {0};
    u32 first[8], word = round_keys[4];
    halves_of_bytes(first, round_keys[0]);
    planes_of_words(s, first);
    begin(s, none);
    ROLLED for (u32 round = 1;; round++) {
        u32 k[32];
        planes_of_key_word(k, word);
        // The next word is in flight while the round runs.
        word = round_keys[4 * (round + 1)];
        mix_columns_of_job(s, k, none);
        if (round == rounds - 1) break;
        sub_bytes(s);
    }
    end(s, none);
    words_of_planes(s, word);
}

// Processes `all` runs of jobs whose round keys are `round_keys`. The cipher's input is `in` or, if `counts`, counters. Its output, XORed
// with `in` if `adds`, is `out`, for the bytes of jobs and no others. `in` may equal `out`.
KERNEL @NAME@_jobs(DATA(u8), IN_GLOBAL const uint4 *jobs, IN_GLOBAL const u32 *runs, u64 stride, u32 all, u32 wide, IN_GLOBAL const uint4 *counters, IN_GLOBAL const u32 *round_keys, u32 key_words, u32 counts, u32 adds) {
    LOCATE_DATA(u8);
    SHARED u32 next;
    const tiles mine = share_of_block((u64)all << (5 + wide));
    if (threadIdx.x == 0) next = mine.from + WARPS;
    BARRIER();
    const u32 rounds = key_words + 6;
    ROLLED for (u32 tile = first_tile(mine.from); goes_on(tile, mine.to); tile = tile_after(tile, &next)) {
        const part_of_job part = part_of_run(jobs, runs, stride, tile, all, wide);
        u32 s[32];
        if (counts) counters_of_part(s, counters, part, wide);
        else read_part(s, in, part);
        cipher_of_job(s, round_keys + (4 * (u64)(rounds + 1) * part.job + column()), rounds);
        if (adds) {
            u32 w[32];
            read_part(w, in, part);
            UNROLL for (int j = 0; j < 32; j++) s[j] ^= w[j];
        }
        write_part(out, s, part);
    }
}
