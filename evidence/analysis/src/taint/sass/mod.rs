//! Machine code, read by [`crate::sass`]: `opcodes` says what instructions do, and `flow` follows secrets through them.
//!
//! Registers of machine code are reused, so they are followed along every path through an entry point. Where PTX has names of variables,
//! machine code has numbers: the caller tells [`check`] which variables PTX has in shared memory.

mod flow;
mod opcodes;

pub use opcodes::names;

use crate::ptx::Variable;
use crate::sass::Listing;
use crate::taint::finding::Report;
use crate::taint::secrets::Secrets;

/// Follows the secrets of an entry point. `shared` lists the variables in shared memory, as [`ptx::shared`](crate::taint::ptx::shared) returns
/// them; without any, all of shared memory is one object.
///
/// # Errors
/// In words, if the listing cannot be read, has no such entry point, or its parameters or shared memory are of other sizes.
pub fn check(listing: &str, entry: &str, secrets: &Secrets, shared: &[Variable]) -> Result<Report, String> {
    flow::check(&Listing::read(listing, entry)?, entry, secrets, shared)
}
