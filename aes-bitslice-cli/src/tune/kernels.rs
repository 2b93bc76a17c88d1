//! Kernels and their geometries, from and to the memory of the GPU, by its events.

use std::ops::Range;
use std::time::Duration;

use aes_bitslice_plot::size;
use aes_bitslice_runtime::cuda::{Choice, KernelRates, Rate};
use aes_bitslice_runtime::{self as runtime, Backend, Cipher, Engine, Kernels, KeyBits};
use indicatif::ProgressBar;

use super::{Case, rate};
use crate::args::BenchMode;
use crate::bench::device::{Done, LEAD, Memory};
use crate::bench::pieces::expected;
use crate::error::{Error, Exit, Result, warn};

/// Timed runs of a candidate: no fewer, however long they take, and no more.
const RUNS: Range<usize> = 3..30;

/// How much faster than its manifest's a geometry has to be to take its place: less is noise.
const WORTH_IT: f64 = 1.01;

/// What is compared: all of a size up to this.
const WHOLE: usize = 4 << 20;
/// Of a larger one as many pieces of so many bytes.
const PIECES: usize = 64;
const PIECE: usize = WHOLE / PIECES;

/// The candidates for calls of one kind.
pub struct Timed {
    pub mode: BenchMode,
    pub key_bits: KeyBits,
    pub bytes: u64,
    /// Of each kernel the first is as its manifest says.
    pub candidates: Vec<Rate>,
}

impl Timed {
    /// Of each kernel the fastest, if it is worth it.
    pub fn fastest(&self) -> KernelRates {
        let mut rates: Vec<Rate> = Vec::new();
        for candidate in &self.candidates {
            match rates.iter_mut().find(|best| best.kernel.is_kernel_of(candidate.kernel)) {
                None => rates.push(*candidate),
                Some(best) if candidate.gbytes_per_second > best.gbytes_per_second * WORTH_IT => *best = *candidate,
                Some(_) => {}
            }
        }
        KernelRates { mode: self.mode.mode(), key_bits: self.key_bits, bytes: self.bytes, rates }
    }
}

/// Times every candidate in every case and size.
pub fn measure(
    engine: &Engine,
    multiprocessors: u32,
    cases: &[Case],
    sizes: &[u64],
    time: Duration,
    bar: &ProgressBar,
) -> Result<Vec<Timed>> {
    let largest = sizes.last().copied().unwrap_or_default() as usize;
    let mut memory = Memory::random(engine, largest)?;
    let engine = engine.clone().with_kernels(Kernels::AutoAny);
    let reference = Engine::open(Backend::Cpu)?;
    let (mut subjects, mut broken) = (Vec::new(), Vec::new());
    for case in cases {
        let subject = Subject { case, cipher: engine.cipher(&case.key)?, reference: reference.cipher(&case.key)? };
        for &bytes in sizes {
            let candidates = subject.candidates(bytes, multiprocessors, &mut broken)?;
            subjects.push((subject.clone(), bytes, candidates));
        }
    }
    let measurements: usize = subjects.iter().map(|(.., candidates)| candidates.len()).sum();
    bar.inc_length(measurements as u64);
    let slice = time / (measurements.max(1) as u32 * (1 + LEAD));
    let first = subjects.iter().find_map(|(subject, _, candidates)| Some((subject, *candidates.first()?)));
    if let Some((subject, choice)) = first {
        // Clocks rise: otherwise the first candidates would be slow.
        let enough = |times: &[Duration]| times.iter().sum::<Duration>() > Duration::from_millis(200);
        memory.time(&subject.cipher.device()?.by(choice), subject.case.mode, largest, enough, |_| Ok(()))?;
    }
    let timed = subjects.into_iter().map(|(subject, bytes, candidates)| {
        bar.set_message(format!("{}, {}", subject.case.mode.name(), size(bytes)));
        subject.time(&mut memory, bytes, &candidates, slice, bar)
    });
    timed.collect()
}

/// A case with its key on the GPU and on the CPU.
#[derive(Clone)]
struct Subject<'a> {
    case: &'a Case,
    cipher: Cipher,
    reference: Cipher,
}

