// The key schedule is a launch argument (FIPS 197, section 5.2).
#define IN_SCHEDULE
