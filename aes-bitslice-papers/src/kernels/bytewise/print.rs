//! Bytewise kernels: the `.h` files of the folder `bytewise`, put together as the specification asks, the same in every dialect.
//!
//! | files | idea |
//! |---|---|
//! | `tables`, `sbox_*` | the S-boxes, and where the one that is looked up lies |
//! | `keys_*` | who expands the key |
//! | `state` | what both ciphers do to a state |
//! | `forward`, `inverse` | the ciphers |
//! | `ecb` | the entry points |

use super::spec::{Bytewise, KeyExpansion};
use crate::kernels::table_memory::TableMemory;
use aes_bitslice_core::aes::{Direction, sbox};
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::manifest::{Grid, Manifest, Printed};
use aes_bitslice_gen::emit::look_ups::numbers;
use aes_bitslice_gen::emit::{dialect, header, manifest};
use aes_bitslice_gen::templates::ROUND_KEYS;
use std::fmt::Write;
use zeroize::Zeroizing;

impl Bytewise {
    /// Prints the kernel. `command` is the command line that remakes it.
    pub fn print(&self, dialect: Dialect, command: &str) -> Printed {
        let source = Zeroizing::new(source(self, dialect, command));
        let (name, threads) = (self.name(), Self::THREADS);
        let plain = manifest::plain(&name, self.mode(), threads, threads, Grid::Covers, dialect, &source);
        let keys = match self.keys {
            KeyExpansion::Host => KeySource::Schedule,
            KeyExpansion::Device => KeySource::CipherKey,
        };
        Printed { source, manifest: Manifest { keys, ..plain } }
    }
}

/// The kernel's source, heading included. `command` is the command line that remakes it.
fn source(spec: &Bytewise, dialect: Dialect, command: &str) -> String {
    let sbox = match spec.sbox {
        TableMemory::Constant => "constant memory",
        TableMemory::Shared => "shared memory",
    };
    let keys = match spec.keys {
        KeyExpansion::Host => "the host",
        KeyExpansion::Device => "the first thread of each thread block",
    };
    let heading = [
        format!("{}{command}", header::COMMAND),
        format!("Kernel: {}, AES byte by byte.", spec.name()),
        "NOT CONSTANT-TIME: what it looks up, and for how long, depends on key and data.".into(),
        format!("Mode: {}; S-box: in {sbox}; key expansion: by {keys}.", spec.mode()),
        "State: a block a thread, as bytes.".into(),
        format!("Geometry: {} threads a block.", Bytewise::THREADS),
    ];
    header::with_heading(heading.iter().map(String::as_str), &body(spec, dialect))
}

fn body(spec: &Bytewise, dialect: Dialect) -> String {
    let mut text = format!("\n#define THREADS {}\n#define BLOCKS_PER_SM 1\n", Bytewise::THREADS);
    let (sbox, sbox_load) = match spec.sbox {
        TableMemory::Constant => (include_str!("sbox_constant.h"), "in_constant_memory"),
        TableMemory::Shared => (include_str!("sbox_shared.h"), "share_table(table_memory)"),
    };
    let (keys, key_load) = match spec.keys {
        KeyExpansion::Host => (include_str!("keys_host.h"), "keys.word[0]"),
        KeyExpansion::Device => (include_str!("keys_device.h"), "share_schedule(schedule_memory, &keys)"),
    };
    let cipher = match spec.direction {
        Direction::Encrypt => include_str!("forward.h"),
        Direction::Decrypt => include_str!("inverse.h"),
    };
    let parts = [
        &dialect::page(dialect, ""),
        include_str!("tables.h"),
        sbox,
        ROUND_KEYS,
        keys,
        include_str!("state.h"),
        cipher,
        include_str!("ecb.h"),
    ];
    let shared_table = "    SHARED u8 table_memory[256];\n";
    let shared_schedule = "    SHARED u32 schedule_memory[4 * (MAX_ROUNDS + 1)];\n";
    for part in parts {
        text += "\n";
        for (i, part) in part.split('@').enumerate() {
            match part {
                part if i % 2 == 0 => text += part,
                "NAME" => text += &spec.name().replace('-', "_"),
                "S_BOX" => numbers(sbox::table(Direction::Encrypt), &mut text),
                "INVERSE_S_BOX" => numbers(sbox::table(Direction::Decrypt), &mut text),
                "TABLE" => {
                    text += match spec.direction {
                        Direction::Encrypt => "s_box",
                        Direction::Decrypt => "inverse_s_box",
                    }
                }
                "KEY_TYPE" => {
                    text += match spec.keys {
                        KeyExpansion::Host => "round_keys",
                        KeyExpansion::Device => "unexpanded_key",
                    }
                }
                "PREPARE" => {
                    text += if spec.sbox == TableMemory::Shared { shared_table } else { "" };
                    text += if spec.keys == KeyExpansion::Device { shared_schedule } else { "" };
                    let _ = writeln!(text, "    IN_TABLE const u8 *const table = {sbox_load};");
                    let _ = writeln!(text, "    IN_SCHEDULE const u32 *const schedule = {key_load};");
                    if spec.sbox == TableMemory::Shared || spec.keys == KeyExpansion::Device {
                        text += "    BARRIER();\n";
                    }
                }
                other => unreachable!("`{other}` in a template"),
            }
        }
    }
    text
}
