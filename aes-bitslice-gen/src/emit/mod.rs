//! Printers: a plan or a circuit in, text out, and a manifest of what was printed. Deterministic to the byte; what is
//! printed decides nothing.
//!
//! | file | idea |
//! |---|---|
//! | `c` | circuits as statements |
//! | [`bitsliced`], `bytewise` | kernels as text that is the same in every dialect |
//! | `table`, `conflict_free` | kernels as text for the memory of NVIDIA's GPUs |
//! | `dialect` | what is not: a page in front of it |
//! | `lut3` | lookup tables as expressions |
//! | [`cuda`], [`opencl`] | a design and a dialect: source and manifest |
//! | `key_source` | how a key reaches a kernel |
//! | `manifest`, [`header`] | what is said of a source, beside it and in its first lines |
//! | [`rust`] | the engine of the CPU |

pub mod bitsliced;
mod bytewise;
pub mod c;
mod conflict_free;
pub mod cuda;
mod dialect;
pub mod header;
mod key_source;
pub mod lut3;
mod manifest;
pub mod opencl;
pub mod rust;
mod table;

pub use dialect::Dialect;
pub use key_source::{ExpandedKey, KeySource};
pub use manifest::{Bitsliced, Grid, Lut3Counts, Manifest, ManifestError};

use zeroize::Zeroizing;

/// A printed kernel.
pub struct Printed {
    /// The source, heading included. With a key baked in, it is the key.
    pub source: Zeroizing<String>,
    /// What one must know to launch it.
    pub manifest: Manifest,
}
