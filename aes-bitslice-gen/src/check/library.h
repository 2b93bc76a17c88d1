
// ---------------------------------------------------------------------------------------------------------------
// A library around a kernel above, for a program that launches it on a CPU with its own arguments.
//
// The code that depends on the parameters precedes this: `values`, a pointer to each argument, and `entries`, each of which calls an entry
// point with them.
// ---------------------------------------------------------------------------------------------------------------

// Runs all threads of a grid, with a pointer to each argument, as a driver takes them. Returns 0; 1 for a grid that the kernel does not
// have; 2 if threads wait for others that never arrive. For one caller at a time.
int launch(u32 entry, u32 thread_blocks, u32 block_threads, void *const *arguments) {
    if (!thread_blocks || !block_threads || block_threads % 32 || block_threads > THREADS) return 1;
    static u32 launches;
    int stuck = 0;
    values = arguments;
    gridDim.x = thread_blocks;
    blockDim.x = block_threads;
    body = entries[entry];
    last_warp_first = launches++ % 3 == 0;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) stuck |= !run_thread_block();
    return stuck ? 2 : 0;
}
