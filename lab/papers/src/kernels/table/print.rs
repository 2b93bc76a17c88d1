//! Table kernels: the `.h` files of the folder `table`, assembled as the specification asks. Numbers come first, as macros; everything else
//! that the files take from it is between `@`.
//!
//! | files | idea |
//! |---|---|
//! | `tables_*` | where the tables are |
//! | `look_up` | a look-up, with one table or four |
//! | `keys_*` | where the round keys are |
//! | `registers`, `words`, `bytes` | a thread's part of a block, and the cipher on it |
//! | `load_*` | whether plaintext goes through shared memory first |
//! | `staging_*` | how blocks are laid out in shared memory where threads share them |
//! | `ecb`, `ctr`, `cbc` | modes, with the entry points |

use super::modes;
use super::spec::{Granularity, KeyMemory, Rounds, Staging, TableSpec, ThreadBlocks};
use crate::kernels::table_memory::TableMemory;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::grid::Grid;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_gen::emit::look_ups::{numbers, shifted_macro};
use aes_bitslice_gen::emit::{dialect, header, manifest};
use aes_bitslice_gen::table::{TableCount, boxes};
use aes_bitslice_gen::templates::{ACCESS, ROUND_KEYS, SHARE};
use std::fmt::Write;
use zeroize::Zeroizing;

impl TableSpec {
    /// Prints the kernel in CUDA C. `command` is the command line that remakes it.
    ///
    /// # Panics
    /// If it is not possible.
    pub fn print(&self, command: &str) -> Printed {
        assert!(self.is_possible(), "there is no kernel {}", self.name());
        let grid = match self.thread_blocks {
            ThreadBlocks::Cover => Grid::Covers,
            ThreadBlocks::Loop { each } => Grid::Persistent { each },
        };
        let source = Zeroizing::new(source(self, command));
        let (name, mode, threads) = (self.name(), self.mode, self.threads);
        let manifest = manifest::plain(&name, mode, threads, self.tile_blocks(), grid, Dialect::Cuda, &source);
        Printed { source, manifest }
    }
}

/// The kernel's source, heading included. `command` is the command line that remakes it.
fn source(spec: &TableSpec, command: &str) -> String {
    let (bytes, threads) = (spec.granularity.bytes(), spec.threads);
    let tables = match spec.count {
        TableCount::One => "one T-box",
        TableCount::Four => "four T-boxes",
    };
    let memory = match spec.memory {
        TableMemory::Constant => "constant memory",
        TableMemory::Shared => "shared memory",
    };
    let keys = match spec.keys {
        KeyMemory::Constant => "in constant memory",
        KeyMemory::Shared => "in shared memory",
        KeyMemory::Shuffle => "in the registers of a warp, handed round by shuffles",
    };
    let state = match spec.staging {
        Staging::Registers => "in registers",
        Staging::Aos => "in shared memory, an array of structures",
        Staging::Soa => "in shared memory, a structure of arrays",
    };
    let rounds = match spec.rounds {
        Rounds::Loop => "a loop",
        Rounds::Unrolled => "written out for keys of 128 bits",
    };
    let heading = [
        format!("{}{command}", header::COMMAND),
        format!("Kernel: {}, AES by look-ups in tables.", spec.name()),
        "NOT CONSTANT-TIME: what it looks up, and for how long, depends on key and data.".into(),
        format!("Mode: {}; tables: {tables} in {memory}; round keys: {keys}.", spec.mode),
        format!("State: {bytes} bytes a thread, {state}; rounds: {rounds}."),
        format!("Geometry: {threads} threads a block, {} blocks a multiprocessor.", blocks_per_sm(spec)),
    ];
    header::with_heading(heading.iter().map(String::as_str), &body(spec))
}

