//! How the code reaches the round keys, for each possible source.

use super::parts::KeyAccess;
use crate::kernel::spec::{KernelSpec, RoundKeys};
use aes_bitslice_core::aes::{KeyBits, KeySchedule};
use aes_bitslice_core::column_basis::ColumnBasis;
use aes_bitslice_core::layout::{self, Layout};
use std::fmt::Write;
use zeroize::Zeroizing;

/// How the code of a kernel reaches its round keys.
pub(super) fn key_access(spec: &KernelSpec) -> KeyAccess {
    let baked = KeyAccess {
        form: match &spec.round_keys {
            RoundKeys::Bits => include_str!("column/key_bits.h"),
            _ => include_str!("column/key_planes.h"),
        },
        rounds: spec.key_bits().map_or(0, KeyBits::rounds).to_string(),
        ..KeyAccess::default()
    };
    match (&spec.round_keys, spec.layout) {
        (RoundKeys::Planes | RoundKeys::Bits, layout) => KeyAccess {
            shared: true,
            source: Zeroizing::new(
                "// As they are launched with: the bytes as little-endian words, in the basis of the state they meet.\n\
                 typedef struct { u32 word[MAX_ROUNDS + 1][4]; u32 rounds; } round_keys;\n"
                    .into(),
            ),
            source_parameter: ", const round_keys *keys",
            word: match layout {
                Layout::State => "keys->word[i / 128][i / 32 % 4]",
                Layout::Column => "keys->word[i / 4][i % 4]",
            },
            rounds: "keys->rounds".into(),
            kernel_parameter: ", KERNEL_PARAMETER round_keys keys",
            source_argument: ", &keys",
            ..baked
        },
        (RoundKeys::PlanesInMemory, _) => KeyAccess {
            shared: true,
            has_barriers: true,
            source_parameter: ", IN_GLOBAL const u32 *key_planes, u32 rounds",
            rounds: "rounds".into(),
            kernel_parameter: ", IN_GLOBAL const u32 *key_planes, u32 rounds",
            source_argument: ", key_planes, rounds",
            ..KeyAccess::default()
        },
        (RoundKeys::OneHotMux(keys), Layout::Column) => {
            KeyAccess { shared: true, source: multiplexer(keys, spec.key_basis()), word: "round_key_word(i)", ..baked }
        }
        (RoundKeys::OneHotMux(_), Layout::State) => baked,
    }
}

/// Round keys in the code: a function that selects one of their words.
fn multiplexer(keys: &KeySchedule, basis: ColumnBasis) -> Zeroizing<String> {
    let words = 4 * (keys.rounds() + 1);
    let mut text = Zeroizing::new(String::with_capacity(256 + 64 * words));
    *text += "// The round keys, baked in: word index % 4 of round key index / 4, picked by one-hot selectors.\n";
    *text += "DEVICE u32 round_key_word(u32 index) {\n    u32 word = 0;\n";
    for (i, word) in layout::round_keys(keys, basis).iter().flat_map(|key| key.as_chunks().0).enumerate() {
        let _ = writeln!(text, "    word |= {:#010x} & (0u - (u32)(index == {i}));", u32::from_le_bytes(*word));
    }
    *text += "    return word;\n}\n";
    text
}
