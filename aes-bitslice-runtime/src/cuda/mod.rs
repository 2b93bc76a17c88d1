//! NVIDIA GPUs through the CUDA driver, which is looked for when it is first needed: a machine without one builds
//! and runs everything else.
//!
//! Data in host memory goes through [`Cipher`](crate::Cipher) like on any engine. Data in device memory goes through
//! [`DeviceCipher`], on the caller's stream and without a synchronisation:
//!
//! ```no_run
//! use aes_bitslice_runtime::{Backend, Counter, CounterMode, Engine, Key};
//!
//! let engine = Engine::open(Backend::Cuda { ordinal: 0 })?;
//! let cipher = engine.cipher(&Key::from_hex("2b7e151628aed2a6abf7158809cf4f3c")?)?;
//! let stream = engine.cuda_context()?.new_stream()?;
//! let mut data = stream.alloc_zeros::<u8>(1 << 20)?;
//! let counter = Counter::new(CounterMode::Ctr128BE, [0; 16]);
//! cipher.device()?.ctr_apply(&stream, &counter, 0, &mut data)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `driver` | is CUDA there; errors by name; which of them are fatal to a context |
//! | `device` | a device that was opened: its kernels and its health |
//! | `image` | what the driver loads as a kernel: stored, or compiled here |
//! | `kernel` | a loaded kernel: launches, and the known answer it must give first |
//! | `cbc` | its launch for CBC: what blocks are chained to, also in place |
//! | `round_keys` | round keys as kernels take them |
//! | `device_key` | a key on a device |
//! | `group` | one GPU or several that share the work of a call, and a key on all of them |
//! | `pool` | slots: streams with device memory and pinned memory, cleared between calls |
//! | `pinned` | host memory that is copied from and to beside kernels |
//! | `transfers` | in which chunks, on how many streams, by how many threads data comes from the host |
//! | `copy` | a copy past the caches |
//! | `host_data` | data in host memory: to the GPUs, through the kernel, back |
//! | `device_data` | data in device memory |
//! | `peers` | which GPU reaches the memory of which |
//! | `spread` | device memory spread over the GPUs of an engine |
//! | `spread_data` | calls on data in it |
//! | `pieces` | their work in pieces: all GPUs at once, each on its own part and then on what another has left |
//! | `baked` | kernels with their key baked in |
//! | `launch` | one call on device memory: its kernel, and its launch |
//! | `pair` | two kernels side by side, on shares of one input |
//! | `choice` | which kernel a call takes, and how it is laid over the device |
//! | `tuning` | what was measured on this machine, and what follows from it |

mod baked;
mod cbc;
mod choice;
mod copy;
mod device;
mod device_data;
mod device_key;
mod driver;
mod group;
mod host_data;
mod image;
mod kernel;
mod launch;
mod pair;
mod peers;
mod pieces;
mod pinned;
mod pool;
mod round_keys;
mod spread;
mod spread_data;
mod transfers;
mod tuning;

pub use choice::{Call, Choice, Kernels, Runs, UnknownName};
pub use cudarc;
pub use device_data::DeviceCipher;
pub use driver::{DeviceInfo, devices};
pub use group::Shares;
pub use spread::{SpreadBuffer, SpreadPart};
pub use spread_data::SpreadCipher;
pub use transfers::Transfers;
pub use tuning::{HostRates, KernelRates, Measurements, Rate, Subject, Tuning};

pub(crate) use device::Device;
pub(crate) use device_key::DeviceKey;
pub(crate) use group::{Group, GroupKey, Member};
pub(crate) use pinned::Pinned;

use crate::Error;
use std::sync::Arc;

/// The names of the kernels that come with this crate, for keys given at launch.
pub fn stored_kernels() -> Vec<&'static str> {
    aes_bitslice_kernels::KERNELS.iter().map(|kernel| kernel.name).collect()
}

/// What is known of the device with this number, without opening it.
///
/// # Errors
/// [`Error::CudaUnavailable`] and [`Error::NoSuchDevice`], as opening it.
pub fn tuning(ordinal: usize) -> Result<Tuning, Error> {
    Ok(Tuning::of(&driver::usable(ordinal)?))
}

/// Opens the device with this number.
fn open(ordinal: usize) -> Result<Arc<Device>, Error> {
    Device::open(ordinal).map(Arc::new)
}
