//! The project's files in which threads meet, unchanged, with loom's locks in place of the standard library's: loom goes through the
//! orders of the threads' steps (<https://github.com/tokio-rs/loom>).
//!
//! This crate has small versions of what they use from the rest of the project. Time stands still until a model ends it:
//! [`sync::end_of_time`].

#![allow(dead_code, reason = "a model does not need all of a file")]

pub mod sync;

// Paths within begin in this folder.
#[path = "."]
pub(crate) mod base {
    #[path = "../../../aes-bitslice-runtime/src/base/lock.rs"]
    pub(crate) mod lock;
    #[path = "../../../aes-bitslice-runtime/src/base/own_thread.rs"]
    pub(crate) mod own_thread;
    #[path = "../../../aes-bitslice-runtime/src/base/per_process.rs"]
    pub(crate) mod per_process;

    pub(crate) mod sync {
        pub(crate) use crate::sync::*;
    }

    pub(crate) mod error {
        /// The errors of these files.
        #[derive(Debug)]
        pub enum Error {
            NoThread { why: String },
            Panicked { what: String },
        }

        impl std::fmt::Display for Error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an error")
            }
        }

        impl std::error::Error for Error {}
    }
}

pub(crate) mod op {
    pub(crate) mod buffers {
        /// The runtime's type of this name.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Access {
            Maps,
            Reads,
            Writes,
        }
    }
}

// Paths within begin in this folder.
#[path = "."]
pub(crate) mod exec {
    #[path = "../../../aes-bitslice-runtime/src/exec/queue.rs"]
    pub(crate) mod queue;
    #[path = "../../../aes-bitslice-runtime/src/exec/schedule.rs"]
    pub(crate) mod schedule;
    #[path = "../../../aes-bitslice-runtime/src/exec/slots.rs"]
    pub(crate) mod slots;
    #[path = "../../../aes-bitslice-runtime/src/exec/submitted.rs"]
    pub(crate) mod submitted;
}

#[path = "../../../aes-bitslice-cli/src/pipeline/done.rs"]
pub(crate) mod done;
#[path = "../../../aes-bitslice-cli/src/pipeline/turns.rs"]
pub(crate) mod turns;

pub mod models;
