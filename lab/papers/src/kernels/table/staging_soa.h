// Structure of arrays: the same part of all blocks is contiguous.
#define AT(block, part) (TILE_BLOCKS * (part) + (block))
