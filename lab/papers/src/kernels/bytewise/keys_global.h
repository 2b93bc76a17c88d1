// The key schedule is in a buffer in global memory (FIPS 197, section 5.2).
#define IN_SCHEDULE IN_GLOBAL
