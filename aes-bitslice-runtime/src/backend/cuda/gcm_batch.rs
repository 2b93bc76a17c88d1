//! A call on many messages of GCM in device memory (`op/gcm_batch`): their description goes to the device, the kernel of GCM in one launch
//! or, without that, counter mode and the hash take one launch each for all messages, and the results come back.
//!
//! ```text
//!              tables there | masks | counter mode, hash, tags or verdicts                  | tags or verdicts back
//! or
//! encryption   tables there | counter mode, masks | tags of the ciphertext, masked          | tags back
//! decryption   tables there | hashes of the ciphertext + tags | counter mode, masks | clear where these differ | verdicts back
//! ```

use crate::backend::cuda::commands::{HashKernel, Kernel, RoundKeys, Span};
use crate::backend::cuda::context::Context;
use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::memory::batch_memory::{BatchMemory, places};
use crate::backend::cuda::memory::key_memory::KeyMemory;
use crate::backend::device::hash::{BatchResults, GcmBatch, OfMessages};
use crate::base::error::Error;
use crate::base::threads::divided;
use crate::exec::choice::Choice;
use crate::op::batch::OfGcm;
use crate::op::gcm_messages::Messages;
use crate::op::launch::{Entry, Value};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::messages::{MESSAGE_WORDS, RUN, TILE, tiles_that_begin_in, words_of, words_of_end};
use aes_bitslice_core::mode::Mode;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::ops::Range;
use std::sync::Arc;

/// Where things are in the memory of a call, in bytes.
struct Places {
    messages: Range<usize>,
    order: Range<usize>,
    first_messages: Range<usize>,
    /// The number of counter runs; not a place.
    runs: u32,
    expected: Range<usize>,
    aad: Range<usize>,
    /// The encrypted first counter of each message, 16 bytes each; when encrypting, finally the tags.
    masks: Range<usize>,
    /// The sum of each message's hash and its expected tag.
    hashes: Range<usize>,
    verdicts: Range<usize>,
}

/// The kernels of a call, and what they need of the key.
pub(crate) enum By<'k> {
    OneLaunch(GcmBatch<'k, Context>),
    More { ctr: Kernel, keys: Option<&'k RoundKeys>, hasher: HashKernel, tables: Arc<KeyMemory> },
}

impl By<'_> {
    /// The kernels' names.
    pub(crate) fn names(&self) -> String {
        match self {
            Self::OneLaunch(gcm) => gcm.kernel.name().into(),
            Self::More { ctr, hasher, .. } => format!("{} or {}", ctr.name(), hasher.name()),
        }
    }
}

impl Places {
    fn of(batch: &OfGcm<'_>, by: &By<'_>) -> Self {
        let mut next = places();
        let messages = batch.messages.len();
        let runs = batch.messages.runs();
        let if_verified = |bytes: usize| if batch.expected.is_some() { bytes } else { 0 };
        let if_more = |bytes: usize| if matches!(by, By::More { .. }) { bytes } else { 0 };
        Self {
            messages: next(4 * MESSAGE_WORDS * (messages + 1)),
            order: next(4 * messages),
            first_messages: next(if_more(4 * (runs as usize).div_ceil(TILE))),
            runs,
            expected: next(if_verified(16 * messages)),
            aad: next(batch.aad.len()),
            masks: next(16 * messages),
            hashes: next(if_more(if_verified(16 * messages))),
            verdicts: next(if_verified(4 * messages)),
        }
    }