/// Thread blocks that the compiler must leave registers for on one multiprocessor: 32 registers per thread, with which a multiprocessor has
/// all its threads, or 64, 96 and 128 for two, three and four blocks per thread. Nothing spills there: only 1,024 threads with four blocks
/// each have no more than 64, and may spill where data is not aligned.
fn blocks_per_sm(spec: &TableSpec) -> u32 {
    let threads_per_sm = match spec.granularity {
        Granularity::B1 | Granularity::B4 | Granularity::B8 | Granularity::B16 => 2048,
        Granularity::B32 => 1024,
        Granularity::B48 => 640,
        Granularity::B64 => 512,
    };
    (threads_per_sm / spec.threads).max(1)
}

pub(super) fn body(spec: &TableSpec) -> String {
    let direction = spec.mode.direction();
    let mut text = format!("\n#define THREADS {}\n#define BLOCKS_PER_SM {}\n", spec.threads, blocks_per_sm(spec));
    let _ = writeln!(text, "#define TABLES {}", spec.count.number());
    let _ = writeln!(text, "#define UNROLLED {}", u32::from(spec.rounds == Rounds::Unrolled));
    let _ = match (spec.granularity.bytes(), spec.staging) {
        (1, _) => Ok(()),
        (bytes, Staging::Registers) => writeln!(text, "#define BLOCKS_PER_THREAD {}", bytes / 16),
        (bytes, _) => {
            let first = u32::from(spec.plaintext_first);
            writeln!(text, "#define COLUMNS {}\n#define PLAINTEXT_FIRST {first}", bytes / 4)
        }
    };
    let shifted = shifted_macro(direction);
    let tables = match spec.memory {
        TableMemory::Constant => include_str!("tables_constant.h"),
        TableMemory::Shared => include_str!("tables_shared.h"),
    };
    let keys = match spec.keys {
        KeyMemory::Constant => include_str!("keys_constant.h"),
        KeyMemory::Shared => include_str!("keys_shared.h"),
        KeyMemory::Shuffle => include_str!("keys_shuffle.h"),
    };
    let state = match (spec.granularity, spec.staging) {
        (Granularity::B1, _) => include_str!("bytes.h"),
        (_, Staging::Registers) => concat!(include_str!("../blocks.h"), "\n", include_str!("registers.h")),
        _ => include_str!("words.h"),
    };
    let mode = modes::templates(spec.mode).expect("a specification is of a mode that has them");
    let parts = [
        &dialect::page(Dialect::Cuda, ""),
        tables,
        include_str!("look_up.h"),
        ROUND_KEYS,
        keys,
        include_str!("prepare.h"),
        &shifted,
        ACCESS,
        state,
        SHARE,
    ];
    for part in parts.into_iter().chain(mode.iter().copied()) {
        text += "\n";
        fill(spec, part, &mut text);
    }
    text
}

/// Appends a template.
fn fill(spec: &TableSpec, template: &str, text: &mut String) {
    let direction = spec.mode.direction();
    for (i, part) in template.split('@').enumerate() {
        match part {
            part if i % 2 == 0 => *text += part,
            "NAME" => *text += &spec.name().replace('-', "_"),
            "T_BOXES" => {
                for table in &boxes::t_boxes(direction)[..spec.count.number() as usize] {
                    *text += "{\n";
                    numbers(table, text);
                    *text += "}, ";
                }
                text.truncate(text.trim_end_matches(", ").len());
            }
            "S_BOX" => {
                *text += "\n";
                numbers(boxes::last_round(direction), text);
            }
            "LOAD" => {
                let load =
                    if spec.plaintext_first { include_str!("load_first.h") } else { include_str!("load_direct.h") };
                *text += load.trim_end();
            }
            "STAGING" => {
                *text += match spec.staging {
                    Staging::Registers => "",
                    Staging::Aos => include_str!("staging_aos.h"),
                    Staging::Soa => include_str!("staging_soa.h"),
                }
                .trim_end();
            }
            other => unreachable!("`{other}` in a template"),
        }
    }
}
