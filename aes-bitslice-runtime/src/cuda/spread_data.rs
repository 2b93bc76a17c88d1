//! Data in spread memory: all GPUs at once, each in pieces on its own part and then on what the slowest has left.
//!
//! One thread drives them. Each GPU has a few pieces on streams of its own, so that the thread blocks of the next begin where
//! those of the last end; whenever one is done, another is launched. A GPU that is through with its part takes the last piece
//! of another's, where it reaches that one's memory.

use super::group::GroupKey;
use super::kernel::Span;
use super::pool::Lane;
use super::spread::SpreadBuffer;
use super::{Choice, DeviceKey, cbc};
use crate::schedule::Schedule;
use crate::work::Work;
use crate::{Cipher, Counter, Direction, Error, Mode};
use cudarc::driver::result;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

/// Pieces that a GPU has at a time: one that ends, one that is at work, one that begins.
const DEPTH: usize = 3;

/// Pieces that are left to their owner: it is done with them before another could be, who reaches them over a link.
const LEFT_TO_OWNER: usize = 1;

/// Bytes of a piece, where the largest part has so many: few, for each has thread blocks that wait for the last of the one
/// before; not too few, for what is taken of another is a piece.
fn piece_bytes(part: usize) -> usize {
    (part / 16).clamp(256 << 20, 1 << 30).next_multiple_of(1 << 20)
}

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

    /// The GPUs with lanes, one at least; always in the same order, so that calls that wait for lanes do not wait for one
    /// another.
    fn gpus(&self, work: Work, parts: &[Range<usize>], shares: &[Range<usize>]) -> Result<Vec<Gpu<'a>>, Error> {
        let all: usize = parts.iter().map(Range::len).sum();
        let gpu = |((key, part), share): ((&'a DeviceKey, &Range<usize>), &Range<usize>)| {
            key.device().enter()?;
            // What has no part of its own is for the others' pieces.
            let bytes = if part.is_empty() { all / parts.len() } else { part.len() };
            let choice = key.choose_for_pieces(work.mode(), bytes as u64, work.head() == 0)?;
            // With room for the last block of each piece.
            let first = Lane::take(key.device(), 16 * share.len().max(1))?;
            // More of them make it faster. Without them it works as well.
            let more = (1..DEPTH).map_while(|_| Lane::try_take(key.device(), 16)?.ok());
            let idle = [first].into_iter().chain(more).collect();
            Ok(Gpu { key, choice, idle, busy: Vec::new(), done: 0 })
        };
        self.key.keys().iter().zip(parts).zip(shares).map(gpu).collect()
    }
}

/// A piece of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    part: usize,
    /// Where it begins, in the whole buffer.
    at: usize,
    len: usize,
}

/// Cuts parts into pieces of so many bytes, the last of each part shorter; and which pieces are whose.
fn cut(parts: &[Range<usize>], bytes: usize) -> (Vec<Piece>, Vec<Range<usize>>) {
    let mut pieces = Vec::new();
    let share = |(part, range): (usize, &Range<usize>)| {
        let first = pieces.len();
        let starts = range.clone().step_by(bytes);
        pieces.extend(starts.map(|at| Piece { part, at, len: bytes.min(range.end - at) }));
        first..pieces.len()
    };
    let shares = parts.iter().enumerate().map(share).collect();
    (pieces, shares)
}

/// A GPU at work on a call.
struct Gpu<'k> {
    key: &'k DeviceKey,
    choice: Choice,
    idle: Vec<Lane<'k>>,
    busy: Vec<Lane<'k>>,
    /// How many pieces it was given.
    done: usize,
}

impl Gpu<'_> {
    /// Launches a piece in an idle lane.
    ///
    /// # Safety
    /// The span lies in memory that this device reaches and that is live until the work is done.
    unsafe fn launch(&mut self, work: Work, span: Span) -> Result<(), Error> {
        self.key.device().enter()?;
        let lane = self.idle.pop().expect("asked for where a lane is idle");
        let stream = lane.stream();
        // From here on there may be something to wait for.
        self.busy.push(lane);
        self.done += 1;
        // SAFETY: as the caller vouches; the stream is the lane's.
        unsafe { self.key.launch(stream, span, work, Some(self.choice)) }
    }

    /// Takes back the lanes that are done; whether there were any.
    fn reap(&mut self) -> Result<bool, Error> {
        let busy = self.busy.len();
        let mut index = 0;
        while let Some(lane) = self.busy.get_mut(index) {
            match lane.is_done()? {
                true => self.idle.push(self.busy.swap_remove(index)),
                false => index += 1,
            }
        }
        Ok(self.busy.len() < busy)
    }

    /// Waits for all that was launched.
    fn wait(&mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        // All of them, whatever the first says.
        for lane in &mut self.busy {
            outcome = outcome.and(lane.wait());
        }
        outcome
    }
}

