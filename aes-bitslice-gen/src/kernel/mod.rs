//! From a specification (mode, S-box, where the round keys are) to a plan of rounds over circuits.
//!
//! | file | idea |
//! |---|---|
//! | `spec` | what is asked for |
//! | `plan` | the cipher as steps over named circuits, and their evaluation |
//! | `preset` | kernels by the name of the paper that describes them |
//! | `keys` | the places round keys can come from, each as circuits for the layers that meet a key |
//! | `design` | any kernel: what can be printed and launched |

pub(crate) mod design;
mod keys;
pub(crate) mod plan;
pub(crate) mod preset;
pub(crate) mod spec;

pub use design::Design;
pub use plan::{Call, Function, KeyOperand, Plan, Step};
pub use preset::Preset;
pub use spec::{DataPath, KernelSpec, Layers, NoSuchLayout, RoundKeys};
