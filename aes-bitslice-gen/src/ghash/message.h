// ---------------------------------------------------------------------------------------------------------------
// The message: `length` bytes, padded with zeros to a whole block, and with blocks of zeros in front to whole tiles. Tiles are counted from
// the end; unit blockIdx.x has every `units`-th tile, from the front to the end.
// ---------------------------------------------------------------------------------------------------------------

#define TILE_BYTES (16 * TILE_BLOCKS)

typedef struct {
    IN_GLOBAL const u8 *in;
    u64 length;
    u32 tiles; // of this unit
    u64 first; // where its first tile begins; below 0, which wraps, where blocks are missing in front
    u64 stride; // from one of its tiles to the next, in bytes
    int aligned; // to 16 bytes
} message;

DEVICE message message_of(IN_GLOBAL const u8 *in, u64 length, u32 units, int aligned) {
    const u64 bytes = (length + 15) / 16 * 16;
    const u32 tiles = (u32)((bytes + TILE_BYTES - 1) / TILE_BYTES); // memory holds no more
    message m;
    m.in = in;
    m.length = length;
    m.tiles = tiles > blockIdx.x ? (tiles - blockIdx.x - 1) / units + 1 : 0;
    m.stride = (u64)units * TILE_BYTES;
    m.first = bytes - (blockIdx.x + 1) * (u64)TILE_BYTES - ((u64)m.tiles - 1) * m.stride;
    m.aligned = aligned;
    return m;
}

DEVICE u64 tile_at(const message *m, u32 n) { return m->first + n * m->stride; }

// Whether the tile that begins there has no zeros in front or at the end.
DEVICE int is_whole(const message *m, u64 at) { return at < m->length && m->length - at >= TILE_BYTES; }

// The word at byte `at`, zeros where there is no message.
DEVICE u32 word_at(const message *m, u64 at) {
    if (m->aligned && at < m->length && m->length - at >= 4) return *(IN_GLOBAL const u32 *)(m->in + at);
    u32 word = 0;
    UNROLL for (u32 i = 0; i < 4; i++)
        if (at + i < m->length) word |= (u32)m->in[at + i] << 8 * i;
    return word;
}
