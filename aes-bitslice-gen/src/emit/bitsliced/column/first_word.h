// ---------------------------------------------------------------------------------------------------------------
// Counter mode with the counter of AES-GCM-SIV (RFC 8452, section 4): out[n] = in[n] ^ cipher(counter + n) for n < blocks. The first four
// bytes of a counter block are a little-endian number, which wraps; the others do not change. `in` may equal `out`.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u32 word[4]; } counter128; // the words of the block, little-endian: the number first

DEVICE counter128 counter_plus(counter128 counter, u64 n) {
    counter.word[0] += (u32)n;
    return counter;
}

// Where a counter is in its block: its low word is the first column, the lowest byte first.
#define COUNTING_COLUMN 0
#define BIT_OF_ROW(row) (8 * (row))     // where in its word the byte of a row begins
#define COLUMN_OF_PART(n) (-(n) & 3)    // the column to which ShiftRows moves byte n of the low word, lowest first
DEVICE u32 word_of_column(counter128 counter) {
    return column() == 1 ? counter.word[1] : column() == 2 ? counter.word[2] : counter.word[3];
}
