//! Whether code for NVIDIA's GPUs is constant-time: taint analysis of PTX ([`ptx`]) and of machine code as the disassembler prints it
//! ([`sass`]). These two know nothing of AES: [`Secrets`] says what is secret, by bytes of parameters. [`entry_points`] derives it from a
//! kernel's manifest, and judges.
//!
//! # What is secret
//!
//! - the bytes of parameters that [`Secrets`] names;
//! - everything read from global memory, and from memory of an unknown space, except by non-coherent loads from tables;
//! - everything computed from a secret, and everything read where a secret may have been written.
//!
//! A table is memory that describes the work: the caller says which parameter points to one ([`Secrets::table`]). Kernels read what is
//! public in it by non-coherent loads, and read nothing else so. In PTX each of these is traced to its pointer, and one that does not
//! belong to a table is reported; in machine code, which is compiled from that PTX, they are recognised by their kind.
//!
//! A count of arrivals ([`Secrets::arrivals`]) is memory that only atomic increments (`atom.global.inc`, `ATOMG.INC`) write, in code that has
//! no others: by what these return, the last thread block knows that it is the last.
//!
//! Parameters that are not named, special registers (index of the thread, sizes of the launch) and immediates are public.
//!
//! # What must not depend on it
//!
//! | sink | in PTX | in machine code |
//! |---|---|---|
//! | whether and where the program goes on | `bra`, `call`, `ret`, `exit` and their predicates | `BRA`, `CALL`, `RET`, `EXIT`, `BSYNC`, `WARPSYNC` |
//! | whether memory is accessed, and where | predicates and addresses of `ld`, `st`, `atom`, `red`, `cp`, `mma` descriptors | predicates and addresses of `LD*`, `ST*`, `ATOM*`, `RED*`, `LDC`, constant operands |
//! | which thread a value comes from | predicate, lane, clamp and mask of `shfl`; predicate and mask of `vote`, `match`, `redux`, `elect` | predicate, lane and clamp of `SHFL`; predicate and mask of `WARPSYNC`. `VOTE` has no mask, and computes |
//! | barriers | operands and predicates of `bar`, `barrier`, `mbarrier` | operands and predicates of `BAR`, `SYNCS` |
//! | instructions whose time may depend on operands | `div`, `rem`, and floating point | `MUFU`, `F2I`, `I2F` and all floating point |
//!
//! An instruction for which this module has no rule is reported, too: it is never assumed to be harmless.
//!
//! # What is modelled
//!
//! Registers and predicates, with predicated writes; shared, local and parameter memory by *object*: a variable that the program declares.
//! An object becomes secret as a whole and for good once a secret may have been written to it, by any thread at any time: so the order of
//! threads does not matter. A counter by which warps take tiles is an object of its own, into which only public numbers are written; that
//! makes it public, without a list of exceptions.
//!
//! Control dependence needs no rule of its own: while no branch depends on a secret, no secret decides which instructions run; and if one
//! does, that is reported. The result of a predicated instruction depends on its predicate, too.
//!
//! # What is assumed
//!
//! - An address computed from the address of an object is in that object: programs stay in bounds (the C checks and compute-sanitizer run
//!   them). In machine code an object is recognised by the constant part of an address.
//! - In machine code the variables in shared memory are in the order in which PTX declares them; the sum of their sizes is compared.
//! - Addition, logic, shifts, permutations, integer multiplication and products of matrices take the same time for all operands, and so do
//!   accesses to the same addresses: only addresses decide lines, banks and conflicts.
//! - Power, faults, and what a compiler later makes of PTX are out of scope: machine code is analysed itself where it is stored.

pub mod entry_points;
mod finding;
pub mod ptx;
pub mod sass;
mod secrets;
mod solve;
mod value;

pub use finding::{Finding, Report};
pub use secrets::Secrets;
