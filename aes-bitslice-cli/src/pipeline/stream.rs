//! One input on its way to one output: what all threads that work on it share, and how it ends.

use std::io;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aes_bitslice_runtime as runtime;
use indicatif::ProgressBar;

use super::done::Done;
use super::memory::{Gate, Memory};
use super::sink::Sink;
use super::source::Source;
use super::turns::Turns;
use crate::chunk::Chunk;
use crate::error::{Error, Exit, Result};
use crate::output::{Output, Remarks};
use crate::transform::OnChunks;

/// Bytes that are written before they are synced to the disk, or the time for which they wait for more.
const SYNC_BYTES: u64 = 64 << 20;
const SYNC_TIME: Duration = Duration::from_secs(1);

/// A stream that was opened but not begun.
pub struct Opened {
    /// Where its bytes come from.
    pub source: Source,
    /// How they are changed.
    pub transform: Arc<dyn OnChunks>,
    /// Where they go.
    pub sink: Sink,
    /// The sink's output, which gets its name when all is written.
    pub output: Output,
    /// Counts every byte that is where it should be: on the disk, or handed to the reader of the output.
    pub bar: ProgressBar,
    /// The byte at which it fails, for tests.
    pub fail_at: Option<u64>,
}

/// How a stream ended: successfully, perhaps with remarks, or with an error.
pub type Outcome = Result<Remarks>;

/// A stream in progress.
pub struct Stream {
    source: Source,
    transform: Arc<dyn OnChunks>,
    sink: Sink,
    /// For a serial operation: the last block of the previous chunk.
    chain: Option<Turns<[u8; 16]>>,
    /// The chunks that were transformed without a failure.
    transformed: Done,
    /// `None` when the stream has ended. The thread that ends it takes the output, and reports.
    output: Mutex<Option<Output>>,
    tally: Mutex<Tally>,
    /// Held while the output is synced: the system reports a failed disk only once.
    syncing: Mutex<()>,
    has_ended: AtomicBool,
    bar: ProgressBar,
    fail_at: Option<u64>,
    gate: Gate,
    job: usize,
    reports: Sender<(usize, Outcome)>,
}

#[derive(Default)]
struct Tally {
    chunks: u64,
    /// The number of all chunks, as soon as it is known.
    all_chunks: Option<u64>,
    bytes: u64,
    /// Of these, the bytes that the bar has counted.
    counted: u64,
    /// Of these, the bytes for which a sync was requested, and when.
    asked: u64,
    asked_at: Option<Instant>,
}

impl Stream {
    /// The stream that is called `job` in the one report that `reports` gets: how it ended.
    pub fn new(opened: Opened, gate: Gate, job: usize, reports: Sender<(usize, Outcome)>) -> Self {
        let Opened { source, transform, sink, output, bar, fail_at } = opened;
        Stream {
            chain: transform.chained_to().map(Turns::new),
            transformed: Done::default(),
            source,
            transform,
            sink,
            output: Mutex::new(Some(output)),
            tally: Mutex::default(),
            syncing: Mutex::new(()),
            has_ended: AtomicBool::new(false),
            bar,
            fail_at,
            gate,
            job,
            reports,
        }
    }

    /// Works on it until it has ended or other threads have all the rest; `syncs` is told when it must be synced.
    pub fn work(self: &Arc<Self>, memory: &mut Memory, syncs: &Sender<Arc<Stream>>) {
        while !self.has_ended.load(Ordering::Relaxed) {
            match caught(|| self.step(memory, syncs)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => self.fail(error),
            }
        }
    }

