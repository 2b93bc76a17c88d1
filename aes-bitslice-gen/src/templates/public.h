// One word, and four words, of memory that no kernel writes and that holds no secrets: a description of the work.
#ifdef __CUDACC__
#define PUBLIC_WORD(place) __ldg(place)
#define PUBLIC_PIECE(place) __ldg(place)
#else
#define PUBLIC_WORD(place) (*(place))
#define PUBLIC_PIECE(place) (*(place))
#endif
