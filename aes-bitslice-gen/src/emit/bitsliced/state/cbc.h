// The ciphertext of a thread block, preceded by the block before it.
typedef struct { uint4 block[1 + BLOCKS_PER_WARP * (THREADS / 32)]; } ciphertext_blocks;

// The place of the thread's block j; the block before it is one place lower.
DEVICE u32 place(int j) { return 1 + BLOCKS_PER_WARP * (threadIdx.x / 32) + lane() + 32 * j; }

DEVICE void keep_block_before(IN_SHARED ciphertext_blocks *kept, const block128 *iv, IN_GLOBAL const u8 *previous,
                              u64 stride) {
    if (threadIdx.x < 4)
        ((IN_SHARED u32 *)&kept->block[0])[threadIdx.x] = word_before_share(iv, previous, stride, blockIdx.x, threadIdx.x);
}

KERNEL @NAME@(DATA(uint4), u64 blocks, POINTER(u8, previous), u64 stride, KERNEL_PARAMETER block128 iv@KEY_PARAMETER@) {
    LOCATE_DATA(uint4);
    LOCATE_POINTER(u8, previous);
    SHARED ciphertext_blocks kept;
@KEY_LOAD@    const u64 first = warp_first_block() + lane();
    const int count = blocks_of_thread(first, blocks);
    u32 s[128];
    keep_block_before(&kept, &iv, previous, stride);
    ROLLED for (int j = 0; j < count; j++) kept.block[place(j)] = in[first + 32 * j];
    BARRIER();
@LEAVE@    UNROLL for (int j = 0; j < 32; j++) put_block(s, j, kept.block[place(j < count ? j : 0)]);
    transpose_state(s);
    cipher(s@KEY@);
    transpose_state(s);
    UNROLL for (int j = 0; j < 32; j++) {
        if (j >= count) continue;
        add_block(s, j, kept.block[place(j) - 1]);
        out[first + 32 * j] = get_block(s, j);
    }
}

// The same where `in` or `out` is not aligned to 16 bytes: byte by byte, slower.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks, POINTER(u8, previous), u64 stride, KERNEL_PARAMETER block128 iv@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
    LOCATE_POINTER(u8, previous);
    SHARED ciphertext_blocks kept;
@KEY_LOAD@    const u64 first = warp_first_block() + lane();
    const int count = blocks_of_thread(first, blocks);
    u32 s[128];
    keep_block_before(&kept, &iv, previous, stride);
    ROLLED for (int j = 0; j < count; j++) {
        IN_SHARED u8 *const to = (IN_SHARED u8 *)&kept.block[place(j)];
        ROLLED for (int i = 0; i < 16; i++) to[i] = in[16 * (first + 32 * j) + i];
    }
    BARRIER();
@LEAVE@    UNROLL for (int j = 0; j < 32; j++) put_block(s, j, kept.block[place(j < count ? j : 0)]);
    transpose_state(s);
    cipher(s@KEY@);
    transpose_state(s);
    UNROLL for (int j = 0; j < 32; j++) {
        if (j >= count) continue;
        add_block(s, j, kept.block[place(j) - 1]);
        const uint4 block = get_block(s, j);
        ROLLED for (int i = 0; i < 16; i++) {
            const u32 word = i < 4 ? block.x : i < 8 ? block.y : i < 12 ? block.z : block.w;
            out[16 * (first + 32 * j) + i] = (u8)(word >> 8 * (i % 4));
        }
    }
}
