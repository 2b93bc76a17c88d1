//! Proofs that compiled kernels compute AES and GHASH: for every key and all data, from the PTX and the machine code as they are stored.
//!
//! A launch is run on unknown bits, and each bit of its output must be the same sum of products as the standard's definition gives.
//! Circuits, their order, ShiftRows by shuffles, transposition to bit-planes and back, the first rounds of counters that are computed once
//! for many, changes of basis, addresses, loops and barriers are all part of the run; so is what NVRTC has made of them.
//!
//! | module | idea |
//! |---|---|
//! | [`anf`] | bits as formal sums of products (algebraic normal form), by fingerprints |
//! | [`aes`], [`mode`] | the definitions: FIPS 197, SP 800-38A, IEEE 1619, RFC 8452 |
//! | [`value`], [`memory`], [`order`] | the contents of registers and of memory, and which accesses barriers order |
//! | `arithmetic`, `matrix`, `warpgroup` | sums and products of numbers with unknown bits, and of matrices by a warp or four |
//! | `copies` | copies to shared memory that run beside the threads, and their barriers |
//! | `kernel_cells` | what kernels compute beyond the definitions |
//! | `thread`, [`context`] | a thread, and what it reaches besides its registers |
//! | `word` | what operations that PTX and machine code share compute |
//! | `accesses`, `symbolic` | a launch whose numbers are not known, and instructions on these |
//! | `instruction`, `opcode` | what instructions do to a thread, and the list of them |
//! | [`machine`] | a grid of threads that runs them |
//! | [`sass`] | rules for machine code, and a grid of warps that runs it |
//! | [`launch`] | a launch on such memory |
//! | [`kernel`], [`batch`] | the claim about a kernel, and about its entry points for many keys and messages |
//! | [`ghash`] | the claims about hash kernels, and about GCM in one launch |
//! | [`every_length`], [`form`] | the claim about a mode for every launch, and the numbers that are not known in it |
//!
//! # What is proved
//!
//! For a kernel and the lengths, counters and grid of a [`kernel::Case`]: whatever the round keys, the IV and the data are, the output is
//! the mode's, nothing else is written, nothing is read that was not written, and no branch, address or lane depends on unknown values.
//! Values are compared by fingerprints ([`anf`]): among 2^28 values, more than a proof computes, the probability that some two are taken
//! for equal and are not is below 2^-71.
//!
//! # What it rests on
//!
//! - This module: its rules for instructions are the PTX ISA's, written down here once. Known answers on GPUs test the same kernels in
//!   another way.
//! - The module [`ptx`](crate::ptx), which reads the text, and the multiplication of the crate `polyval`.
//! - From `aes-bitslice-core`, the table of the S-box, ShiftRows, the coefficients of MixColumns and the arithmetic of GF(2^8), on which
//!   the definition is built: known answers of FIPS 197 test them.
//! - The host's arguments are assumed to be those computed here once more for such a launch: numbers of blocks, shares of warps, strides,
//!   and addresses of the blocks before shares.
//! - For PTX the compiler to machine code, and the machine; for machine code what [`sass`] says of it.
//! - Threads run in one order between barriers. A race ends the run, whatever the order ([`order`]). But which warp takes which tile, by an
//!   atomic counter, is only one of the possible orders.
//! - Round keys are independent unknowns, in the bases that the manifest says. That the host computes the key schedule and these changes of
//!   basis correctly is tested elsewhere. Where kernels compute them, for many keys, they are proved.
//!
//! Kernels with lookup tables are not covered. Of hashes, [`ghash`] says what is.
//!
//! [`every_length`] proves the output of entry points for aligned blocks, and in all modes but XTS for any alignment, for every length,
//! counter, address and number of thread blocks; for which units of XTS, and what it assumes besides, is at its head.

mod accesses;
pub mod aes;
pub mod anf;
mod arithmetic;
mod async_proxy;
pub mod batch;
pub mod context;
mod copies;
pub mod every_length;
pub mod form;
pub mod ghash;
mod instruction;
pub mod kernel;
mod kernel_cells;
pub mod launch;
mod loops;
pub mod machine;
mod matrix;
pub mod memory;
pub mod mode;
mod opcode;
pub mod order;
pub mod sass;
mod symbolic;
mod thread;
pub mod value;
mod warpgroup;
mod word;
