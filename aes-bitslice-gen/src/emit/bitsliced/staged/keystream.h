// Makes the key stream.
DEVICE void key_stream(IN_SHARED uint4 *tile, counter128 counter@CIPHER_KEY@) {
    u32 s[128];
    counter_planes(s, counter, first_block() + 32 * threadIdx.x, 0);
    cipher(s@KEY@);
    transpose_state(s);
    UNROLL for (int j = 0; j < 32; j++) tile[own(j)] = get_block(s, j);
    BARRIER();
}

KERNEL @NAME@(OUTPUT(uint4), u64 blocks, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_OUTPUT(uint4);
    SHARED uint4 tile[BLOCKS];
@KEY_LOAD@    key_stream(tile, counter@KEY@);
    store_blocks(tile, out, blocks);
}

// For any alignment and length: byte n of `out` is byte skip + n of the key stream, skip < 16.
KERNEL @NAME@_bytes(OUTPUT(u8), u64 length, u32 skip, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_OUTPUT(u8);
    SHARED uint4 tile[BLOCKS];
@KEY_LOAD@    key_stream(tile, counter@KEY@);
    store_bytes(tile, out, skip, skip + length);
}
