//! Printers: a plan or a circuit in, text out. Deterministic to the byte; what is printed decides nothing.

pub mod cuda;
pub mod header;
pub mod rust;
