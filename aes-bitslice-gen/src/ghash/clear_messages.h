// ---------------------------------------------------------------------------------------------------------------
// The end of a decryption of many messages: a warp compares a message's tag with the expected one, in as many bytes as word 11 of the
// message says, and clears what was written of the message if they differ. verdicts[n] is 0 if message n is authentic, else 1.
// ---------------------------------------------------------------------------------------------------------------

KERNEL @NAME@_messages_clear(OUTPUT(u8), IN_GLOBAL const uint4 *messages, u32 all, IN_GLOBAL const u32 *tags,
    IN_GLOBAL const u32 *expected, IN_GLOBAL u32 *verdicts) {
    const u32 warps = THREADS / 32;
    ROLLED for (u32 n = warps * blockIdx.x + threadIdx.x / 32; n < all; n += warps * gridDim.x) {
        IN_GLOBAL const uint4 *const message = messages + (u64)MESSAGE_PIECES * n;
        const uint4 place = PUBLIC_PIECE(message + 1);
        const u32 bytes = PUBLIC_WORD((IN_GLOBAL const u32 *)message + 11);
        u32 wrong = 0;
        UNROLL for (u32 i = 0; i < 4; i++) {
            const u32 mask = bytes >= 4 * i + 4 ? 0xffffffff : bytes <= 4 * i ? 0 : (1u << 8 * (bytes - 4 * i)) - 1;
            wrong |= (tags[4 * (u64)n + i] ^ expected[4 * (u64)n + i]) & mask;
        }
        if (threadIdx.x % 32 == 0) verdicts[n] = wrong != 0;
        if (wrong == 0) continue;
        const u64 length = (u64)place.w << 32 | place.z;
        IN_GLOBAL u8 *const to = out + ((u64)place.y << 32 | place.x);
        for (u64 at = threadIdx.x % 32; at < length; at += 32) to[at] = 0;
    }
}
