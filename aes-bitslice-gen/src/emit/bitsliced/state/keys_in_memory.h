// ---------------------------------------------------------------------------------------------------------------
// Round keys in the order of use. They are in memory as bit-planes, all ones or zero, 128 words each. The thread block
// fetches them into shared memory one at a time (Hajihassani et al. 2019, section 4.6). Volatile, or the compiler reads
// so many planes at once that they no longer fit in registers.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u32 plane[128]; } key_memory;
typedef struct { IN_GLOBAL const u32 *all; IN_SHARED u32 *shared; u32 rounds; } cipher_key;

DEVICE cipher_key share_keys(IN_SHARED key_memory *memory@KEY_SOURCE_PARAMETER@) {
    cipher_key key;
    key.all = key_planes;
    key.shared = memory->plane;
    key.rounds = @ROUNDS@;
    return key;
}

// Returns the planes of a round key. All threads of the thread block call it together.
DEVICE IN_SHARED const volatile u32 *round_key(cipher_key key, u32 round) {
    BARRIER(); // All are done with the previous one.
    EACH_THREAD(i, 128) key.shared[i] = key.all[128 * round + i];
    BARRIER();
    return key.shared;
}
