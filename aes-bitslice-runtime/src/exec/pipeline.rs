//! The chunks of a call, each copied to a device and back in a slot, several at a time: while one is being copied
//! there, another is being computed, and a third is being copied back.
//!
//! ```text
//! worker 0   slot 0   in | kernel | out      in | kernel | out
//!            slot 1        in | kernel | out      in | kernel | out
//! worker 1   slot 2   in | kernel | out      ...
//! ```
//!
//! A worker is a thread with a few slots of one device. It starts a chunk in every slot, then waits for the oldest and
//! starts the next in its place. Copies to and from slots that the worker itself makes are thus spread over as many
//! threads as there are workers.

use crate::base::error::Error;
use crate::base::lock::lock;
use crate::base::own_thread::own_thread;
use crate::base::stop::Stop;
use crate::exec::chunk::Piece;
use crate::exec::schedule::Schedule;
use crate::op::partial_hash::HASH;
use aes_bitslice_core::memory::collected;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Room for one chunk at a time on a device. Dropping a slot waits for the work that it has started.
pub(crate) trait Slot<'a> {
    /// Starts a chunk, on an idle slot, without waiting for more than its own copies. A slot that fails is not used again.
    fn start(&mut self, chunk: Piece<'a>) -> Result<(), Error>;

    /// Waits for the chunk and returns its hash, zeros if none is made. Called only if `start` succeeded. Afterwards,
    /// also after an error, the device no longer uses the chunk; without an error, its output is written.
    fn finish(&mut self) -> Result<[u8; HASH], Error>;
}

