// Bytes are looked up in constant memory.
#define IN_TABLE IN_CONSTANT
#define in_constant_memory @TABLE@
