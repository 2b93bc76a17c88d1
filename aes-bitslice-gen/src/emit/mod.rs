//! Printers: a plan or a circuit in, text out, and a manifest of what was printed. Deterministic to the byte; what is
//! printed decides nothing.

pub mod c;
pub mod cuda;
pub mod header;
mod manifest;
pub mod rust;

pub use manifest::{Bitsliced, Grid, KeySource, Lut3Counts, Manifest, ManifestError};
