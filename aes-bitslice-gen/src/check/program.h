
// ---------------------------------------------------------------------------------------------------------------
// A program around the library above: answers launches on standard input until it ends.
//
//   launch  request, and for each argument what it is, and its bytes
//   answer  a byte: 0, 1 if more than what is written changed, 2 if threads wait for others that never arrive; what is written
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u64 entry, thread_blocks, threads, arguments; } request;
// `base` is the number, counted from 1, of the argument whose address is added to a value, or 0.
enum { VALUE, READ, WRITTEN };
typedef struct { u64 kind, length, offset, base; } argument;
#define MOST 20

int main(void) {
    request r;
    while (get(&r, sizeof r)) {
        argument of[MOST];
        buffer buffers[MOST];
        u8 *originals[MOST];
        void *arguments[MOST];
        if (r.arguments > MOST) return 2;
        for (u32 i = 0; i < r.arguments; i++) {
            if (!get(&of[i], sizeof of[i])) return 2;
            buffers[i] = new_buffer(of[i].length, of[i].offset);
            originals[i] = malloc(of[i].length + 1);
            if (!originals[i] || !get(originals[i], of[i].length)) exit(3);
            memcpy(buffers[i].data, originals[i], of[i].length);
            arguments[i] = of[i].kind == VALUE ? (void *)buffers[i].data : &buffers[i].data;
        }
        for (u32 i = 0; i < r.arguments; i++)
            if (of[i].base) *(u64 *)buffers[i].data += (u64)buffers[of[i].base - 1].data;
        const int verdict = launch((u32)r.entry, (u32)r.thread_blocks, (u32)r.threads, arguments);
        if (verdict == 1) return 4;
        int changed = 0;
        for (u32 i = 0; i < r.arguments; i++) {
            if (of[i].kind != VALUE) changed |= margins_changed(buffers[i], of[i].length);
            if (of[i].kind == READ) changed |= memcmp(buffers[i].data, originals[i], of[i].length) != 0;
        }
        putchar(verdict ? verdict : changed);
        for (u32 i = 0; i < r.arguments; i++) {
            if (of[i].kind == WRITTEN) fwrite(buffers[i].data, 1, of[i].length, stdout);
            free(buffers[i].start);
            free(originals[i]);
        }
        fflush(stdout);
    }
    return 0;
}
