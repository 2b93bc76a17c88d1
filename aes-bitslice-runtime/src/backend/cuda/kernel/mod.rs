//! Kernels on a device.
//!
//! | file | idea |
//! |---|---|
//! | `image` | the code that the driver loads: stored, or compiled here |
//! | `parameters` | the sizes of an entry point's parameters, according to its code |
//! | `round_keys` | round keys in the form that kernels take |
//! | `binding` | the arguments of a launch, in the order in which the kernel's manifest lists its parameters |
//! | `module` | a module of the driver, and the entry points of a kernel in it |
//! | `loaded` | a kernel of a mode, and the launches of its operations |
//! | `hash` | a GHASH kernel, and its launches |
//! | `hash_self_test` | the known answer that a hash kernel must give first |
//! | `self_test` | the known answer that a kernel of a mode must give first |
//! | `capture` | what a graph keeps of the calls that are captured into it |
//! | `side_stream` | a second stream next to the caller's |
//! | `co_resident` | two kernels at the same time, on shares of one input |

pub(crate) mod binding;
pub(crate) mod capture;
pub(crate) mod co_resident;
pub(crate) mod hash;
pub(crate) mod hash_self_test;
pub(crate) mod image;
pub(crate) mod loaded;
pub(crate) mod module;
pub(crate) mod parameters;
pub(crate) mod round_keys;
pub(crate) mod self_test;
pub(crate) mod side_stream;
