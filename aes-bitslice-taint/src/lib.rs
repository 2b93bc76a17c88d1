//! Whether code for NVIDIA's GPUs is constant-time: taint analysis of PTX ([`ptx`]) and of machine code as the disassembler prints it
//! ([`sass`]). It knows nothing of AES; what is secret is said in [`Secrets`], by bytes of parameters.
//!
//! # What is secret
//!
//! - the bytes of parameters that [`Secrets`] names;
//! - all that is read from global memory, and from memory of an unknown space, but for tables;
//! - what is computed from something secret, and what is read where something secret may have been written.
//!
//! A table is memory that describes the work: the caller says which parameter points to one ([`Secrets::table`]). Kernels read it by
//! non-coherent loads and read nothing else so. In PTX each of these is followed to its pointer, and one that is of no table is reported;
//! in machine code, which is made of that PTX, they are told by their kind.
//!
//! Parameters that are not named, special registers (index of the thread, sizes of the launch) and immediates are public.
//!
//! # What must not depend on it
//!
//! | sink | in PTX | in machine code |
//! |---|---|---|
//! | whether and where the program goes on | `bra`, `call`, `ret`, `exit` and their predicates | `BRA`, `CALL`, `RET`, `EXIT`, `BSYNC`, `WARPSYNC` |
//! | whether memory is accessed, and where | predicates and addresses of `ld`, `st`, `atom`, `red`, `cp`, `mma` descriptors | the same of `LD*`, `ST*`, `ATOM*`, `RED*`, `LDC`, constant operands |
//! | which thread a value comes from | lane, clamp and mask of `shfl`, masks of votes and warps' barriers | the same of `SHFL`; predicates of `VOTE` |
//! | barriers | operands and predicates of `bar`, `barrier`, `mbarrier` | the same of `BAR`, `SYNCS` |
//! | instructions whose time may depend on operands | `div`, `rem`, and floating point | `MUFU`, `F2I`, `I2F` and all floating point |
//!
//! Whatever this crate has no rule for is reported, too: it is never taken for harmless.
//!
//! # What is modelled
//!
//! Registers and predicates, with predicated writes; shared, local and parameter memory by *object*: a variable that the program
//! declares. An object is secret as a whole and for good once something secret may have been written to it, by any thread at any time: so
//! the order of threads plays no part. A counter by which warps take tiles is an object of its own, into which only public
//! numbers are written; that makes it public, and no list of exceptions is kept.
//!
//! Control dependence needs no rule of its own: while no branch depends on a secret, no secret decides which instructions run; and if
//! one does, that is reported. What a predicated instruction writes depends on its predicate, too.
//!
//! # What is assumed
//!
//! - An address that is computed from that of an object lies in the object: programs stay in bounds (they are run by the C checks and under
//!   compute-sanitizer). In machine code an object is told by the constant part of an address.
//! - In machine code the variables in shared memory lie in the order in which PTX declares them; the sum of their sizes is compared.
//! - Addition, logic, shifts, permutations, integer multiplication and products of matrices take the same time for all operands, and so do
//!   accesses to the same addresses: of the lines, the banks and the conflicts, only addresses decide.
//! - Power, faults, and what a compiler makes of PTX later are outside: machine code is analysed itself where it is stored.
#![forbid(unsafe_code)]

mod finding;
pub mod ptx;
pub mod sass;
mod secrets;
mod solve;
mod value;

pub use finding::{Finding, Report};
pub use secrets::Secrets;
