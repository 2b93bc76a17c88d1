//! A call on messages of GCM that arrays in GPU memory describe: kernels make the table and the order that the host makes of other batches
//! (`gcm_batch`), in memory that is allocated on the stream. So nothing waits, and a graph can hold the call.
//!
//! ```text
//! arrays | table, messages of each length, the first fault | order | masks | counter mode and hash: tags or verdicts
//! ```

use crate::backend::cuda::commands::{HashKernel, Span};
use crate::backend::cuda::context::Context;
use crate::backend::cuda::device_batch::{DeviceBatch, DeviceTags};
use crate::backend::cuda::device_data::{DeviceCipher, span};
use crate::backend::cuda::gcm_batch::doubt;
use crate::backend::cuda::kernel::capture;
use crate::backend::cuda::memory::batch_memory::places;
use crate::backend::cuda::memory::stream_memory::StreamMemory;
use crate::backend::device::driver::Driver;
use crate::backend::device::hash::{BatchResults, GcmBatch, OfMessages};
use crate::base::error::Error;
use crate::exec::call::Call;
use crate::op::batch::Batch;
use crate::op::buffers::Access;
use crate::op::gcm_batch::GcmEncryptBatch;
use crate::op::launch::{Entry, Value};
use crate::op::operation::{Operation, Ready};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::described::TALLY_WORDS;
use aes_bitslice_core::messages::{MESSAGE_WORDS, WIDEST};
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::ops::Range;

/// Where things are in the memory of a call.
struct Places {
    messages: CUdeviceptr,
    order: CUdeviceptr,
    tally: CUdeviceptr,
    masks: CUdeviceptr,
}

impl Places {
    /// Describes messages, and encrypts or decrypts them, without waiting.
    ///
    /// # Safety
    /// All are in memory of the device that is live until the work is done, and have room for all messages; the stream is live.
    unsafe fn run(
        &self,
        context: &Context,
        stream: CUstream,
        gcm: &GcmBatch<'_, Context>,
        span: Span,
        (batch, results, tag_bytes): (&DeviceBatch, BatchResults, u32),
        fault: CUdeviceptr,
    ) -> Result<(), Error> {
        let Self { messages, order, tally, masks } = *self;
        let of = OfMessages { messages, order, all: batch.len() as u32, aad: batch.aad().0, masks };
        // SAFETY: as the caller promises.
        unsafe {
            doubt(context, stream, results, batch.len())?;
            context.clear(&mut { stream }, tally, TALLY)?;
            gcm.kernel.describe(stream, (batch, tag_bytes, span.len), self, fault)?;
            gcm.run(&mut { stream }, span, &of, results)
        }
    }

    /// Where they are for this number of messages, from the start of the memory on; the masks, which are key stream, are last.
    fn of(all: usize) -> [Range<usize>; 4] {
        [4 * MESSAGE_WORDS * all, 4 * all, TALLY, 16 * all].map(places())
    }
}

/// Bytes of what is counted, and of what is wrong.
const TALLY: usize = 4 * TALLY_WORDS;
const FAULT: usize = 8;

/// Memory that a call reads or writes.
pub(super) fn range(at: CUdeviceptr, bytes: u64) -> Range<u64> {
    at..at.saturating_add(bytes)
}

/// Refuses memory that is written and overlaps other memory of the call.
pub(super) fn apart(written: &[Range<u64>], read: &[Range<u64>]) -> Result<(), Error> {
    let overlaps = |one: &Range<u64>, other: &Range<u64>| one.start.max(other.start) < one.end.min(other.end);
    let others = |n: usize| written[n + 1..].iter().chain(read);
    let is_shared = written.iter().enumerate().any(|(n, one)| others(n).any(|other| overlaps(one, other)));
    if is_shared { Err(Error::Overlap) } else { Ok(()) }
}

