//! Printed kernels for many messages as programs for the CPU, and their check against the definition of GCM (SP 800-38D).

use super::batches::{Batch, CASES, Forged, bytes_of};
use super::compiled::{THREADS, start_program};
use super::error::CheckError;
use aes_bitslice_core::aes::{KeySchedule, cipher};
use aes_bitslice_core::argument::{Argument, Kind};
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::{Blocks, Element, tables};
use aes_bitslice_core::manifest::{Hash, Printed};
use aes_bitslice_core::messages::tiles_that_begin_in;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::signature::{EntryPoint, Parameter};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use zeroize::Zeroizing;

const PROGRAM: &str = include_str!("messages_program.h");
/// The number of key words that the program has room for, a counter among them.
pub(super) const KEY_WORDS: usize = 68;
/// The first word of the counter.
const COUNTER: usize = 64;

/// A printed kernel, compiled for the CPU and running.
pub(super) struct Compiled {
    kernel: String,
    process: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
}

/// A memory argument of an entry point, in the order of its parameters.
pub(super) enum Memory<'a> {
    /// The data begins this many bytes past a multiple of 16.
    Read(&'a [u8], usize),
    Written(&'a [u8], usize),
    /// The memory of the argument with this number, from 0.
    Same(usize),
}

/// The part of a launch that is not memory.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) entry: usize,
    pub(super) thread_blocks: u64,
    pub(super) threads: u32,
    /// The number of messages, or of their runs, or of the bytes of one.
    pub(super) all: usize,
    pub(super) key: &'a [u32],
}

impl Compiled {
    /// Compiles with the number of a [`Call`], and the round keys and a counter as the arguments that are not memory.
    pub(super) fn new(kernel: &str, source: &str, entries: &[&EntryPoint]) -> Result<Option<Self>, CheckError> {
        Self::with(kernel, source, entries, |parameter| match (parameter.kind, parameter.name) {
            (Kind::U32 | Kind::U64, _) => "all".to_string(),
            (_, Argument::SecretCounter) => format!("*(const counter128 *)(key_words + {COUNTER})"),
            _ => "*(const round_keys *)key_words".to_string(),
        })
    }

    /// Compiles with the arguments that are not memory given as expressions.
    pub(super) fn with(
        kernel: &str,
        source: &str,
        entries: &[&EntryPoint],
        value: impl Fn(&Parameter) -> String,
    ) -> Result<Option<Self>, CheckError> {
        let mut calls = String::from("\n");
        for (n, entry) in entries.iter().enumerate() {
            let mut memory = 0;
            let argument = |parameter: &Parameter| match parameter.kind {
                Kind::U32 | Kind::U64 | Kind::Words(_) => value(parameter),
                _ => {
                    memory += 1;
                    format!("(void *)data[{}]", memory - 1)
                }
            };
            let arguments: Vec<String> = entry.parameters.iter().map(argument).collect();
            let _ = writeln!(calls, "static void run_{n}(void) {{ {}({}); }}", entry.name, arguments.join(", "));
        }
        let names: Vec<String> = (0..entries.len()).map(|n| format!("run_{n}")).collect();
        let _ = writeln!(calls, "static void (*const entries[{}])(void) = {{{}}};", names.len(), names.join(", "));
        let declared = PROGRAM.replace("entries[])", &format!("entries[{}])", names.len()));
        let Some(mut process) = start_program(kernel, false, &[source, "\n", THREADS, &declared, &calls])? else {
            return Ok(None);
        };
        let requests = process.stdin.take();
        let answers = process.stdout.take().expect("piped");
        Ok(Some(Self { kernel: kernel.into(), process, requests, answers }))
    }

