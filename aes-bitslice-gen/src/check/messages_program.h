
// ---------------------------------------------------------------------------------------------------------------
// A program around a kernel above, to run its entry points for many messages on a CPU: answers launches on standard input until it ends.
//
//   launch  request, words of a key and a counter, and for each argument in memory where it is and what it holds
//   answer  a byte: 0, 1 if more than what is written changed, 2 if threads wait for others that never arrive; what is written
//
// The code that depends on the parameters follows: `entries`, through which an entry point is called.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u64 entry, thread_blocks, threads, all, arguments; } request;
// `same` is the number, counted from 1, of the argument whose memory it shares, or 0.
typedef struct { u64 length, offset, is_written, same; } place;

#define MOST 9
static u8 *data[MOST];
static u32 all, key_words[68];
static void (*const entries[])(void);

int main(void) {
    request r;
    while (get(&r, sizeof r)) {
        place at[MOST];
        buffer buffers[MOST];
        u8 *originals[MOST];
        if (r.arguments > MOST || !get(key_words, sizeof key_words)) return 2;
        for (u32 i = 0; i < r.arguments; i++) {
            if (!get(&at[i], sizeof at[i])) return 2;
            if (at[i].same) {
                data[i] = data[at[i].same - 1];
                continue;
            }
            buffers[i] = new_buffer(at[i].length, at[i].offset);
            data[i] = buffers[i].data;
            originals[i] = malloc(at[i].length + 1);
            if (!originals[i] || !get(data[i], at[i].length)) exit(3);
            memcpy(originals[i], data[i], at[i].length);
        }
        all = (u32)r.all;
        gridDim.x = (u32)r.thread_blocks;
        blockDim.x = (u32)r.threads;
        body = entries[r.entry];
        int stuck = 0, changed = 0;
        static u32 launches;
        last_warp_first = launches++ % 3 == 0;
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) stuck |= !run_thread_block();
        for (u32 i = 0; i < r.arguments; i++) {
            if (at[i].same) continue;
            changed |= margins_changed(buffers[i], at[i].length);
            if (!at[i].is_written) changed |= memcmp(data[i], originals[i], at[i].length) != 0;
        }
        putchar(stuck ? 2 : changed);
        for (u32 i = 0; i < r.arguments; i++) {
            if (at[i].same) continue;
            if (at[i].is_written) fwrite(data[i], 1, at[i].length, stdout);
            free(buffers[i].start);
            free(originals[i]);
        }
        fflush(stdout);
    }
    return 0;
}