    /// Writes what goes to the device: everything up to the end of the additional data. For many messages, on all cores.
    fn write(&self, batch: &OfGcm<'_>, memory: &mut [u8]) {
        let mut rest = Rest { memory, at: 0 };
        let mut words = rest.split(&self.messages).as_chunks_mut::<{ 4 * MESSAGE_WORDS }>().0;
        let mut positions = rest.split(&self.order).as_chunks_mut().0;
        let mut first_messages = rest.split(&self.first_messages).as_chunks_mut().0;
        let [expected, aad] = [&self.expected, &self.aad].map(|range| rest.split(range));
        let mut jobs: Vec<Box<dyn FnOnce() + Send + '_>> = vec![
            Box::new(|| expected.copy_from_slice(batch.expected.unwrap_or_default().as_flattened())),
            Box::new(|| aad.copy_from_slice(batch.aad)),
        ];
        let (OfGcm { messages, order, .. }, count) = (*batch, batch.messages.len());
        // The tiles that begin before the message with this number.
        let tiles_are_described = !first_messages.is_empty();
        let tiles = |n: usize| if tiles_are_described { (messages.runs_before(n) as usize).div_ceil(TILE) } else { 0 };
        for begin in (0..count).step_by(PART) {
            let numbers = begin..count.min(begin + PART);
            let (first_tile, tiles) = (tiles(begin), tiles(numbers.end));
            let (to, first) = (next(&mut words, numbers.len()), next(&mut first_messages, tiles - first_tile));
            let positions = next(&mut positions, numbers.len());
            jobs.push(Box::new(move || {
                for ((n, words), position) in numbers.zip(to).zip(positions) {
                    let message = messages.get(n);
                    // Word by word, from registers.
                    words.as_chunks_mut().0.iter_mut().zip(words_of(&message)).for_each(|(to, word)| *to = word);
                    if tiles_are_described {
                        let tiles = tiles_that_begin_in(&message);
                        first[tiles.start - first_tile..tiles.end - first_tile].fill((n as u32).to_le_bytes());
                    }
                    *position = (order.at(n) as u32).to_le_bytes();
                }
            }));
        }
        words[0] = words_of_end(self.runs).as_flattened().try_into().expect("as many words");
        if count > 2 * PART { divided(jobs, |job| job()) } else { jobs.into_iter().for_each(|job| job()) }
    }
}

/// The number of messages that a thread describes at a time.
const PART: usize = 2048;

/// Takes the next `n` from the front.
fn next<'a, T>(rest: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let (taken, left) = std::mem::take(rest).split_at_mut(n);
    *rest = left;
    taken
}

/// Memory from byte `at` on.
struct Rest<'a> {
    memory: &'a mut [u8],
    at: usize,
}

impl<'a> Rest<'a> {
    /// This range of it, which does not begin before the end of the previous one.
    fn split(&mut self, range: &Range<usize>) -> &'a mut [u8] {
        next(&mut self.memory, range.start - self.at);
        self.at = range.end;
        next(&mut self.memory, range.len())
    }
}

/// Clears messages: data that may have been decrypted, and was not verified. If even this fails, nothing more can be done.
///
/// # Safety
/// The output is memory of the device that is live until the work is done, and has all messages; the stream is live.
pub(super) unsafe fn clear(stream: CUstream, output: CUdeviceptr, messages: &Messages) {
    for Range { start, end } in (0..messages.len()).map(|n| messages.range(n)).filter(|range| !range.is_empty()) {
        // SAFETY: as the caller promises.
        let _ = unsafe { result::memset_d8_async(output + start, 0, (end - start) as usize, stream) };
    }
}

