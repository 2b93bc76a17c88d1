//! Machine code of NVIDIA's GPUs as text: [`Disassembler`] finds and runs `nvdisasm`, and [`Listing`] is one entry point of what it prints
//! without options.

mod disassembler;
mod listing;

pub use disassembler::Disassembler;
pub(crate) use listing::REGISTERS;
pub use listing::{Instruction, Listing, Operand, PREDICATES, Sign, UNIFORM, UNIFORM_PREDICATES};
