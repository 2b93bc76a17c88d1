//! Which kernel a call takes: the kernels stored for a device, and the fastest on it.
//!
//! | file | idea |
//! |---|---|
//! | `stored` | the kernels that come with this crate, and which of them a device runs |
//! | `hash` | the GHASH kernel of a device |
//! | `built_in` | which is fastest where nothing was measured |
//! | `measurements` | the measurements |
//! | `tuning_file` | measurements in a file |
//! | `crossover` | the size from which the GPU is faster for data in host memory |
//! | `tuning` | the tuning of a device: measurements, or built-in values |

pub(crate) mod built_in;
pub(crate) mod crossover;
pub(crate) mod hash;
pub(crate) mod measurements;
pub(crate) mod stored;
pub(crate) mod tuning;
pub(crate) mod tuning_file;
