// ---------------------------------------------------------------------------------------------------------------
// The copy engine, which compute capability 9.0 has: bytes go to shared memory while threads do other things.
// ---------------------------------------------------------------------------------------------------------------

#ifdef __CUDACC__
// A barrier at which this number of threads arrive at a time.
DEVICE void new_arrivals(u64 *barrier, u32 threads) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(threads) : "memory");
}
// A thread arrives at the barrier when the bytes do, even if there are none.
DEVICE void copy(void *to, const void *from, u32 bytes, u64 *barrier) {
    const u32 at = shared_address(barrier);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
    if (bytes > 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(at)
                     : "memory");
}
// Waits for the n-th arrival at the barrier, counted from 0. In C, where copies are there at once, all threads meet.
DEVICE void wait_for(u64 *barrier, u32 n) {
    u32 arrived;
    do asm volatile("{.reg .pred arrived; mbarrier.try_wait.parity.shared::cta.b64 arrived, [%1], %2; selp.u32 %0, 1, 0, arrived;}"
                    : "=r"(arrived)
                    : "r"(shared_address(barrier)), "r"(n & 1)
                    : "memory");
    while (!arrived);
}
#else
static void new_arrivals(u64 *barrier, u32 threads) { *barrier = threads; }
static void copy(void *to, const void *from, u32 bytes, u64 *barrier) {
    (void)barrier;
    for (u32 i = 0; i < bytes; i++) ((u8 *)to)[i] = ((const u8 *)from)[i];
}
static void wait_for(u64 *barrier, u32 n) {
    (void)barrier, (void)n;
    BARRIER();
}
#endif
