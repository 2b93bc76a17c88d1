// The key schedule comes with the launch (FIPS 197, section 5.2).
#define IN_SCHEDULE
