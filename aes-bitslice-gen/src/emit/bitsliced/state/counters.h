// The bit-planes of counter + first + (j << step), j = 0..31. Bit n of a counter (0 = least significant) is bit n % 8 of
// block byte 15 - n / 8.
DEVICE void counter_planes(u32 *s, counter128 counter, u64 first, int step) {
    const u32 *c = counter.word;
    counter = counter_plus(counter, first);
    // Adding j << step adds j to the bits from `step` up, by ripple carry; the bits of j are planes that do not change.
    const u32 j_planes[5] = {0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0, 0xff00ff00, 0xffff0000};
    u32 carry = 0;
    UNROLL for (int n = 0; n < 128; n++) {
        const u32 bit = spread_bit(c[n / 32], n % 32);
        u32 *plane = &s[8 * (15 - n / 8) + n % 8];
        if (n < step) {
            *plane = bit;
        } else if (n < step + 5) {
            *plane = LUT3(bit, carry, j_planes[n - step], 0x96);
            carry = LUT3(bit, carry, j_planes[n - step], 0xe8);
        } else {
            *plane = bit ^ carry;
            carry &= bit;
        }
    }
}
