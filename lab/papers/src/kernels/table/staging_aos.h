// Array of structures: a block's parts are contiguous.
#define AT(block, part) (PARTS * (block) + (part))
