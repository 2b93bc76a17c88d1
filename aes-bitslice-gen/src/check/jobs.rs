//! A printed kernel for many keys as a program for the CPU, and its check against the definition of the cipher and its modes.

use super::error::CheckError;
use super::program::{Given, Program, Threads, bytes_of};
use aes_bitslice_core::aes::{Direction, KeyBits, KeySchedule};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::jobs::{Job, WIDEST, run_blocks, tables};
use aes_bitslice_core::layout;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::reference::reference;

/// The input of the cipher, and the use of its output.
#[derive(Clone, Copy)]
struct Flow {
    mode: Mode,
    counts: u64,
    adds: u64,
}

impl Flow {
    /// The flows of a kernel that encrypts, or decrypts.
    fn all(direction: Direction) -> &'static [Self] {
        match direction {
            Direction::Encrypt => &[
                Self { mode: Mode::EcbEncrypt, counts: 0, adds: 0 },
                Self { mode: Mode::Ctr, counts: 1, adds: 1 },
                Self { mode: Mode::Keystream, counts: 1, adds: 0 },
            ],
            Direction::Decrypt => &[Self { mode: Mode::EcbDecrypt, counts: 0, adds: 0 }],
        }
    }
}

/// Compiles a printed kernel as C, and compares its entry points for many keys with the definition: keys of every length; lengths around
/// blocks, runs and tiles; any address; in place and out of place; counters that wrap. Returns `false` if there is no C compiler.
pub fn printed_jobs(printed: &Printed) -> Result<bool, CheckError> {
    let manifest = &printed.manifest;
    let Some(mut program) = Program::compile(&printed.source, manifest)? else { return Ok(false) };
    let direction = manifest.mode()?.direction();
    let flows = Flow::all(direction);
    // Jobs that encrypt take round keys in the form of the schedule.
    let basis = match direction {
        Direction::Encrypt => manifest.basis()?.into(),
        Direction::Decrypt => manifest.key_basis()?,
    };
    let stream = |seed: u128, bytes: usize| {
        let key = KeySchedule::new(b"sixteen bytes...", Direction::Encrypt).expect("a key");
        reference(Mode::Keystream, &key, seed << 64, 0, &vec![0; bytes])
    };
    for (n, bits) in KeyBits::ALL.into_iter().enumerate() {
        let key_words = bits.bytes() as u64 / 4;
        let expanded = |keys: &[u8]| -> Vec<KeySchedule> {
            let schedule = |key| KeySchedule::new(key, direction).expect("of this length");
            keys.chunks(bits.bytes()).map(schedule).collect()
        };

        // A tile of keys and a few more, expanded: all of the output is written, and nothing past its end.
        let all = [300, 9, 33][n];
        let keys = stream(1 + n as u128, all * bits.bytes());
        let schedules = expanded(&keys);
        let words = schedules.iter().flat_map(|key| layout::key_words(key, basis).to_vec()).flatten();
        let expected = bytes_of(&words.collect::<Vec<u32>>());
        let (launch, none) = (format!("the expansion of {all} keys of {key_words} words"), vec![0x11; expected.len()]);
        let threads = Threads { thread_blocks: 1 + n as u64, threads: 64 };
        let made = program.run(Entry::Expand, threads, &launch, &|name| {
            Some(match name {
                Argument::CipherKeys => Given::Read(&keys, 4 * n),
                Argument::All => Given::Number(all as u64),
                Argument::KeyWords => Given::Number(key_words),
                Argument::RoundKeys => Given::Written(&none, 0),
                _ => return None,
            })
        });
        let made = made?.remove(0);
        CheckError::unless_equal(&made, &expected, &manifest.kernel, &launch)?;
        let round_keys = made;

        // The same number of blocks for each key; counters that wrap, with carries through all higher words.
        let counters = [u128::MAX - 1, 0x0f1e_2d3c_4b5a_6978_8796_a5b4_c3d2_e1f0, u128::from(u32::MAX) - 2];
        for (m, (each, blocks)) in [(1, 300), (2, 257), (3, 70), (17, 700), (1, 3)].into_iter().enumerate() {
            if all * each < blocks {
                continue;
            }
            let Flow { mode, counts, adds } = flows[(m + n) % flows.len()];
            let counter = counters[m % 3];
            let data = stream(50 + m as u128, 16 * blocks);
            let mut expected = Vec::new();
            for (part, key) in data.chunks(16 * each).zip(&schedules) {
                expected.extend(reference(mode, key, counter, 0, part));
            }
            let offset = [0, 3, 4, 8, 1][m];
            let other = vec![0x77; data.len()];
            let threads = Threads { thread_blocks: 1 + m as u64 % 2, threads: 32 + 96 * (m as u32 % 2) };
            let launch = format!("{mode}, {each} of {blocks} blocks for each of keys of {key_words} words");
            let in_place = m % 2 == 0;
            let made = program.run(Entry::Each, threads, &launch, &|name| {
                Some(match name {
                    Argument::In if in_place => Given::At(Argument::Out, 0),
                    Argument::In => Given::Read(&data, offset),
                    Argument::Out if in_place => Given::Written(&data, offset),
                    Argument::Out => Given::Written(&other, 4),
                    Argument::Blocks => Given::Number(blocks as u64),
                    Argument::Each => Given::Number(each as u64),
                    Argument::CipherKeys => Given::Read(&keys, 4 * n),
                    Argument::KeyWords => Given::Number(key_words),
                    Argument::Counter => Given::Block(counter.to_le_bytes()),
                    Argument::Counts => Given::Number(counts),
                    Argument::Adds => Given::Number(adds),
                    _ => return None,
                })
            });
            let made = made?.remove(0);
            CheckError::unless_equal(&made, &expected, &manifest.kernel, &launch)?;
        }

        // Jobs with lengths in bytes, and with gaps before them. Of equal ones, only the first is listed.
        let several: &[(u64, u64)] =
            &[(512, 0), (16, 16), (0, 0), (4096, 0), (10_000, 32), (528, 0), (4095, 0), (1, 0)];
        let ragged: &[(u64, u64)] = &[(13, 1), (517, 2), (4100, 0), (31, 5), (6000, 3), (1, 0)];
        let equal: &[(u64, u64)] = &[(1040, 16); 7];
        for (m, offset) in [(0, 0), (1, 0), (2, 3), (3, 4), (4, 8), (5, 1), (6, 0), (7, 1), (8, 4), (9, 0)] {
            let flow = flows[(m + n) % flows.len()];
            let Flow { mode, counts, adds } = flow;
            let lengths = match m {
                6.. => equal,
                _ if counts == 0 || m % 2 == 0 => several,
                _ => ragged,
            };
            let counter = |i: usize| counters[i % 3].wrapping_sub(i as u128 * 20);
            let (mut at, mut jobs) = (0, Vec::new());
            for &(bytes, gap) in lengths {
                // ECB takes whole blocks only.
                let bytes = if counts == 0 { bytes / 16 * 16 } else { bytes };
                jobs.push(Job { at: at + gap, bytes });
                at += gap + bytes;
            }
            let wide = (m + n) as u32 % (WIDEST + 1);
            let runs: u64 = jobs.iter().map(|job| job.runs(wide)).sum();
            let (stride, listed) = if lengths == equal { (1056, 1) } else { (0, jobs.len()) };
            let [table, of_runs] = tables(jobs[..listed].iter().copied(), stride, wide).expect("few");
            let of_each: Vec<[u8; 16]> = (0..jobs.len()).map(|i| counter(i).to_be_bytes()).collect();
            let data = stream(90 + m as u128, at as usize + 9);
            let in_place = m % 2 == 0;
            // Nothing is written between jobs, nor in other memory.
            let mut expected = if in_place { data.clone() } else { vec![0x55; data.len()] };
            for ((i, job), key) in jobs.iter().enumerate().zip(&schedules) {
                let range = job.at as usize..(job.at + job.bytes) as usize;
                expected[range.clone()].copy_from_slice(&reference(mode, key, counter(i), 0, &data[range]));
            }
            let other = vec![0x55; data.len()];
            let threads = Threads { thread_blocks: 1 + m as u64 % 3, threads: 32 + 32 * (m as u32 % 2) };
            let launch = format!(
                "{mode}, {} jobs in runs of {} blocks, keys of {key_words} words",
                jobs.len(),
                run_blocks(wide)
            );
            let made = program.run(Entry::Jobs, threads, &launch, &|name| {
                Some(match name {
                    Argument::In if in_place => Given::At(Argument::Out, 0),
                    Argument::In => Given::Read(&data, offset),
                    Argument::Out if in_place => Given::Written(&data, offset),
                    Argument::Out => Given::Written(&other, 3 * offset % 16),
                    Argument::Jobs => Given::Read(table.as_flattened(), 0),
                    Argument::Runs => Given::Read(of_runs.as_flattened(), 0),
                    Argument::Stride => Given::Number(stride),
                    Argument::All => Given::Number(runs),
                    Argument::Wide => Given::Number(wide.into()),
                    Argument::Counters => Given::Read(of_each.as_flattened(), 0),
                    Argument::RoundKeys => Given::Read(&round_keys, 0),
                    Argument::KeyWords => Given::Number(key_words),
                    Argument::Counts => Given::Number(counts),
                    Argument::Adds => Given::Number(adds),
                    _ => return None,
                })
            });
            let made = made?.remove(0);
            CheckError::unless_equal(&made, &expected, &manifest.kernel, &launch)?;
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::faults::{faults_show, with_source};
    use crate::emit::cuda;
    use crate::kernel::spec::KernelSpec;
    use crate::sbox::LUT3;

    /// The printed kernel passes, and fails with any of these faults.
    fn passes_and_faults_show(mode: Mode, faults: &[(&str, &str)]) {
        let printed = cuda::print(&KernelSpec::planes(mode, &LUT3).into(), "a test").unwrap();
        let check = |source: &str| printed_jobs(&with_source(&printed, source));
        check(&printed.source).unwrap();
        faults_show(&printed.source, faults.iter().copied(), check);
    }

    #[test]
    fn a_printed_kernel_passes_and_faults_show() {
        passes_and_faults_show(
            Mode::EcbEncrypt,
            &[
                // The schedule.
                ("column() + (u32)is_first", "column()"),
                ("is_first || keys.key_words == 8", "is_first"),
                ("round_constant(turn) : 0", "round_constant(1) : 0"),
                ("WARP_BARRIER(); // the word before is there", ""),
                // Blocks and counters.
                ("place.block >= each", "place.block > each"),
                ("low < n ? own.carried : own.word", "own.word"),
                // Jobs.
                ("+ stride * part.job", ""),
                ("first = part.job * each;", "first = part.job;"),
                ("const u32 each = (u32)(", "const u32 each = 1 + (u32)("),
                ("block[3 - i]", "block[i]"),
                ("(lane() / 4 & ((1u << wide) - 1))", "(lane() / 4 & 7)"),
                ("byte + 4 <= part.bytes", "byte < part.bytes"),
                ("part.bytes >= 31 * part.apart + 4", "part.bytes >= 31 * part.apart"),
                ("counter_word(own, j << wide)", "counter_word(own, j)"),
                ("word = round_keys[4 * (round + 1)];", "word = round_keys[4 * round];"),
            ],
        );
    }

    #[test]
    fn so_does_one_that_decrypts() {
        passes_and_faults_show(
            Mode::EcbDecrypt,
            &[
                ("(i == 0 && keys.key_words == 8)", "0"),
                ("WARP_BARRIER(); // of short keys, word n - 1 has only just been made", ""),
                ("const u32 i = 3 - j, n", "const u32 i = j, n"),
                (
                    "WARP_BARRIER(); // the words are there, and those in whose place the next ones come have been read",
                    "",
                ),
                ("if (n > 1) make_words_before", "if (n > 2) make_words_before"),
                ("const u32 round = keys.rounds - n;", "const u32 round = n;"),
                ("    into_key_basis(k, t);\n", "    return;\n"),
                ("round <= keys.rounds; round++) make_next_words", "round < keys.rounds; round++) make_next_words"),
            ],
        );
    }
}
