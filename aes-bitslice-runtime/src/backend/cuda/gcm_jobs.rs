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

use crate::backend::cuda::batch_self_test::on_device;
use crate::backend::cuda::commands::{HashKernel, Kernel, Span};
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_data::DeviceCipher;
use crate::backend::cuda::gcm_batch::{PART, clear, describe, doubt};
use crate::backend::cuda::gcm_by_key::ByKey;
use crate::backend::cuda::many_keys::{expand_and_run, launch_each};
use crate::backend::cuda::memory::batch_memory::{BatchMemory, places};
use crate::backend::device::driver::Driver;
use crate::backend::device::hash::{BatchResults, OfMessages};
use crate::base::error::Error;
use crate::base::threads::copy;
use crate::exec::call::Call;
use crate::op::buffers::{Access, Buffers};
use crate::op::gcm_batch::Aads;
use crate::op::gcm_by_key::OfGcmJobs;
use crate::op::gcm_jobs::{GcmDecryptJobs, GcmEncryptJobs, JobKeys};
use crate::op::gcm_messages::Messages;
use crate::op::launch::Entry;
use crate::op::many_keys::{EachKey, Flow, Jobs, Tables};
use crate::op::operation::Ready;
use crate::op::ranges::Ranges;
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::messages::MESSAGE_WORDS;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::order::Order;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::ops::Range;
use std::sync::Arc;

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
    fn of(batch: &OfGcmJobs<'_>, by: &By<'_>) -> Self {
        let (messages, bits) = (batch.messages.len(), batch.jobs.bits);
        let mut next = places();
        let if_verified = |bytes| if batch.expected.is_some() { bytes * messages } else { 0 };
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
            aad: next(batch.aad.len()),
            tables: next(of_keys),
            verdicts: next(if_verified(4)),
            hashes: next(if_verified(16).min(16 * alone)),
            hash_keys: next(16 * alone),
            round_keys: next(16 * (bits.rounds() + 1) * alone),
        }
    }
}

impl Device {
    /// Loads and tests the kernels of GCM under many keys, unless that was done before. It was entered on this thread.
    pub(super) fn prepare_gcm_jobs(self: &Arc<Self>) -> Result<(), Error> {
        self.prepare_jobs(Direction::Encrypt)?;
        // Before the test has a slot: its own test takes one.
        self.gcm_kernel()?;
        self.test_batch(Mode::EcbEncrypt, Entry::HashJobs, || test(self))
    }

