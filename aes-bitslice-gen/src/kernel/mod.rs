//! From a specification (mode, S-box, where the round keys are) to a plan of rounds over circuits.
//!
//! | file | idea |
//! |---|---|
//! | `spec` | what is asked for |
//! | `plan` | the cipher as steps over named circuits, and their evaluation |
//! | `keys` | the three places round keys can come from, each as circuits for the layers that meet a key |
//! | `self_test` | the known answer a kernel gives before it is used |
//! | `manifest` | what a user of the printed kernel must know, as JSON |

mod keys;
mod manifest;
mod plan;
pub mod self_test;
mod spec;

pub use manifest::{Lut3Counts, Manifest, ManifestError};
pub use plan::{Call, Function, KeyOperand, Plan, Step};
pub use spec::{BakedStrategy, KernelSpec, KeyStrategy, Mode, RoundKeys, UnknownName};
