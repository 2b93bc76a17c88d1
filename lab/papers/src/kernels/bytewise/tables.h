// ---------------------------------------------------------------------------------------------------------------
// The S-box and its inverse (FIPS 197, sections 5.1.1 and 5.3.2), and multiplication by x in GF(2^8) (section 4.2.1).
// ---------------------------------------------------------------------------------------------------------------

CONSTANT u8 s_box[256] = {
@S_BOX@};

CONSTANT u8 inverse_s_box[256] = {
@INVERSE_S_BOX@};

DEVICE u8 x_time(u8 x) { return (u8)(x << 1 ^ (0x1b & (0u - (u32)(x >> 7)))); }
