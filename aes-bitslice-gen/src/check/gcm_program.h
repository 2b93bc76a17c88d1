// ---------------------------------------------------------------------------------------------------------------
// A program around the kernel of GCM in one launch above, to run it on a CPU: answers launches on standard input until it ends.
//
//   launch  request, tables, round keys, counter, factor, addend, mask, the hash before, the input
//   answer  a byte: 0, 1 if more than hash and output changed, 2 if threads wait for others that never arrive; the hash; the output
//
// The calls of the entry points, `run_encrypt` and `run_decrypt`, follow: each passes every parameter what `launch` has under the
// parameter's name.
// ---------------------------------------------------------------------------------------------------------------

typedef struct { u64 decrypts, in_place, length, units, thread_blocks, table_bytes; } request;

static struct {
    const void *in;
    void *out;
    u64 length;
    const u32 *tables;
    u32 *sums, *arrived, *hash;
    u32 units;
    counter128 counter;
    round_keys keys;
    block128 factor, addend, mask;
} launch;

static void run_encrypt(void), run_decrypt(void);

int main(void) {
    request r;
    while (get(&r, sizeof r)) {
        const buffer tables = new_buffer(r.table_bytes, 0), hash = new_buffer(16, 0), in = new_buffer(r.length, 0), other = new_buffer(r.length, 0);
        const buffer out = r.in_place ? in : other;
        u8 *const original = malloc(r.length + 1), *const original_tables = malloc(r.table_bytes);
        if (!original || !original_tables) exit(3);
        if (!get(tables.data, r.table_bytes) || !get(&launch.keys, sizeof launch.keys) || !get(&launch.counter, 16)) return 2;
        if (!get(&launch.factor, 16) || !get(&launch.addend, 16) || !get(&launch.mask, 16) || !get(hash.data, 16) || !get(in.data, r.length)) return 2;
        memcpy(original, in.data, r.length);
        memcpy(original_tables, tables.data, r.table_bytes);
        launch.in = in.data;
        launch.out = out.data;
        launch.length = r.length;
        launch.tables = (const u32 *)tables.data;
        static u32 sums[4], arrived[1];
        launch.sums = sums;
        launch.arrived = arrived;
        launch.hash = (u32 *)hash.data;
        launch.units = (u32)r.units;
        gridDim.x = (u32)r.thread_blocks;
        blockDim.x = THREADS;
        body = r.decrypts ? run_decrypt : run_encrypt;
        int stuck = 0;
        static u32 launches;
        last_warp_first = launches++ % 2 == 0;
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) stuck |= !run_thread_block();

        int changed = margins_changed(hash, 16) || margins_changed(in, r.length) || margins_changed(other, r.length);
        changed |= margins_changed(tables, r.table_bytes) || memcmp(tables.data, original_tables, r.table_bytes) != 0;
        changed |= sums[0] || sums[1] || sums[2] || sums[3] || arrived[0];
        if (!r.in_place) changed |= memcmp(in.data, original, r.length) != 0;
        putchar(stuck ? 2 : changed);
        fwrite(hash.data, 1, 16, stdout);
        fwrite(out.data, 1, r.length, stdout);
        fflush(stdout);
        free(tables.start);
        free(hash.start);
        free(in.start);
        free(other.start);
        free(original);
        free(original_tables);
    }
    return 0;
}
