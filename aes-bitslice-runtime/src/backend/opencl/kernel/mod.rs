//! A kernel on a device.
//!
//! | file | idea |
//! |---|---|
//! | `program` | a source that the driver compiles, and when it must not keep the result |
//! | `span` | the location of a call's data |
//! | `gather` | blocks of the input, copied before a launch that overwrites them |
//! | `binding` | the arguments of a launch, as the kernel's manifest lists them |
//! | `compiled` | a compiled kernel, and its launches |
//! | `hash` | the GHASH kernel, and its launches |
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