    /// Runs all thread blocks, one after the other, and returns the memory written, in order. Checks that nothing else changed.
    pub(super) fn run(&mut self, call: Call<'_>, memory: &[Memory<'_>]) -> Result<Vec<Vec<u8>>, CheckError> {
        let Call { entry, thread_blocks, threads, all, key } = call;
        let numbers = [entry as u64, thread_blocks, threads.into(), all as u64, memory.len() as u64];
        let mut request = Zeroizing::new(Vec::new());
        request.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        let key = key.iter().copied().chain(std::iter::repeat(0)).take(KEY_WORDS);
        request.extend(key.flat_map(u32::to_le_bytes));
        for memory in memory {
            let (bytes, numbers): (&[u8], _) = match memory {
                Memory::Read(bytes, offset) => (bytes, [bytes.len(), *offset, 0, 0]),
                Memory::Written(bytes, offset) => (bytes, [bytes.len(), *offset, 1, 0]),
                Memory::Same(other) => (&[], [0, 0, 0, other + 1]),
            };
            request.extend(numbers.iter().flat_map(|n| (*n as u64).to_le_bytes()));
            request.extend(bytes);
        }
        let requests = self.requests.as_mut().expect("open until dropped");
        requests.write_all(&request)?;
        requests.flush()?;
        let mut verdict = [0];
        self.answers.read_exact(&mut verdict)?;
        let mut written = Vec::new();
        for memory in memory {
            if let Memory::Written(bytes, _) = memory {
                let mut now = vec![0; bytes.len()];
                self.answers.read_exact(&mut now)?;
                written.push(now);
            }
        }
        let (kernel, launch) = (self.kernel.clone(), format!("{all} messages, or runs or bytes of them"));
        match verdict {
            [0] => Ok(written),
            [2] => Err(CheckError::Stuck { kernel, launch }),
            _ => Err(CheckError::OutOfBounds { kernel, launch }),
        }
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // The program ends when its standard input does.
        drop(self.requests.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Compiles a printed counter mode kernel and a hash kernel as C, and compares their entry points for many messages with the definition of
/// GCM: lengths of data and additional data around blocks, runs and tiles; any address; in place and out of place; counters that wrap;
/// wrong tags. Returns `false` if there is no C compiler.
pub fn printed_messages(ctr: &Printed, hash: &Printed<Hash>, key: &[u8]) -> Result<bool, CheckError> {
    let (manifest, of_hash) = (&ctr.manifest, &hash.manifest);
    let entries = [manifest.entry(Entry::Messages)?, manifest.entry(Entry::SecretCounter)?];
    let Some(mut ctr) = Compiled::new(&manifest.kernel, &ctr.source, &entries)? else { return Ok(false) };
    let entries = [of_hash.entry(Entry::HashMessages)?, of_hash.entry(Entry::ClearMessages)?];
    let shape = of_hash.message_shape.expect("of a kernel with these entry points");
    let Some(mut hash) = Compiled::new(&of_hash.kernel, &hash.source, &entries)? else { return Ok(false) };
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
        let call = Call { entry: 0, thread_blocks: 1 + n as u64, threads: 128, all: runs as usize, key: &key };
        let other = batch.between(plaintext);
        let (first, second) = if in_place {
            (Memory::Written(plaintext, offset), Memory::Same(0))
        } else {
            (Memory::Read(plaintext, offset), Memory::Written(&other, 3 * offset % 16))
        };
        let memory =
            [first, second, Memory::Read(words, 0), Memory::Read(&first_messages, 0), Memory::Written(&no_masks, 0)];
        let [data, masks]: [Vec<u8>; 2] = ctr.run(call, &memory)?.try_into().expect("data and masks");
        if let Some(at) = (0..data.len()).find(|&i| data[i] != ciphertext[i]) {
            let launch = format!("{} messages, launch {n}", all.len());
            return Err(CheckError::Printed { kernel: manifest.kernel.clone(), launch, at });
        }
        // Each by itself, too.
        for message in all {
            let range = message.at as usize..(message.at + message.bytes) as usize;
            let mut key = key.clone();
            key.resize(COUNTER, 0);
            key.extend(message.first.as_chunks().0.iter().rev().map(|word| u32::from_be_bytes(*word)));
            key[COUNTER] = key[COUNTER].wrapping_add(1);
            let (input, from) = (&plaintext[range.clone()], (offset + range.start) % 16);
            let other = vec![0x5a; input.len()];
            let memory = if in_place {
                [Memory::Written(input, from), Memory::Same(0)]
            } else {
                [Memory::Read(input, from), Memory::Written(&other, 3 * from % 16)]
            };
            let found = ctr.run(Call { entry: 1, all: input.len(), key: &key, ..call }, &memory)?.remove(0);
            if let Some(at) = (0..found.len()).find(|&i| found[i] != ciphertext[range.start + i]) {
                let launch = format!("a message of {} bytes whose counter is secret", input.len());
                return Err(CheckError::Printed { kernel: manifest.kernel.clone(), launch, at });
            }
        }
        let threads = of_hash.threads;
        let wrong =
            |what: &str| CheckError::Hash { kernel: of_hash.kernel.clone(), launch: format!("{what} of launch {n}") };
        let call = Call { entry: 0, thread_blocks: 1 + n as u64 % 2, threads, all: all.len(), key: &[] };
        let memory = [
            Memory::Read(ciphertext, offset),
            Memory::Read(words, 0),
            Memory::Read(order, 0),
            Memory::Read(aad, n),
            Memory::Written(&masks, 0),
            Memory::Read(&tables, 0),
            Memory::Same(4),
        ];
        let computed = hash.run(call, &memory)?.remove(0);
        if computed != tags.as_flattened() {
            return Err(wrong("messages"));
        }

        let Forged { expected, left, verdicts } = batch.forged();
        let memory = [
            Memory::Written(plaintext, offset),
            Memory::Read(words, 0),
            Memory::Read(&computed, 0),
            Memory::Read(expected.as_flattened(), 0),
            Memory::Written(&vec![7; 4 * all.len()], 0),
        ];
        let written = hash.run(Call { entry: 1, ..call }, &memory)?;
        if written != [left, verdicts] {
            return Err(wrong("clearing messages"));
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::sample::{all_or, sample};
    use crate::emit::{cuda, ghash};
    use crate::ghash::Ghash;
    use crate::kernel::spec::KernelSpec;
    use crate::sbox::LUT3;
    use aes_bitslice_core::dialect::Dialect;

    const KEY: [u8; 24] = *b"twenty-four bytes of key";

    /// Runs the check with a fault in one source or the other.
    fn check(kernel: Ghash, wrong: Option<(&str, &str)>) -> Result<bool, CheckError> {
        let mut ctr = cuda::print(&KernelSpec::planes(Mode::Ctr, &LUT3).into(), "a test").unwrap();
        let mut hash = ghash::print(kernel, Dialect::Cuda, "a test").unwrap();
        if let Some((text, with)) = wrong {
            let places = [&*ctr.source, &hash.source].map(|source| source.matches(text).count());
            assert!(places[0] + places[1] > 0, "{text}");
            ctr.source = Zeroizing::new(ctr.source.replace(text, with));
            hash.source = Zeroizing::new(hash.source.replace(text, with));
        }
        printed_messages(&ctr, &hash, &KEY)
    }

    #[test]
    fn printed_kernels_pass_and_faults_show() {
        for kernel in Ghash::ALL {
            if !check(kernel, None).unwrap() {
                eprintln!("there is no C compiler: printed kernels were not tested");
                return;
            }
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
            // Which data is cleared, and when.
            (2, "(1u << 8 * (bytes - 4 * i)) - 1", "0xffffffff"),
            (2, "if (wrong == 0) continue;", ""),
            (2, "verdicts[n] = wrong != 0;", "verdicts[n] = 0;"),
        ];
        for (kernel, text, with) in sample(0, all_or(1, 3), faults) {
            match check(Ghash::ALL[kernel], Some((text, with))) {
                Ok(_) => panic!("`{text}` is not missed"),
                Err(
                    CheckError::Hash { .. }
                    | CheckError::Printed { .. }
                    | CheckError::OutOfBounds { .. }
                    | CheckError::Stuck { .. },
                ) => {}
                Err(other) => panic!("`{text}`: {other}"),
            }
        }
    }
}
