//! A stand-in for the CUDA driver: a library with those of its functions that the runtime calls, for tests where there is no GPU. The
//! runtime looks for the driver by its name when it is first needed, and finds this where a test has put it.
//!
//! Device memory is memory of the process, between pages that nothing may touch. Kernels are the stored ones, known by their PTX and
//! machine code, whose sources the C compiler has made a library of ([`aes_bitslice_gen::check::library`]). What is put on a stream is done
//! at the latest time that the driver allows: when something waits for it; or, if the test says so, at once.
//!
//! There are as many devices as a test says, each with one context, memory of its own, and an end of its own: what is lost by a fatal error
//! is one context. Memory of another device can be accessed where the test says that devices can, by a context that has asked for it; what
//! else is made in a context is used in it, but that a stream may wait for an event of another. A copy between devices needs access, too,
//! where the driver would go by the host.
//!
//! It notes what no caller of the driver may do, and what is left when a context is released, and lets the call fail that a test names
//! ([`control`]). It does not know: kernels that are compiled at run time, graphs, streams that wait for the default stream.
//!
//! | file | idea |
//! |---|---|
//! | `api` | the functions of the driver |
//! | `api/device` | devices and contexts |
//! | `api/memory` | memory of devices, pinned memory, and copies |
//! | `api/stream` | streams and events |
//! | `api/launch` | modules, their functions, and launches |
//! | `control` | functions for the test |
//! | `call` | a call of the driver: counted, refused where it is the one that fails, and done |
//! | `contexts` | contexts: where they begin and end, what they reach |
//! | `allocations` | memory is asked for and freed: clear, and not in use |
//! | `streams` | what streams have to do is done |
//! | `state` | what there is: contexts, memory, streams, events, modules; what was noted |
//! | `fault` | the call that fails, and what it was about |
//! | `work` | what streams have to do |
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
