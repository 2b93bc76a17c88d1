//! The printed kernel of GCM in one launch as a program for the CPU, and its check against the definitions of counter mode and of GHASH.

use super::error::CheckError;
use super::program::{Given, Program, Threads, bytes_of};
use aes_bitslice_core::aes::{Direction, KeySchedule, cipher};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::column_basis::ColumnBasis;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::{Blocks, Element, ghash, tables};
use aes_bitslice_core::key_source::{ExpandedKey, KeySource};
use aes_bitslice_core::manifest::{Hash, Printed};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::reference::reference;

/// The blocks of a tile of counter mode, at multiples of which counters begin.
const COUNTERS: u32 = 256;

/// Compiles the printed kernel as C and compares launches of both entry points with the definitions: messages of whole blocks and others,
/// from one byte to several spans for each warpgroup, first counters anywhere in a tile, in place and not, one thread block and several,
/// authentic or not.
/// Returns `false` if there is no C compiler.
///
/// In C, loops replace the products of tensor cores: only a GPU can show that an instruction has its operands where the loops have them.
pub fn printed_gcm(printed: &Printed<Hash>, key: &[u8]) -> Result<bool, CheckError> {
    let manifest = &printed.manifest;
    manifest.check()?;
    let Some(mut program) = Program::compile(&printed.source, manifest)? else { return Ok(false) };
    let schedule = KeySchedule::new(key, Direction::Encrypt).ok_or(CheckError::KeyLength(key.len()))?;
    let hash_key = Element::from_block(cipher::process([0; 16], &schedule, Direction::Encrypt));
    let basis = ColumnBasis::new(manifest.key_basis.expect("of a kernel that encrypts")).expect("checked above");
    let expanded = ExpandedKey::new(key).expect("its length is right, as above");
    let keys = KeySource::Argument.words(&expanded, Direction::Encrypt, basis);
    let (groups, span) = (manifest.threads / 128, 16 * manifest.shape.tile_blocks() as usize);
    for (i, (first, thread_blocks, length)) in [
        (0, 1, 16_usize),
        (2, 1, 1),
        (2, 2, span),
        (0, 1, span),
        (255, 2, span - 16 * 255),
        (200, 1, 9 * span + 21),
        (2, 3, 4 * span - 32),
        (2, 2, 20 * span + 16 * 77 + 5),
    ]
    .into_iter()
    .enumerate()
    {
        let units = groups * thread_blocks;
        let counter = 0x0f1e_2d3c_4b5a_6978_8796_a5b4_u128 << 32 | u128::from(0x0102_0300 + first);
        let stream = reference(Mode::Ctr, &schedule, !counter, 0, &vec![0; 48 + length]);
        let (blocks, input) = stream.split_at(48);
        let [factor, addend, before] = std::array::from_fn(|i| blocks.as_chunks::<16>().0[i]);
        let output = reference(Mode::Ctr, &schedule, counter, 0, input);
        let decrypts = i % 2 == 1;
        let ciphertext = if decrypts { input } else { &*output };
        let skipped = first % COUNTERS;
        let spans = (16 * skipped as usize + length).div_ceil(span);
        let after = (spans * span / 16) as u64 - u64::from(skipped) - (length as u64).div_ceil(16);
        let element = Element::from_block;
        let hash = ghash(hash_key, ciphertext) * hash_key.pow(after);
        let expected = (hash * element(factor) + element(addend)).to_block();
        // What is verified: nothing, or that the terms are zero in some bits, with and without one there, or with one elsewhere.
        let flipped = |byte: usize| std::array::from_fn(|i| expected[i] ^ addend[i] ^ u8::from(i == byte));
        let first_twelve = std::array::from_fn(|i| if i < 12 { 0xff } else { 0 });
        let (addend, mask, verdict) = match (decrypts, i / 2 % 4) {
            (false, _) | (true, 0) => (addend, [0; 16], None),
            (true, 1) => (flipped(16), [0xff; 16], Some(true)),
            (true, 2) => (flipped(11), first_twelve, Some(false)),
            (true, _) => (flipped(12), first_twelve, Some(true)),
        };
        let (expected, output) = match verdict {
            None => (expected, output),
            Some(true) => ([0; 16], output),
            Some(false) => ([0xff; 16], vec![0; length]),
        };

        let tables = bytes_of(&tables(Blocks::AsTheyAre, hash_key, &manifest.shape, units));
        let launch = format!(
            "{} of {length} bytes from counter {first} on, {thread_blocks} thread blocks",
            if decrypts { "decryption" } else { "encryption" }
        );
        let threads = Threads { thread_blocks: (spans as u64).min(thread_blocks.into()), threads: manifest.threads };
        let (entry, in_place) = (if decrypts { Entry::Decrypt } else { Entry::Encrypt }, i / 2 % 2 == 1);
        let other = vec![0x5a; length];
        let written = program.run(entry, threads, &launch, &|name| {
            Some(match name {
                Argument::In if in_place => Given::At(Argument::Out, 0),
                Argument::In => Given::Read(input, 0),
                Argument::Out => Given::Written(if in_place { input } else { &other }, 0),
                Argument::Length => Given::Number(length as u64),
                Argument::Counter => Given::Block(counter.to_le_bytes()),
                Argument::Keys => Given::Words(&keys),
                Argument::Tables => Given::Read(&tables, 0),
                Argument::Units => Given::Number(units.into()),
                Argument::Sums => Given::Written(&[0; 16], 0),
                Argument::Arrived => Given::Written(&[0; 4], 0),
                Argument::Hash => Given::Written(&before, 0),
                Argument::Factor => Given::Block(factor),
                Argument::Addend => Given::Block(addend),
                Argument::Mask => Given::Block(mask),
                _ => return None,
            })
        })?;
        if written != [&*output, &[0; 16], &[0; 4], &expected] {
            return Err(CheckError::Hash { kernel: manifest.kernel.clone(), launch });
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::faults::{faults_show, with_source};
    use crate::check::sample::{all_or, sample};
    use crate::emit::gcm::print;

    #[test]
    fn the_printed_kernel_passes_and_faults_show() {
        let printed = print("a test");
        let check = |source: &str| printed_gcm(&with_source(&printed, source), b"twenty-four bytes of key");
        check(&printed.source).unwrap();
        let faults = [
            // A part of a word; blocks in front of the message; what is cleared after it; the order of spans; units; whose ciphertext; counters.
            ("length - at < 4 ? (u32)(length - at) : 4", "length - at < 4 ? 0 : 4"),
            ("whole_tiles(skipped, length / 16)", "whole_tiles(0, length / 16)"),
            ("else w[j] &= (1u << 8 * bytes) - 1;", "else w[j] &= 0xffffffff;"),
            ("4 * (spans - 1 - unit - n * units)", "4 * (unit + n * units)"),
            ("group * apart + blockIdx.x", "group + WARPGROUPS * blockIdx.x"),
            // Sums of units: whose power; of all halves; of all units with spans; a bit that crosses words.
            ("unit * apart + blockIdx.x", "unit + blockIdx.x"),
            ("s < 2 * used", "s < used"),
            ("with_spans < UNITS ? with_spans : UNITS", "1"),
            ("i > 0 ? y.word[i - 1] : 0", "0"),
            ("checked ? w[j] : s[j]", "s[j]"),
            ("*arrived = (*arrived + 1) % gridDim.x;", "*arrived += 1;"),
            ("counter.word[0] + TILE_BLOCKS * tile", "counter.word[0] + TILE_BLOCKS * (tile + 1)"),
            // What is verified; and what is cleared.
            ("wrong |= sum[i] & checked->word[i]", "wrong |= sum[i]"),
            ("UNROLL for (int i = 0; i < 4; i++) wrong |=", "UNROLL for (int i = 0; i < 2; i++) wrong |="),
            ("0u - (wrong != 0)", "0u - (wrong == 0)"),
            ("0u - (checked->word[0] != 0)", "0u"),
            ("if (is_wrong == 0) return;", "return;"),
            (
                "ROLLED for (u64 i = threadIdx.x; i < length / 16; i += THREADS)",
                "ROLLED for (u64 i = threadIdx.x; i + 1 < length / 16; i += THREADS)",
            ),
            ("EACH_THREAD(i, length % 16) ((u8 *)(out + length / 16))[i] = 0;", ""),
        ];
        faults_show(&printed.source, sample(0, all_or(1, 3), faults), check);
    }
}