    /// Processes one chunk from start to end. Returns false if there is none, or it is no longer wanted.
    fn step(self: &Arc<Self>, memory: &mut Memory, syncs: &Sender<Arc<Stream>>) -> Result<bool> {
        let Some(chunk) = self.source.take(memory)? else { return Ok(false) };
        let memory = memory.get()?;
        if self.fail_at.is_some_and(|at| (chunk.offset..chunk.offset + chunk.length as u64).contains(&at)) {
            return Err(lost_gpu().into());
        }
        let Some(made) = self.transform(&chunk, memory) else { return Ok(false) };
        match &made {
            Ok(_) => self.transformed.add(chunk.index),
            // The first chunk of the stream that fails is reported, not the first failure: the chunks before it were taken, and are in
            // flight.
            Err(_) => self.transformed.wait_below(chunk.index),
        }
        let made = &memory[made?];
        if !self.sink.write(&chunk, made).map_err(|error| self.write_error(&error))? {
            return Ok(false);
        }
        let (is_complete, to_sync) = self.count(&chunk, made.len() as u64);
        if is_complete {
            self.finish();
        } else if to_sync {
            let _ = syncs.send(self.clone());
        }
        Ok(true)
    }

    /// Transforms the chunk. Returns where in memory the output is; `None` if waiting for a turn was cancelled.
    fn transform(&self, chunk: &Chunk, memory: &mut [u8]) -> Option<Result<Range<usize>>> {
        let apply = |before: Option<[u8; 16]>, memory: &mut [u8]| {
            let _call = self.gate.enter();
            self.transform.apply(chunk, before, memory, self.source.name())
        };
        match &self.chain {
            None => Some(apply(chunk.before, memory)),
            Some(chain) => chain.pass(chunk.index, |last| {
                let made = apply(Some(*last), memory)?;
                *last = memory[made.clone()].last_chunk().copied().unwrap_or(*last);
                Ok(made)
            }),
        }
    }

    /// Counts what was written. Returns whether that was all of it, and whether it is time to sync.
    fn count(&self, chunk: &Chunk, bytes: u64) -> (bool, bool) {
        let mut tally = self.tally();
        tally.chunks += 1;
        tally.bytes += bytes;
        if chunk.last {
            tally.all_chunks = Some(chunk.index + 1);
        }
        let is_complete = tally.all_chunks == Some(tally.chunks);
        if !self.sink.is_file() {
            self.advance(&mut tally, bytes);
            return (is_complete, false);
        }
        let waited = tally.asked_at.get_or_insert_with(Instant::now).elapsed();
        let to_sync = tally.bytes - tally.asked >= SYNC_BYTES || waited >= SYNC_TIME;
        if to_sync {
            (tally.asked, tally.asked_at) = (tally.bytes, None);
        }
        (is_complete, to_sync)
    }

    /// Syncs what was written so far to the disk, and then counts it.
    pub fn sync(&self) {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.has_ended.load(Ordering::Relaxed) {
            return;
        }
        let bytes = self.tally().bytes;
        match self.sink.sync() {
            Ok(()) => {
                let mut tally = self.tally();
                let more = bytes - tally.counted;
                self.advance(&mut tally, more);
            }
            Err(error) => self.fail(self.write_error(&error)),
        }
    }

    fn advance(&self, tally: &mut Tally, bytes: u64) {
        tally.counted += bytes;
        self.bar.inc(bytes);
    }

    /// All is written: gives the output its name.
    fn finish(&self) {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = self.tally().bytes;
        if let Err(error) = self.sink.finish(bytes) {
            return self.fail(self.write_error(&error));
        }
        let Some(output) = self.end() else { return };
        let outcome = output.finish().map(|mut remarks| {
            let mut tally = self.tally();
            let more = bytes - tally.counted;
            self.advance(&mut tally, more);
            remarks.extend(self.source.finish());
            remarks
        });
        self.report(outcome);
    }

    /// Ends it with an error, unless it has ended: removes what was written of a file, and wakes waiting threads.
    pub fn fail(&self, error: Error) {
        if let Some(output) = self.end() {
            drop(output);
            self.report(Err(error));
        }
    }

    /// Takes the output, and with it the right to report how the stream ended.
    fn end(&self) -> Option<Output> {
        let output = self.output().take();
        self.has_ended.store(true, Ordering::Relaxed);
        self.sink.cancel();
        self.transformed.cancel();
        if let Some(chain) = &self.chain {
            chain.cancel();
        }
        output
    }

    fn report(&self, outcome: Outcome) {
        // It is not a failure if the receiver is gone.
        let _ = self.reports.send((self.job, outcome));
    }