impl Subject<'_> {
    /// The candidates that there are kernels for. Warns of one that is `broken`, once for each mode, and goes on without.
    fn candidates(
        &self,
        bytes: u64,
        multiprocessors: u32,
        broken: &mut Vec<(BenchMode, Choice)>,
    ) -> Result<Vec<Choice>> {
        let mode = self.case.mode;
        let mut there = Vec::new();
        for choice in Choice::candidates(bytes, multiprocessors) {
            if broken.iter().any(|(of, kernel)| *of == mode && kernel.is_kernel_of(choice)) {
                continue;
            }
            match self.cipher.device()?.by(choice).prepare(mode.mode()) {
                Ok(()) => there.push(choice),
                Err(runtime::Error::NoSuchKernel { .. }) => {}
                Err(error @ runtime::Error::SelfTestFailed { .. }) => {
                    warn(&format!("{error}; it is not measured"));
                    broken.push((mode, choice));
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
        let Case { mode, key } = self.case;
        let enough = |times: &[Duration]| {
            let runs = times.len();
            runs >= RUNS.end || runs >= RUNS.start && times.iter().sum::<Duration>() >= slice
        };
        // The same for all candidates: the input stays.
        let mut expected = None;
        let mut rates = Vec::new();
        for &choice in candidates {
            let device = self.cipher.device()?.by(choice);
            let times = memory.time(&device, *mode, bytes as usize, enough, |done| {
                let expected = match &mut expected {
                    Some(expected) => expected,
                    None => expected.insert(self.expected(bytes as usize, done)?),
                };
                let wrong = first_difference(expected, done)?;
                wrong.map_or(Ok(()), |at| Err(self.is_wrong(choice, bytes, at)))
            })?;
            rates.push(Rate { kernel: choice, gbytes_per_second: rate(bytes, times) });
            bar.inc(1);
        }
        Ok(Timed { mode: *mode, key_bits: key.bits(), bytes, candidates: rates })
    }

    /// What the `cpu` engine makes of what was read.
    fn expected(&self, bytes: usize, done: &Done) -> Result<Vec<Piece>> {
        let piece = |range: Range<usize>| {
            let at = range.start;
            let data = expected(&self.reference, self.case.mode, range, |at, host| done.input(at, host))?;
            Ok(Piece { at, data })
        };
        pieces(bytes).into_iter().map(piece).collect()
    }

    fn is_wrong(&self, choice: Choice, bytes: u64, at: usize) -> Error {
        let Case { mode, key } = self.case;
        let message = format!(
            "kernel `{choice}` computes {} with a key of {} bits wrongly: byte {at} of {bytes} differs from `cpu`; do not \
             use it, and report this",
            mode.name(),
            key.bits().bits(),
        );
        Error::new(Exit::Failure, message)
    }
}

/// A part of a text.
struct Piece {
    at: usize,
    data: Vec<u8>,
}

/// Where what was written differs from what is expected, if it does.
fn first_difference(expected: &[Piece], done: &Done) -> Result<Option<usize>> {
    for Piece { at, data } in expected {
        let mut output = vec![0; data.len()];
        done.output(*at, &mut output)?;
        if let Some(offset) = output.iter().zip(data).position(|(ours, theirs)| ours != theirs) {
            return Ok(Some(at + offset));
        }
    }
    Ok(None)
}

/// What is compared of so many bytes: all, or pieces from the first byte to the last, at whole blocks.
fn pieces(bytes: usize) -> Vec<Range<usize>> {
    if bytes <= WHOLE {
        return std::iter::once(0..bytes).collect();
    }
    let start = |i: usize| (bytes - PIECE) / 16 * i / (PIECES - 1) * 16;
    (0..PIECES).map(|i| start(i)..start(i) + PIECE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_reach_from_start_to_end() {
        for power in 12..=32 {
            let (bytes, pieces) = (1 << power, pieces(1 << power));
            assert_eq!((pieces[0].start, pieces.last().unwrap().end), (0, bytes));
            assert!(pieces.iter().all(|p| p.start.is_multiple_of(16) && p.end <= bytes));
            assert!(pieces.windows(2).all(|p| p[0].end <= p[1].start), "{bytes}");
            assert_eq!(pieces.iter().map(Range::len).sum::<usize>(), bytes.min(WHOLE));
        }
    }

    #[test]
    fn a_geometry_has_to_be_worth_it() {
        let rates = |rates: &[(&str, f64)]| {
            let rate =
                |(kernel, rate): &(&str, f64)| Rate { kernel: kernel.parse().unwrap(), gbytes_per_second: *rate };
            let candidates = rates.iter().map(rate).collect();
            let timed = Timed { mode: BenchMode::Ctr, key_bits: KeyBits::Aes128, bytes: 4096, candidates };
            timed.fastest().rates.iter().map(|rate| rate.kernel.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(rates(&[("bitsliced", 1.0), ("bitsliced:8:8", 1.005)]), ["bitsliced"]);
        assert_eq!(rates(&[("bitsliced", 1.0), ("bitsliced:8:8", 1.02), ("bitsliced:4:8", 1.1)]), ["bitsliced:4:8"]);
        // Of each kernel one, whichever kernel is faster.
        let three = [("bitsliced", 1.0), ("tbox", 9.0), ("pair:430", 5.0), ("pair:500", 6.0)];
        assert_eq!(rates(&three), ["bitsliced", "tbox", "pair:500"]);
    }
}
