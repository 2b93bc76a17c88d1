//! The table kernel without bank conflicts: the `.h` files of the folder `table/conflict_free`, assembled for a mode.

use super::look_ups::{numbers, shifted_macro};
use super::{dialect, header};
use crate::table::boxes;
use crate::table::conflict_free::spec::ConflictFree;
use crate::templates::{ACCESS, ROUND_KEYS};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::mode::State;
use std::fmt::Write;

/// All rounds unrolled, up to the number that the longest key needs.
const UNROLLED: &str = "\
UNROLL for (int i = round; i < 10; i++) next_round(s, keys->word[i]);
    if (keys->rounds > 10) {
        UNROLL for (int i = 10; i < 12; i++) next_round(s, keys->word[i]);
        if (keys->rounds > 12) UNROLL for (int i = 12; i < 14; i++) next_round(s, keys->word[i]);
    }";

/// Two rounds per turn: the number of rounds before the last one is odd for every key length.
const ROLLED: &str = "\
u32 i = (u32)round;
    ROLLED for (; i < keys->rounds - 1; i += 2) {
        next_round(s, keys->word[i]);
        next_round(s, keys->word[i + 1]);
    }
    next_round(s, keys->word[i]);";

/// The kernel's source, heading included. `command` is the command line that regenerates it.
pub fn source(spec: &ConflictFree, command: &str) -> String {
    let (threads, number) = (spec.threads(), spec.tables().number());
    let co_resident =
        if spec.is_co_resident() { "; co-resident with a bitsliced kernel on the same multiprocessor" } else { "" };
    let heading = [
        format!("{}{command}", header::COMMAND),
        format!("Kernel: {}, AES by look-ups in tables.", spec.name()),
        "NOT CONSTANT-TIME as bitsliced kernels are: what it looks up depends on key and data. No two look-ups of a warp \
         meet in a bank of shared memory."
            .into(),
        format!("Mode: {}; tables: {number} T-boxes, 32 copies each; round keys: launch argument.", spec.mode()),
        format!(
            "Geometry: {threads} threads a block, one block a multiprocessor, {} bytes of shared memory{co_resident}.",
            spec.shared_bytes()
        ),
    ];
    header::with_heading(heading.iter().map(String::as_str), &body(spec))
}

fn body(spec: &ConflictFree) -> String {
    let direction = spec.mode().direction();
    let last_table = u32::from(direction == Direction::Decrypt);
    let mut text = String::from("\n");
    for (name, value) in [
        ("THREADS", spec.threads()),
        ("BLOCKS_PER_SM", spec.blocks_per_sm()),
        ("SHARED_BYTES", spec.shared_bytes()),
        ("TABLES", spec.tables().number()),
        ("LAST_TABLE", last_table),
        ("BLOCKS_PER_THREAD", spec.blocks_per_thread()),
        ("TILE_BLOCKS", spec.tile_blocks()),
    ] {
        let _ = writeln!(text, "#define {name} {value}");
    }
    if spec.mode().state() == State::Counters {
        let _ = writeln!(text, "#define COUNTERS_PER_THREAD {}", spec.counters_per_thread());
    }
    let shifted = shifted_macro(direction);
    let parts = [
        &dialect::page(Dialect::Cuda, ""),
        include_str!("../table/conflict_free/tables.h"),
        ROUND_KEYS,
        &shifted,
        ACCESS,
        include_str!("../table/conflict_free/rounds.h"),
    ];
    for part in parts.into_iter().chain(spec.templates().iter().copied()) {
        text += "\n";
        fill(spec, part, &mut text);
    }
    text
}

/// Appends a template.
fn fill(spec: &ConflictFree, template: &str, text: &mut String) {
    let direction = spec.mode().direction();
    for (i, part) in template.split('@').enumerate() {
        match part {
            part if i % 2 == 0 => *text += part,
            "NAME" => *text += &spec.name().replace('-', "_"),
            "T_BOX" => {
                *text += "\n";
                numbers(&boxes::t_boxes(direction)[0], text);
            }
            "S_BOX" => match direction {
                Direction::Encrypt => *text += "\n#define LAST_ENTRY(x) 0 // there is none\n",
                Direction::Decrypt => {
                    *text += "\nGLOBAL u8 s_box_in_global_memory[256] = {\n";
                    numbers(boxes::last_round(direction), text);
                    *text += "};\n\n// The byte in all places.\n\
                              #define LAST_ENTRY(x) (0x01010101u * s_box_in_global_memory[x])\n";
                }
            },
            // Unrolled rounds are faster; but where the code also has two rounds of two blocks and the first two rounds, the instruction
            // cache is too small for that.
            "LOOP" => *text += if spec.mode().state() == State::Counters { ROLLED } else { UNROLLED },
            other => unreachable!("`{other}` in a template"),
        }
    }
}