    fn write_error(&self, error: &io::Error) -> Error {
        match &*self.output() {
            Some(output) => output.error(error),
            // It has ended, and this is not reported.
            None => Error::io("cannot write", error),
        }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn output(&self) -> MutexGuard<'_, Option<Output>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error of an engine whose GPU is gone, for tests.
fn lost_gpu() -> runtime::Error {
    runtime::Error::Cuda {
        call: "a call made to fail by --fail-at".into(),
        code: "CUDA_ERROR_DEVICE_UNAVAILABLE".into(),
    }
}

/// Turns a panic of `work` into an error, so that no thread waits for what will never come.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Error::new(Exit::Failure, "a thread stopped unexpectedly")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Cut;
    use crate::input::Input;
    use crate::method::Method;
    use crate::modes;
    use crate::modes::mode::Mode;
    use crate::modes::table::ECB;
    use crate::output::{Options, Target};
    use crate::transform::Transform;
    use aes_bitslice_runtime::{Backend, Engine, Key, Keys};
    use std::fs;
    use std::sync::mpsc;

    fn cpu() -> Engine {
        Engine::open(Backend::Cpu).unwrap()
    }

    /// Three chunks of 16 bytes on their way to the file `out`, as the shell would have it.
    fn three_chunks(
        folder: &std::path::Path,
        mode: &'static Mode,
    ) -> (Arc<Stream>, mpsc::Receiver<(usize, Outcome)>, ProgressBar) {
        let key = match Method::encryption(mode).keys() {
            Keys::Two => Key::xts(&std::array::from_fn::<u8, 32, _>(|i| i as u8)),
            _ => Key::new(&[1; 16]),
        };
        fs::write(folder.join("in"), [7; 48]).unwrap();
        let mut input = Input::open(Some(&folder.join("in"))).unwrap();
        let output =
            Target::check(Some(&folder.join("out")), Some(&input), Options::default()).unwrap().open().unwrap();
        let bar = ProgressBar::hidden();
        let transform = Transform::new(&Method::encryption(mode), &mut input).unwrap();
        let opened = Opened {
            transform: Arc::new(transform.with(cpu().cipher(&key.unwrap()).unwrap())),
            source: Source::new(input, Cut::even(16)),
            sink: Sink::new(&output, &[], None).unwrap(),
            output,
            bar: bar.clone(),
            fail_at: None,
        };
        let (reports, outcomes) = mpsc::channel();
        (Arc::new(Stream::new(opened, Gate::default(), 5, reports)), outcomes, bar)
    }

    #[test]
    fn the_bar_hears_of_what_is_on_the_disk() {
        for mode in modes::table::ALL {
            let folder = tempfile::tempdir().unwrap();
            let (stream, outcomes, bar) = three_chunks(folder.path(), mode);
            let (syncs, _to_sync) = mpsc::channel();
            let mut memory = Memory::new(cpu(), 16, Gate::default());
            assert!(stream.step(&mut memory, &syncs).unwrap());
            assert_eq!(bar.position(), 0, "written, but not synced");
            stream.sync();
            assert_eq!(bar.position(), 16);
            assert!(stream.step(&mut memory, &syncs).unwrap());
            assert!(outcomes.try_recv().is_err() && !folder.path().join("out").exists());
            stream.sync();
            assert_eq!(bar.position(), 32);
            stream.work(&mut memory, &syncs);
            assert_eq!(bar.position(), 48);
            let (job, outcome) = outcomes.recv().unwrap();
            assert_eq!(
                (job, outcome.unwrap(), fs::read(folder.path().join("out")).unwrap().len()),
                (5, Remarks::default(), 48)
            );
            stream.sync();
            assert_eq!(bar.position(), 48);
        }
    }

    /// What goes to a device cannot be synced: it is there when it is written.
    #[cfg(unix)]
    #[test]
    fn the_bar_hears_at_once_of_what_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/null", folder.path().join("out")).unwrap();
        let (stream, _outcomes, bar) = three_chunks(folder.path(), &ECB);
        let (syncs, to_sync) = mpsc::channel();
        assert!(stream.step(&mut Memory::new(cpu(), 16, Gate::default()), &syncs).unwrap());
        assert_eq!(bar.position(), 16);
        assert!(to_sync.try_recv().is_err());
    }

