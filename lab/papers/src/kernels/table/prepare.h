// Prepares tables and round keys once for all threads of a thread block.
DEVICE cipher_key prepare(const round_keys *keys) {
    load_tables();
    const cipher_key key = load_keys(keys);
    BARRIER();
    return key;
}
