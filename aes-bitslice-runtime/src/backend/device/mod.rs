//! What CUDA and OpenCL devices do in the same way, over a [`Driver`](driver::Driver) for each kind of device.
//!
//! Each file uses only those below it:
//!
//! | file | idea |
//! |---|---|
//! | `host_data` | data in host memory: to the devices, through the kernel, and back |
//! | `one_kernel` | a kernel compiled for one key |
//! | `key` | a key on a device: the launches of a call's steps |
//! | `self_test` | the known answers that kernels must give before their first use |
//! | `hash` | a GHASH kernel, its tables, and its launches |
//! | `kernel` | a kernel of a cipher, and its launches |
//! | `on_first_use` | what is loaded and tested once, on first use |
//! | `slots` | queues with device memory and pinned memory, kept from call to call, cleared |
//! | `driver` | what a device's driver does |
//! | `values` | the value of each parameter of a launch |
//! | `round_keys` | round keys in the form that kernels take |
//! | `span` | the location of a call's data |

pub(crate) mod driver;
pub(crate) mod hash;
pub(crate) mod host_data;
pub(crate) mod kernel;
pub(crate) mod key;
pub(crate) mod on_first_use;
pub(crate) mod one_kernel;
pub(crate) mod round_keys;
pub(crate) mod self_test;
pub(crate) mod slots;
pub(crate) mod span;
pub(crate) mod values;
