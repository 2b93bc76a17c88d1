//! Fuzzing with arbitrary bytes: readers of every format that comes from outside, and calls of the engines against the reference. A
//! target returns, or panics: a panic is a fault.
//!
//! cargo-fuzz runs the same functions for hours (`evidence/fuzz`), and so do the tests, on the kept corpus and some thousand mutations of it
//! (`tests/fuzz.rs`).
//!
//! | module | idea |
//! |---|---|
//! | [`readers`] | parsers |
//! | [`calls`] | computations |

pub mod calls;
pub mod readers;

use crate::engines::open_cpus;
use aes_bitslice_runtime::Engine;
use std::sync::OnceLock;

/// A target: its name, which is that of its corpus folder, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 12] = [
    ("manifest", readers::manifest),
    ("hash_manifest", readers::hash_manifest),
    ("signature", readers::signature),
    ("netlist", readers::netlist),
    ("key", readers::key),
    ("keyset", readers::keyset),
    ("sealed", readers::sealed),
    ("tuning", readers::tuning),
    ("engines", calls::engines),
    ("messages", calls::messages),
    ("batch", calls::batch),
    ("jobs", calls::jobs),
];

/// The CPU engines, opened once.
fn cpu_engines() -> &'static [Engine] {
    static ENGINES: OnceLock<Vec<Engine>> = OnceLock::new();
    ENGINES.get_or_init(open_cpus)
}
