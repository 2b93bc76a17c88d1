//! Messages of GCM in device memory, each under a key of its own (`op/gcm_jobs`), on the caller's stream and without waiting. Where few keys
//! have much data each, the kernel of GCM in one launch has a launch for each key. Otherwise the calls under many keys do counter mode, and one
//! kernel hashes.
//!
//! ```text
//!              keys and tables there | masks | for each key: counter mode, hash, tags or verdicts | tags or verdicts back
//! or
//! encryption   keys and tables there | hash keys, masks | round keys | counter mode | tags of the ciphertext, masked | tags back
//! decryption   keys and tables there | hash keys, masks | hashes of the ciphertext + tags | round keys | counter mode | clear where these differ | verdicts back
//! ```

use crate::backend::cuda::commands::{HashKernel, Span};
use crate::backend::cuda::gcm_batch::clear;
use crate::backend::cuda::gcm_by_key::ByKey;
use crate::backend::cuda::kernel::capture;
use crate::backend::cuda::many_keys::{DeviceJobs, launch_each, launch_jobs, span};
use crate::backend::cuda::memory::batch_memory::{BatchMemory, places};
use crate::backend::device::hash::{BatchResults, OfMessages};
use crate::base::error::Error;
use crate::base::stop::Stop;
use crate::base::threads::{copy, divided};
use crate::op::batch::Results;
use crate::op::buffers::{Access, Buffers};
use crate::op::gcm_batch::Aads;
use crate::op::gcm_jobs::{GcmDecryptJobs, GcmEncryptJobs, GcmJobs, JobKeys};
use crate::op::launch::Entry;
use crate::op::many_keys::{EachKey, Flow, NAME, Tables};
use crate::op::ranges::Ranges;
use crate::op::tagging::Tagging;
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::memory::NoMemory;
use aes_bitslice_core::messages::{MESSAGE_WORDS, words_of};
use aes_bitslice_core::mode::Mode;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut, result};
use std::ops::Range;

/// A call of GCM under many keys that is on its stream. Its memory, which holds keys, is wiped and reused when this is dropped. Dropping it
/// waits until the stream has reached the call.
#[must_use = "dropping it waits for the stream: keep it as long as there is other work to do"]
pub struct PendingGcmJobs<E> {
    jobs: GcmJobs<E>,
    results: Pending,
}

enum Pending {
    /// No message has data.
    OfNothing(Result<Results, NoMemory>),
    On(BatchMemory),
}

impl<E: Tagging<Results>> PendingGcmJobs<E> {
    /// Waits until the stream has reached it, and returns the tags, or which messages are authentic.
    ///
    /// # Errors
    /// Any error the driver reports.
    pub fn wait(self) -> Result<E::Output, Error> {
        let results = match self.results {
            Pending::On(memory) => memory.read(|results| self.jobs.batch.results_on_device(results))?,
            Pending::OfNothing(results) => results,
        };
        self.jobs.finish(results)
    }
}