impl DeviceCipher<'_> {
    /// Encrypts or decrypts messages of GCM that arrays in GPU memory describe, on raw device pointers and a raw stream; `input` may equal
    /// `output`, and `len` is the number of bytes of each. Bytes between messages stay as they are; additional data may be there, and nowhere else
    /// in the output. Nothing comes to the host and nothing is waited for, here or later: later work on the stream sees the output, and tags or
    /// verdicts.
    ///
    /// The call writes two words of 32 bits at `fault`, a multiple of 4: zeros if all was right, else what is wrong with the first message that
    /// is ([`DeviceBatch::check`]). Then nothing was processed. It takes 68 bytes of GPU memory for each message from the pool of the stream, and
    /// gives them back there.
    ///
    /// A graph may hold the call; each launch reads the arrays again. **Each launch that encrypts needs new nonces**, which nothing checks here. Before
    /// a stream is captured, [`prepare_for`](Self::prepare_for) of any [`GcmEncryptBatch`] loads the kernels.
    ///
    /// ```no_run
    /// use aes_bitslice_runtime::cuda::cudarc::driver::{DevicePtr, DevicePtrMut};
    /// use aes_bitslice_runtime::cuda::{DeviceAads, DeviceBatch, DeviceNonces, DeviceRanges, DeviceTags};
    /// use aes_bitslice_runtime::{Backend, Engine, Key, KeyBits};
    ///
    /// let engine = Engine::open(Backend::Cuda { ordinal: 0 })?;
    /// let cipher = engine.cipher(&Key::generate(KeyBits::Aes256)?)?;
    /// let stream = engine.cuda_context()?.new_stream()?;
    /// let mut packets = stream.alloc_zeros::<u8>(1000 * 1500)?;
    /// let (mut tags, mut fault) = (stream.alloc_zeros::<u8>(1000 * 16)?, stream.alloc_zeros::<u32>(2)?);
    /// let first_nonce = stream.alloc_zeros::<u8>(12)?; // of a new key
    /// {
    ///     let (nonce, _) = first_nonce.device_ptr(&stream);
    ///     let ((data, _), (tags, _)) = (packets.device_ptr_mut(&stream), tags.device_ptr_mut(&stream));
    ///     let (fault, _) = fault.device_ptr_mut(&stream);
    ///     let nonces = DeviceNonces::counted(nonce, 64)?;
    ///     let batch = DeviceBatch::new(1000, DeviceRanges::spaced(1500, 1500), nonces, DeviceAads::none())?;
    ///     let tags = DeviceTags::Make { tags };
    ///     // SAFETY: the buffers outlive the work.
    ///     unsafe {
    ///         cipher.device()?.run_raw_described(stream.cu_stream(), &batch, tags, data, data, 1000 * 1500, fault)?;
    ///     }
    /// }
    /// let fault = stream.clone_dtoh(&fault)?;
    /// DeviceBatch::check([fault[0], fault[1]])?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    /// `input` and `output` point to `len` bytes, and `fault`, the arrays of the batch, its additional data, tags and verdicts to what they are
    /// said to hold, in memory that this device can reach, live until the work is done; `stream` is live and belongs to the engine's context.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] on a GPU of another compute capability than 9.0, [`Error::TagLength`], [`Error::Length`] for addresses of tags,
    /// verdicts or `fault` that are no multiples of 4, [`Error::Overlap`] if input and output overlap without being equal, or memory that is
    /// written overlaps other memory of the call; [`Error::NeedsKey`] on a cipher of one kernel, and any error the driver reports. After an error
    /// of the driver, discard output, tags and verdicts.
    #[expect(clippy::too_many_arguments, reason = "the addresses of a call")]
    pub unsafe fn run_raw_described(
        &self,
        stream: CUstream,
        batch: &DeviceBatch,
        tags: DeviceTags,
        input: CUdeviceptr,
        output: CUdeviceptr,
        len: u64,
        fault: CUdeviceptr,
    ) -> Result<(), Error> {
        let span = span(Access::Maps, input, output, len)?;
        let tag_bytes = tags.bytes()?;
        check(batch, tags, (input, output, len), fault)?;
        // The checks of any batch, and what it derives from the key.
        let call = Call::without_data(self, GcmEncryptBatch::new(&[])?)?;
        let Some(Batch::Gcm(of)) = call.operation().messages()? else { unreachable!("a batch of GCM") };
        let (key, context) = (self.key()?, self.device().context());
        context.enter()?;
        if batch.is_empty() {
            // SAFETY: as the caller promises.
            return unsafe { context.clear(&mut { stream }, fault, FAULT) };
        }
        self.prepare_batch(&Batch::Gcm(of))?;
        let none = || Error::NoSuchKernel { what: "there is none for arrays in GPU memory on this device".into() };
        let gcm = key.gcm_batch(of.hash, |units| batch.groups(len, units))?.ok_or_else(none)?;
        // SAFETY: as the caller promises; the memory is freed on the stream, after the launches.
        unsafe {
            capture::keep(context, stream, key)?;
            let of = Places::of(batch.len());
            let masks = of[3].clone();
            StreamMemory::run(context, stream, masks.end, masks, |memory| {
                let [messages, order, tally, masks] = of.map(|place| memory + place.start as u64);
                let places = Places { messages, order, tally, masks };
                places.run(context, stream, &gcm, span, (batch, tags.results(), tag_bytes), fault)
            })
        }
    }
}

