DEVICE state load(const u8 *in, u64 first, u64 blocks, int aligned) {
    u32 *const shared = shared_column[2];
    // Word by word: neighbouring threads load neighbouring words.
    UNROLL for (u32 i = 0; i < COLUMNS; i++) {
        const u32 word = THREADS * i + threadIdx.x;
        u32 column[1] = {0};
        if (first + word / 4 < blocks) load_words(column, 1, in + 16 * first + 4 * word, aligned);
        shared[AT(word / 4, word % 4)] = column[0];
    }
    BARRIER();
    state s;
    UNROLL for (int i = 0; i < COLUMNS; i++) s.column[i] = shared[AT(place_in_tile(), first_column() + i)];
    return s;
}
