DEVICE state load(const u8 *in, u64 first, u64 blocks, int aligned) {
    const u64 block = first + place_in_tile();
    state s;
    UNROLL for (int i = 0; i < COLUMNS; i++) s.column[i] = 0;
    if (block < blocks) load_words(s.column, COLUMNS, in + 16 * block + 4 * first_column(), aligned);
    return s;
}
