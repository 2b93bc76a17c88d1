// Structure of arrays: the same part of all blocks lies side by side.
#define AT(block, part) (TILE_BLOCKS * (part) + (block))
