//! PTX: `opcodes` says what instructions do, and `flow` follows secrets through them.
//!
//! Registers are followed along every path through a function; objects in memory are one fact for the whole program. A function is
//! analysed once, with the arguments of all its calls together.

mod flow;
mod opcodes;

pub use opcodes::names;

use crate::ptx::{Program, Variable};
use crate::taint::finding::Report;
use crate::taint::secrets::Secrets;

/// Follows the secrets of an entry point.
///
/// # Errors
/// In words, if the text cannot be read, has no such entry point, or the entry point takes other parameters.
pub fn check(ptx: &str, entry: &str, secrets: &Secrets) -> Result<Report, String> {
    flow::check(&Program::read(ptx)?, entry, secrets)
}

/// The variables in shared memory that an entry point can reach, in the order in which they are declared: the module's, then its own.
///
/// # Errors
/// In words, if the text cannot be read.
pub fn shared(ptx: &str, entry: &str) -> Result<Vec<Variable>, String> {
    Ok(Program::read(ptx)?.shared(entry))
}
