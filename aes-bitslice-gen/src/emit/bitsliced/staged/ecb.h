// ---------------------------------------------------------------------------------------------------------------
// Electronic codebook (SP 800-38A, section 6.1): out[n] = cipher(in[n]) for n < blocks. `in` may equal `out`.
// ---------------------------------------------------------------------------------------------------------------

DEVICE void ecb(IN_SHARED uint4 *tile@CIPHER_KEY@) {
    u32 s[128];
    BARRIER();
    UNROLL for (int j = 0; j < 32; j++) put_block(s, j, tile[own(j)]);
    transpose_state(s);
    cipher(s@KEY@);
    transpose_state(s);
    UNROLL for (int j = 0; j < 32; j++) tile[own(j)] = get_block(s, j);
    BARRIER();
}

KERNEL @NAME@(DATA(uint4), u64 blocks@KEY_PARAMETER@) {
    LOCATE_DATA(uint4);
    SHARED uint4 tile[BLOCKS];
@KEY_LOAD@    load_blocks(tile, in, blocks);
    ecb(tile@KEY@);
    store_blocks(tile, out, blocks);
}

// The same where `in` or `out` is not aligned to 16 bytes.
KERNEL @NAME@_bytes(DATA(u8), u64 blocks@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
    SHARED uint4 tile[BLOCKS];
@KEY_LOAD@    load_bytes(tile, in, 0, 16 * blocks);
    ecb(tile@KEY@);
    store_bytes(tile, out, 0, 16 * blocks);
}