    #[test]
    fn a_file_is_synced_after_as_many_bytes_or_some_time() {
        let folder = tempfile::tempdir().unwrap();
        let (stream, _outcomes, _) = three_chunks(folder.path(), &ECB);
        let chunk = Chunk { index: 0, offset: 0, length: 16, to: 0, before: None, last: false };
        for _ in 0..2 {
            assert_eq!(stream.count(&chunk, SYNC_BYTES - 1), (false, false));
            assert_eq!(stream.count(&chunk, 1), (false, true));
        }
        assert_eq!(stream.count(&chunk, 1), (false, false));
        stream.tally().asked_at = Instant::now().checked_sub(SYNC_TIME);
        assert_eq!(stream.count(&chunk, 1), (false, true));
    }

    /// The first failure ends the stream; the other workers leave, and nothing is left.
    #[test]
    fn a_stream_ends_once() {
        let folder = tempfile::tempdir().unwrap();
        let (stream, outcomes, _) = three_chunks(folder.path(), &ECB);
        let (syncs, _to_sync) = mpsc::channel();
        let mut memory = Memory::new(cpu(), 16, Gate::default());
        assert!(stream.step(&mut memory, &syncs).unwrap());
        stream.fail(Error::new(Exit::Failure, "first"));
        stream.fail(Error::new(Exit::Failure, "second"));
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["in"]);
        stream.work(&mut memory, &syncs);
        let told: Vec<_> = outcomes.try_iter().map(|(_, outcome)| outcome.unwrap_err().message().to_string()).collect();
        assert_eq!(told, ["first"]);
    }

    /// Of chunks that fail, the first of the stream is reported, even if it is the last to fail; a failure of another kind wakes waiting
    /// threads.
    #[test]
    fn the_first_chunk_that_fails_is_reported() {
        struct Failing(mpsc::SyncSender<()>, Mutex<mpsc::Receiver<()>>);
        impl OnChunks for Failing {
            fn header(&self) -> &[u8] {
                &[]
            }
            fn longest_output(&self, length: u64) -> Option<u64> {
                Some(length)
            }
            fn chained_to(&self) -> Option<[u8; 16]> {
                None
            }
            fn apply(&self, chunk: &Chunk, _: Option<[u8; 16]>, _: &mut [u8], _: &str) -> Result<Range<usize>> {
                match chunk.index {
                    0 => return Ok(0..chunk.length),
                    1 => {
                        // Of the other chunk and of the test. If the stream was ended before the other was taken, only one comes.
                        for _ in 0..2 {
                            let _ = self.1.lock().unwrap().recv_timeout(Duration::from_secs(5));
                        }
                        // Time for the other to end the stream.
                        std::thread::sleep(Duration::from_millis(100));
                    }
                    _ => self.0.send(()).unwrap(),
                }
                Err(Error::new(Exit::Failure, format!("chunk {}", chunk.index)))
            }
        }
        for is_ended in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let (stream, outcomes, _) = three_chunks(folder.path(), &ECB);
            let (failing, fails) = mpsc::sync_channel(2);
            let mut stream = Arc::into_inner(stream).unwrap();
            stream.transform = Arc::new(Failing(failing.clone(), Mutex::new(fails)));
            let stream = Arc::new(stream);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        let (syncs, _to_sync) = mpsc::channel();
                        stream.work(&mut Memory::new(cpu(), 16, Gate::default()), &syncs);
                    });
                }
                if is_ended {
                    stream.fail(Error::new(Exit::InputOutput, "another"));
                }
                failing.send(()).unwrap();
            });
            let told: Vec<_> = outcomes.try_iter().map(|(_, end)| end.unwrap_err().message().to_string()).collect();
            assert_eq!(told, [if is_ended { "another" } else { "chunk 1" }]);
        }
    }

    #[test]
    fn a_panic_is_a_failure() {
        let result = caught::<()>(|| panic!("on purpose"));
        assert_eq!(result.unwrap_err().message(), "a thread stopped unexpectedly");
    }
}
