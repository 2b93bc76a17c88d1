// ---------------------------------------------------------------------------------------------------------------
// Counter mode (SP 800-38A, section 6.5): out[n] = in[n] ^ cipher(counter + n) for n < blocks, where the counter is a
// 128-bit big-endian number that wraps. `in` may equal `out`.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u32 word[4]; } counter128; // least significant word first

DEVICE counter128 counter_plus(counter128 counter, u64 n) {
    u64 sum = (u64)counter.word[0] + (u32)n;
    counter.word[0] = (u32)sum;
    sum = (u64)counter.word[1] + (u32)(n >> 32) + (sum >> 32);
    counter.word[1] = (u32)sum;
    sum = (u64)counter.word[2] + (sum >> 32);
    counter.word[2] = (u32)sum;
    counter.word[3] += (u32)(sum >> 32);
    return counter;
}
