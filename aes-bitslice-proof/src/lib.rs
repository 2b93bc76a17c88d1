//! Proofs that compiled kernels compute AES: for every round key and all data, from the PTX as it is stored.
//!
//! A launch is run on bits of which nothing is known, and each bit of its output must be the same sum of products as the standard's
//! definition gives. Circuits, their order, ShiftRows by shuffles, transposition to bit-planes and back, the first rounds of counters that
//! are done once for many, changes of basis, addresses, loops and barriers are all in what is run; so is what NVRTC has made of them.
//!
//! | module | idea |
//! |---|---|
//! | [`anf`] | bits as formal sums of products (algebraic normal form), by fingerprints |
//! | [`aes`], [`mode`] | the definitions: FIPS 197, SP 800-38A, IEEE 1619, RFC 8452 |
//! | [`value`], [`memory`], [`order`] | what is in registers and in memory, and which accesses barriers put in order |
//! | [`machine`], `instruction`, `opcode` | threads that run PTX; what instructions do; those that there are |
//! | [`launch`] | a launch on such memory |
//! | [`kernel`], [`batch`] | the claim about a kernel, and about its entry points for many keys and messages |
//!
//! # What is proved
//!
//! For a kernel and the lengths, counters and grid of a [`kernel::Case`]: whatever the round keys, the IV and the data are, the output is
//! the mode's, nothing is written besides it, nothing is read that was not written, and no branch, address or lane depends on what is
//! unknown. Two values are compared by fingerprints ([`anf`]), which for 2^28 values can be wrong with a probability of 2^-72, if the
//! mixing function that makes them is as good as random.
//!
//! # What it rests on
//!
//! - This crate: its rules for instructions are the PTX ISA's, written down here once. Known answers on GPUs test the same kernels otherwise.
//! - What makes machine code of PTX, and the machine.
//! - Threads run in one order between barriers. A race ends the run, whatever the order ([`order`]). But which warp takes which tile, by an
//!   atomic counter, is one of the orders that there are.
//! - Round keys are independent unknowns, in the bases that the manifest says. That the host makes the key schedule and these changes of basis
//!   rightly is tested elsewhere. Where kernels make them, for many keys, they are proved.
//!
//! Kernels with look-up tables and hashes are not treated.
#![forbid(unsafe_code)]

pub mod aes;
pub mod anf;
pub mod batch;
mod instruction;
pub mod kernel;
pub mod launch;
pub mod machine;
pub mod memory;
pub mod mode;
mod opcode;
pub mod order;
pub mod value;
