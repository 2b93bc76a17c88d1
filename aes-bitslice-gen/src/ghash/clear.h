// ---------------------------------------------------------------------------------------------------------------
// The end of a decryption: clears what was written, unless hash * factor + addend has no bit that `mask` has. Whether it has one is no
// secret, because the caller learns it; each thread finds out alone, after the launch that computed the hash.
// ---------------------------------------------------------------------------------------------------------------

KERNEL @NAME@_clear(OUTPUT(u8), u64 length, IN_GLOBAL const u32 *hash, KERNEL_PARAMETER block128 factor,
    KERNEL_PARAMETER block128 addend, KERNEL_PARAMETER block128 mask) {
    LOCATE_OUTPUT(u8);
    LET_NEXT_BEGIN();
    AWAIT_LAST();
    const u32 words[4] = {hash[0], hash[1], hash[2], hash[3]};
    const element found = product(element_of(words), element_of(factor.word));
    u32 wrong = 0;
    UNROLL for (int i = 0; i < 4; i++) wrong |= (reversed_bytes(found.word[i]) ^ addend.word[i]) & mask.word[i];
    if (wrong == 0) return;
    for (u64 at = (u64)blockIdx.x * THREADS + threadIdx.x; at < length; at += (u64)gridDim.x * THREADS) out[at] = 0;
}