/// How a call is launched.
enum By<'j> {
    /// A launch for each key.
    Keys(Box<ByKey<'j>>),
    /// Launches for all messages, under these tables of counter mode.
    Messages { hasher: HashKernel, tables: &'j Tables },
}

/// Where things are in the memory of a call, in bytes.
struct Places {
    messages: Range<usize>,
    order: Range<usize>,
    jobs: Range<usize>,
    runs: Range<usize>,
    counters: Range<usize>,
    keys: Range<usize>,
    /// The first counter of each message, which becomes its mask, and finally its tag where messages are encrypted.
    masks: Range<usize>,
    expected: Range<usize>,
    aad: Range<usize>,
    /// The tables of each key's hash key.
    tables: Range<usize>,
    verdicts: Range<usize>,
    /// From here on nothing is copied to the device or back. The sum of each message's hash and its expected tag.
    hashes: Range<usize>,
    hash_keys: Range<usize>,
    round_keys: Range<usize>,
}

impl Places {
    fn of<E: Tagging<Results>>(all: &GcmJobs<E>, by: &By<'_>, aad: usize, verifies: bool) -> Self {
        let (messages, bits) = (all.len(), all.jobs.bits);
        let mut next = places();
        let if_verified = |bytes| if verifies { bytes * messages } else { 0 };
        let (jobs, runs, alone, of_keys) = match by {
            By::Keys(by_key) => (0, 0, 0, by_key.bytes_of_tables()),
            By::Messages { tables, .. } => (tables.jobs.len(), tables.runs.len(), messages, 0),
        };
        Self {
            messages: next(4 * MESSAGE_WORDS * messages),
            order: next(4 * messages),
            jobs: next(4 * jobs),
            runs: next(4 * runs),
            counters: next(16 * alone),
            keys: next(bits.bytes() * messages),
            masks: next(16 * messages),
            expected: next(if_verified(16)),
            aad: next(aad),
            tables: next(of_keys),
            verdicts: next(if_verified(4)),
            hashes: next(if_verified(16).min(16 * alone)),
            hash_keys: next(16 * alone),
            round_keys: next(16 * (bits.rounds() + 1) * alone),
        }
    }
}

/// The number of messages that a thread describes at a time.
const PART: usize = 2048;

impl DeviceJobs<'_> {
    /// Encrypts or decrypts messages of GCM, each under its own key, in place.
    ///
    /// # Errors
    /// [`Error::Batch`] for data that is too short, [`Error::OtherContext`], [`Error::InCapture`] on a stream that is being captured into a
    /// graph, [`Error::NoSuchKernel`] and [`Error::SelfTestFailed`] on first use, and any error the driver reports.
    pub fn run_gcm<E: Tagging<Results>, D: DevicePtrMut<u8>>(
        &self,
        stream: &CudaStream,
        jobs: &GcmJobs<E>,
        data: &mut D,
    ) -> Result<PendingGcmJobs<E>, Error> {
        self.owns(stream)?;
        self.owns(data.stream())?;
        let len = data.len() as u64;
        let (pointer, _written) = data.device_ptr_mut(stream);
        // SAFETY: the buffer is borrowed for the call, and ordered on the stream by its guard.
        unsafe { self.run_gcm_raw(stream.cu_stream(), jobs, pointer, pointer, len) }
    }

    /// Encrypts or decrypts messages of GCM, each under its own key, from `input` to `output`, which have equal lengths. Output between
    /// messages stays as it is.
    ///
    /// # Errors
    /// Those of [`run_gcm`](Self::run_gcm), and [`Error::LengthMismatch`].
    pub fn run_gcm_to<E: Tagging<Results>, S: DevicePtr<u8>, D: DevicePtrMut<u8>>(
        &self,
        stream: &CudaStream,
        jobs: &GcmJobs<E>,
        input: &S,
        output: &mut D,
    ) -> Result<PendingGcmJobs<E>, Error> {
        [stream, input.stream(), output.stream()].into_iter().try_for_each(|stream| self.owns(stream))?;
        if input.len() != output.len() {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        let len = output.len() as u64;
        let (from, _read) = input.device_ptr(stream);
        let (to, _written) = output.device_ptr_mut(stream);
        // SAFETY: both buffers are borrowed for the call, and ordered on the stream by their guards.
        unsafe { self.run_gcm_raw(stream.cu_stream(), jobs, from, to, len) }
    }

    /// Encrypts or decrypts messages of GCM, each under its own key, on raw device pointers and a raw stream; `input` may equal `output`.
    /// `len` is in bytes.
    ///
    /// # Safety
    /// `input` and `output` point to `len` bytes of memory that this device can reach, live until the work is done; `stream` is live and
    /// belongs to the engine's context.
    ///
    /// # Errors
    /// Those of [`run_gcm`](Self::run_gcm), and [`Error::Overlap`] if the ranges overlap without being equal.
    pub unsafe fn run_gcm_raw<E: Tagging<Results>>(
        &self,
        stream: CUstream,
        jobs: &GcmJobs<E>,
        input: CUdeviceptr,
        output: CUdeviceptr,
        len: u64,
    ) -> Result<PendingGcmJobs<E>, Error> {
        jobs.check(len)?;
        let span = span(Access::Maps, input, output, len)?;
        let messages = jobs.batch.messages();
        if (0..messages.len()).all(|n| messages.range(n).is_empty()) {
            return Ok(PendingGcmJobs { jobs: jobs.clone(), results: Pending::OfNothing(jobs.of_nothing()) });
        }
        self.device.enter()?;
        // SAFETY: the caller guarantees a live stream of this context.
        if unsafe { capture::is_in_capture(self.device.context(), stream) }? {
            return Err(Error::InCapture { operation: NAME });
        }
        self.prepare_gcm()?;
        // SAFETY: the caller guarantees stream and memory; all messages are within the length, as was checked.
        let memory = unsafe { self.launch_gcm(stream, span, jobs) }?;
        Ok(PendingGcmJobs { jobs: jobs.clone(), results: Pending::On(memory) })
    }

    /// Loads the kernels of GCM under many keys, and waits for the known answers they must give, unless that was done before.
    pub(super) fn prepare_gcm(&self) -> Result<(), Error> {
        self.prepare_for(Direction::Encrypt)?;
        // Before the test has a slot: its own test takes one.
        self.device.gcm_kernel()?;
        self.device.test_batch(Mode::EcbEncrypt, Entry::HashJobs, || self.test_gcm())
    }

    /// # Safety
    /// The span is within memory that this device can reach, live until the work is done; the messages are within the span; `stream` is
    /// live and belongs to the context.
    unsafe fn launch_gcm<E: Tagging<Results>>(
        &self,
        stream: CUstream,
        span: Span,
        all: &GcmJobs<E>,
    ) -> Result<BatchMemory, Error> {
        let kernel = self.kernel(Flow::Ctr)?;
        let (messages, order) = (all.batch.messages(), all.batch.order()?);
        let (aad, expected) = (all.batch.aad(), all.batch.expected());
        let by = match ByKey::of(self.device, all, self.least)? {
            Some(by_key) => By::Keys(by_key.into()),
            None => By::Messages { hasher: self.device.hash_kernel_of_jobs()?, tables: all.jobs.tables()? },
        };
        let places = Places::of(all, &by, aad.len(), expected.is_some());
        let mut memory = self.device.batch_memories().take(places.verdicts.end, places.round_keys.end)?;
        // Before anything secret is in its pinned memory, which is cleared after the work only.
        let ready = match &by {
            By::Keys(by_key) => Some(by_key.ready(&mut memory, places.tables.clone(), |n| all.jobs.key(n))?),
            By::Messages { .. } => None,
        };

        let described = [&places.messages, &places.order, &places.masks].map(Range::clone);
        let [words, positions, firsts] = memory.pinned().get_disjoint_mut(described).expect("apart");
        let parts = words.chunks_mut(4 * MESSAGE_WORDS * PART).zip(positions.chunks_mut(4 * PART));
        divided(parts.zip(firsts.chunks_mut(16 * PART)).enumerate(), |(part, ((words, positions), firsts))| {
            let of_each =
                words.as_chunks_mut().0.iter_mut().zip(positions.as_chunks_mut().0).zip(firsts.as_chunks_mut().0);
            for (n, ((words, position), first)) in (part * PART..).zip(of_each) {
                let (message, words): (_, &mut [u8; 4 * MESSAGE_WORDS]) = (messages.get(n), words);
                words.as_chunks_mut().0.iter_mut().zip(words_of(&message)).for_each(|(to, word)| *to = word);
                *position = match &by {
                    By::Keys(by_key) => by_key.order[n],
                    By::Messages { .. } => order.at(n) as u32,
                }
                .to_le_bytes();
                *first = message.first;
            }
        });
        let (of_jobs, of_runs, counters) = match &by {
            By::Keys(_) => <(&[_], &[_], &[_])>::default(),
            By::Messages { tables, .. } => (&*tables.jobs, &*tables.runs, &**all.jobs.counters),
        };
        let copied = [&places.jobs, &places.runs, &places.counters, &places.keys, &places.expected, &places.aad];
        let from = [
            of_jobs.as_flattened(),
            of_runs.as_flattened(),
            counters.as_flattened(),
            &all.jobs.keys,
            expected.unwrap_or_default().as_flattened(),
            aad,
        ];
        copy(memory.pinned().get_disjoint_mut(copied.map(Range::clone)).expect("apart").into_iter().zip(from));

        let count = all.len() as u32;
        let longest = if count > 0 { messages.get(order.at(0)).hashed_blocks() } else { 0 };
        let one_block = EachKey { flow: Flow::Ecb(Direction::Encrypt), bits: all.jobs.bits, counter: 0, bytes: 16 };
        let results = if expected.is_some() { &places.verdicts } else { &places.masks }.clone();
        let secret = places.keys.start..places.round_keys.end;
        let (Some(input), Some(output)) = (span.input, span.output) else { unreachable!("it reads and writes") };
        // SAFETY: as the caller vouches, here and below.
        unsafe {
            let launched = memory.run(stream, places.tables.end, results, secret, |begin| {
                let at = |range: &Range<usize>| begin + range.start as u64;
                let filled = |range: &Range<usize>, byte| {
                    let done = result::memset_d8_async(at(range), byte, range.len(), stream);
                    self.device.context().call("cuMemsetD8Async", done)
                };
                let encrypt = |range: &Range<usize>| {
                    let blocks = Span::in_place(Access::Maps, at(range), range.len() as u64);
                    launch_each(&kernel, stream, blocks, &one_block, at(&places.keys))
                };
                let of = |masks: &Range<usize>| OfMessages {
                    messages: at(&places.messages),
                    order: at(&places.order),
                    all: count,
                    aad: at(&places.aad),
                    masks: at(masks),
                };
                encrypt(&places.masks)?;
                if expected.is_some() {
                    // A message that the kernel does not reach is not authentic.
                    filled(&places.verdicts, 0xff)?;
                }
                let (hashes, verdicts) = (at(&places.hashes), at(&places.verdicts));
                let (hasher, tables) = match (&by, &ready) {
                    (By::Keys(by_key), Some(ready)) => {
                        let results = match expected {
                            None => BatchResults::Tags(at(&places.masks)),
                            Some(_) => BatchResults::Verdicts { expected: at(&places.expected), verdicts },
                        };
                        return by_key.launch(ready, stream, span, &of(&places.masks), at(&places.tables), results);
                    }
                    (By::Messages { hasher, tables }, _) => (hasher, *tables),
                    (By::Keys(_), None) => unreachable!("it was made ready"),
                };
                let wide = hasher.wide_for_jobs(count, longest, 32 * u64::from(messages.runs()));
                let tags = |from, masks: &Range<usize>, to: &Range<usize>| {
                    hasher.make_tags_of_jobs(&mut { stream }, from, at(&places.hash_keys), wide, &of(masks), at(to))
                };
                filled(&places.hash_keys, 0)?;
                encrypt(&places.hash_keys)?;
                if expected.is_some() {
                    // Before anything is overwritten.
                    tags(input, &places.expected, &places.hashes)?;
                }
                let memory = [&places.jobs, &places.runs, &places.counters, &places.keys, &places.round_keys].map(at);
                launch_jobs(&kernel, stream, span, &all.jobs, tables, memory)?;
                if expected.is_none() {
                    return tags(output, &places.masks, &places.masks);
                }
                hasher.clear_messages(&mut { stream }, output, &of(&places.masks), hashes, verdicts)
            });
            launched.inspect_err(|_| {
                if expected.is_some() {
                    clear(stream, output, messages);
                }
            })?;
        }
        Ok(memory)
    }

    /// Tests the known answers of messages with keys of each length, launched in both ways, of which one is forged when they are decrypted.
    fn test_gcm(&self) -> Result<(), Error> {
        const BYTES: usize = 20_010;
        let data: Vec<u8> = (0..BYTES as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
        let keys: [u8; 3 * 32] = std::array::from_fn(|i| (i * 7 + 3) as u8);
        // The last is the only one under its key, and long: a whole warpgroup shares it.
        let ranges = [0..0, 3..1300, 1300..1316, 1332..4000, 4004..20_004];
        let nonces: [[u8; 12]; 5] = std::array::from_fn(|n| [n as u8; 12]);
        let aads: [Range<u64>; 5] = std::array::from_fn(|n| 0..9 * n as u64);
        let (places, nonces, aads) = (Ranges::from(&ranges[..]), (&nonces[..]).into(), Aads::each(&data, &aads[..]));
        for (bits, least) in KeyBits::ALL.into_iter().flat_map(|bits| [(bits, u64::MAX), (bits, 0)]) {
            let jobs = Self { least, ..*self };
            let keys = JobKeys::numbered(bits, &keys[..3 * bits.bytes()], &[0, 2, 0, 2, 1]);
            let encrypt = GcmEncryptJobs::from_arrays(&keys, &places, &nonces, &aads)?;
            let mut ciphertext = data.clone();
            let mut tags = Stop::never(|| encrypt.on_cpu(Buffers::InPlace(&mut ciphertext))).map_err(Error::from)?.tags;
            let (encrypted, found) = jobs.on_device_gcm(&encrypt, &data)?;
            let mut is_right = (&encrypted, &found.tags) == (&ciphertext, &tags);
            tags[3] = [7; 16];
            let decrypt = GcmDecryptJobs::from_arrays(&keys, &places, &nonces, &aads, tags.as_flattened(), 16)?;
            let mut expected = data.clone();
            expected[1332..4000].fill(0);
            let (found, results) = jobs.on_device_gcm(&decrypt, &ciphertext)?;
            is_right &= found == expected && results.authentic == [true, true, true, false, true];
            if !is_right {
                return Err(Error::SelfTestFailed { kernel: "GCM under many keys".into() });
            }
        }
        Ok(())
    }

    /// Processes messages in a copy of the data on the device, and waits.
    fn on_device_gcm<E: Tagging<Results>>(&self, jobs: &GcmJobs<E>, data: &[u8]) -> Result<(Vec<u8>, Results), Error> {
        let mut slot = self.device.slots().take(data.len())?;
        let (place, mut found) = (slot.room(0, data.len()), vec![0; data.len()]);
        let span = Span::in_place(Access::Maps, place, data.len() as u64);
        // SAFETY: waited for before anything is looked at or freed; the data is in the slot's memory.
        let started = unsafe {
            slot.copy_in(0, data)
                .and_then(|()| self.launch_gcm(*slot.queue(), span, jobs))
                .and_then(|memory| slot.copy_out(0, &mut found).map(|()| memory))
        };
        slot.wait()?;
        Ok((found, started?.read(|results| jobs.batch.results_on_device(results))??))
    }
}
