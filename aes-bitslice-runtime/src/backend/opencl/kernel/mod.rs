//! A kernel on a device.
//!
//! | file | idea |
//! |---|---|
//! | `program` | a source that the driver compiles, and when it must not keep the result |
//! | `gather` | blocks of the input, copied before a launch that overwrites them |
//! | `binding` | the arguments of a launch, as the kernel's manifest lists them |
//! | `hash` | the stored GHASH kernel |
//! | `stored` | the kernels that come with this crate |

pub(crate) mod binding;
pub(crate) mod gather;
pub(crate) mod hash;
pub(crate) mod program;
pub(crate) mod stored;
