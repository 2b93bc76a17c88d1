//! Machine code on formal bits: the launch of an entry point, as `nvdisasm` prints it, for compute capability 9.0.
//!
//! | module | idea |
//! |---|---|
//! | `rules` | what instructions compute that only read and write registers, by opcode |
//! | `warp` | threads of a warp: which are together, their registers, and who wrote what they share |
//! | [`machine`] | a grid of warps; what the other instructions do: branches, barriers, memory, values of other threads |
//!
//! Bits, memory, and the order of accesses to it are those of the machine for PTX. With known bytes in place of unknown ones, it is an
//! interpreter of machine code.
//!
//! # What is assumed of the machine
//!
//! NVIDIA does not document these, nor the rules. They are assumptions of a proof.
//!
//! - An instruction is carried out for all threads of a warp that are together, and what it reads and writes in memory comes before
//!   what the next one does: no barrier is needed between them, and the compiler emits none. Threads part at a branch that some take.
//!   They are together again at `BSYNC`, where those wait that were together at `BSSY`. Accesses of threads that are apart are in no
//!   order.
//! - Registers hold what the instruction before has written. The fields of an encoded instruction that make it wait for others (stalls,
//!   barriers of dependencies) are not in the listing, and are not looked at.
//! - A register that was not written holds any bits. So do the words of constant bank 0 that hold the stack and the descriptor of
//!   memory; loads and stores of device memory must name this descriptor. The sizes of a launch, and parameters from 0x210 on, are where
//!   compilers look for them.
//! - Shared memory begins at 0x400, and a launch has no clusters. What runs before the launches ahead have ended, up to `ACQBULK`, must
//!   not reach device memory.
//! - A reciprocal of a number with a floating point is within one unit in the last place of the nearest, as in PTX. Here the first warp
//!   of a thread block has the nearest, the second the one below, the third the one above, and so on: divisions must come out right
//!   with each.
//! - `nvdisasm` prints what the machine decodes.

pub mod machine;
mod rules;
mod warp;