impl DeviceCipher<'_> {
    /// Builds the tables for every number of groups that may share a message, if it is of GCM: none can be built while a stream is captured.
    pub(crate) fn prepare_described(&self, batch: &Batch<'_>) -> Result<(), Error> {
        match batch {
            Batch::Gcm(of) => {
                let key = self.key()?;
                (0..=WIDEST).try_for_each(|wide| key.gcm_batch(of.hash, |_| wide).map(drop))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses addresses that kernels cannot write to, and memory that is written and used otherwise, too.
fn check(
    batch: &DeviceBatch,
    tags: DeviceTags,
    (input, output, len): (CUdeviceptr, CUdeviceptr, u64),
    fault: CUdeviceptr,
) -> Result<(), Error> {
    let count = batch.len() as u64;
    let (results, expected) = match tags {
        DeviceTags::Make { tags } => (range(tags, 16 * count), None),
        DeviceTags::Verify { expected, verdicts, .. } => {
            (range(verdicts, 4 * count), Some(range(expected, 16 * count)))
        }
    };
    let fault = range(fault, FAULT as u64);
    if [&results, &fault].into_iter().chain(&expected).any(|range| !range.start.is_multiple_of(4)) {
        let what = "tags, verdicts and `fault` are at multiples of 4 bytes: give such addresses".into();
        return Err(Error::Length { operation: GcmEncryptBatch::NAME, what });
    }
    let (aad, aad_bytes) = batch.aad();
    let read: Vec<_> = batch.read().into_iter().chain(expected).collect();
    let all: Vec<_> =
        [range(input, len), range(output, len), range(aad, aad_bytes)].into_iter().chain(read.clone()).collect();
    apart(&[results, fault], &all)?;
    // Additional data may be between messages.
    apart(&[range(output, len)], &read)
}

impl HashKernel {
    /// Writes the table and the order of messages that arrays describe, and what is wrong with them, without waiting.
    ///
    /// # Safety
    /// All are in memory of the device that is live until the work is done, and have room for all messages; the stream is live.
    unsafe fn describe(
        &self,
        stream: CUstream,
        (batch, tag_bytes, len): (&DeviceBatch, u32, u64),
        places: &Places,
        fault: CUdeviceptr,
    ) -> Result<(), Error> {
        let all = batch.len() as u32;
        let [starts, ends, aad_starts, aad_ends] = batch.arrays();
        let describe = vec![
            (Argument::Starts, Value::Words(starts)),
            (Argument::Ends, Value::Words(ends)),
            (Argument::Nonces, Value::Words(batch.nonces())),
            (Argument::AadStarts, Value::Words(aad_starts)),
            (Argument::AadEnds, Value::Words(aad_ends)),
            (Argument::Length, Value::U64(len)),
            (Argument::AadLength, Value::U64(batch.aad().1)),
            (Argument::TagBytes, Value::U32(tag_bytes)),
            (Argument::All, Value::U32(all)),
            (Argument::Messages, Value::Address(places.messages)),
            (Argument::Tally, Value::Address(places.tally)),
        ];
        let order = vec![
            (Argument::All, Value::U32(all)),
            (Argument::Messages, Value::Address(places.messages)),
            (Argument::Tally, Value::Address(places.tally)),
            (Argument::Order, Value::Address(places.order)),
            (Argument::Fault, Value::Address(fault)),
        ];
        let none = Span::between(None, None, 0);
        let thread_blocks = self.thread_blocks_for(all);
        // SAFETY: as the caller promises.
        unsafe {
            self.launch(Entry::BatchDescribe, &mut { stream }, thread_blocks, none, None, describe)?;
            self.launch(Entry::BatchOrder, &mut { stream }, thread_blocks, none, None, order)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_apart_from_all_else() {
        let is_ok = |written: &[Range<u64>], read: &[Range<u64>]| apart(written, read).is_ok();
        assert!(is_ok(&[0..8, 8..16], &[16..20, 20..99, 18..30]) && is_ok(&[], &[0..8, 0..8]));
        assert!(
            !is_ok(&[0..8, 7..16], &[])
                && !is_ok(&[0..8, 50..60], &[20..30, 7..9])
                && !is_ok(&[10..20, 30..31], &[0..99, 200..201])
        );
        // Nothing is no part of anything.
        assert!(is_ok(&[0..8, 4..4], &[4..4, 6..6, 8..9]));
        assert_eq!(range(u64::MAX - 3, 9), u64::MAX - 3..u64::MAX);
    }
}
