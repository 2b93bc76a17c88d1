//! Calls on data in spread memory: all GPUs at once, each on its own part and then on what the slowest has left.

use super::DeviceKey;
use super::group::GroupKey;
use super::kernel::Span;
use super::pieces::{DEPTH, Gpu, Piece, cut, drive, ends, piece_bytes};
use super::pool::Slot;
use super::spread::SpreadBuffer;
use crate::schedule::Schedule;
use crate::work::Work;
use crate::{Cipher, Counter, Direction, Error, Mode};
use std::ops::Range;
use std::sync::Arc;

/// Calls of a [`Cipher`] on spread memory ([`Engine::spread`](crate::Engine::spread)).
///
/// They return when the work is done, and keep the thread busy until then. Each GPU works on its own part, all at the same
/// time; whichever is done before the others takes from what they have left, where the GPUs reach each other's memory. The
/// output is the same as that of one GPU.
///
/// Every call may fail with [`Error::Poisoned`], and the first of a mode with [`Error::SelfTestFailed`]; a baked kernel answers
/// other modes with [`Error::NotInKernel`]. Wrong arguments change nothing. If a call fails after work was begun, on whichever
/// GPU, its output is cleared to zero as far as the devices still can; in place, output is input.
pub struct SpreadCipher<'a> {
    cipher: &'a Cipher,
    key: &'a GroupKey,
}

impl<'a> SpreadCipher<'a> {
    pub(crate) fn new(cipher: &'a Cipher, key: &'a GroupKey) -> Self {
        Self { cipher, key }
    }

