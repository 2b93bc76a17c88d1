// ---------------------------------------------------------------------------------------------------------------
// The tables are in shared memory in 32 copies: lane l's copy is in bank l, so whatever the lanes of a warp look up, no two of them access
// the same bank, and none waits for another.
//
//   byte address   32768 k + 128 x + 4 l    entry x of table k, copy of lane l
//
// Tables 0 to TABLES - 1 are T-boxes; for decryption, the inverse S-box follows.
// ---------------------------------------------------------------------------------------------------------------

#define TABLE_BYTES 32768
#define TABLES_BYTES (TABLE_BYTES * (TABLES + LAST_TABLE))

DYNAMIC_SHARED(tables_in_shared_memory);

GLOBAL u32 t_box_in_global_memory[256] = {@T_BOX@};
@S_BOX@
// A column is a word, little-endian: row r is its byte r. The table of row r is the first one, rotated by r bytes.
DEVICE u32 rotated(u32 entry, int bytes) { return BYTE_PERMUTE(entry, 0, 0x32103210 >> (16 - 4 * bytes) & 0xffff); }

DEVICE void load_tables(void) {
    u32 *const words = (u32 *)tables_in_shared_memory;
    ROLLED EACH_THREAD(i, TABLES_BYTES / 4) {
        const u32 k = i / (TABLE_BYTES / 4), x = i / 32 % 256;
        words[i] = k < TABLES ? rotated(t_box_in_global_memory[x], k) : LAST_ENTRY(x);
    }
}

// The entry for the byte of a column in a row. The address is one dot product of bytes: 128 x + 4 l.
DEVICE u32 entry_of(u32 table, u32 column, int row) {
    const u32 address = DOT_PRODUCT(column, 0x80u << 8 * row, threadIdx.x % 32 * 4);
    return *(const u32 *)((const u8 *)tables_in_shared_memory + TABLE_BYTES * table + address);
}

// The word that the byte in this row of a column adds to its column of the next state.
DEVICE u32 look_up(u32 column, int row) {
    return TABLES == 4 ? entry_of(row, column, row) : rotated(entry_of(0, column, row), row);
}

// The same in the last round, which has no MixColumns. An entry of a T-box has the S-box itself in the two bytes that
// MixColumns multiplies by one.
DEVICE u32 look_up_last(u32 column, int row) {
    u32 entry;
    if (LAST_TABLE) {
        entry = entry_of(TABLES, column, row);
    } else {
        entry = TABLES == 4 ? entry_of((row + 2) % 4, column, row) : rotated(entry_of(0, column, row), (row + 2) % 4);
    }
    return entry & 0xffu << 8 * row;
}
