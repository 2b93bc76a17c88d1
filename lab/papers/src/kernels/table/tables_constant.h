// ---------------------------------------------------------------------------------------------------------------
// The tables are in constant memory, whose cache serves a warp one address at a time: lanes that look up different
// entries wait for one another.
// ---------------------------------------------------------------------------------------------------------------

CONSTANT u32 t_box[TABLES][256] = {@T_BOXES@};

CONSTANT u8 s_box[256] = {@S_BOX@};

DEVICE void load_tables(void) {}
