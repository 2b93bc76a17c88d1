//! OpenCL devices of every vendor: GPUs and processors. The loader (`libOpenCL.so.1`) is looked up on first use, so a
//! machine without one still builds and runs everything else.
//!
//! The device's driver compiles kernels from source: the kernel of each mode on its first use. Data in host memory goes
//! through [`Cipher`](crate::Cipher), as on any engine. Data in the caller's buffers goes through [`BufferCipher`], in
//! the caller's queue and without waiting:
//!
//! ```no_run
//! use aes_bitslice_runtime::{Backend, Counter, Ctr, Engine, Key, KeyBits};
//!
//! let engine = Engine::open(Backend::OpenClFirst)?;
//! let cipher = engine.cipher(&Key::generate(KeyBits::Aes256)?)?;
//! // Or a queue and buffers that were made with the crate `opencl3` in `Engine::opencl_context`.
//! let (queue, data) = (engine.opencl_queue()?, engine.opencl_memory(1 << 20)?);
//! let (counter, all) = (Counter::random()?, data.slice(0, 1 << 20));
//! cipher.opencl()?.run(queue.queue(), Ctr::new(&counter, 0), all)?;
//! queue.finish()?;
//! # Ok::<(), aes_bitslice_runtime::Error>(())
//! ```
//!
//! Each file uses only those below it:
//!
//! | file | idea |
//! |---|---|
//! | `opened` | an open OpenCL device, as an engine holds it |
//! | `buffers` | data in the caller's buffers |
//! | `pending` | the value that a call on them returns besides its output |
//! | `device_key` | a key on a device |
//! | `device` | an open device: its context, its slots, and its kernels |
//! | `commands` | OpenCL as `backend::device` uses it: memory, copies, launches |
//! | `kernel` | the code of kernels: compiled, with arguments in OpenCL's form |
//! | `memory` | device memory: pinned memory, key material, and memory and queues for callers |
//! | `place` | a place in device memory |
//! | `context` | a device's context, and a queue in it |
//! | `platforms` | whether OpenCL is there, and its devices |
//! | `handles` | OpenCL's objects, and its errors in this crate's terms |
//!
//! # What a platform's library may do
//!
//! Looking for devices loads the library of every installed platform into the process, whether it has a device or not.
//! Such a library can start threads, install signal handlers, read environment variables, write files, reserve memory,
//! and end the process if it does not get that memory: it is third-party code in this process. These look for devices:
//! [`Backend::OpenClFirst`](crate::Backend::OpenClFirst), [`Backend::OpenCl`](crate::Backend::OpenCl), [`devices`] and
//! [`first_gpu`], and [`Backend::Auto`](crate::Backend::Auto) only where it could choose an OpenCL GPU.
//!
//! # Secrets
//!
//! As on CUDA, secrets in host memory are wiped, and the engine's device memory is cleared before it is released or
//! reused. A key that travels with a launch is overwritten in the kernel's arguments as soon as the launch is in its
//! queue. The driver's copies of the key and of data remain with the driver, and so does the source of a kernel with
//! its key baked in, as long as the program lives. Such a kernel is refused unless the driver was configured to keep
//! on disk nothing of what it compiles ([`Error::CompilerCache`](crate::Error::CompilerCache)). PoCL writes files even
//! then, and does not delete all of them: it must be given a `POCL_CACHE_DIR`, which should be in memory.

pub(crate) mod buffers;
pub(crate) mod commands;
pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod device_key;
pub(crate) mod handles;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod opened;
mod pending;
pub(crate) mod place;
pub(crate) mod platforms;

pub use buffers::{BufferCipher, BufferSlices};
pub use memory::device_memory::DeviceMemory;
pub use memory::slice::BufferSlice;
pub use memory::timed_queue::TimedQueue;
pub use opencl3;
pub use pending::Pending;
pub use platforms::{DeviceInfo, DeviceKind, devices, first_gpu};
