// What a thread block does once, so that tables and round keys are there for all its threads.
DEVICE cipher_key prepare(const round_keys *keys) {
    load_tables();
    const cipher_key key = load_keys(keys);
    BARRIER();
    return key;
}
