// One word, and four words, that no kernel writes and that are not secret, of a description of the work.
#ifdef __CUDACC__
#define PUBLIC_WORD(place) __ldg(place)
#define PUBLIC_PIECE(place) __ldg(place)
#else
#define PUBLIC_WORD(place) (*(place))
#define PUBLIC_PIECE(place) (*(place))
#endif