/// Runs all chunks and returns the hash of each, in order. `workers` has the device of each worker, `weights` the
/// speeds of the devices, and `slots` gives a worker its slots, at least one, on the worker's thread. A worker for
/// which there is no memory leaves its chunks to the others.
///
/// After the first failure, or a panic, or when the call is stopped, nothing more is started; chunks already started are waited for.
/// `started` says whether any chunk was started. Of chunks that were left undone, because the call was stopped, the hash is zeros.
pub(crate) fn run<'a, L: Slot<'a>>(
    chunks: Vec<Piece<'a>>,
    weights: &[f64],
    workers: &[usize],
    slots: impl Fn(usize) -> Result<Vec<L>, Error> + Sync,
    started: &AtomicBool,
) -> Result<Vec<[u8; HASH]>, Error> {
    let schedule = Schedule::new(chunks.len(), weights);
    let hashes = Mutex::new(collected(chunks.iter().map(|_| [0; HASH]))?);
    let chunks = collected(chunks.into_iter().map(|chunk| Mutex::new(Some(chunk))))?;
    let (failed, stop) = (AtomicBool::new(false), Stop::current());
    let no_room = Mutex::new(None);
    let next = |device: usize| {
        let goes_on = !failed.load(Ordering::Relaxed) && !stop.is_now();
        let index = goes_on.then(|| schedule.next(device))??;
        lock(&chunks[index]).take().map(|chunk| (index, chunk))
    };
    let work = &|device: usize| {
        let unless_done = FailOnDrop(&failed);
        let slots = match slots(device) {
            Ok(slots) => slots,
            Err(e @ (Error::OutOfDeviceMemory { .. } | Error::OutOfHostMemory { .. })) => {
                *lock(&no_room) = Some(e);
                std::mem::forget(unless_done);
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        work_through(slots, || next(device), |index, hash| lock(&hashes)[index] = hash, started)?;
        std::mem::forget(unless_done);
        Ok(())
    };
    run_workers(workers, work)?;
    match no_room.into_inner().unwrap_or_else(PoisonError::into_inner) {
        // No worker was left to process it.
        Some(e) if schedule.next(0).is_some() => Err(e),
        _ => Ok(hashes.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// Reports a failure when dropped, unless it is forgotten.
struct FailOnDrop<'a>(&'a AtomicBool);

impl Drop for FailOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs every worker, the first on this thread. `work` has the same type for all kinds of device, so that the code that
/// starts threads is compiled once.
fn run_workers(workers: &[usize], work: &(dyn Fn(usize) -> Result<(), Error> + Sync)) -> Result<(), Error> {
    let Some((&mine, others)) = workers.split_first() else { return Ok(()) };
    if others.is_empty() {
        return work(mine);
    }
    thread::scope(|scope| {
        // A thread that does not start leaves its parts to the others.
        let spawn = |&device| own_thread("aes-bitslice").spawn_scoped(scope, move || work(device));
        let spawned: Vec<_> = others.iter().filter_map(|device| spawn(device).ok()).collect();
        let own = work(mine);
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        // All are waited for, whatever the first of them returns.
        let outcomes: Vec<_> = spawned.into_iter().map(join).collect();
        outcomes.into_iter().fold(own, Result::and)
    })
}

/// The work of one worker; `done` gets the hash of each chunk.
fn work_through<'a, L: Slot<'a>>(
    slots: Vec<L>,
    next: impl Fn() -> Option<(usize, Piece<'a>)>,
    done: impl Fn(usize, [u8; HASH]),
    started: &AtomicBool,
) -> Result<(), Error> {
    let (mut idle, mut busy) = (slots, VecDeque::<(usize, L)>::new());
    let mut keep_busy = || loop {
        let mut slot = match idle.pop() {
            Some(slot) => slot,
            None => {
                let (index, mut oldest) = busy.pop_front().expect("a worker has a slot");
                done(index, oldest.finish()?);
                oldest
            }
        };
        let Some((index, chunk)) = next() else { return Ok(()) };
        started.store(true, Ordering::Relaxed);
        slot.start(chunk)?;
        busy.push_back((index, slot));
    };
    let outcome = keep_busy();
    // All are waited for, whatever was wrong.
    busy.iter_mut().fold(outcome, |outcome, (index, slot)| {
        let finished = slot.finish().map(|hash| done(*index, hash));
        outcome.and(finished)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::nonce::Nonce;
    use crate::exec::call::Call;
    use crate::exec::chunk::{Chunk, cut};
    use crate::exec::work::Work;
    use crate::op::buffers::Buffers;
    use crate::op::gcm::GcmEncrypt;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    /// A device that takes its time, and may fail.
    #[derive(Default)]
    struct Fake<'g> {
        delay: Duration,
        /// Does nothing until the counter has reached this number.
        waits_for: Option<(&'g AtomicUsize, usize)>,
        /// Counts the chunks that it is given.
        counts: Option<&'g AtomicUsize>,
        /// The number of the chunk, among those it is given and counted from 1, that fails, and whether it fails when
        /// started or when waited for.
        fails: Option<(usize, bool)>,
        /// Whether this is a panic.
        panics: bool,
        given: AtomicUsize,
        in_flight: AtomicUsize,
        most_in_flight: AtomicUsize,
    }

    impl Fake<'_> {
        fn panic_if_it_does(&self) {
            if self.panics {
                // Without a message on standard error, which can take longer than the call.
                resume_unwind(Box::new("on purpose"));
            }
        }
    }

    struct FakeSlot<'d, 'a> {
        device: &'d Fake<'d>,
        chunk: Option<(Piece<'a>, bool)>,
    }

    impl Drop for FakeSlot<'_, '_> {
        fn drop(&mut self) {
            assert!(self.chunk.is_none() || thread::panicking(), "every chunk that was started was waited for");
        }
    }

    impl<'a> Slot<'a> for FakeSlot<'_, 'a> {
        fn start(&mut self, chunk: Piece<'a>) -> Result<(), Error> {
            assert!(self.chunk.is_none(), "one chunk at a time");
            let number = self.device.given.fetch_add(1, Ordering::SeqCst) + 1;
            if let Some(counter) = self.device.counts {
                counter.fetch_add(1, Ordering::SeqCst);
            }
            let in_flight = self.device.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
            self.device.most_in_flight.fetch_max(in_flight, Ordering::SeqCst);
            let fails = self.device.fails.filter(|(which, _)| *which == number);
            if fails.is_some_and(|(_, at_start)| at_start) {
                self.device.panic_if_it_does();
                self.device.in_flight.fetch_sub(1, Ordering::SeqCst);
                return Err(lost());
            }
            self.chunk = Some((chunk, fails.is_some()));
            Ok(())
        }

        fn finish(&mut self) -> Result<[u8; HASH], Error> {
            let (mut chunk, fails) = self.chunk.take().expect("what was started is waited for, and nothing else");
            if fails {
                self.device.panic_if_it_does();
            }
            thread::sleep(self.device.delay);
            while self.device.waits_for.is_some_and(|(gate, enough)| gate.load(Ordering::SeqCst) < enough) {
                thread::sleep(Duration::from_millis(1));
            }
            self.device.in_flight.fetch_sub(1, Ordering::SeqCst);
            if fails {
                return Err(lost());
            }
            let first = 16 * block(chunk.work);
            for (i, byte) in chunk.data.output().iter_mut().enumerate() {
                *byte ^= key_stream(first + i);
            }
            Ok(hash(chunk.work))
        }
    }

    fn call() -> Call<GcmEncrypt> {
        Call::on_a_device(GcmEncrypt::new(&Nonce::from([0; 12]), b""))
    }

    /// The number of the first block, which has counter 2.
    fn block(work: &dyn Work) -> usize {
        work.counter().unwrap() as usize - 2
    }

    /// Another one for each chunk, and none that is zeros.
    fn hash(work: &dyn Work) -> [u8; HASH] {
        std::array::from_fn(|i| (block(work) as u16 + 1).to_le_bytes()[i % 2])
    }

    fn pieces<'a>(chunks: &'a mut [Chunk<'_, GcmEncrypt>]) -> Vec<Piece<'a>> {
        chunks.iter_mut().map(Chunk::as_piece).collect()
    }

    fn key_stream(at: usize) -> u8 {
        (at ^ at >> 8).wrapping_mul(151) as u8
    }

    fn lost() -> Error {
        Error::Cuda { call: "cuStreamSynchronize".into(), code: "CUDA_ERROR_LAUNCH_FAILED".into() }
    }

    fn run_on(
        devices: &[Fake<'_>],
        workers: &[usize],
        slots: usize,
        len: usize,
        chunk: usize,
    ) -> (Vec<u8>, Result<(), Error>, bool) {
        let mut data: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let mut chunks = cut(call(), Buffers::InPlace(&mut data), chunk).unwrap();
        let started = AtomicBool::new(false);
        let slots =
            |device: usize| Ok((0..slots).map(|_| FakeSlot { device: &devices[device], chunk: None }).collect());
        let weights = vec![1.0; devices.len()];
        let outcome = run(pieces(&mut chunks), &weights, workers, slots, &started).map(|hashes| {
            let in_order = chunks.iter().map(|chunk| hash(&chunk.call));
            assert!(!started.load(Ordering::SeqCst) || hashes.into_iter().eq(in_order));
        });
        (data, outcome, started.into_inner())
    }

    #[test]
    fn every_byte_is_done_once_by_any_worker() {
        let expected = |len: usize| (0..len).map(|i| i as u8 ^ key_stream(i)).collect::<Vec<_>>();
        for (devices, workers) in [(1, vec![0]), (1, vec![0, 0, 0]), (2, vec![0, 1]), (4, vec![0, 1, 2, 3, 0, 1, 2, 3])]
        {
            for slots in [1, 2, 4] {
                for len in [1, 9, 16, 100, 1000] {
                    let devices: Vec<_> = (0..devices).map(|_| Fake::default()).collect();
                    let (data, outcome, started) = run_on(&devices, &workers, slots, len, 32);
                    outcome.unwrap();
                    assert!(started && data == expected(len), "{len} bytes, {workers:?}, {slots} slots");
                    assert!(devices.iter().all(|d| d.in_flight.load(Ordering::SeqCst) == 0));
                }
            }
        }
    }

    #[test]
    fn all_slots_are_busy_and_no_more() {
        let device = [Fake { delay: Duration::from_millis(1), ..Fake::default() }];
        run_on(&device, &[0], 3, 16 * 20, 16).1.unwrap();
        assert_eq!(device[0].most_in_flight.load(Ordering::SeqCst), 3);
    }

    /// A device that falls behind is left with less, although the shares were equal: it does nothing until the other
    /// has done more than its share.
    #[test]
    fn a_slow_device_does_less() {
        let gate = AtomicUsize::new(0);
        let (slow, fast) = (Fake { waits_for: Some((&gate, 30)), ..Fake::default() }, Fake::default());
        let devices = [slow, Fake { counts: Some(&gate), ..fast }];
        run_on(&devices, &[0, 1], 1, 16 * 40 - 7, 16).1.unwrap();
        let done = devices.each_ref().map(|d| d.given.load(Ordering::SeqCst));
        assert!(done[0] + done[1] == 40 && done[1] >= 30, "{done:?}");
    }

    /// Workers without slots leave the work to workers with slots; it is an error only if there are none.
    #[test]
    fn workers_without_room_leave_it_to_others() {
        for with_room in [0, 1, 2] {
            let device = Fake::default();
            let mut data = vec![1; 16 * 50];
            let mut chunks = cut(call(), Buffers::InPlace(&mut data), 16).unwrap();
            let (started, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
            let slots = |_| {
                if asked.fetch_add(1, Ordering::SeqCst) < with_room {
                    Ok(vec![FakeSlot { device: &device, chunk: None }])
                } else {
                    Err(Error::OutOfDeviceMemory { what: "a slot".into() })
                }
            };
            let outcome = run(pieces(&mut chunks), &[1.0], &[0, 0, 0], slots, &started);
            assert_eq!(outcome.is_ok(), with_room > 0);
            assert_eq!(device.given.into_inner(), if with_room > 0 { 50 } else { 0 });
        }
    }

    /// A device that begins when another one, which counts in `given`, has been given `enough` chunks; then each chunk takes it 1 ms.
    fn slow_after(given: &AtomicUsize, enough: usize) -> Fake<'_> {
        Fake { delay: Duration::from_millis(1), waits_for: Some((given, enough)), ..Fake::default() }
    }

    /// A panic on one thread, whenever it happens, ends the call for all, and propagates out of it.
    #[test]
    fn a_panic_ends_the_call() {
        // For Miri, which takes long for a chunk, fewer.
        let chunks = if cfg!(miri) { 200 } else { 2000 };
        for which in [1, 2, 9] {
            for at_start in [true, false] {
                let given = AtomicUsize::new(0);
                let panicking =
                    Fake { fails: Some((which, at_start)), panics: true, counts: Some(&given), ..Fake::default() };
                let devices = [panicking, slow_after(&given, which)];
                let call = std::panic::AssertUnwindSafe(|| run_on(&devices, &[1, 0], 1, 16 * chunks, 16));
                assert!(std::panic::catch_unwind(call).is_err(), "chunk {which}");
                assert!(devices[1].given.load(Ordering::SeqCst) < chunks * 19 / 20, "chunk {which}");
            }
        }
    }

    /// Whenever it happens and whichever device it is: an error, nothing left in flight, and not everything tried.
    #[test]
    fn a_device_that_fails_ends_the_call() {
        for which in [1, 2, 9] {
            for at_start in [true, false] {
                let given = AtomicUsize::new(0);
                let failing = Fake { fails: Some((which, at_start)), counts: Some(&given), ..Fake::default() };
                let devices = [slow_after(&given, which), failing];
                let (_, outcome, started) = run_on(&devices, &[0, 1, 1], 2, 16 * 1000, 16);
                assert!(matches!(outcome, Err(Error::Cuda { .. })) && started);
                let given: usize = devices.iter().map(|d| d.given.load(Ordering::SeqCst)).sum();
                assert!(given < 1000, "{given} chunks were started");
                assert!(devices.iter().all(|d| d.in_flight.load(Ordering::SeqCst) == 0));
            }
        }
    }

    #[test]
    fn a_call_that_is_stopped_starts_nothing_more() {
        let (stop, device) = (Stop::new(), [Fake::default()]);
        stop.now();
        let (_, outcome, started) = stop.during(|| run_on(&device, &[0, 0], 2, 16 * 1000, 16));
        assert!(outcome.is_ok() && !started && device[0].given.load(Ordering::SeqCst) == 0);
    }

    /// Of the last chunks, when there is nothing more to start.
    #[test]
    fn an_error_of_the_last_chunks_is_returned() {
        for which in 1..=4 {
            let devices = [Fake { fails: Some((which, false)), ..Fake::default() }];
            let (_, outcome, _) = run_on(&devices, &[0], 4, 16 * 3 + 1, 16);
            assert!(matches!(outcome, Err(Error::Cuda { .. })), "chunk {which}");
            assert_eq!(devices[0].in_flight.load(Ordering::SeqCst), 0);
        }
    }

    #[test]
    fn without_slots_nothing_is_started() {
        let mut data = [1; 64];
        let mut chunks = cut(call(), Buffers::InPlace(&mut data), 16).unwrap();
        let started = AtomicBool::new(false);
        let none = |_| Err::<Vec<FakeSlot<'_, '_>>, _>(Error::OutOfDeviceMemory { what: "a slot".into() });
        assert!(matches!(
            run(pieces(&mut chunks), &[1.0], &[0, 0], none, &started),
            Err(Error::OutOfDeviceMemory { .. })
        ));
        assert!(!started.into_inner() && data == [1; 64]);
    }
}
