//! Times kernels and their geometries, from and to the memory of the GPU, by its events.

use std::ops::Range;
use std::time::Duration;

use aes_bitslice_plot::size;
use aes_bitslice_runtime::cuda::{KernelRates, Rate};
use aes_bitslice_runtime::{self as runtime, Backend, Choice, Cipher, Engine, Kernels, KeyBits, Mode};
use indicatif::ProgressBar;

use super::subject::{Subject, rate};
use crate::args::bench::Timing;
use crate::bench::chunks::{CHUNKS, expected, from_start_to_end};
use crate::bench::cores;
use crate::bench::cuda::{Memory, to_host};
use crate::bench::warm_up::LEAD;
use crate::error::{Error, Exit, Result, warn};
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::Sectors;
use crate::modes::operation::OnCuda;

/// Timed runs of a candidate: no fewer, however long they take, and no more.
const RUNS: Range<usize> = 3..30;

/// How much faster than the manifest's a geometry must be to take its place: less is noise.
const WORTH_IT: f64 = 1.01;

/// The largest size that is compared as a whole.
const WHOLE: usize = 4 << 20;

/// The candidates for calls of one kind.
pub struct Timed {
    pub mode: MeasuredMode,
    pub kernels: Mode,
    pub key_bits: KeyBits,
    pub bytes: u64,
    /// The first of each kernel is as its manifest says.
    pub candidates: Vec<Rate>,
}

impl Timed {
    /// The fastest of each kernel, if it is worth it.
    pub fn fastest(&self) -> KernelRates {
        let mut rates: Vec<Rate> = Vec::new();
        for candidate in &self.candidates {
            match rates.iter_mut().find(|best| best.kernel.is_kernel_of(candidate.kernel)) {
                None => rates.push(*candidate),
                Some(best) if candidate.gbytes_per_second > best.gbytes_per_second * WORTH_IT => *best = *candidate,
                Some(_) => {}
            }
        }
        KernelRates { mode: self.kernels, key_bits: self.key_bits, bytes: self.bytes, rates }
    }
}

/// Times every candidate for every subject and size, in `time` altogether.
pub fn measure(
    engine: &Engine,
    subjects: &[Subject],
    sizes: &[u64],
    time: Duration,
    bar: &ProgressBar,
) -> Result<Vec<Timed>> {
    let largest = sizes.last().copied().unwrap_or_default() as usize;
    let mut memory = Memory::random(engine, largest)?;
    let engine = engine.clone().with_kernels(Kernels::AutoAny);
    let reference = Engine::open(Backend::Cpu)?;
    let (mut contests, mut broken) = (Vec::new(), Vec::new());
    for subject in subjects {
        let (cipher, reference) = (engine.cipher(&subject.key)?, reference.cipher(&subject.key)?);
        let keyed = Keyed { subject, cipher, reference };
        for &bytes in sizes {
            let candidates = keyed.candidates(bytes, &mut broken)?;
            contests.push((keyed.clone(), bytes, candidates));
        }
    }
    let measurements: usize = contests.iter().map(|(.., candidates)| candidates.len()).sum();
    bar.inc_length(measurements as u64);
    let slice = time / (measurements.max(1) as u32 * (1 + LEAD));
    let first = contests.iter().find_map(|(keyed, _, candidates)| Some((keyed, *candidates.first()?)));
    if let Some((keyed, choice)) = first {
        // Clocks rise: otherwise the first candidates would be slow.
        let enough = |times: &[Duration]| times.iter().sum::<Duration>() > Duration::from_millis(200);
        let operation = keyed.subject.operation();
        memory.time(&keyed.cipher.device()?.by(choice), &*operation, largest, Timing::Device, enough, |_, _| Ok(()))?;
    }
    let timed = contests.into_iter().map(|(keyed, bytes, candidates)| {
        bar.set_message(format!("{}, {}", keyed.subject.mode.name, size(bytes)));
        keyed.time(&mut memory, bytes, &candidates, slice, bar)
    });
    timed.collect()
}

/// A subject with its key on the GPU and on the CPU.
#[derive(Clone)]
struct Keyed<'a> {
    subject: &'a Subject,
    cipher: Cipher,
    reference: Cipher,
}

