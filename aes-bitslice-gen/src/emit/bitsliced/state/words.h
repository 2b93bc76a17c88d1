// The words of 32 blocks: word i of block j is s[32 i + j].

DEVICE void put_block(u32 *s, int j, uint4 block) {
    s[j] = block.x;
    s[32 + j] = block.y;
    s[64 + j] = block.z;
    s[96 + j] = block.w;
}

DEVICE uint4 get_block(const u32 *s, int j) {
    uint4 block;
    block.x = s[j];
    block.y = s[32 + j];
    block.z = s[64 + j];
    block.w = s[96 + j];
    return block;
}

DEVICE void add_block(u32 *s, int j, uint4 block) {
    s[j] ^= block.x;
    s[32 + j] ^= block.y;
    s[64 + j] ^= block.z;
    s[96 + j] ^= block.w;
}

DEVICE void transpose_state(u32 *s) {
    UNROLL for (int i = 0; i < 4; i++) transpose_32x32(&s[32 * i]);
}
