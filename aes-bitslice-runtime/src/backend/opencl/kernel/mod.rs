//! A kernel on a device.
//!
//! | file | idea |
//! |---|---|
//! | `program` | a source that the driver compiles; where it must not keep what it compiles |
//! | `span` | where a call's data lies |
//! | `gather` | blocks of the input, copied before a launch that overwrites them |
//! | `binding` | the arguments of a launch, as the kernel's manifest lists them |
//! | `compiled` | a kernel that was compiled, and its launches |
//! | `hash` | the kernel of GHASH, and its launches |
//! | `self_test` | the known answer that it must give first |
//! | `stored` | the kernels that come with this crate |

pub(crate) mod binding;
pub(crate) mod compiled;
pub(crate) mod gather;
pub(crate) mod hash;
pub(crate) mod program;
pub(crate) mod self_test;
pub(crate) mod span;
pub(crate) mod stored;