impl Keyed<'_> {
    /// The candidates that have kernels. Warns of one that is `broken`, once for each mode, and continues without it.
    fn candidates(&self, bytes: u64, broken: &mut Vec<(MeasuredMode, Choice)>) -> Result<Vec<Choice>> {
        let Subject { mode, kernels, .. } = self.subject;
        let mut there = Vec::new();
        for choice in Choice::candidates(bytes) {
            if broken.iter().any(|(of, kernel)| of == mode && kernel.is_kernel_of(choice)) {
                continue;
            }
            match self.cipher.device()?.by(choice).prepare(*kernels) {
                Ok(()) => there.push(choice),
                Err(runtime::Error::NoSuchKernel { .. }) => {}
                Err(error @ runtime::Error::SelfTestFailed { .. }) => {
                    warn(&format!("{error}; it is not measured"));
                    broken.push((*mode, choice));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(there)
    }

    fn time(
        &self,
        memory: &mut Memory,
        bytes: u64,
        candidates: &[Choice],
        slice: Duration,
        bar: &ProgressBar,
    ) -> Result<Timed> {
        let Subject { mode, kernels, key } = self.subject;
        let enough = |times: &[Duration]| {
            let runs = times.len();
            runs >= RUNS.end || runs >= RUNS.start && times.iter().sum::<Duration>() >= slice
        };
        // All candidates must give it: the input stays.
        let mut expected = None;
        let mut rates = Vec::new();
        for &choice in candidates {
            let device = self.cipher.device()?.by(choice);
            let times = memory.time(
                &device,
                &*self.subject.operation(),
                bytes as usize,
                Timing::Device,
                enough,
                |_, call| {
                    let expected = match &mut expected {
                        Some(expected) => expected,
                        None => expected.insert(self.expected(bytes as usize, call)?),
                    };
                    let wrong = first_difference(expected, call)?;
                    wrong.map_or(Ok(()), |at| Err(self.is_wrong(choice, bytes, at)))
                },
            )?;
            rates.push(Rate { kernel: choice, gbytes_per_second: rate(bytes, times) });
            bar.inc(1);
        }
        Ok(Timed { mode: *mode, kernels: *kernels, key_bits: key.bits(), bytes, candidates: rates })
    }

    /// What the `cpu` engine makes of the input.
    fn expected(&self, bytes: usize, call: &OnCuda<'_>) -> Result<Vec<Expected>> {
        let chunk = |range: Range<usize>| {
            let at = range.start;
            let input = |at, host: &mut [u8]| to_host(call.stream, &call.input, at, host);
            let data = expected(&self.reference, self.subject.mode, Sectors::DEFAULT, range, input)?;
            Ok(Expected { at, data })
        };
        chunks(bytes).into_iter().map(chunk).collect()
    }

    fn is_wrong(&self, choice: Choice, bytes: u64, at: usize) -> Error {
        let Subject { mode, key, .. } = self.subject;
        let message = format!(
            "kernel `{choice}` computes {} with a key of {} bits wrongly: byte {at} of {bytes} differs from `cpu`; do not \
             use it, and report this",
            mode.name,
            key.bits().bits(),
        );
        Error::new(Exit::Failure, message)
    }
}

/// The expected chunk of the output, from byte `at` on.
struct Expected {
    at: usize,
    data: Vec<u8>,
}

/// Where the output differs from the expected one, if it does.
fn first_difference(expected: &[Expected], call: &OnCuda<'_>) -> Result<Option<usize>> {
    for Expected { at, data } in expected {
        let mut output = vec![0; data.len()];
        to_host(call.stream, &call.output, *at, &mut output)?;
        if let Some(offset) = cores::first_difference(&output, data) {
            return Ok(Some(at + offset));
        }
    }
    Ok(None)
}

/// The parts of `bytes` bytes that are compared: all, or chunks from the first byte to the last, at whole blocks.
fn chunks(bytes: usize) -> Vec<Range<usize>> {
    if bytes <= WHOLE {
        return std::iter::once(0..bytes).collect();
    }
    from_start_to_end(bytes, WHOLE / CHUNKS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_reach_from_start_to_end() {
        for power in 12..=32 {
            let (bytes, chunks) = (1 << power, chunks(1 << power));
            assert_eq!((chunks[0].start, chunks.last().unwrap().end), (0, bytes));
            assert!(chunks.iter().all(|c| c.start.is_multiple_of(16) && c.end <= bytes));
            assert!(chunks.windows(2).all(|c| c[0].end <= c[1].start), "{bytes}");
            assert_eq!(chunks.iter().map(Range::len).sum::<usize>(), bytes.min(WHOLE));
        }
    }

    #[test]
    fn a_geometry_has_to_be_worth_it() {
        let rates = |rates: &[(&str, f64)]| {
            let rate =
                |(kernel, rate): &(&str, f64)| Rate { kernel: kernel.parse().unwrap(), gbytes_per_second: *rate };
            let candidates = rates.iter().map(rate).collect();
            let timed = Timed {
                mode: MeasuredMode::CTR,
                kernels: Mode::Ctr,
                key_bits: KeyBits::Aes128,
                bytes: 4096,
                candidates,
            };
            timed.fastest().rates.iter().map(|rate| rate.kernel.to_string()).collect::<Vec<_>>()
        };
        let shares =
            |second, third| rates(&[("co-resident:430", 1.0), ("co-resident:500", second), ("co-resident:460", third)]);
        assert_eq!(shares(1.005, 1.0), ["co-resident:430"]);
        assert_eq!(shares(1.02, 1.1), ["co-resident:460"]);
        // One of each kernel, whichever kernel is faster.
        let three = [("bitsliced", 1.0), ("tbox", 9.0), ("co-resident:430", 5.0), ("co-resident:500", 6.0)];
        assert_eq!(rates(&three), ["bitsliced", "tbox", "co-resident:500"]);
    }
}
