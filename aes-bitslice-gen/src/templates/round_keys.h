// ---------------------------------------------------------------------------------------------------------------
// Round keys in the order of use, as passed at launch: the bytes as little-endian words, one per column.
// ---------------------------------------------------------------------------------------------------------------

#define MAX_ROUNDS 14

typedef struct { u32 word[MAX_ROUNDS + 1][4]; u32 rounds; } round_keys;
