//! The entry points for many messages of the kernel of GCM in one launch as a program for the CPU, and their check against the definition of GCM.

use super::batches::{Batch, CASES};
use super::error::CheckError;
use super::program::{Given, Program, Threads, bytes_of};
use aes_bitslice_core::aes::{Direction, KeySchedule, cipher};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::column_basis::ColumnBasis;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::{Element, batch_tables};
use aes_bitslice_core::key_source::{ExpandedKey, KeySource};
use aes_bitslice_core::manifest::{Hash, Printed};
use aes_bitslice_core::messages::WIDEST;

/// Compiles the printed kernel as C, and compares its entry points for many messages with the definition of GCM: with one group for a message
/// and with all groups of a warpgroup, one thread block and several. Returns `false` if there is no C compiler.
pub fn printed_gcm_batch(printed: &Printed<Hash>, key: &[u8]) -> Result<bool, CheckError> {
    let manifest = &printed.manifest;
    let Some(mut program) = Program::compile(&printed.source, manifest)? else { return Ok(false) };
    let schedule = KeySchedule::new(key, Direction::Encrypt).ok_or(CheckError::KeyLength(key.len()))?;
    let hash_key = Element::from_block(cipher::process([0; 16], &schedule, Direction::Encrypt));
    let basis =
        ColumnBasis::new(manifest.key_basis.expect("of a kernel that encrypts")).expect("the manifest is right");
    let expanded = ExpandedKey::new(key).expect("its length is right, as above");
    let keys = KeySource::Argument.words(&expanded, Direction::Encrypt, basis);
    for (n, case) in CASES.iter().enumerate() {
        let batch = Batch::of(case, n, &schedule);
        let forged = batch.forged();
        let wide = [0, 4, 2, 3, 1, 4, WIDEST][n];
        let tables = bytes_of(&batch_tables(hash_key, &manifest.shape, wide));
        let wrong = |what: &str| {
            let launch = format!("{what} of {} messages, {} groups for each", batch.all.len(), 1 << wide);
            CheckError::Hash { kernel: manifest.kernel.clone(), launch }
        };
        let threads = Threads { thread_blocks: 1 + n as u64 % 2, threads: manifest.threads };
        let results = vec![0x3c; 16 * batch.all.len()];
        let value = |name| {
            Some(match name {
                Argument::Messages => Given::Read(&batch.words, 0),
                Argument::All => Given::Number(batch.all.len() as u64),
                Argument::Wide => Given::Number(wide.into()),
                Argument::Keys => Given::Words(&keys),
                _ => return None,
            })
        };
        let masks = program.run(Entry::BatchMasks, threads, &"masks", &|name| match name {
            Argument::Masks => Some(Given::Written(&results, 0)),
            _ => value(name),
        });
        let masks = masks?.remove(0);
        let mut run = |entry, input: &[u8]| {
            let other = batch.between(input);
            program.run(entry, threads, &format!("{entry} of launch {n}"), &|name| {
                Some(match name {
                    Argument::In if case.in_place => Given::At(Argument::Out, 0),
                    Argument::In => Given::Read(input, case.offset),
                    Argument::Out if case.in_place => Given::Written(input, case.offset),
                    Argument::Out => Given::Written(&other, 3 * case.offset % 16),
                    Argument::Order => Given::Read(&batch.order, 0),
                    Argument::Aad => Given::Read(&batch.aad, n),
                    Argument::Masks => Given::Read(&masks, 0),
                    Argument::Expected => Given::Read(forged.expected.as_flattened(), 0),
                    Argument::Tables => Given::Read(&tables, 0),
                    Argument::Tags => Given::Written(&results, 0),
                    Argument::Verdicts => Given::Written(&results[..4 * batch.all.len()], 0),
                    _ => return value(name),
                })
            })
        };
        if run(Entry::BatchEncrypt, &batch.plaintext)? != [&batch.ciphertext, batch.tags.as_flattened()] {
            return Err(wrong("encryption"));
        }
        if run(Entry::BatchDecrypt, &batch.ciphertext)? != [&*forged.left, &forged.verdicts] {
            return Err(wrong("decryption"));
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
        let check = |source: &str| printed_gcm_batch(&with_source(&printed, source), b"twenty-four bytes of key");
        check(&printed.source).unwrap();
        let faults = [
            // Which blocks a thread has, and how much of the last one is there; counters, and masks.
            ("before > 31u << wide ? 32 :", "before > 31u << wide ? 31 :"),
            ("((u32)before + (1u << wide) - 1) >> wide;", "((u32)before + (1u << wide)) >> wide;"),
            ("length - at < 4 ? (u32)(length - at) : 4;", "length - at < 4 ? 3 : 4;"),
            ("first = 1 + (u32)(blocks_of(", "first = (u32)(blocks_of("),
            ("counts[wide][b] & is_counted", "counts[wide][b]"),
            ("carry = LUT3(bit, count, carry, 0xe8);", "carry = bit & count;"),
            ("carry &= bit;", "carry = 0;"),
            ("masks[4 * (own + 8 * j) + column()] = s[j] ^ key.last;", "masks[4 * (own + 8 * j) + column()] = s[j];"),
            // What is hashed.
            ("if (last < 4) s[31] &= (1u << 8 * last) - 1;", ""),
            ("hashed[32 * j] = j >= data ? s[j] : 0;", "hashed[32 * j] = s[j];"),
            ("if (end > aad_blocks_of(m)) continue;", "if (end >= aad_blocks_of(m)) continue;"),
            ("at >= m.aad_length ? 0 : m.aad_length - at < 4 ?", "at >= m.aad_length ? 0 : m.aad_length - at < 3 ?"),
            // Units, steps, and sums over groups.
            ("return place < all ?", "return place + 1 < all ?"),
            ("most = other > most ? other : most;", "most = other;"),
            ("most = steps > most ? steps : most;", "most = steps;"),
            ("d < 4u << wide && d < 32;", "d < 4u << wide && d < 16;"),
            ("(warp() & ~(warps - 1)) + i", "warp() + i"),
            ("column() == 2 && group == 0 ?", "column() == 2 ?"),
            // Which tags are wrong, and what is cleared.
            ("(here >= 4 ? 0xffffffff : (1u << 8 * here) - 1)", "0xffffffff"),
            ("return wrong != 0;", "return wrong > 1;"),
            ("if (is_wrong) ROLLED", "if (0) ROLLED"),
            ("i < m.length; i += 4u << wide", "i + 1 < m.length; i += 4u << wide"),
        ];
        faults_show(&printed.source, sample(0, all_or(1, 3), faults), check);
    }
}
