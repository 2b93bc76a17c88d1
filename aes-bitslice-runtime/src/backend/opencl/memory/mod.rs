//! Device memory, and the commands that may still use it.
//!
//! | file | idea |
//! |---|---|
//! | `in_flight` | commands that may still use memory |
//! | `pinned` | host memory of the driver, mapped |
//! | `slots` | queues with device memory and pinned memory, cleared between calls |
//! | `key_memory` | round keys in the form that kernels take |
//! | `slice` | bytes of a buffer: the caller's, or the engine's |
//! | `device_memory` | buffers for callers without any |
//! | `timed_queue` | a queue whose commands are timed by the device's clock |

pub(crate) mod device_memory;
pub(crate) mod in_flight;
pub(crate) mod key_memory;
pub(crate) mod pinned;
pub(crate) mod slice;
pub(crate) mod slots;
pub(crate) mod timed_queue;
