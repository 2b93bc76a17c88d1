//! From a specification (mode, S-box, where the round keys are) to a plan of rounds over circuits.
//!
//! | file | idea |
//! |---|---|
//! | `spec` | the specification of a kernel |
//! | `plan` | the cipher as steps over named circuits, and their evaluation |
//! | `preset` | kernels by the name of the paper that describes them |
//! | `keys` | the sources of round keys, each as circuits for the layers that add a key |
//! | `design` | any kernel that can be printed and launched |

pub(crate) mod design;
mod keys;
pub(crate) mod plan;
pub(crate) mod preset;
pub(crate) mod spec;

pub use design::Design;
pub use plan::{Call, Function, KeyOperand, Plan, Step};
pub use preset::Preset;
pub use spec::{DataPath, KernelSpec, Layers, NoSuchLayout, RoundKeys, Selected};
