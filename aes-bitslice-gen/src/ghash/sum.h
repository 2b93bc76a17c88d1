// ---------------------------------------------------------------------------------------------------------------
// The end: each row times its power of the hash key, the unit's power, and the factor; the sum is added to the output.
// ---------------------------------------------------------------------------------------------------------------

#ifdef __CUDACC__
#define ADD_TO(place, value) atomicXor(place, value)
#elif defined __OPENCL_VERSION__
#define ADD_TO(place, value) atomic_xor(place, value)
#else
#define ADD_TO(place, value) *(place) ^= (value)
#endif

// The weights that rows are multiplied by. `elements` are the powers of a tile's rows, then those of units.
DEVICE void put_weights(IN_SHARED element *weights, IN_GLOBAL const u32 *elements, const block128 *factor) {
    EACH_THREAD(r, ROWS) weights[r] = product(product(element_at(elements, ROWS + blockIdx.x), element_of(factor->word)), element_at(elements, r));
}

// Each thread comes after a barrier, with the rows in memory.
DEVICE void add_rows(IN_GLOBAL u32 *out, IN_SHARED element *rows, IN_SHARED const element *weights, const block128 *addend) {
    EACH_THREAD(r, ROWS) rows[r] = product(rows[r], weights[r]);
    for (u32 rest = ROWS / 2; rest > 0; rest /= 2) {
        BARRIER();
        EACH_THREAD(r, rest)
            UNROLL for (int i = 0; i < 4; i++) rows[r].word[i] ^= rows[rest + r].word[i];
    }
    BARRIER();
    EACH_THREAD(i, 4) {
        const u32 sum = reversed_bytes(rows[0].word[i]);
        ADD_TO(&out[i], blockIdx.x == 0 ? sum ^ addend->word[i] : sum);
    }
}