    /// # Safety
    /// The span is within memory that this device can reach, live until the work is done; the messages are within the span; `stream` is
    /// live and belongs to the context.
    pub(super) unsafe fn launch_gcm_jobs(
        &self,
        stream: CUstream,
        span: Span,
        batch: &OfGcmJobs<'_>,
    ) -> Result<BatchMemory, Error> {
        let kernel = self.kernel_of_jobs(Flow::Ctr)?;
        let OfGcmJobs { messages, order, aad, expected, jobs, .. } = *batch;
        let by = match ByKey::of(self, batch)? {
            Some(by_key) => By::Keys(by_key.into()),
            None => By::Messages { hasher: self.hash_kernel_of_jobs()?, tables: jobs.tables()? },
        };
        let places = Places::of(batch, &by);
        let mut memory = self.batch_memories.take(places.verdicts.end, places.round_keys.end)?;
        // Before anything secret is in its pinned memory, which is cleared after the work only.
        let ready = match &by {
            By::Keys(by_key) => Some(by_key.ready(&mut memory, places.tables.clone(), |n| jobs.key(n))?),
            By::Messages { .. } => None,
        };

        let described = [&places.messages, &places.order, &places.masks].map(Range::clone);
        let [words, positions, firsts] = memory.pinned().get_disjoint_mut(described).expect("apart");
        let position = |n: usize| match &by {
            By::Keys(by_key) => by_key.order[n],
            By::Messages { .. } => order.at(n) as u32,
        };
        describe(messages, position, [words, positions], firsts.chunks_mut(16 * PART), |n, message, firsts| {
            firsts.as_chunks_mut().0[n % PART] = message.first;
        });
        let (of_jobs, of_runs, counters) = match &by {
            By::Keys(_) => <(&[_], &[_], &[_])>::default(),
            By::Messages { tables, .. } => (&*tables.jobs, &*tables.runs, &**jobs.counters),
        };
        let copied = [&places.jobs, &places.runs, &places.counters, &places.keys, &places.expected, &places.aad];
        let from = [
            of_jobs.as_flattened(),
            of_runs.as_flattened(),
            counters.as_flattened(),
            &jobs.keys,
            expected.unwrap_or_default().as_flattened(),
            aad,
        ];
        copy(memory.pinned().get_disjoint_mut(copied.map(Range::clone)).expect("apart").into_iter().zip(from));

        let results = if expected.is_some() { &places.verdicts } else { &places.masks }.clone();
        let secret = places.keys.start..places.round_keys.end;
        // SAFETY: as the caller vouches, here and below.
        unsafe {
            let launched = memory.run(stream, places.tables.end, results, secret, |begin| {
                let at = |range: &Range<usize>| begin + range.start as u64;
                let (keys, masks) = (at(&places.keys), at(&places.masks));
                let of = OfMessages {
                    messages: at(&places.messages),
                    order: at(&places.order),
                    all: messages.len() as u32,
                    aad: at(&places.aad),
                    masks,
                };
                let results = match expected {
                    None => BatchResults::Tags(masks),
                    Some(_) => {
                        BatchResults::Verdicts { expected: at(&places.expected), verdicts: at(&places.verdicts) }
                    }
                };
                make_masks(&kernel, stream, jobs, &of, keys, results)?;
                match (&by, &ready) {
                    (By::Keys(by_key), Some(ready)) => {
                        by_key.launch(ready, stream, span, &of, at(&places.tables), results)
                    }
                    (By::Messages { hasher, tables }, _) => {
                        let together = Together { kernel: &kernel, hasher, jobs, tables, messages, order };
                        let places = Besides {
                            tables: [&places.jobs, &places.runs, &places.counters].map(at),
                            keys,
                            hashes: at(&places.hashes),
                            hash_keys: at(&places.hash_keys),
                            round_keys: at(&places.round_keys),
                        };
                        together.run(stream, span, &of, &places, results)
                    }
                    (By::Keys(_), None) => unreachable!("it was made ready"),
                }
            });
            launched.inspect_err(|_| {
                if let Some(output) = span.output.filter(|_| expected.is_some()) {
                    clear(stream, output, messages);
                }
            })?;
        }
        Ok(memory)
    }
}

/// Encrypts a block under each key at `keys`, in place, without waiting.
///
/// # Safety
/// Keys and blocks are in memory of the device that is live until the work is done; the stream is live.
unsafe fn encrypt_blocks(
    kernel: &Kernel,
    stream: CUstream,
    jobs: &Jobs,
    keys: CUdeviceptr,
    blocks: CUdeviceptr,
) -> Result<(), Error> {
    let one_block = EachKey { flow: Flow::Ecb(Direction::Encrypt), bits: jobs.bits, counter: 0, bytes: 16 };
    let blocks = Span::in_place(Access::Maps, blocks, 16 * jobs.len() as u64);
    // SAFETY: as the caller promises.
    unsafe { launch_each(kernel, stream, blocks, &one_block, keys) }
}

/// Encrypts the first counters of messages, which are where their masks go, and makes all verdicts that none is authentic, without waiting.
///
/// # Safety
/// All are in memory of the device that is live until the work is done; the stream is live.
pub(super) unsafe fn make_masks(
    kernel: &Kernel,
    stream: CUstream,
    jobs: &Jobs,
    of: &OfMessages,
    keys: CUdeviceptr,
    results: BatchResults,
) -> Result<(), Error> {
    // SAFETY: as the caller promises.
    unsafe {
        encrypt_blocks(kernel, stream, jobs, keys, of.masks)?;
        doubt(kernel.driver(), stream, results, jobs.len())
    }
}

/// Launches for all messages together.
pub(super) struct Together<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) hasher: &'a HashKernel,
    pub(super) jobs: &'a Jobs,
    /// Of counter mode.
    pub(super) tables: &'a Tables,
    pub(super) messages: &'a Messages,
    pub(super) order: &'a Order,
}

/// Where their memory is, besides the description of the messages.
pub(super) struct Besides {
    /// Tables of jobs and of runs, and second counters.
    pub(super) tables: [CUdeviceptr; 3],
    pub(super) keys: CUdeviceptr,
    /// Where messages are decrypted.
    pub(super) hashes: CUdeviceptr,
    pub(super) hash_keys: CUdeviceptr,
    pub(super) round_keys: CUdeviceptr,
}

