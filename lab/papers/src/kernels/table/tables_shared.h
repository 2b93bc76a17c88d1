// ---------------------------------------------------------------------------------------------------------------
// The tables are in shared memory, to which a thread block copies them first. Entry x is in bank x % 32: lanes that
// look up different entries of one bank wait for one another.
// ---------------------------------------------------------------------------------------------------------------

GLOBAL u32 t_box_in_global_memory[TABLES][256] = {@T_BOXES@};

GLOBAL u8 s_box_in_global_memory[256] = {@S_BOX@};

SHARED u32 t_box[TABLES][256];
SHARED u8 s_box[256];

DEVICE void load_tables(void) {
    ROLLED EACH_THREAD(x, 256) {
        UNROLL for (int k = 0; k < TABLES; k++) t_box[k][x] = t_box_in_global_memory[k][x];
        s_box[x] = s_box_in_global_memory[x];
    }
}
