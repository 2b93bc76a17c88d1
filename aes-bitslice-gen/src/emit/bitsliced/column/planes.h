// ---------------------------------------------------------------------------------------------------------------
// Which thread holds what: a warp works on a tile of 256 neighbouring blocks at a time. Lane l has column l % 4 of blocks l / 4, l / 4 + 8,
// ..., l / 4 + 248 of these, so that the 32 words of a warp's access are adjacent: eight blocks.
// ---------------------------------------------------------------------------------------------------------------

#define WARPS (blockDim.x / 32) // THREADS / 32 at most
#define TILE_BLOCKS 256

DEVICE u32 lane(void) { return threadIdx.x % 32; }
DEVICE u32 column(void) { return threadIdx.x % 4; }
DEVICE u32 warp(void) { return threadIdx.x / 32; }

// Four words as a piece that is read and written at once.
DEVICE uint4 piece_of(const u32 *s) {
    uint4 piece;
    piece.x = s[0];
    piece.y = s[1];
    piece.z = s[2];
    piece.w = s[3];
    return piece;
}

DEVICE void get_piece(u32 *s, uint4 piece) {
    s[0] = piece.x;
    s[1] = piece.y;
    s[2] = piece.z;
    s[3] = piece.w;
}

// 32 planes in shared memory, as eight pieces `stride` pieces apart.
DEVICE void get_planes(u32 *s, IN_SHARED const uint4 *pieces, int stride) {
    UNROLL for (int i = 0; i < 8; i++) get_piece(&s[4 * i], pieces[stride * i]);
}

DEVICE void put_planes(IN_SHARED uint4 *pieces, int stride, const u32 *s) {
    UNROLL for (int i = 0; i < 8; i++) pieces[stride * i] = piece_of(&s[4 * i]);
}
