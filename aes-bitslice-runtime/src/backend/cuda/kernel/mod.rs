//! Kernels on a device.
//!
//! | file | idea |
//! |---|---|
//! | `image` | what the driver loads: stored, or compiled here |
//! | `round_keys` | round keys as kernels take them |
//! | `binding` | the arguments of a launch, in the order in which the kernel's manifest lists its parameters |
//! | `loaded` | a kernel that was loaded, and its launches |
//! | `self_test` | the known answer that it must give first |
//! | `side_stream` | a stream beside the caller's |
//! | `co_resident` | two kernels at the same time, on shares of one input |

pub(crate) mod binding;
pub(crate) mod co_resident;
pub(crate) mod image;
pub(crate) mod loaded;
pub(crate) mod round_keys;
pub(crate) mod self_test;
pub(crate) mod side_stream;
