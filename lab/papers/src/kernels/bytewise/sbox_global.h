// Bytes are looked up in global memory, in the buffer of the round keys: the S-box and its inverse follow these.
#define IN_TABLE IN_GLOBAL

DEVICE IN_TABLE const u8 *in_global_memory(IN_GLOBAL const u32 *buffer) {
    return (IN_GLOBAL const u8 *)(buffer + 4 * (14 + 1)) + 256 * @TABLE_NUMBER@;
}
