// A column is a word, little-endian: row r is its byte r.
DEVICE u32 byte_of(u32 column, int row) { return BYTE_PERMUTE(column, 0, 0x4440 + row); }

// The word that the byte in this row of a column adds to its column of the next state. A single table serves all rows:
// the table of row r is the first one, rotated by r bytes.
DEVICE u32 look_up(u32 column, int row) {
    const u32 entry = t_box[row % TABLES][byte_of(column, row)];
    return TABLES == 4 ? entry : BYTE_PERMUTE(entry, 0, 0x32103210 >> (16 - 4 * row) & 0xffff);
}

// The same in the last round, which has no MixColumns.
DEVICE u32 look_up_last(u32 column, int row) { return (u32)s_box[byte_of(column, row)] << 8 * row; }
