// ---------------------------------------------------------------------------------------------------------------
// Round keys in the order of use. They lie in memory as bit-planes, all ones or zero, 128 words each, and the thread
// block fetches them into shared memory one at a time (Hajihassani et al. 2019, section 4.6). Volatile, or the compiler
// reads so many planes at once that they no longer fit the registers.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { const u32 *memory; u32 *shared; u32 rounds; } cipher_key;

DEVICE cipher_key share_keys(@KEY_SOURCE_PARAMETER@) {
    SHARED u32 plane[128];
    cipher_key key;
    key.memory = key_planes;
    key.shared = plane;
    key.rounds = @ROUNDS@;
    return key;
}

// The planes of a round key, which all threads of the thread block ask for together.
DEVICE const volatile u32 *round_key(cipher_key key, u32 round) {
    BARRIER(); // All are done with the one before.
    EACH_THREAD(i, 128) key.shared[i] = key.memory[128 * round + i];
    BARRIER();
    return key.shared;
}
