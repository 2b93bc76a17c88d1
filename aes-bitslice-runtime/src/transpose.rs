//! Blocks to bit-planes and back, on the host.
