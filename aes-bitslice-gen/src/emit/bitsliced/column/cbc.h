// The ciphertext of a tile as words, behind the block before it.
#define CIPHERTEXT_WORDS (4 * (1 + TILE_BLOCKS))

// Deciphers a tile. Its barrier parts the writing of the tile's words from their use; `end_tile` parts that from the next
// tile's writing.
DEVICE void decipher_tile(u32 *s, IN_SHARED u32 *ciphertext, u32 before, cipher_key key) {
    IN_SHARED u32 *const mine = ciphertext + 4 * BLOCKS_PER_WARP * warp() + lane();
    if (threadIdx.x < 4) ciphertext[threadIdx.x] = before;
    UNROLL for (int j = 0; j < 32; j++) mine[4 + 32 * j] = s[j];
    BARRIER();
    cipher_of_words(s, key);
    UNROLL for (int j = 0; j < 32; j++) s[j] ^= mine[32 * j];
}

// The word that the next tile finds before it, for the first four threads; then the ciphertext may be overwritten.
DEVICE u32 end_tile(IN_SHARED const u32 *ciphertext) {
    const u32 last = ciphertext[4 * TILE_BLOCKS + threadIdx.x % 4];
    BARRIER();
    return last;
}

KERNEL @NAME@(DATA(uint4), u64 blocks, POINTER(u8, previous), u64 stride, KERNEL_PARAMETER block128 iv@KEY_PARAMETER@) {
    LOCATE_DATA(uint4);
    LOCATE_POINTER(u8, previous);
    SHARED u32 ciphertext[CIPHERTEXT_WORDS];
@KEY_LOAD@    const share mine = share_of(blocks);
    if (mine.from >= mine.to) return;
    u32 before = word_before_share(&iv, previous, stride, threadIdx.x % 4);
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        const u64 first = TILE_BLOCKS * tile + BLOCKS_PER_WARP * warp();
        IN_GLOBAL const u32 *from = (IN_GLOBAL const u32 *)in + 4 * first + lane();
        IN_GLOBAL u32 *to = (IN_GLOBAL u32 *)out + 4 * first + lane();
        const present p = blocks_present(first, blocks);
        u32 s[32];
        if (is_whole(p)) {
            UNROLL for (int j = 0; j < 32; j++) s[j] = from[32 * j];
        } else {
            UNROLL for (int j = 0; j < 32; j++) s[j] = has(p, j) ? from[32 * j] : 0;
        }
        decipher_tile(s, ciphertext, before, key);
        if (is_whole(p)) {
            UNROLL for (int j = 0; j < 32; j++) to[32 * j] = s[j];
        } else {
            UNROLL for (int j = 0; j < 32; j++) if (has(p, j)) to[32 * j] = s[j];
        }
        before = end_tile(ciphertext);
    }
}

// The same where `in` or `out` is not aligned to 16 bytes: byte by byte, slower.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks, POINTER(u8, previous), u64 stride, KERNEL_PARAMETER block128 iv@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
    LOCATE_POINTER(u8, previous);
    SHARED u32 ciphertext[CIPHERTEXT_WORDS];
@KEY_LOAD@    const share mine = share_of(blocks);
    if (mine.from >= mine.to) return;
    u32 before = word_before_share(&iv, previous, stride, threadIdx.x % 4);
    ROLLED for (u64 tile = mine.from; tile < mine.to; tile++) {
        const u64 first = TILE_BLOCKS * tile + BLOCKS_PER_WARP * warp();
        IN_GLOBAL const u8 *from = in + 16 * first + 4 * lane();
        IN_GLOBAL u8 *to = out + 16 * first + 4 * lane();
        const present p = blocks_present(first, blocks);
        u32 s[32];
        UNROLL for (int j = 0; j < 32; j++) {
            s[j] = 0;
            if (has(p, j)) UNROLL for (int i = 0; i < 4; i++) s[j] |= (u32)from[128 * j + i] << 8 * i;
        }
        decipher_tile(s, ciphertext, before, key);
        UNROLL for (int j = 0; j < 32; j++)
            if (has(p, j)) UNROLL for (int i = 0; i < 4; i++) to[128 * j + i] = (u8)(s[j] >> 8 * i);
        before = end_tile(ciphertext);
    }
}