impl DeviceKey {
    /// The kernels for these messages, loaded, with the tables that they read, built on first use. The caller has entered the device.
    pub(crate) fn gcm_kernels(&self, batch: &OfGcm<'_>) -> Result<By<'_>, Error> {
        let groups = |units| batch.messages.groups(batch.order, units);
        if let Some(gcm) = self.gcm_batch(batch.hash, groups)? {
            return Ok(By::OneLaunch(gcm));
        }
        let (ctr, keys) = self.kernel(Mode::Ctr, Choice::Bitsliced)?;
        let (hasher, tables) = self.hash_kernel_of_messages(batch.hash)?;
        Ok(By::More { ctr, keys, hasher, tables })
    }

    /// # Safety
    /// The span is within memory of the device that is live until the work is done, and has all messages; the stream is live.
    pub(crate) unsafe fn launch_gcm(
        &self,
        stream: CUstream,
        span: Span,
        batch: &OfGcm<'_>,
    ) -> Result<BatchMemory, Error> {
        let by = self.gcm_kernels(batch)?;
        let places = Places::of(batch, &by);
        let memory = self.device().batch_memories.take(places.verdicts.end, places.verdicts.end)?;
        // SAFETY: as the caller promises.
        let launched = unsafe { self.launch_gcm_in(stream, span, batch, &by, places, memory) };
        launched.inspect_err(|_| {
            if let Some(output) = span.output.filter(|_| batch.expected.is_some()) {
                // SAFETY: as the caller promises.
                unsafe { clear(stream, output, batch.messages) };
            }
        })
    }

    /// # Safety
    /// The span is within memory of the device that is live until the work is done, and has all messages; the stream is live.
    unsafe fn launch_gcm_in(
        &self,
        stream: CUstream,
        span: Span,
        batch: &OfGcm<'_>,
        by: &By<'_>,
        places: Places,
        mut memory: BatchMemory,
    ) -> Result<BatchMemory, Error> {
        places.write(batch, memory.pinned());
        let all = batch.messages.len() as u32;
        // First counters for nonces that are not 12 bytes long are computed from the hash key, which they reveal.
        let secret_from = if batch.counters_are_secret { places.messages.start } else { places.expected.start };
        let secret = secret_from..places.verdicts.end;
        let results = if batch.expected.is_some() { &places.verdicts } else { &places.masks }.clone();
        // SAFETY: as the caller promises, here and below; the tables of the hash live as long as the key, and dropping it waits for the
        // device.
        unsafe {
            memory.run(stream, places.aad.end, results, secret, |begin| {
                let at = |range: &Range<usize>| begin + range.start as u64;
                let crypt = |ctr: &Kernel, keys: Option<&RoundKeys>| {
                    let values = vec![
                        (Argument::Messages, Value::Address(at(&places.messages))),
                        (Argument::FirstMessages, Value::Address(at(&places.first_messages))),
                        (Argument::All, Value::U32(places.runs)),
                        (Argument::Masks, Value::Address(at(&places.masks))),
                    ];
                    ctr.run(&mut { stream }, span, keys, |shape| {
                        Ok(shape
                            .launch(Entry::Messages, 0, RUN * u64::from(places.runs), values)?
                            .into_iter()
                            .collect())
                    })
                };
                let of = |masks: &Range<usize>| OfMessages {
                    messages: at(&places.messages),
                    order: at(&places.order),
                    all,
                    aad: at(&places.aad),
                    masks: at(masks),
                };
                let (Some(input), Some(output)) = (span.input, span.output) else {
                    unreachable!("it reads and writes");
                };
                if batch.expected.is_some() {
                    // A message that the kernel does not reach is not authentic.
                    let doubted = result::memset_d8_async(at(&places.verdicts), 0xff, places.verdicts.len(), stream);
                    self.device().context().call("cuMemsetD8Async", doubted)?;
                }
                let (ctr, keys, hasher, tables) = match by {
                    By::OneLaunch(gcm) => {
                        let [expected, verdicts] = [&places.expected, &places.verdicts].map(at);
                        let results = match batch.expected {
                            None => BatchResults::Tags(at(&places.masks)),
                            Some(_) => BatchResults::Verdicts { expected, verdicts },
                        };
                        return gcm.run(&mut { stream }, span, &of(&places.masks), results);
                    }
                    By::More { ctr, keys, hasher, tables } => (ctr, *keys, hasher, tables),
                };
                if batch.expected.is_none() {
                    crypt(ctr, keys)?;
                    return hasher.make_tags(&mut { stream }, output, tables, &of(&places.masks), at(&places.masks));
                }
                // Before anything is overwritten.
                hasher.make_tags(&mut { stream }, input, tables, &of(&places.expected), at(&places.hashes))?;
                crypt(ctr, keys)?;
                hasher.clear_messages(
                    &mut { stream },
                    output,
                    &of(&places.masks),
                    at(&places.hashes),
                    at(&places.verdicts),
                )
            })?;
        }
        Ok(memory)
    }
}
