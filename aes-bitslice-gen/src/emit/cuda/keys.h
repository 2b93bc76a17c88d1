// ---------------------------------------------------------------------------------------------------------------
// Round keys in the order of use, their bit-planes all ones or zero. They arrive with the launch, so that every
// launch has its own; a thread block copies them to shared memory, where all its threads read the same word at once.
// Volatile, or the compiler fetches them so early that the planes no longer fit the registers.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u32 plane[MAX_ROUNDS + 1][128]; u32 rounds; } round_keys;

DEVICE const volatile u32 (*share_planes(const round_keys *keys))[128] {
    SHARED u32 plane[MAX_ROUNDS + 1][128];
    EACH_THREAD(i, 128 * (keys->rounds + 1)) plane[i / 128][i % 128] = keys->plane[i / 128][i % 128];
    BARRIER();
    return (const volatile u32 (*)[128])plane;
}