    /// The cipher these calls use.
    pub fn cipher(&self) -> &'a Cipher {
        self.cipher
    }

    /// Loads every kernel that calls of a mode may take, on all GPUs, and waits for the known answers they must give, unless
    /// that was done before.
    ///
    /// # Errors
    /// As [`DeviceCipher::prepare`](super::DeviceCipher::prepare).
    pub fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.key.prepare(mode)
    }

    /// Runs whole blocks through the block cipher in place (SP 800-38A, section 6.1).
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`], [`Error::OtherEngine`], and what the devices report.
    pub fn ecb(&self, direction: Direction, data: &mut SpreadBuffer) -> Result<(), Error> {
        Cipher::whole_blocks(data.len())?;
        self.run(Work::Ecb(direction), None, data)
    }

    /// Runs whole blocks through the block cipher from `input` to `output`.
    ///
    /// # Errors
    /// As [`ecb`](Self::ecb), and [`Error::LengthMismatch`].
    pub fn ecb_to(&self, direction: Direction, input: &SpreadBuffer, output: &mut SpreadBuffer) -> Result<(), Error> {
        Cipher::whole_blocks(input.len())?;
        self.run(Work::Ecb(direction), Some(input), output)
    }

    /// Decrypts whole blocks in place, each chained to the ciphertext block before it, the first to `iv` (CBC; SP 800-38A,
    /// section 6.2).
    ///
    /// As with [`Cipher::cbc_decrypt`], the IV of a piece of a message is the block of ciphertext before it.
    ///
    /// # Errors
    /// [`Error::NotWholeBlocks`], [`Error::OtherEngine`], and what the devices report.
    pub fn cbc_decrypt(&self, iv: &[u8; 16], data: &mut SpreadBuffer) -> Result<(), Error> {
        Cipher::whole_blocks(data.len())?;
        self.run(Work::CbcDecrypt { iv: *iv }, None, data)
    }

    /// Decrypts whole blocks, each chained to the ciphertext block before it, from `input` to `output`.
    ///
    /// # Errors
    /// As [`cbc_decrypt`](Self::cbc_decrypt), and [`Error::LengthMismatch`].
    pub fn cbc_decrypt_to(&self, iv: &[u8; 16], input: &SpreadBuffer, output: &mut SpreadBuffer) -> Result<(), Error> {
        Cipher::whole_blocks(input.len())?;
        self.run(Work::CbcDecrypt { iv: *iv }, Some(input), output)
    }

    /// XORs `data` with the keystream from byte `offset` on (SP 800-38A, section 6.5). It is fast from multiples of 16 on.
    ///
    /// # Errors
    /// [`Error::CounterOverflow`], [`Error::OtherEngine`], and what the devices report.
    pub fn ctr_apply(&self, counter: &Counter, offset: u64, data: &mut SpreadBuffer) -> Result<(), Error> {
        let (counter, skip) = counter.start(offset, data.len())?;
        self.run(Work::Ctr { counter, skip }, None, data)
    }

    /// XORs `input` with the keystream from byte `offset` on, into `output`.
    ///
    /// # Errors
    /// As [`ctr_apply`](Self::ctr_apply), and [`Error::LengthMismatch`].
    pub fn ctr_apply_to(
        &self,
        counter: &Counter,
        offset: u64,
        input: &SpreadBuffer,
        output: &mut SpreadBuffer,
    ) -> Result<(), Error> {
        let (counter, skip) = counter.start(offset, input.len())?;
        self.run(Work::Ctr { counter, skip }, Some(input), output)
    }

    /// The call from `input`, or in place.
    fn run(&self, work: Work, input: Option<&SpreadBuffer>, output: &mut SpreadBuffer) -> Result<(), Error> {
        self.check(input, output)?;
        let largest = output.memory().map(|(_, part)| part.range.len()).max().unwrap_or(0);
        self.run_in_pieces(work, input, output, piece_bytes(largest)).map(|_| ())
    }

    /// Whether both buffers are of these GPUs, and cut in the same places.
    fn check(&self, input: Option<&SpreadBuffer>, output: &SpreadBuffer) -> Result<(), Error> {
        for buffer in input.into_iter().chain([output]) {
            let devices = self.key.keys().iter().map(DeviceKey::device);
            let same = devices.zip(buffer.memory()).all(|(ours, (theirs, _))| Arc::ptr_eq(ours, theirs));
            if !same || buffer.memory().len() != self.key.keys().len() {
                return Err(Error::OtherEngine);
            }
        }
        let Some(input) = input else { return Ok(()) };
        if input.len() != output.len() {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        // One engine cuts all buffers of a length in the same places.
        let same_parts = input.memory().zip(output.memory()).all(|((_, a), (_, b))| a.range == b.range);
        if same_parts { Ok(()) } else { Err(Error::OtherEngine) }
    }

    /// How many pieces each GPU did.
    fn run_in_pieces(
        &self,
        work: Work,
        input: Option<&SpreadBuffer>,
        output: &mut SpreadBuffer,
        bytes: usize,
    ) -> Result<Vec<usize>, Error> {
        if output.is_empty() {
            return Ok(vec![0; self.key.keys().len()]);
        }
        self.prepare(work.mode())?;
        let parts: Vec<_> = output.memory().map(|(_, part)| part.range.clone()).collect();
        let (pieces, shares) = cut(&parts, bytes);
        let mut gpus = self.gpus(work, &parts, &shares)?;
        let ends = match work {
            Work::CbcDecrypt { .. } => ends(&mut gpus, input.unwrap_or(output), &pieces, &shares)?,
            Work::Ecb(_) | Work::Ctr { .. } => vec![],
        };
        let addresses = |buffer: &SpreadBuffer| buffer.memory().map(|(_, part)| part.pointer).collect::<Vec<_>>();
        let (from, to) = (addresses(input.unwrap_or(output)), addresses(output));
        let piece = |index: usize| {
            let Piece { part, at, len } = pieces[index];
            let whole = Span { input: from[part], output: to[part], len: parts[part].len() as u64 };
            let span = whole.part((at - parts[part].start) as u64, len as u64);
            (work.after(at as u64, || ends[index - 1]), span)
        };
        let reaches = |gpu, owner| output.reaches(gpu, owner) && input.is_none_or(|input| input.reaches(gpu, owner));
        let schedule = Schedule::of(shares, self.key.weights());
        let mut started = false;
        let mut outcome = drive(&mut gpus, &schedule, piece, reaches, &mut started);
        for gpu in &mut gpus {
            outcome = outcome.and(gpu.wait());
        }
        if outcome.is_err() && started {
            output.clear();
        }
        outcome.map(|()| gpus.iter().map(|gpu| gpu.done).collect())
    }

    /// The GPUs with slots, one at least; always in the same order, so that calls that wait for slots do not wait for one
    /// another.
    fn gpus(&self, work: Work, parts: &[Range<usize>], shares: &[Range<usize>]) -> Result<Vec<Gpu<'a>>, Error> {
        let all: usize = parts.iter().map(Range::len).sum();
        let gpu = |((key, part), share): ((&'a DeviceKey, &Range<usize>), &Range<usize>)| {
            key.device().enter()?;
            // What has no part of its own is for the others' pieces.
            let bytes = if part.is_empty() { all / parts.len() } else { part.len() };
            let choice = key.choose_for_pieces(work.mode(), bytes as u64, work.head() == 0)?;
            // With room for the last block of each piece.
            let first = Slot::take(key.device(), 16 * share.len().max(1))?;
            // More of them make it faster. Without them it works as well.
            let more = (1..DEPTH).map_while(|_| Slot::try_take(key.device(), 16)?.ok());
            let idle = [first].into_iter().chain(more).collect();
            Ok(Gpu { key, choice, idle, busy: Vec::new(), done: 0 })
        };
        self.key.keys().iter().zip(parts).zip(shares).map(gpu).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backend, CounterMode, Engine, Key};
    use std::io::Write;

    /// All data lies on the last GPU, and the others, which reach it, do most of it.
    #[test]
    fn pieces_are_taken_of_the_slowest() {
        const BYTES: usize = 48 * (1 << 20) + 16 * 5;
        let engine = match Engine::open(Backend::CudaAll) {
            Ok(engine) => engine,
            Err(e) => {
                // Past the harness, which would keep it to itself.
                let _ = writeln!(std::io::stderr(), "NO GPU OPENED: pieces of another GPU's were not tested ({e})");
                return;
            }
        };
        let group = engine.group("").unwrap();
        let last = group.members().len() - 1;
        let weights: Vec<f64> = (0..=last).map(|gpu| f64::from(u8::from(gpu == last))).collect();
        let buffer = || SpreadBuffer::with_weights(group, BYTES, &weights).unwrap();
        if last == 0 || !(0..last).all(|gpu| buffer().reaches(gpu, last)) {
            let _ = writeln!(std::io::stderr(), "NO GPU REACHES ANOTHER'S MEMORY: that was not tested");
            return;
        }
        let key = Key::new(&[7; 32]).unwrap();
        let (cipher, cpu) = (engine.cipher(&key).unwrap(), Engine::open(Backend::Cpu).unwrap().cipher(&key).unwrap());
        let data: Vec<u8> = (0..BYTES).map(|i| (i ^ i >> 8 ^ i >> 16) as u8).collect();
        let counter = Counter::new(CounterMode::Ctr128BE, [0xff; 16]);
        for work in [
            Work::Ecb(Direction::Encrypt),
            Work::CbcDecrypt { iv: [9; 16] },
            Work::Ctr { counter: u128::MAX, skip: 0 },
            Work::Ctr { counter: u128::MAX, skip: 5 },
        ] {
            let mut expected = data.clone();
            match work {
                Work::Ecb(_) => cpu.ecb_encrypt(&mut expected),
                Work::CbcDecrypt { iv } => cpu.cbc_decrypt(&iv, &mut expected),
                Work::Ctr { skip, .. } => cpu.ctr_apply(&counter, skip as u64, &mut expected),
            }
            .unwrap();
            let spread = cipher.spread().unwrap();
            let run = |input: Option<&SpreadBuffer>, output: &mut SpreadBuffer| {
                let done = spread.run_in_pieces(work, input, output, 1 << 20).unwrap();
                assert!(done.iter().sum::<usize>() == 49 && done[..last].iter().all(|&pieces| pieces > 0), "{done:?}");
                let mut found = vec![0; BYTES];
                output.copy_to_host(0, &mut found).unwrap();
                assert!(found == expected, "{work:?}, in place: {}", input.is_none());
            };
            let (mut input, mut output) = (buffer(), buffer());
            input.copy_from_host(0, &data).unwrap();
            run(Some(&input), &mut output);
            run(None, &mut input);
        }
    }
}
