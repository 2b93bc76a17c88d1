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
use crate::base::threads::{copy, divided};
use crate::exec::choice::Choice;
use crate::op::batch::OfGcm;
use crate::op::gcm_messages::Messages;
use crate::op::launch::{Entry, Value};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::messages::{MESSAGE_WORDS, Message, RUN, TILE, tiles_that_begin_in, words_of, words_of_end};
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

    /// Writes what goes to the device: everything up to the end of the additional data.
    fn write(&self, batch: &OfGcm<'_>, memory: &mut [u8]) {
        let (OfGcm { messages, order, aad, .. }, count) = (*batch, batch.messages.len());
        let all = [&self.messages, &self.order, &self.first_messages, &self.expected, &self.aad].map(Range::clone);
        let [words, positions, first_messages, to_expected, to_aad] = memory.get_disjoint_mut(all).expect("apart");
        let (words, end) = words.split_at_mut(4 * MESSAGE_WORDS * count);
        end.copy_from_slice(words_of_end(self.runs).as_flattened());
        let expected = batch.expected.unwrap_or_default();
        let (mut tiles_left, mut expected_left) = (first_messages.as_chunks_mut().0, to_expected.as_chunks_mut().0);
        let are_described = !tiles_left.is_empty();
        // The tiles that begin before the message with this number.
        let before = |n: usize| if are_described { (messages.runs_before(n) as usize).div_ceil(TILE) } else { 0 };
        let of_parts = (0..count).step_by(PART).map(|begin| {
            let end = count.min(begin + PART);
            let first = before(begin);
            let tiles = tiles_left.split_off_mut(..before(end) - first).expect("as many tiles");
            let tags = expected_left.split_off_mut(..expected_left.len().min(end - begin)).expect("there");
            (first, tiles, tags)
        });
        describe(
            messages,
            |n| order.at(n) as u32,
            [words, positions],
            of_parts,
            |n, message, (first, to, tags)| {
                if are_described {
                    let tiles = tiles_that_begin_in(message);
                    to[tiles.start - *first..tiles.end - *first].fill((n as u32).to_le_bytes());
                }
                if let Some(tag) = expected.get(n) {
                    tags[n % PART] = *tag;
                }
            },
        );
        copy([(to_aad, aad)]);
    }
}

/// The number of messages that a thread describes at a time.
pub(super) const PART: usize = 2048;

/// Writes the table of messages to `words`, and to `positions` the order in which kernels take them. `each` gets every message with its number,
/// and what is there for the [`PART`] messages that it is one of. For many messages, on all cores.
pub(super) fn describe<T: Send>(
    messages: &Messages,
    order: impl Fn(usize) -> u32 + Sync,
    [words, positions]: [&mut [u8]; 2],
    of_parts: impl Iterator<Item = T>,
    each: impl Fn(usize, &Message, &mut T) + Sync,
) {
    let memory = words.chunks_mut(4 * MESSAGE_WORDS * PART).zip(positions.chunks_mut(4 * PART));
    let parts = (0..).step_by(PART).zip(memory).zip(of_parts);
    let parts: Vec<_> = parts.map(|((first, memory), of_part)| (first, memory, of_part)).collect();
    let describe = |(first, (words, positions), mut of_part): (usize, (&mut [u8], &mut [u8]), T)| {
        let of_each = words.as_chunks_mut().0.iter_mut().zip(positions.as_chunks_mut().0);
        for (n, (words, position)) in (first..).zip(of_each) {
            let (message, words): (_, &mut [u8; 4 * MESSAGE_WORDS]) = (messages.get(n), words);
            // Word by word, from registers.
            words.as_chunks_mut().0.iter_mut().zip(words_of(&message)).for_each(|(to, word)| *to = word);
            *position = order(n).to_le_bytes();
            each(n, &message, &mut of_part);
        }
    };
    if parts.len() > 2 { divided(parts, describe) } else { parts.into_iter().for_each(describe) }
}

/// Makes all verdicts that none of this number of messages is authentic, without waiting: one that the kernel does not reach is not.
///
/// # Safety
/// The verdicts are in memory of the device that is live until the work is done; the stream is live.
pub(super) unsafe fn doubt(
    context: &Context,
    stream: CUstream,
    results: BatchResults,
    messages: usize,
) -> Result<(), Error> {
    let BatchResults::Verdicts { verdicts, .. } = results else { return Ok(()) };
    // SAFETY: as the caller promises.
    let doubted = unsafe { result::memset_d8_async(verdicts, 0xff, 4 * messages, stream) };
    context.call("cuMemsetD8Async", doubted)
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
        let (by, messages) = (self.gcm_kernels(batch)?, batch.messages);
        let places = Places::of(batch, &by);
        let mut memory = self.device().batch_memories.take(places.verdicts.end, places.verdicts.end)?;
        places.write(batch, memory.pinned());
        // First counters for nonces that are not 12 bytes long are computed from the hash key, which they reveal.
        let secret_from = if batch.counters_are_secret { places.messages.start } else { places.expected.start };
        let secret = secret_from..places.verdicts.end;
        let back = if batch.expected.is_some() { &places.verdicts } else { &places.masks }.clone();
        let (Some(input), Some(output)) = (span.input, span.output) else { unreachable!("it reads and writes") };
        // SAFETY: as the caller promises, here and below; the tables of the hash live as long as the key, and dropping it waits for the
        // device.
        let launched = unsafe {
            memory.run(stream, places.aad.end, back, secret, |begin| {
                let at = |range: &Range<usize>| begin + range.start as u64;
                let results = match batch.expected {
                    None => BatchResults::Tags(at(&places.masks)),
                    Some(_) => {
                        BatchResults::Verdicts { expected: at(&places.expected), verdicts: at(&places.verdicts) }
                    }
                };
                doubt(self.device().context(), stream, results, messages.len())?;
                let of = OfMessages {
                    messages: at(&places.messages),
                    order: at(&places.order),
                    all: messages.len() as u32,
                    aad: at(&places.aad),
                    masks: at(&places.masks),
                };
                let (ctr, keys, hasher, tables) = match &by {
                    By::OneLaunch(gcm) => return gcm.run(&mut { stream }, span, &of, results),
                    By::More { ctr, keys, hasher, tables } => (ctr, *keys, hasher, tables),
                };
                let crypt = || {
                    let values = vec![
                        (Argument::Messages, Value::Address(of.messages)),
                        (Argument::FirstMessages, Value::Address(at(&places.first_messages))),
                        (Argument::All, Value::U32(places.runs)),
                        (Argument::Masks, Value::Address(of.masks)),
                    ];
                    let blocks = RUN * u64::from(places.runs);
                    ctr.run(&mut { stream }, span, keys, |shape| {
                        Ok(shape.launch(Entry::Messages, 0, blocks, values)?.into_iter().collect())
                    })
                };
                match results {
                    BatchResults::Tags(tags) => {
                        crypt()?;
                        hasher.make_tags(&mut { stream }, output, tables, &of, tags)
                    }
                    BatchResults::Verdicts { expected, verdicts } => {
                        let (of_expected, hashes) = (OfMessages { masks: expected, ..of }, at(&places.hashes));
                        // Before anything is overwritten.
                        hasher.make_tags(&mut { stream }, input, tables, &of_expected, hashes)?;
                        crypt()?;
                        hasher.clear_messages(&mut { stream }, output, &of, hashes, verdicts)
                    }
                }
            })
        };
        launched.inspect_err(|_| {
            if batch.expected.is_some() {
                // SAFETY: as the caller promises.
                unsafe { clear(stream, output, messages) };
            }
        })?;
        Ok(memory)
    }
}
