DEVICE void cbc(IN_SHARED uint4 *tile, IN_SHARED uint4 *before@CIPHER_KEY@) {
    u32 s[128];
    BARRIER();
    UNROLL for (int j = 0; j < 32; j++) put_block(s, j, tile[own(j)]);
    transpose_state(s);
    cipher(s@KEY@);
    transpose_state(s);
    UNROLL for (int j = 0; j < 32; j++) {
        const u32 n = 32 * threadIdx.x + j;
        add_block(s, j, n == 0 ? *before : tile[place(n - 1)]);
    }
    BARRIER(); // Each thread's last block has been XORed into the next thread's first.
    UNROLL for (int j = 0; j < 32; j++) tile[own(j)] = get_block(s, j);
    BARRIER();
}

KERNEL @NAME@(DATA(uint4), u64 blocks, POINTER(u8, previous), u64 stride, KERNEL_PARAMETER block128 iv@KEY_PARAMETER@) {
    LOCATE_DATA(uint4);
    LOCATE_POINTER(u8, previous);
    SHARED uint4 tile[BLOCKS];
    SHARED uint4 before;
@KEY_LOAD@    load_blocks(tile, in, blocks);
    if (threadIdx.x < 4) ((IN_SHARED u32 *)&before)[threadIdx.x] = word_before_share(&iv, previous, stride, blockIdx.x, threadIdx.x);
    cbc(tile, &before@KEY@);
    store_blocks(tile, out, blocks);
}

// The same where `in` or `out` is not aligned to 16 bytes.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks, POINTER(u8, previous), u64 stride, KERNEL_PARAMETER block128 iv@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
    LOCATE_POINTER(u8, previous);
    SHARED uint4 tile[BLOCKS];
    SHARED uint4 before;
@KEY_LOAD@    load_bytes(tile, in, 0, 16 * blocks);
    if (threadIdx.x < 4) ((IN_SHARED u32 *)&before)[threadIdx.x] = word_before_share(&iv, previous, stride, blockIdx.x, threadIdx.x);
    cbc(tile, &before@KEY@);
    store_bytes(tile, out, 0, 16 * blocks);
}
