// ---------------------------------------------------------------------------------------------------------------
// Products of bit matrices are counts of ones: the lowest bit of a count is the sum over GF(2).
// ---------------------------------------------------------------------------------------------------------------

// Counts come in pairs, a bit for each half of a word: the lowest bits first.
DEVICE u32 next_parities(u32 word, u32 low, u32 high) { return word << 1 | ((low + (high << 16)) & 0x00010001); }
