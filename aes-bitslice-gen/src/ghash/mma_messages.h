// A warp has the messages of SEGMENTS segments.
KERNEL @NAME@_messages(INPUT(u8), IN_GLOBAL const uint4 *messages, IN_GLOBAL const u32 *order, u32 all, IN_GLOBAL const u8 *aad,
    IN_GLOBAL const u32 *masks, IN_GLOBAL const u32 *tables, OUTPUT(u32)) {
    SHARED uint4 matrix[128 * (POWERS + 2)];
    SHARED element rows[ROWS + GROUP];
    SHARED element weights[SEGMENT_ROWS + 1];
    EACH_THREAD(i, 128 * (POWERS + 2)) matrix[i] = ((IN_GLOBAL const uint4 *)tables)[i];
    put_weights_of_messages(weights, tables + 512 * (POWERS + 2));
    BARRIER();
    const u32 lane = threadIdx.x & 31, place = threadIdx.x / 32 * SEGMENTS;
    ROLLED for (u32 first = GROUP * blockIdx.x; first < all; first += GROUP * gridDim.x) {
        segment own[SEGMENTS];
        u32 sum[SEGMENTS] = {0}, tiles = 0;
        UNROLL for (u32 s = 0; s < SEGMENTS; s++) {
            own[s] = segment_at(order, messages, first + place + s, all);
            tiles = tiles_of(own[s]) > tiles ? tiles_of(own[s]) : tiles;
        }
        ROLLED for (u32 n = 0; n < tiles; n++) {
            u32 x[SEGMENTS][POWERS];
            UNROLL for (u32 s = 0; s < SEGMENTS; s++) {
                const u64 at = share_at(own[s], n, tiles);
                if (is_plain(own[s], in, at)) {
                    IN_GLOBAL const u32 *const from = (IN_GLOBAL const u32 *)place_of(own[s], in, at) + lane;
                    UNROLL for (int t = 0; t < POWERS; t++) x[s][t] = from[32 * t];
                } else {
                    UNROLL for (int t = 0; t < POWERS; t++) x[s][t] = word_of(source_of(own[s], in, aad, at + 4 * lane + 128 * t), 0);
                }
            }
            next_sums(sum, x, matrix);
        }
        UNROLL for (u32 s = 0; s < SEGMENTS; s++) rows[8 * (place + s) + lane / 4].word[lane % 4] = reversed_bytes(sum[s]);
        BARRIER();
        put_tags(out, rows, weights, order, messages, first, all, masks);
        BARRIER(); // all have read the rows
    }
}
