// ---------------------------------------------------------------------------------------------------------------
// Which thread does what: a thread block takes BLOCKS neighbouring blocks, and a thread 32 neighbouring ones of these.
// Data goes through shared memory (Hajihassani et al. 2019, sections 6.3 and 6.4): the thread block copies it in and
// out with adjacent accesses, and each thread works on its own blocks there. All threads reach every barrier, with or
// without data.
// ---------------------------------------------------------------------------------------------------------------

#define BLOCKS (32 * THREADS)

DEVICE u64 first_block(void) { return (u64)blockIdx.x * BLOCKS; }

// Where block n of the thread block is in shared memory. Blocks that eight neighbouring threads read at a time, every
// 32nd, are in different banks.
DEVICE u32 place(u32 n) { return n ^ n / 32 % 8; }

// The place of the thread's block j.
DEVICE u32 own(int j) { return place(32 * threadIdx.x + j); }

// How many of the thread block's blocks exist, of `blocks` in all.
DEVICE u32 blocks_here(u64 blocks) {
    if (first_block() >= blocks) return 0;
    const u64 left = blocks - first_block();
    return left < BLOCKS ? (u32)left : BLOCKS;
}

DEVICE void load_blocks(IN_SHARED uint4 *tile, IN_GLOBAL const uint4 *in, u64 blocks) {
    const u32 count = blocks_here(blocks);
    uint4 none;
    none.x = none.y = none.z = none.w = 0;
    UNROLL for (u32 j = 0; j < 32; j++) {
        const u32 n = THREADS * j + threadIdx.x;
        tile[place(n)] = n < count ? in[first_block() + n] : none;
    }
}

DEVICE void store_blocks(IN_SHARED const uint4 *tile, IN_GLOBAL uint4 *out, u64 blocks) {
    const u32 count = blocks_here(blocks);
    UNROLL for (u32 j = 0; j < 32; j++) {
        const u32 n = THREADS * j + threadIdx.x;
        if (n < count) out[first_block() + n] = tile[place(n)];
    }
}

// The same byte by byte, slower: byte n of the blocks, where skip <= n < end, is byte n - skip of the data.
DEVICE void load_bytes(IN_SHARED uint4 *tile, IN_GLOBAL const u8 *in, u32 skip, u64 end) {
    ROLLED EACH_THREAD(i, 16 * BLOCKS) {
        const u64 n = 16 * first_block() + i;
        ((IN_SHARED u8 *)tile)[16 * place(i / 16) + i % 16] = skip <= n && n < end ? in[n - skip] : 0;
    }
}

DEVICE void store_bytes(IN_SHARED const uint4 *tile, IN_GLOBAL u8 *out, u32 skip, u64 end) {
    ROLLED EACH_THREAD(i, 16 * BLOCKS) {
        const u64 n = 16 * first_block() + i;
        if (skip <= n && n < end) out[n - skip] = ((IN_SHARED const u8 *)tile)[16 * place(i / 16) + i % 16];
    }
}