/// Launches piece after piece until none is left and all are done, or one fails; then some may still be at work.
fn drive(
    gpus: &mut [Gpu<'_>],
    schedule: &Schedule,
    piece: impl Fn(usize) -> (Work, Span),
    reaches: impl Fn(usize, usize) -> bool,
    started: &mut bool,
) -> Result<(), Error> {
    loop {
        let mut moved = false;
        // One piece to each in turn, so that all begin at once.
        for (index, gpu) in gpus.iter_mut().enumerate() {
            moved |= gpu.reap()?;
            if gpu.idle.is_empty() {
                continue;
            }
            // Of others only when there is nothing of one's own but what is at work.
            let of_others = || {
                let may = |owner| owner != index && reaches(index, owner);
                (gpu.busy.len() <= 1).then(|| schedule.next_of_others(LEFT_TO_OWNER, may))?
            };
            if let Some((work, span)) = schedule.next_own(index).or_else(of_others).map(&piece) {
                (moved, *started) = (true, true);
                // SAFETY: pieces of buffers that the caller has borrowed until all was waited for, in reach of this GPU.
                unsafe { gpu.launch(work, span) }?;
            }
        }
        if !moved {
            if gpus.iter().all(|gpu| gpu.busy.is_empty()) {
                return Ok(());
            }
            thread::yield_now();
        }
    }
}

/// The last block of every piece, as it is before anything is overwritten: what the next is chained to.
fn ends(
    gpus: &mut [Gpu<'_>],
    data: &SpreadBuffer,
    pieces: &[Piece],
    shares: &[Range<usize>],
) -> Result<Vec<[u8; 16]>, Error> {
    let mut ends = vec![[0; 16]; pieces.len()];
    let mut of_shares = ends.as_flattened_mut();
    // All are on their way before the first is waited for.
    let mut copies = Vec::new();
    for ((gpu, share), (_, part)) in gpus.iter_mut().zip(shares).zip(data.memory()) {
        let pieces = &pieces[share.clone()];
        let to = of_shares.split_off_mut(..16 * pieces.len()).expect("shares that cover all");
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { continue };
        let (device, lane) = (gpu.key.device(), &mut gpu.idle[0]);
        device.enter()?;
        assert!(lane.len() >= to.len());
        let room = lane.buffer() + to.len() as u64;
        // SAFETY: all pieces but the last are as long as the first, and end where the next begins, in a part that is borrowed
        // until the lane was waited for, here or on drop; the lane has room for one block of each.
        unsafe {
            let others = pieces.len() as u64 - 1;
            cbc::gather(
                device,
                lane.stream(),
                part.pointer + first.len as u64 - 16,
                first.len as u64,
                others,
                lane.buffer(),
            )?;
            let end = part.pointer + part.range.len() as u64 - 16;
            let copied = result::memcpy_dtod_async(room - 16, end, 16, lane.stream());
            device.call("cuMemcpyDtoDAsync", copied)?;
        }
        debug_assert!(last.at + last.len == part.range.end);
        copies.push((device, lane, to));
    }
    for (device, lane, to) in copies {
        device.enter()?;
        // SAFETY: waited for at once.
        let copied = unsafe { lane.copy_out(0, to) };
        lane.wait().and(copied)?;
    }
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backend, CounterMode, Engine, Key};
    use std::io::Write;

    #[test]
    fn pieces_cover_their_parts() {
        let piece = |part, at, len| Piece { part, at, len };
        let (pieces, shares) = cut(&[0..100, 100..100, 100..164], 48);
        assert_eq!(pieces, [piece(0, 0, 48), piece(0, 48, 48), piece(0, 96, 4), piece(2, 100, 48), piece(2, 148, 16)]);
        assert_eq!(shares, [0..3, 3..3, 3..5]);
        assert_eq!(cut(&[0..0, 0..0], 48), (vec![], vec![0..0, 0..0]));
    }

    #[test]
    fn pieces_are_whole_grains_of_some_size() {
        for part in [0, 1, 1 << 30, (4 << 30) + 5, 100 << 30, usize::MAX] {
            let bytes = piece_bytes(part);
            assert!(bytes.is_multiple_of(1 << 20) && (256 << 20..=1 << 30).contains(&bytes));
        }
        assert_eq!(piece_bytes(4 << 30), 256 << 20);
    }

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
