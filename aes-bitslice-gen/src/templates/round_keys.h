// ---------------------------------------------------------------------------------------------------------------
// Round keys, in the order of use, as a kernel is launched with them: the bytes as little-endian words, one a column.
// ---------------------------------------------------------------------------------------------------------------

#define MAX_ROUNDS 14

typedef struct { u32 word[MAX_ROUNDS + 1][4]; u32 rounds; } round_keys;
