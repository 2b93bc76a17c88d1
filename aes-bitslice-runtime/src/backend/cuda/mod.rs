//! NVIDIA GPUs through the CUDA driver. The driver is looked up on first use, so a machine without one still builds and
//! runs everything else.
//!
//! Data in host memory goes through [`Cipher`](crate::Cipher), as on any engine. Data in device memory goes through
//! [`DeviceCipher`], on the caller's stream and without synchronisation:
//!
//! ```no_run
//! use aes_bitslice_runtime::{Backend, Counter, Ctr, Engine, Key, KeyBits};
//!
//! let engine = Engine::open(Backend::Cuda { ordinal: 0 })?;
//! let cipher = engine.cipher(&Key::generate(KeyBits::Aes256)?)?;
//! let stream = engine.cuda_context()?.new_stream()?;
//! let mut data = stream.alloc_zeros::<u8>(1 << 20)?;
//! cipher.device()?.run(&stream, Ctr::new(&Counter::random()?, 0), &mut data)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each file and folder uses those above it in this table:
//!
//! | file or folder | idea |
//! |---|---|
//! | `driver` | whether CUDA is there; errors by name; which errors are fatal to a context |
//! | `context` | a device's context, and whether an error has left it unusable |
//! | `handles` | streams, events and device memory, each released when its owner is dropped |
//! | `memory` | device memory, pinned memory, and copies |
//! | `kernel` | the code of kernels: loaded, captured into graphs, with arguments in the driver's form |
//! | `commands` | the driver as `backend::device` uses it: memory, copies, launches |
//! | `co_resident` | two kernels at the same time, on shares of one input |
//! | `select` | which kernels a device has, and which is fastest |
//! | `device` | an open device |
//! | `device_key` | a key on a device |
//! | `program` | kernels that are not ciphers |
//! | `launch` | one call on device memory: its choice of kernel, and its launch |
//! | `gcm_batch`, `cmac_batch`, `batch` | one call on many messages in device memory |
//! | `device_batch`, `described_batch`, `gcm_arrays` | messages that arrays in device memory describe: as the caller gives them; a call on them; one on slices |
//! | `gcm_self_test` | the known answers that the kernel of GCM in one launch must give first |
//! | `batch_self_test` | the known answers that the batch kernels must give first |
//! | `many_keys`, `gcm_jobs` | calls under many keys in device memory; GCM under them |
//! | `gcm_by_key` | GCM under few of them |
//! | `job_layout`, `gcm_job_layout` | calls under many keys that are in device memory, too, at places that were described there before; of GCM |
//! | `pending` | the result of a call on device memory, available once its stream reaches it |
//! | `device_buffers` | the memory that such a call takes, as programs have it |
//! | `device_data` | calls on data in device memory |
//! | `several` | one GPU or several: data in host memory, and in memory that is sharded over them |

pub(crate) mod batch;
mod batch_self_test;
pub(crate) mod cmac_batch;
pub(crate) mod co_resident;
pub(crate) mod commands;
pub(crate) mod context;
pub(crate) mod described_batch;
pub(crate) mod device;
pub(crate) mod device_batch;
mod device_buffers;
pub(crate) mod device_data;
pub(crate) mod device_key;
pub(crate) mod driver;
mod gcm_arrays;
pub(crate) mod gcm_batch;
mod gcm_by_key;
mod gcm_job_layout;
mod gcm_jobs;
mod gcm_self_test;
pub(crate) mod handles;
mod job_layout;
pub(crate) mod kernel;
pub(crate) mod launch;
pub(crate) mod many_keys;
pub(crate) mod memory;
pub(crate) mod pending;
pub(crate) mod program;
pub(crate) mod select;
pub(crate) mod several;

pub use cudarc;
pub use device_batch::{DeviceAads, DeviceBatch, DeviceNonces, DeviceRanges, DeviceTags, IntegerType};
pub use device_buffers::DeviceBuffers;
pub use device_data::DeviceCipher;
pub use driver::{DeviceInfo, devices};
pub use gcm_arrays::GcmArrays;
pub use gcm_job_layout::{GcmJobInputs, GcmJobLayout};
pub use job_layout::{DeviceBytes, JobLayout};
pub use pending::Pending;
pub use program::Program;
pub use select::measurements::{HostRates, KernelRates, Measurements, Rate, Subject};
pub use select::stored::stored_kernels;
pub use select::tuning::{Tuning, tuning};
pub use several::group::Shares;
#[doc(hidden)]
pub use several::sharded_buffer::Cuts;
pub use several::sharded_buffer::{ShardedBuffer, ShardedBuffers, ShardedShare};
pub use several::sharded_data::ShardedCipher;
