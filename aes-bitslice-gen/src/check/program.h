
// ---------------------------------------------------------------------------------------------------------------
// A program around the kernel above, to run it on a CPU: answers launches on standard input until it ends.
//
//   launch  request, the values of parameters, the input
//   answer  a byte: 0, 1 if more than the output changed, 2 if threads wait for others that never arrive; the output
//
// The code that depends on the parameters follows: get_values, run_aligned and run_bytes.
// ---------------------------------------------------------------------------------------------------------------

typedef struct {
    u64 by_bytes, in_place, in_offset, out_offset, in_length, out_length, thread_blocks, threads, shares, share, is_chained;
} request;

// The arguments of an entry point, besides values that come with the request.
static struct { const void *in; void *out; const u8 *previous; u64 stride; } launch;

static int get_values(void);
static void run_aligned(void);
static void run_bytes(void);

// Where each share except the first finds the ciphertext block before it: in the input, or, if that is overwritten, in
// a copy of those blocks.
static u8 *prepare_previous(const u8 *in, const request *r) {
    launch.previous = in - 16;
    launch.stride = r->share;
    if (!r->in_place) return 0;
    u8 *const copies = malloc(16 * r->shares);
    if (!copies) exit(3);
    for (u64 b = 1; b < r->shares && r->share * b < r->in_length; b++)
        memcpy(copies + 16 * b, in + r->share * b - 16, 16);
    launch.previous = copies;
    launch.stride = 16;
    return copies;
}

int main(void) {
    request r;
    while (get(&r, sizeof r)) {
        if (!get_values()) return 2;
        u8 *const original = malloc(r.in_length + 1);
        if (!original || !get(original, r.in_length)) return 2;
        const buffer out = new_buffer(r.out_length, r.out_offset);
        const buffer in = r.in_place ? out : new_buffer(r.in_length, r.in_offset);
        memcpy(in.data, original, r.in_length);

        launch.in = in.data;
        launch.out = out.data;
        gridDim.x = (u32)r.thread_blocks;
        blockDim.x = (u32)r.threads;
        u8 *const copies = r.is_chained ? prepare_previous(in.data, &r) : 0;
        body = r.by_bytes ? run_bytes : run_aligned;
        int stuck = 0;
        static u32 launches;
        last_warp_first = launches++ % 3 == 0; // the first launch finds nothing in shared memory from another
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) stuck |= !run_thread_block();

        int changed = margins_changed(out, r.out_length);
        if (!r.in_place) changed |= margins_changed(in, r.in_length) || memcmp(in.data, original, r.in_length);
        putchar(stuck ? 2 : changed);
        fwrite(out.data, 1, r.out_length, stdout);
        fflush(stdout);
        free(copies);
        if (!r.in_place) free(in.start);
        free(out.start);
        free(original);
    }
    return 0;
}
