//! Kernels on a device.
//!
//! | file | idea |
//! |---|---|
//! | `image` | the code that the driver loads: stored, or compiled here |
//! | `parameters` | the sizes of an entry point's parameters, according to its code |
//! | `binding` | the arguments of a launch in the driver's form |
//! | `module` | a module of the driver, and the entry points of a kernel in it |
//! | `capture` | what a graph keeps of the calls that are captured into it |
//! | `side_stream` | a second stream next to the caller's |

pub(crate) mod binding;
pub(crate) mod capture;
pub(crate) mod image;
pub(crate) mod module;
pub(crate) mod parameters;
pub(crate) mod side_stream;
