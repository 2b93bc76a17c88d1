//! From a specification (mode, S-box, where the round keys are) to a plan of rounds over circuits.
//!
//! | file | idea |
//! |---|---|
//! | `spec` | what is asked for |
//! | `plan` | the cipher as steps over named circuits, and their evaluation |
//! | `design` | any kernel: what can be printed and launched |
//! | `keys` | the places round keys can come from, each as circuits for the layers that meet a key |
//! | `reference` | the modes by definition, for checks |
//! | `self_test` | the known answer a kernel gives before it is used |
//! | `stored` | the kernels that are stored and shipped |

mod design;
mod keys;
mod plan;
mod reference;
pub mod self_test;
mod spec;
mod stored;

pub use design::Design;
pub use plan::{Call, Function, KeyOperand, Plan, Step};
pub use reference::reference;
pub use spec::{BakedStrategy, KernelSpec, KeyStrategy, Mode, RoundKeys, UnknownName};
pub(crate) use spec::{kernel_name, named};
pub use stored::{stored, stored_for_opencl};
