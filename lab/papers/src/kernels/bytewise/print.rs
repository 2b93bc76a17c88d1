//! Bytewise kernels: the `.h` files of the folder `bytewise`, assembled as the specification asks, the same in every dialect.
//!
//! | files | idea |
//! |---|---|
//! | `tables`, `sbox_*` | the S-boxes, and where the one that is looked up is |
//! | `keys_*` | where the round keys are |
//! | `state` | what both ciphers do to a state |
//! | `forward`, `inverse` | the ciphers |
//! | `ecb`, `ctr` | the entry points |

use super::spec::{BlockAccess, Bytewise, SboxMemory, ScheduleMemory};
use aes_bitslice_core::aes::{Direction, sbox};
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::grid::Grid;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::emit::look_ups::numbers;
use aes_bitslice_gen::emit::{dialect, header, manifest};
use aes_bitslice_gen::templates::{COUNTER, ROUND_KEYS};
use std::fmt::Write;
use zeroize::Zeroizing;

impl Bytewise {
    /// Prints the kernel. `command` is the command line that remakes it.
    ///
    /// # Panics
    /// If it is not possible.
    pub fn print(&self, dialect: Dialect, command: &str) -> Printed {
        assert!(self.is_possible(), "there is no kernel {}", self.name());
        let source = Zeroizing::new(source(self, dialect, command));
        let (name, threads) = (self.name(), self.threads);
        let mut manifest = manifest::plain(&name, self.mode, threads, threads, Grid::Covers, dialect, &source);
        manifest.function.keys = match self.schedule {
            ScheduleMemory::Argument => KeySource::Schedule,
            ScheduleMemory::Global | ScheduleMemory::Constant => KeySource::ScheduleInMemory,
            ScheduleMemory::Shared => KeySource::CipherKey,
        };
        Printed { source, manifest }
    }
}

/// The kernel's source, heading included. `command` is the command line that remakes it.
fn source(spec: &Bytewise, dialect: Dialect, command: &str) -> String {
    let sbox = match spec.sbox {
        SboxMemory::Global => "global memory",
        SboxMemory::Constant => "constant memory",
        SboxMemory::Shared => "shared memory",
    };
    let keys = match spec.schedule {
        ScheduleMemory::Argument => "from the launch",
        ScheduleMemory::Global => "in global memory",
        ScheduleMemory::Constant => "in constant memory",
        ScheduleMemory::Shared => "in shared memory, expanded by the first thread of each thread block",
    };
    let access = match spec.access {
        BlockAccess::Vector => "read and written as vectors",
        BlockAccess::Bytes => "read and written byte by byte",
    };
    let heading = [
        format!("{}{command}", header::COMMAND),
        format!("Kernel: {}, AES byte by byte.", spec.name()),
        "NOT CONSTANT-TIME: what it looks up, and for how long, depends on key and data.".into(),
        format!("Mode: {}; S-box: in {sbox}; round keys: {keys}.", spec.mode),
        format!(
            "State: a block a thread, as bytes, {access}; rounds {}.",
            if spec.unrolled { "unrolled" } else { "in a loop" }
        ),
        format!("Geometry: {} threads a block.", spec.threads),
    ];
    header::with_heading(heading.iter().map(String::as_str), &body(spec, dialect))
}

fn body(spec: &Bytewise, dialect: Dialect) -> String {
    let mut text = format!("\n#define THREADS {}\n#define BLOCKS_PER_SM 1\n", spec.threads);
    let (sbox, sbox_load) = match spec.sbox {
        SboxMemory::Global => (include_str!("sbox_global.h"), "in_global_memory(key_planes)"),
        SboxMemory::Constant => (include_str!("sbox_constant.h"), "in_constant_memory"),
        SboxMemory::Shared => (include_str!("sbox_shared.h"), "share_table(table_memory)"),
    };
    // The templates, the parameters of an entry point, the schedule and the number of rounds.
    let (keys, key_parameters, key_load, rounds) = match spec.schedule {
        ScheduleMemory::Argument => {
            (include_str!("keys_argument.h"), "KERNEL_PARAMETER round_keys keys", "keys.word[0]", "keys.rounds")
        }
        ScheduleMemory::Global => {
            (include_str!("keys_global.h"), "IN_GLOBAL const u32 *key_planes, u32 rounds", "key_planes", "rounds")
        }
        ScheduleMemory::Constant => {
            (include_str!("keys_constant.h"), "IN_CONSTANT const u32 *key_planes, u32 rounds", "key_planes", "rounds")
        }
        ScheduleMemory::Shared => (
            include_str!("keys_shared.h"),
            "KERNEL_PARAMETER unexpanded_key keys",
            "share_schedule(schedule_memory, &keys)",
            "keys.rounds",
        ),
    };
    let cipher = match spec.mode.direction() {
        Direction::Encrypt => include_str!("forward.h"),
        Direction::Decrypt => include_str!("inverse.h"),
    };
    let mode = match (spec.mode, spec.access) {
        (Mode::Ctr, _) => [COUNTER, include_str!("ctr.h")],
        (_, BlockAccess::Vector) => [include_str!("ecb.h"), include_str!("ecb_vector.h")],
        (_, BlockAccess::Bytes) => [include_str!("ecb.h"), include_str!("ecb_bytes.h")],
    };
    let parts = [
        &dialect::page(dialect, ""),
        include_str!("tables.h"),
        sbox,
        ROUND_KEYS,
        keys,
        include_str!("state.h"),
        cipher,
        mode[0],
        mode[1],
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
                    text += match spec.mode.direction() {
                        Direction::Encrypt => "s_box",
                        Direction::Decrypt => "inverse_s_box",
                    }
                }
                "TABLE_NUMBER" => {
                    text += match spec.mode.direction() {
                        Direction::Encrypt => "0",
                        Direction::Decrypt => "1",
                    }
                }
                "KEY_PARAMETERS" => text += key_parameters,
                "ROUNDS" => text += rounds,
                "ROUNDS_IN_TURN" => {
                    text += match (spec.unrolled, spec.mode.direction()) {
                        (false, Direction::Encrypt) => "ROLLED for (u32 round = 1; round < rounds; round++) {",
                        (true, Direction::Encrypt) => {
                            "UNROLL for (u32 round = 1; round < MAX_ROUNDS; round++) if (round < rounds) {"
                        }
                        (false, Direction::Decrypt) => "ROLLED for (u32 round = rounds - 1; round > 0; round--) {",
                        (true, Direction::Decrypt) => {
                            "UNROLL for (u32 round = MAX_ROUNDS - 1; round > 0; round--) if (round < rounds) {"
                        }
                    }
                }
                "PREPARE" => {
                    text += if spec.sbox == SboxMemory::Shared { shared_table } else { "" };
                    text += if spec.schedule == ScheduleMemory::Shared { shared_schedule } else { "" };
                    let _ = writeln!(text, "    IN_TABLE const u8 *const table = {sbox_load};");
                    let _ = writeln!(text, "    IN_SCHEDULE const u32 *const schedule = {key_load};");
                    if spec.sbox == SboxMemory::Shared || spec.schedule == ScheduleMemory::Shared {
                        text += "    BARRIER();\n";
                    }
                }
                other => unreachable!("`{other}` in a template"),
            }
        }
    }
    text
}
