// Structure of arrays: the same part of all blocks lies side by side.
#define AT(block, part) (BLOCKS_PER_THREAD_BLOCK * (part) + (block))
