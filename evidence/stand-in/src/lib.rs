//! A stand-in for the CUDA driver: a library with the functions that the runtime calls, for tests without a GPU. The runtime looks for the
//! driver by its name when it first needs it, and finds this where a test has put it.
//!
//! Device memory is memory of the process, between pages that nothing may touch. Kernels are the stored ones, recognised by their PTX and
//! machine code; the C compiler builds libraries from their sources ([`aes_bitslice_gen::check::library`]). Work on a stream runs at the
//! latest time that the driver allows: when something waits for it; or, if the test says so, at once.
//!
//! The test chooses the number of devices. Each has one context, its own memory, and its own end: a fatal error loses one context. Memory
//! of another device can be accessed where the test allows it, by a context that has asked for it; everything else that is created in a
//! context is used in it, except that a stream may wait for an event of another. A copy between devices needs access, too, where the driver
//! would go through the host.
//!
//! It records misuse of the driver API, reports leaks when a context is released, and can make a chosen call fail ([`control`]). It does
//! not know kernels that are compiled at run time, graphs, or streams that wait for the default stream.
//!
//! | file | idea |
//! |---|---|
//! | `api` | the functions of the driver |
//! | `api/device` | devices and contexts |
//! | `api/memory` | memory of devices, pinned memory, and copies |
//! | `api/stream` | streams and events |
//! | `api/launch` | modules, their functions, and launches |
//! | `control` | functions for the test |
//! | `call` | a driver call: counted, refused if it is the one that fails, and executed |
//! | `contexts` | contexts: their beginning and end, what they reach |
//! | `allocations` | allocation and freeing of memory, which must be clear and not in use |
//! | `streams` | execution of the work on streams |
//! | `state` | all state: contexts, memory, streams, events, modules; and notes |
//! | `fault` | the call that fails, and what it was about |
//! | `work` | the work on streams |
//! | `kernels` | stored kernels as libraries, and their launches |
//! | `memory` | memory between pages that nothing may touch |
//!
//! Each uses those below it.
#![cfg(target_os = "linux")]
#![allow(non_snake_case, reason = "the functions have the driver's names")]

mod allocations;
pub mod api;
mod call;
mod contexts;
pub mod control;
mod fault;
mod kernels;
mod memory;
mod state;
mod streams;
mod work;
