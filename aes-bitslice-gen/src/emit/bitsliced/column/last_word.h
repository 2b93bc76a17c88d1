// Where a counter is in its block: big-endian, so that its low word is the last column, the highest byte first.
#define COUNTING_COLUMN 3
#define BIT_OF_ROW(row) (8 * (3 - (row))) // where in its word the byte of a row begins
#define COLUMN_OF_PART(n) (n)             // the column to which ShiftRows moves byte n of the low word, lowest first
DEVICE u32 word_of_column(counter128 counter) {
    return column() == 0 ? counter.word[3] : column() == 1 ? counter.word[2] : counter.word[1];
}
