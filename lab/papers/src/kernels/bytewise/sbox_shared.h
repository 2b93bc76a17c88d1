// Bytes are looked up in shared memory, to which the thread block copies the table first; a barrier follows.
#define IN_TABLE IN_SHARED

DEVICE IN_TABLE const u8 *share_table(IN_SHARED u8 *memory) {
    EACH_THREAD(i, 256) memory[i] = @TABLE@[i];
    return memory;
}
