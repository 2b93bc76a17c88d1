//! Cases timed on the devices of this machine; nothing here knows which paper they are from.
//!
//! | file | idea |
//! |---|---|
//! | `bench` | some papers' cases, one after the other |
//! | `kernels` | all kernels opened at the same time |
//! | `devices` | the devices, opened |
//! | `profile` | the resources of a multiprocessor that a kernel takes |
//! | `counters` | what the profiler counts, where there is one |
//! | `sharded` | a kernel timed on several GPUs |
//! | `clock` | the clock of a GPU under load |
//! | `memory` | a kernel timed from one buffer in GPU memory to another |
//! | `program` | a kernel that is not a cipher, timed |
//! | `processor` | what the papers compare with on the processor, timed |
//! | `word_major` | blocks in the order of their words |
//! | `copies` | a kernel timed between copies from and to host memory |
//! | `opencl` | a kernel timed through OpenCL |
//! | `host` | an engine on the processor, timed |
//! | `printed` | a kernel printed, opened and ready to launch |
//! | `data` | random input, and a mode's output for it |
//! | `runs` | how often a case is run |
//! | `driver` | the driver's errors |
//! | `date` | the day |
//!
//! A case that fails is recorded with its reason, and the others go on.

pub mod bench;
mod clock;
mod copies;
pub mod counters;
mod data;
pub mod date;
mod devices;
mod driver;
mod host;
mod kernels;
mod memory;
mod opencl;
mod printed;
mod processor;
mod profile;
mod program;
mod runs;
mod sharded;
mod word_major;
