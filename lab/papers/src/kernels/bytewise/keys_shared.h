// ---------------------------------------------------------------------------------------------------------------
// Key expansion (FIPS 197, section 5.2), in shared memory, by the first thread of a thread block while the others wait at the barrier that
// follows (Ul Haq et al. 2011, section "Key Expansion using Local Memory").
// ---------------------------------------------------------------------------------------------------------------

#define IN_SCHEDULE IN_SHARED

// The launch argument: the key's bytes as rounds - 6 little-endian words.
typedef struct { u32 word[8]; u32 rounds; } unexpanded_key;

DEVICE u32 sub_word(u32 word) {
    u32 substituted = 0;
    UNROLL for (int i = 0; i < 4; i++) substituted |= (u32)s_box[word >> 8 * i & 255] << 8 * i;
    return substituted;
}

DEVICE IN_SCHEDULE const u32 *share_schedule(IN_SHARED u32 *schedule, const unexpanded_key *key) {
    if (threadIdx.x == 0) {
        const u32 words = key->rounds - 6;
        u8 round_constant = 1;
        ROLLED for (u32 i = 0; i < 4 * (key->rounds + 1); i++) {
            if (i < words) {
                schedule[i] = key->word[i];
                continue;
            }
            u32 word = schedule[i - 1];
            if (i % words == 0) {
                word = sub_word(word >> 8 | word << 24) ^ round_constant;
                round_constant = x_time(round_constant);
            } else if (words > 6 && i % words == 4) {
                word = sub_word(word);
            }
            schedule[i] = schedule[i - words] ^ word;
        }
    }
    return schedule;
}
