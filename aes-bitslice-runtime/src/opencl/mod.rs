//! Devices behind OpenCL, of every vendor: GPUs, and processors. The loader (`libOpenCL.so.1`) is looked for when it is first
//! needed: a machine without one builds and runs everything else.
//!
//! Kernels are compiled by the device's driver, from source: each mode's when it is first used. Data in host memory goes
//! through [`Cipher`](crate::Cipher) like on any engine. Data in buffers of the caller's goes through [`BufferCipher`], in the
//! caller's queue and without waiting:
//!
//! ```no_run
//! use aes_bitslice_runtime::{Backend, Counter, CounterMode, Engine, Key};
//!
//! let engine = Engine::open(Backend::OpenClFirst)?;
//! let cipher = engine.cipher(&Key::from_hex("2b7e151628aed2a6abf7158809cf4f3c")?)?;
//! // Or a queue and buffers that were made with the crate `opencl3` in `Engine::opencl_context`.
//! let (queue, data) = (engine.opencl_queue()?, engine.opencl_memory(1 << 20)?);
//! let (counter, all) = (Counter::new(CounterMode::Ctr128BE, [0; 16]), data.slice(0, 1 << 20));
//! cipher.opencl()?.ctr_apply(queue.queue(), &counter, 0, all, all)?;
//! queue.finish()?;
//! # Ok::<(), aes_bitslice_runtime::Error>(())
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `platforms` | is OpenCL there, and which devices it has |
//! | `handles` | its objects, and its errors in our words |
//! | `device` | a device that was opened, and its kernels |
//! | `program` | a source that the driver compiles; where it must not keep what it compiles |
//! | `kernel` | a kernel's launches, and the known answer it must give first |
//! | `round_keys` | round keys as kernels take them |
//! | `device_key` | a key on a device |
//! | `pool` | slots: queues with device memory, cleared between calls |
//! | `host_data` | data in host memory: to the device, through the kernel, back |
//! | `pending` | commands that may still use memory of ours |
//! | `buffers` | data in buffers of the caller's |
//! | `memory` | buffers and queues for whoever has none of their own |
//! | `baked` | kernels that are compiled for one key |
//!
//! # Secrets
//!
//! As on CUDA, what is held in host memory is wiped, and device memory of ours is cleared before it is released or used for
//! something else. A key that travels with a launch is overwritten in the kernel's arguments as soon as that is in its queue;
//! what the driver copied of it is the driver's, and so are its copies of data, and the source of a kernel with its key baked
//! in, as long as the program lives. Such a kernel is refused unless the driver was told to keep nothing of what it compiles on
//! disk ([`Error::CompilerCache`](crate::Error::CompilerCache)). PoCL writes files even then, and does not delete all of
//! them: it must be given a `POCL_CACHE_DIR`, which ought to be in memory.

/// Bytes from which a call on data in host memory goes to a GPU behind OpenCL where the choice is `auto`'s. An estimate: what two
/// copies and a launch cost, however short, is about what a core with AES instructions needs for as much.
pub const SMALLEST_CALL: u64 = 1 << 20;

mod baked;
mod buffers;
mod device;
mod device_key;
mod handles;
mod host_data;
mod kernel;
mod memory;
mod pending;
mod platforms;
mod pool;
mod program;
mod round_keys;

pub use buffers::{BufferCipher, BufferSlice};
pub use memory::{DeviceMemory, TimedQueue};
pub use opencl3;
pub use platforms::{DeviceInfo, DeviceKind, devices, first_gpu};

pub(crate) use device::Device;
pub(crate) use device_key::DeviceKey;
pub(crate) use platforms::Wanted;
