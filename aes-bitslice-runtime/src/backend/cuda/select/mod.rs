//! Which kernel a call takes: those that are stored for a device, and what is fastest on it.
//!
//! | file | idea |
//! |---|---|
//! | `stored` | the kernels that come with this crate, and which of them a device runs |
//! | `built_in` | which is fastest where nothing was measured |
//! | `measurements` | what was measured |
//! | `tuning_file` | measurements in a file |
//! | `crossover` | from which size on the GPU is faster for data in host memory |
//! | `tuning` | what a device goes by |

pub(crate) mod built_in;
pub(crate) mod crossover;
pub(crate) mod measurements;
pub(crate) mod stored;
pub(crate) mod tuning;
pub(crate) mod tuning_file;
