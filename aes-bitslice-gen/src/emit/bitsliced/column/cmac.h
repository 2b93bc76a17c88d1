// ---------------------------------------------------------------------------------------------------------------
// CMAC of many messages under one key (SP 800-38B).
//
// The blocks of a message are chained, so messages go side by side: a tile has as many messages as other tiles have blocks, and each step
// takes one block of each. A thread's block j belongs to message lane / 4 + 8 j of the tile. Messages are ordered, those with the most
// blocks first, and all messages of a tile end with the same step: one with fewer blocks begins later, and its state is zero until then.
//
// The state stays in planes, without the last round key, which is added to the next block together with the first one. Branches depend on
// lengths and places of messages; nothing depends on their bytes.
// ---------------------------------------------------------------------------------------------------------------

// A message, as the launch has it in memory: four words. Copies of the last message follow it, up to a whole tile.
//   0 and 1   where its last block begins, in the data
//   2         its number of blocks; an empty message has one
//   3         the bytes of its last block, 0 to 16
//
// Where `stride` is not 0, each whole tile lies `stride` bytes after the one before it and is like it otherwise: the first stands for all of
// them, and the one that is not whole follows it.

DEVICE u32 blocks_of(IN_GLOBAL const uint4 *message) { return PUBLIC_WORD((IN_GLOBAL const u32 *)message + 2); }

// Whether all words of the thread's messages, `own` and every eighth after it, are at multiples of four bytes.
DEVICE int lie_in_words(IN_GLOBAL const u8 *in, IN_GLOBAL const uint4 *own) {
    u32 odd = 0;
    UNROLL for (int j = 0; j < 32; j++) odd |= (u32)(u64)in + PUBLIC_WORD((IN_GLOBAL const u32 *)&own[8 * j]);
    return (odd & 3) == 0;
}

// The thread's words of blocks that are whole, not the last, and so aligned; `left` - 1 more blocks follow each.
DEVICE void read_whole(u32 *w, IN_GLOBAL const u8 *in, IN_GLOBAL const uint4 *own, u32 left) {
    IN_GLOBAL const u8 *const from = in + 4 * column() - 16 * (u64)(left - 1);
    UNROLL for (int j = 0; j < 32; j++) {
        const uint4 message = PUBLIC_PIECE(&own[8 * j]);
        w[j] = *(IN_GLOBAL const u32 *)(from + ((u64)message.y << 32 | message.x));
    }
}

// The same for any blocks, 0 for messages that have fewer than `left`. A last block comes padded, and XORed with its subkey: the first if
// it is whole, else the second (section 6.2).
DEVICE void read_any(u32 *w, IN_GLOBAL const u8 *in, IN_GLOBAL const uint4 *own, u32 left, IN_GLOBAL const u32 *subkeys) {
    const u32 if_whole = left == 1 ? subkeys[column()] : 0, if_padded = left == 1 ? subkeys[4 + column()] : 0;
    UNROLL for (int j = 0; j < 32; j++) {
        const uint4 message = PUBLIC_PIECE(&own[8 * j]);
        IN_GLOBAL const u8 *const from =
            in + (((u64)message.y << 32 | message.x) + 4 * column() - 16 * (u64)(left - 1));
        const u32 bytes = left > message.z ? 0 : left > 1 ? 16 : message.w;
        w[j] = 0;
        if (((u64)from & 3) == 0 && 4 * column() + 4 <= bytes) w[j] = *(IN_GLOBAL const u32 *)from;
        else UNROLL for (u32 b = 0; b < 4; b++)
            if (4 * column() + b < bytes) w[j] |= (u32)from[b] << 8 * b;
        if (left == 1 && bytes < 16 && bytes / 4 == column()) w[j] |= 0x80u << 8 * (bytes % 4);
        w[j] ^= bytes < 16 ? if_padded : if_whole;
    }
}

// The thread's messages with more than `left` blocks, by bit.
DEVICE u32 have_begun(IN_GLOBAL const uint4 *own, u32 left) {
    u32 begun = 0;
    UNROLL for (int j = 0; j < 32; j++) begun |= (u32)(blocks_of(&own[8 * j]) > left) << j;
    return begun;
}

// tags[n] is the tag of message n of `all`, 16 bytes; `subkeys` are K1 and K2 (section 6.1).
KERNEL @NAME@_cmac(INPUT(u8), IN_GLOBAL const uint4 *messages, u64 stride, u32 all, IN_GLOBAL const u32 *subkeys,
                   IN_GLOBAL u32 *tags@KEY_PARAMETER@) {
    LOCATE_INPUT(u8);
    SHARED u32 next;
    if (threadIdx.x == 0) next = WARPS;
@KEY_LOAD@    // A thread block has every gridDim.x-th tile, so that all get both long and short messages.
    const u32 tiles = tiles_of(all), mine = blockIdx.x < tiles ? (tiles - blockIdx.x - 1) / gridDim.x + 1 : 0;
    ROLLED for (u32 n = first_tile(0); goes_on(n, mine); n = tile_after(n, &next)) {
        const u32 tile = blockIdx.x + gridDim.x * n, number = TILE_BLOCKS * tile + lane() / 4;
        const u32 is_whole = tile < all / TILE_BLOCKS, listed = stride == 0 ? tile : !is_whole;
        IN_GLOBAL const u8 *const from = in + (is_whole ? stride * tile : 0);
        IN_GLOBAL const uint4 *const first = messages + (u64)TILE_BLOCKS * listed, *const own = first + lane() / 4;
        const u32 steps = blocks_of(first), fewest = blocks_of(first + (TILE_BLOCKS - 1));
        const int in_words = lie_in_words(from, own);
        u32 s[32], w[32];
        get_round_key(s, key, key.rounds); // zero, plus the last round key
        ROLLED for (u32 left = steps;; left--) {
            // Words arrive while the last SubBytes of the previous blocks runs.
            if (left > 1 && left <= fewest && in_words) read_whole(w, from, own, left);
            else if (left > 0) read_any(w, from, own, left, subkeys);
            if (left < steps) end(s, key);
            if (left == 0) break;
            if (left < steps && left >= fewest) {
                u32 k[32];
                const u32 begun = have_begun(own, left);
                get_round_key(k, key, key.rounds);
                UNROLL for (int i = 0; i < 32; i++) s[i] = LUT3(begun, s[i], k[i], 0xca); // begun ? s : k
            }
            u32 add[8];
            halves_of_bytes(add, keys.word[0][column()] ^ key.last);
            planes_of_words(w, add);
            UNROLL for (int i = 0; i < 32; i++) s[i] ^= w[i];
            begin(s, key);
            rounds(s, key, 1);
        }
        words_of_planes(s, key.last);
        UNROLL for (u32 j = 0; j < 32; j++)
            if (number + 8 * j < all) tags[4 * (u64)(number + 8 * j) + column()] = s[j];
    }
}
