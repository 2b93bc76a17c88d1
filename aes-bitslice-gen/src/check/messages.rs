//! Printed kernels for many messages as programs for the CPU, and their check against the definition of GCM (SP 800-38D).

use super::batches::{Batch, CASES, Forged};
use super::error::CheckError;
use super::program::{Given, Program, Threads, bytes_of};
use aes_bitslice_core::aes::{KeySchedule, cipher};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::{Blocks, Element, tables};
use aes_bitslice_core::manifest::{Hash, Printed};
use aes_bitslice_core::messages::{WIDEST, tiles_that_begin_in};
use aes_bitslice_core::mode::Mode;

/// Compiles a printed counter mode kernel and a hash kernel as C, and compares their entry points for many messages with the definition of
/// GCM: lengths of data and additional data around blocks, runs and tiles; any address; in place and out of place; counters that wrap;
/// wrong tags. Returns `false` if there is no C compiler.
pub fn printed_messages(ctr: &Printed, hash: &Printed<Hash>, key: &[u8]) -> Result<bool, CheckError> {
    let (manifest, of_hash) = (&ctr.manifest, &hash.manifest);
    let shape = of_hash.message_shape.expect("of a kernel with these entry points");
    let Some(mut ctr) = Program::compile(&ctr.source, manifest)? else { return Ok(false) };
    let Some(mut hash) = Program::compile(&hash.source, of_hash)? else { return Ok(false) };
    let schedule = KeySchedule::new(key, Mode::Ctr.direction()).ok_or(CheckError::KeyLength(key.len()))?;
    let encrypt = |block| cipher::process(block, &schedule, Mode::Ctr.direction());
    let hash_key = Element::from_block(encrypt([0; 16]));
    let key = manifest.key_words(key)?.ok_or(CheckError::KeyLength(key.len()))?;
    let tables = bytes_of(&tables(Blocks::AsTheyAre, hash_key, &shape, 1));

    for (n, case) in CASES.iter().enumerate() {
        let batch = Batch::of(case, n, &schedule);
        let Batch { all, runs, plaintext, aad, words, order, ciphertext, tags } = &batch;
        let (runs, offset, in_place) = (*runs, case.offset, case.in_place);
        let numbered = all.iter().zip(0u32..);
        let first_messages: Vec<u32> =
            numbered.flat_map(|(message, n)| tiles_that_begin_in(message).map(move |_| n)).collect();
        let first_messages = bytes_of(&first_messages);

        let no_masks = vec![0x3c; 16 * all.len()];
        let threads = Threads { thread_blocks: 1 + n as u64, threads: 128 };
        let other = batch.between(plaintext);
        let launch = format!("{} messages, launch {n}", all.len());
        let made = ctr.run(Entry::Messages, threads, &launch, &|name| {
            Some(match name {
                Argument::In if in_place => Given::At(Argument::Out, 0),
                Argument::In => Given::Read(plaintext, offset),
                Argument::Out if in_place => Given::Written(plaintext, offset),
                Argument::Out => Given::Written(&other, 3 * offset % 16),
                Argument::Messages => Given::Read(words, 0),
                Argument::FirstMessages => Given::Read(&first_messages, 0),
                Argument::All => Given::Number(runs.into()),
                Argument::Masks => Given::Written(&no_masks, 0),
                Argument::Keys => Given::Words(&key),
                _ => return None,
            })
        });
        let [data, masks]: [Vec<u8>; 2] = made?.try_into().expect("data and masks");
        CheckError::unless_equal(&data, ciphertext, &manifest.kernel, &launch)?;
        // Each by itself, too.
        for message in all {
            let range = message.at as usize..(message.at + message.bytes) as usize;
            let counter = u128::from_be_bytes(message.first);
            let counter = counter & !0xffff_ffff | u128::from((counter as u32).wrapping_add(1));
            let (input, from) = (&plaintext[range.clone()], (offset + range.start) % 16);
            let other = vec![0x5a; input.len()];
            let launch = format!("a message of {} bytes whose counter is secret", input.len());
            let made = ctr.run(Entry::SecretCounter, threads, &launch, &|name| {
                Some(match name {
                    Argument::In if in_place => Given::At(Argument::Out, 0),
                    Argument::In => Given::Read(input, from),
                    Argument::Out if in_place => Given::Written(input, from),
                    Argument::Out => Given::Written(&other, 3 * from % 16),
                    Argument::Length => Given::Number(message.bytes),
                    Argument::SecretCounter => Given::Block(counter.to_le_bytes()),
                    Argument::Keys => Given::Words(&key),
                    _ => return None,
                })
            });
            let found = made?.remove(0);
            CheckError::unless_equal(&found, &ciphertext[range], &manifest.kernel, &launch)?;
        }
        let wrong = |launch: &str| CheckError::Hash { kernel: of_hash.kernel.clone(), launch: launch.into() };
        let threads = Threads { thread_blocks: 1 + n as u64 % 2, threads: of_hash.threads };
        let launch = format!("messages of launch {n}");
        let made = hash.run(Entry::HashMessages, threads, &launch, &|name| {
            Some(match name {
                Argument::In => Given::Read(ciphertext, offset),
                Argument::Messages => Given::Read(words, 0),
                Argument::Order => Given::Read(order, 0),
                Argument::All => Given::Number(all.len() as u64),
                Argument::Aad => Given::Read(aad, n),
                Argument::Masks => Given::At(Argument::Out, 0),
                Argument::Tables => Given::Read(&tables, 0),
                Argument::Out => Given::Written(&masks, 0),
                _ => return None,
            })
        });
        let computed = made?.remove(0);
        if computed != tags.as_flattened() {
            return Err(wrong(&launch));
        }

        if of_hash.entries.contains_key(&Entry::HashJobs) {
            let keys: Vec<Element> = (0..all.len() as u64).map(|n| hash_key.pow(n + 1)).collect();
            let bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_block()).collect();
            for wide in 0..=WIDEST {
                let launch = format!("messages of launch {n} with a key each, {} threads a message", 1 << wide);
                let made = hash.run(Entry::HashJobs, threads, &launch, &|name| {
                    Some(match name {
                        Argument::In => Given::Read(ciphertext, offset),
                        Argument::Messages => Given::Read(words, 0),
                        Argument::Order => Given::Read(order, 0),
                        Argument::All => Given::Number(all.len() as u64),
                        Argument::Wide => Given::Number(wide.into()),
                        Argument::Aad => Given::Read(aad, n),
                        Argument::Masks => Given::At(Argument::Out, 0),
                        Argument::HashKeys => Given::Read(&bytes, 0),
                        Argument::Out => Given::Written(&masks, 0),
                        _ => return None,
                    })
                });
                let sums = batch.hashes(&keys).into_iter().flatten().zip(&masks).map(|(hash, mask)| hash ^ mask);
                if !made?.remove(0).into_iter().eq(sums) {
                    return Err(wrong(&launch));
                }
            }
        }

        let Forged { expected, left, verdicts } = batch.forged();
        let (launch, no_verdicts) = (format!("clearing messages of launch {n}"), vec![7; 4 * all.len()]);
        let written = hash.run(Entry::ClearMessages, threads, &launch, &|name| {
            Some(match name {
                Argument::Out => Given::Written(plaintext, offset),
                Argument::Messages => Given::Read(words, 0),
                Argument::All => Given::Number(all.len() as u64),
                Argument::Tags => Given::Read(&computed, 0),
                Argument::Expected => Given::Read(expected.as_flattened(), 0),
                Argument::Verdicts => Given::Written(&no_verdicts, 0),
                _ => return None,
            })
        })?;
        if written != [left, verdicts] {
            return Err(wrong(&launch));
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::faults::{faults_show, with_source};
    use crate::check::sample::{all_or, sample};
    use crate::emit::{cuda, ghash};
    use crate::ghash::Ghash;
    use crate::kernel::spec::KernelSpec;
    use crate::sbox::LUT3;
    use aes_bitslice_core::dialect::Dialect;

    const KEY: [u8; 24] = *b"twenty-four bytes of key";

    const BETWEEN: &str = "\n// The other source.\n";

    fn printed(kernel: Ghash) -> (Printed, Printed<Hash>) {
        let ctr = cuda::print(&KernelSpec::planes(Mode::Ctr, &LUT3).into(), "a test").unwrap();
        (ctr, ghash::print(kernel, Dialect::Cuda, "a test").unwrap())
    }

    #[test]
    fn printed_kernels_pass_and_faults_show() {
        for (ctr, hash) in Ghash::ALL.map(printed) {
            printed_messages(&ctr, &hash, &KEY).unwrap();
        }
        let faults = [
            // Counters, the mask, and the extent of the data.
            (0, "run.word + lane() / 4 + 8 * i", "run.word + lane() / 4 + 4 * i"),
            (0, "(counter == 0 ? 16 : 0) |", "0 |"),
            (0, "<= n) run.message++;", "< n) run.message++;"),
            (0, "+ 16 - 16 * (u64)counter;", "- 16 * (u64)counter;"),
            (0, "&& byte + 4 <= run.bytes >> 16;", "&& byte < run.bytes >> 16;"),
            (0, "counter.word[0] + 32 * n", "counter.word[0] + 31 * n"),
            (0, "rest < 512 ? rest : 512) << 16};", "rest < 511 ? rest : 512) << 16};"),
            (0, "at < length ? length - at : 0;", "at < length ? length - at - 1 : 0;"),
            (0, "BYTE_PERMUTE(word_of_column(counter), 0, 0x0123)", "word_of_column(counter)"),
            (0, "masks[4 * run.message + column()] = s[4 * k];", "masks[4 * run.message + column()] = w[4 * k];"),
            // The data that is hashed, and the values used with it.
            (0, "(tiles - n) * SEGMENT_BYTES", "(tiles - n) * SEGMENT_BYTES + 16"),
            (1, "is_aad ? at : at - aad_bytes(s),", "is_aad ? at : at,"),
            (2, "if (b < block.bytes) word", "if (b < 16) word"),
            (
                2,
                "put_tags(out, rows, weights, order, messages, first, all, masks);",
                "put_tags(out, rows, weights, order, messages, first, all, masks - 4);",
            ),
            (1, "tiles = tiles_of(own[s]) > tiles ? tiles_of(own[s]) : tiles;", "tiles = tiles_of(own[s]);"),
            (0, "g.ragged |= s.length % 16 != 0;", ""),
            (0, "g.tiles = tiles > g.tiles ? tiles : g.tiles;", "g.tiles = tiles;"),
            // Hash keys of their own, and the shares of threads.
            (2, "hash_keys[4 * (u64)own.number + i]", "hash_keys[i]"),
            (2, "if (i < wide) step = product(step, step);", "step = product(step, step);"),
            (2, "- share) >> i & 1) weight = with;", "- share - 1) >> i & 1) weight = with;"),
            (2, "+ share - ((rounds << wide) - blocks);", "+ share;"),
            (2, "r < 1u << wide; r++)", "r < 1u; r++)"),
            // Which data is cleared, and when.
            (2, "(1u << 8 * (bytes - 4 * i)) - 1", "0xffffffff"),
            (2, "if (wrong == 0) continue;", ""),
            (2, "verdicts[n] = wrong != 0;", "verdicts[n] = 0;"),
        ];
        for (kernel, text, with) in sample(0, all_or(1, 3), faults) {
            let (ctr, hash) = printed(Ghash::ALL[kernel]);
            let both = [ctr.source.as_str(), hash.source.as_str()].join(BETWEEN);
            faults_show(&both, [(text, with)], |both| {
                let (of_ctr, of_hash) = both.split_once(BETWEEN).expect("both");
                printed_messages(&with_source(&ctr, of_ctr), &with_source(&hash, of_hash), &KEY)
            });
        }
    }
}
