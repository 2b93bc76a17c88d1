// ---------------------------------------------------------------------------------------------------------------
// Round keys in the order of use. They are passed with the launch, as bytes: each launch has its own. A thread block turns
// them into bit-planes in shared memory, all ones or zero, where all its threads read the same word at once. Volatile, or
// the compiler fetches them so early that the planes no longer fit in registers.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u32 plane[MAX_ROUNDS + 1][128]; } key_memory;
typedef struct { IN_SHARED const volatile u32 (*plane)[128]; u32 rounds; } cipher_key;

@KEY_SOURCE@
DEVICE cipher_key share_keys(IN_SHARED key_memory *memory@KEY_SOURCE_PARAMETER@) {
    EACH_THREAD(i, 128 * (@ROUNDS@ + 1)) memory->plane[i / 128][i % 128] = spread_bit(@KEY_WORD@, i % 32);
    BARRIER();
    cipher_key key;
    key.plane = (IN_SHARED const volatile u32 (*)[128])memory->plane;
    key.rounds = @ROUNDS@;
    return key;
}

DEVICE IN_SHARED const volatile u32 *round_key(cipher_key key, u32 round) { return key.plane[round]; }
