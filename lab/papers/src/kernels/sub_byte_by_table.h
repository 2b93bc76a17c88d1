DEVICE void sub_byte(u32 *x) {
    u32 y[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    ROLLED for (u32 block = 0; block < 32; block++) {
        u32 byte = 0;
        UNROLL for (int bit = 0; bit < 8; bit++) byte |= (x[bit] >> block & 1) << bit;
        byte = s_box[byte];
        UNROLL for (int bit = 0; bit < 8; bit++) y[bit] |= (byte >> bit & 1) << block;
    }
    UNROLL for (int bit = 0; bit < 8; bit++) x[bit] = y[bit];
}
