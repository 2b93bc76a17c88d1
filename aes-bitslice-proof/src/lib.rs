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
//! | `kernel_cells` | what kernels compute besides what the definitions have |
//! | `thread`, [`context`] | a thread, and what it reaches besides its registers |
//! | `instruction`, `opcode` | what instructions do to it, and the list of them |
//! | [`machine`] | a grid of threads that runs them |
//! | [`launch`] | a launch on such memory |
//! | [`kernel`], [`batch`] | the claim about a kernel, and about its entry points for many keys and messages |
//!
//! # What is proved
//!
//! For a kernel and the lengths, counters and grid of a [`kernel::Case`]: whatever the round keys, the IV and the data are, the output is
//! the mode's, nothing is written besides it, nothing is read that was not written, and no branch, address or lane depends on what is
//! unknown. Two values are compared by fingerprints ([`anf`]): with 2^28 values, more than a proof computes, some two are taken for equal and
//! are not with a probability below 2^-71.
//!
//! # What it rests on
//!
//! - This crate: its rules for instructions are the PTX ISA's, written down here once. Known answers on GPUs test the same kernels otherwise.
//! - `aes-bitslice-ptx`, which reads the text, and the multiplication of the crate `polyval`.
//! - Of `aes-bitslice-core` the table of the S-box, ShiftRows, the coefficients of MixColumns and the arithmetic of GF(2^8), which the
//!   definition is made of: known answers of FIPS 197 test them.
//! - What the host passes is what it computes for such a launch here once more: numbers of blocks, shares of warps, strides, and where the
//!   blocks before shares lie.
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
pub mod context;
mod instruction;
pub mod kernel;
mod kernel_cells;
pub mod launch;
pub mod machine;
pub mod memory;
pub mod mode;
mod opcode;
pub mod order;
mod thread;
pub mod value;
