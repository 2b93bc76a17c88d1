// Adds the key stream.
DEVICE void add_key_stream(IN_SHARED uint4 *tile, counter128 counter@CIPHER_KEY@) {
    u32 s[128];
    BARRIER();
    counter_planes(s, counter, first_block() + 32 * threadIdx.x, 0);
    cipher(s@KEY@);
    transpose_state(s);
    UNROLL for (int j = 0; j < 32; j++) {
        add_block(s, j, tile[own(j)]);
        tile[own(j)] = get_block(s, j);
    }
    BARRIER();
}

KERNEL @NAME@(DATA(uint4), u64 blocks, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_DATA(uint4);
    SHARED uint4 tile[BLOCKS];
@KEY_LOAD@    load_blocks(tile, in, blocks);
    add_key_stream(tile, counter@KEY@);
    store_blocks(tile, out, blocks);
}

// For any alignment and length: byte n of `in` is XORed with byte skip + n of the key stream, skip < 16.
KERNEL @NAME@_bytes(DATA(u8), u64 length, u32 skip, KERNEL_PARAMETER counter128 counter@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
    SHARED uint4 tile[BLOCKS];
@KEY_LOAD@    load_bytes(tile, in, skip, skip + length);
    add_key_stream(tile, counter@KEY@);
    store_bytes(tile, out, skip, skip + length);
}
