
// Run n of one message of `length` bytes whose first block of data has this counter. It has no mask.
DEVICE run_of_message run_of_one(counter128 counter, u64 length, u32 n) {
    const u64 at = 512 * (u64)n;
    const u64 rest = at < length ? length - at : 0;
    run_of_message run = {0, 0, (u32)at, (u32)(at >> 32), (u32)(rest < 512 ? rest : 512) << 16};
    run.word = column() == 3 ? counter.word[0] + 32 * n : BYTE_PERMUTE(word_of_column(counter), 0, 0x0123);
    return run;
}

// Processes one message whose counter is secret, which it is where the nonce of GCM does not have 12 bytes: here counters are data, and in
// the first two entry points they are not. The last four bytes count, and wrap. `out` may equal `in`.
KERNEL @NAME@_secret_counter(DATA(u8), u64 length, KERNEL_PARAMETER counter128 secret_counter@KEY_PARAMETER@) {
    LOCATE_DATA(u8);
    SHARED u32 next;
    const tiles mine = share_of_block((length + 15) / 16);
    if (threadIdx.x == 0) next = mine.from + WARPS;
@KEY_LOAD@    ROLLED for (u32 tile = first_tile(mine.from); goes_on(tile, mine.to); tile = tile_after(tile, &next))
        process_runs(out, in, run_of_one(secret_counter, length, 8 * tile + lane() / 4), 0, key);
}
