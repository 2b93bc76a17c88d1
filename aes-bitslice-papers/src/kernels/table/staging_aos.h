// Array of structures: a block's parts lie side by side.
#define AT(block, part) (PARTS * (block) + (part))