impl Together<'_> {
    /// Encrypts messages and writes their tags, or decrypts them, reports which are not authentic, and clears those; without waiting. Masks
    /// are there.
    ///
    /// # Safety
    /// All are in memory of the device that is live until the work is done; the messages are within the span; the stream is live.
    pub(super) unsafe fn run(
        &self,
        stream: CUstream,
        span: Span,
        of: &OfMessages,
        at: &Besides,
        results: BatchResults,
    ) -> Result<(), Error> {
        let Self { kernel, hasher, jobs, tables, messages, order } = *self;
        let (Some(input), Some(output)) = (span.input, span.output) else { unreachable!("it reads and writes") };
        let longest = if of.all > 0 { messages.get(order.at(0)).hashed_blocks() } else { 0 };
        let wide = hasher.wide_for_jobs(of.all, longest, 32 * u64::from(messages.runs()));
        // SAFETY: as the caller promises.
        let tags = |from, masks, to| unsafe {
            hasher.make_tags_of_jobs(&mut { stream }, from, at.hash_keys, wide, &OfMessages { masks, ..*of }, to)
        };
        // SAFETY: as above.
        unsafe {
            kernel.driver().clear(&mut { stream }, at.hash_keys, 16 * messages.len())?;
            encrypt_blocks(kernel, stream, jobs, at.keys, at.hash_keys)?;
            if let BatchResults::Verdicts { expected, .. } = results {
                // Before anything is overwritten.
                tags(input, expected, at.hashes)?;
            }
            let [of_jobs, of_runs, counters] = at.tables;
            let memory = [of_jobs, of_runs, counters, at.keys, at.round_keys];
            expand_and_run(kernel, stream, span, jobs, tables, memory)?;
            match results {
                BatchResults::Tags(to) => tags(output, of.masks, to),
                BatchResults::Verdicts { verdicts, .. } => {
                    hasher.clear_messages(&mut { stream }, output, of, at.hashes, verdicts)
                }
            }
        }
    }
}

/// Tests the known answers of messages with keys of each length, launched in both ways, of which one is forged when they are decrypted.
fn test(device: &Arc<Device>) -> Result<(), Error> {
    const BYTES: usize = 20_010;
    let cipher = DeviceCipher::without_key(device);
    let data: Vec<u8> = (0..BYTES as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
    let keys: [u8; 3 * 32] = std::array::from_fn(|i| (i * 7 + 3) as u8);
    // The last is the only one under its key, and long: a whole warpgroup shares it.
    let ranges = [0..0, 3..1300, 1300..1316, 1332..4000, 4004..20_004];
    let nonces: [[u8; 12]; 5] = std::array::from_fn(|n| [n as u8; 12]);
    let aads: [Range<u64>; 5] = std::array::from_fn(|n| 0..9 * n as u64);
    let (places, nonces, aads) = (Ranges::from(&ranges[..]), (&nonces[..]).into(), Aads::each(&data, &aads[..]));
    for (bits, least) in KeyBits::ALL.into_iter().flat_map(|bits| [(bits, u64::MAX), (bits, 0)]) {
        let keys = JobKeys::numbered(bits, &keys[..3 * bits.bytes()], &[0, 2, 0, 2, 1]);
        let encrypt = GcmEncryptJobs::from_arrays(&keys, &places, &nonces, &aads)?.by_key_from(least);
        let encrypt = Call::without_data(&cipher, encrypt)?;
        let mut ciphertext = data.clone();
        let made = encrypt.operation().under_own_keys(Buffers::InPlace(&mut ciphertext));
        let mut tags = encrypt.finish(made.into_iter().collect())?;
        let mut is_right = on_device(&cipher, &encrypt, &data)? == (ciphertext.clone(), tags.clone());
        tags[3] = [7; 16];
        let decrypt = GcmDecryptJobs::from_arrays(&keys, &places, &nonces, &aads, tags.as_flattened(), 16)?;
        let decrypt = Call::without_data(&cipher, decrypt.by_key_from(least))?;
        let mut expected = data.clone();
        expected[1332..4000].fill(0);
        let (found, opened) = on_device(&cipher, &decrypt, &ciphertext)?;
        is_right &= found == expected && opened.failed() == [3];
        if !is_right {
            return Err(Error::SelfTestFailed { kernel: "GCM under many keys".into() });
        }
    }
    Ok(())
}
