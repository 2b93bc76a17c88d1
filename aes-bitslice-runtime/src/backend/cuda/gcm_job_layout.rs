//! Messages of GCM under many keys that are in the memory of the GPU, as nonces, additional data and tags are: where messages are in the data
//! goes there once, for any number of calls. So nothing waits, and a graph can hold a call.
//!
//! ```text
//! layout    tables, counters without nonces there
//! call      nonces into counters | masks, hash keys, hashes, counter mode (`gcm_jobs`) | cleared, in memory that is allocated on the stream
//! ```

use crate::backend::cuda::commands::{HashKernel, Kernel};
use crate::backend::cuda::described_batch::{apart, range};
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_batch::DeviceTags;
use crate::backend::cuda::device_buffers::{Addresses, DeviceBuffers};
use crate::backend::cuda::device_data::{DeviceCipher, span};
use crate::backend::cuda::gcm_batch::{clear, describe};
use crate::backend::cuda::gcm_jobs::{Besides, Together, make_masks};
use crate::backend::cuda::job_layout::{DeviceBytes, on_device};
use crate::backend::cuda::kernel::capture;
use crate::backend::cuda::memory::batch_memory::places;
use crate::backend::cuda::memory::gather::copy_rows;
use crate::backend::cuda::memory::key_memory::KeyMemory;
use crate::backend::cuda::memory::stream_memory::StreamMemory;
use crate::backend::device::hash::{BatchResults, OfMessages};
use crate::backend::device::round_keys::KeyMaterial;
use crate::base::error::Error;
use crate::op::buffers::Access;
use crate::op::gcm_batch::GcmEncryptBatch;
use crate::op::many_keys::{Flow, Jobs, refused};
use crate::op::operation::Operation;
use crate::op::ranges::Ranges;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::count::counted;
use aes_bitslice_core::memory::filled;
use aes_bitslice_core::messages::MESSAGE_WORDS;
use aes_bitslice_core::mode::Mode;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};
use std::ops::Range;
use std::sync::Arc;

/// Where messages of GCM are in data in the memory of a GPU, for calls whose keys, nonces, additional data and tags are there, too: for keys
/// that were derived there, and for graphs, which are launched again with others in the same place.
///
/// ```no_run
/// use aes_bitslice_runtime::{Backend, Engine, KeyBits, Ranges};
///
/// let engine = Engine::open(Backend::Cuda { ordinal: 0 })?;
/// let stream = engine.cuda_context()?.new_stream()?;
/// let (packets, no_aad) = (Ranges::equal(1000, 1500), Ranges::equal(1000, 0));
/// let layout = engine.under_own_keys().device()?.gcm_job_layout(KeyBits::Aes128, &packets, &no_aad)?;
/// let keys = stream.alloc_zeros::<u8>(1000 * 16)?; // written by a kernel of yours
/// let nonces = stream.alloc_zeros::<u8>(1000 * 12)?;
/// let mut data = stream.alloc_zeros::<u8>(1000 * 1500)?;
/// let mut tags = stream.alloc_zeros::<u8>(1000 * 16)?;
/// layout.encrypt(&stream, &keys, &nonces, None, &mut data, &mut tags)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Calls wait for nothing, and read the caller's keys, as those of a [`JobLayout`](crate::cuda::JobLayout) do. **No nonce may come twice under one
/// key**, in one call or in several, which nothing checks: a graph that is launched again needs new keys or nonces. Make a layout before a
/// capture begins, and keep it until the capture ends.
pub struct GcmJobLayout {
    device: Arc<Device>,
    messages: GcmEncryptBatch,
    /// Counter mode from each message's second counter on.
    jobs: Jobs,
    kernel: Kernel,
    hasher: HashKernel,
    places: Places,
    tables: Arc<KeyMemory>,
}

/// Where a description is on the device, in bytes.
struct Places {
    messages: Range<usize>,
    order: Range<usize>,
    jobs: Range<usize>,
    runs: Range<usize>,
    /// The first counter of each message without its nonce, then the second of each.
    counters: Range<usize>,
}

/// What the messages of a call have, in the memory of the GPU.
#[derive(Clone, Copy, Debug)]
pub struct GcmJobInputs {
    /// A key for each message, contiguous, at a multiple of 4 bytes.
    pub keys: DeviceBytes,
    /// A nonce of 12 bytes for each.
    pub nonces: DeviceBytes,
    /// The additional data of all.
    pub aad: DeviceBytes,
}

impl DeviceCipher<'_> {
    /// Describes messages to the GPU, at ascending ranges of data that do not overlap, each with a key of `bits` bits. `aads` is where the
    /// additional data of each is in that of all, in any order: with [`Ranges::spaced`] and a stride of 0, all have the same. The kernels are
    /// loaded and tested, unless that was done before.
    ///
    /// # Errors
    /// [`Error::Batch`] for ranges that do not ascend or that overlap, for another number of ranges of additional data than of messages, and
    /// for more data than a message or a call can have; [`Error::SelfTestFailed`], [`Error::NoSuchKernel`], and any error the driver reports.
    pub fn gcm_job_layout(&self, bits: KeyBits, ranges: &Ranges<'_>, aads: &Ranges<'_>) -> Result<GcmJobLayout, Error> {
        let (batch, jobs) = (GcmEncryptBatch::laid_out(ranges, aads)?, Jobs::laid_out(Mode::Ctr, bits, ranges)?);
        let device = self.device();
        device.enter()?;
        device.prepare_gcm_jobs()?;
        let (kernel, hasher) = (device.kernel_of_jobs(Flow::Ctr)?, device.hash_kernel_of_jobs()?);
        let (count, messages, order, tables) = (batch.len(), batch.messages(), batch.order()?, jobs.tables()?);
        let mut next = places();
        let places = Places {
            messages: next(4 * MESSAGE_WORDS * count),
            order: next(4 * count),
            jobs: next(4 * tables.jobs.len()),
            runs: next(4 * tables.runs.len()),
            counters: next(32 * count),
        };
        let mut bytes = filled(0, places.counters.end)?;
        let described = bytes.get_disjoint_mut([places.messages.clone(), places.order.clone()]).expect("apart");
        describe(messages, |n| order.at(n) as u32, described, std::iter::repeat(()), |_, _, ()| {});
        bytes[places.jobs.clone()].copy_from_slice(tables.jobs.as_flattened());
        bytes[places.runs.clone()].copy_from_slice(tables.runs.as_flattened());
        let counters = bytes[places.counters.clone()].chunks_mut(16);
        counters.enumerate().for_each(|(n, counter)| counter[15] = if n < count { 1 } else { 2 });
        let tables = on_device(device, &bytes)?;
        Ok(GcmJobLayout { device: device.clone(), messages: batch, jobs, kernel, hasher, places, tables })
    }
}

impl GcmJobLayout {
    /// The number of messages.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Encrypts the messages in `&mut data`, or from an input to an output of the same length, `(&input, &mut output)`, and writes a tag of 16
    /// bytes for each.
    ///
    /// # Errors
    /// [`Error::Jobs`] for another number of bytes of tags, [`Error::LengthMismatch`], [`Error::OtherContext`], and those of
    /// [`run_raw`](Self::run_raw).
    pub fn encrypt<K: DevicePtr<u8>, T: DevicePtrMut<u8>>(
        &self,
        stream: &CudaStream,
        keys: &K,
        nonces: &K,
        aad: Option<&K>,
        data: impl DeviceBuffers,
        tags: &mut T,
    ) -> Result<(), Error> {
        self.own(&[stream, tags.stream()])?;
        let room = tags.len() as u64;
        let (tags, _made) = tags.device_ptr_mut(stream);
        DeviceBytes { at: tags, bytes: room }.check("tags", self.len(), 16, 4)?;
        self.run(stream, keys, nonces, aad, data, DeviceTags::Make { tags })
    }

    /// Decrypts the messages in data as [`encrypt`](Self::encrypt) takes it, and writes a verdict for each: 0 if it is authentic, else another
    /// number. Those that are not are cleared. There is a tag of 16 bytes for each.
    ///
    /// # Errors
    /// [`Error::Jobs`] for another number of bytes of tags or of verdicts, and those of [`encrypt`](Self::encrypt).
    #[expect(clippy::too_many_arguments, reason = "the buffers of a call")]
    pub fn decrypt<K: DevicePtr<u8>, V: DevicePtrMut<u32>>(
        &self,
        stream: &CudaStream,
        keys: &K,
        nonces: &K,
        aad: Option<&K>,
        data: impl DeviceBuffers,
        tags: &K,
        verdicts: &mut V,
    ) -> Result<(), Error> {
        self.own(&[stream, tags.stream(), verdicts.stream()])?;
        let _tags = tags.device_ptr(stream);
        let expected = DeviceBytes::of(tags, stream);
        expected.check("tags", self.len(), 16, 4)?;
        let room = 4 * verdicts.len() as u64;
        let (verdicts, _made) = verdicts.device_ptr_mut(stream);
        DeviceBytes { at: verdicts, bytes: room }.check("verdicts", self.len(), 4, 4)?;
        let tags = DeviceTags::Verify { expected: expected.at, tag_bytes: 16, verdicts };
        self.run(stream, keys, nonces, aad, data, tags)
    }

    fn own(&self, streams: &[&CudaStream]) -> Result<(), Error> {
        DeviceCipher::without_key(&self.device).own(streams)
    }

    fn run<K: DevicePtr<u8>>(
        &self,
        stream: &CudaStream,
        keys: &K,
        nonces: &K,
        aad: Option<&K>,
        data: impl DeviceBuffers,
        tags: DeviceTags,
    ) -> Result<(), Error> {
        self.own(&[keys.stream(), nonces.stream()])?;
        aad.map_or(Ok(()), |aad| self.own(&[aad.stream()]))?;
        let _read = [Some(keys), Some(nonces), aad].map(|slice| slice.map(|slice| slice.device_ptr(stream)));
        let [keys, nonces] = [keys, nonces].map(|slice| DeviceBytes::of(slice, stream));
        let aad = aad.map_or(DeviceBytes::NONE, |aad| DeviceBytes::of(aad, stream));
        let inputs = GcmJobInputs { keys, nonces, aad };
        let own = DeviceCipher::without_key(&self.device);
        own.with_data(stream, data, (Access::Maps, "GCM"), |Addresses { input, output, len }| {
            // SAFETY: the buffers are borrowed for the call, and ordered on the stream by their guards; their lengths were checked.
            unsafe { self.run_raw(stream.cu_stream(), &inputs, tags, input, output, len) }
        })
    }

    /// Encrypts or decrypts the messages on raw device pointers and a raw stream; `input` may equal `output`, and `len` is the number of bytes of
    /// each. Bytes between messages stay as they are; additional data may be there, and nowhere else in the output. Tags have 16 bytes
    /// each.
    ///
    /// # Safety
    /// `input` and `output` point to `len` bytes, and tags and verdicts to what they are said to hold for each message, in memory that this
    /// device can reach, live until the work is done; so are keys, nonces and additional data. `stream` is live and belongs to the engine's
    /// context.
    ///
    /// # Errors
    /// [`Error::Jobs`] for another number of bytes of keys or nonces than the messages need, fewer of additional data, or any of that where the
    /// layout has none; for null; for keys, tags and verdicts that are not at multiples of 4 bytes. [`Error::TagLength`] for shorter tags,
    /// [`Error::Batch`] for a range that ends after the data, [`Error::Overlap`] if memory that is written overlaps other memory of the call,
    /// and any error the driver reports. After an error of the driver, discard output, tags and verdicts.
    pub unsafe fn run_raw(
        &self,
        stream: CUstream,
        inputs: &GcmJobInputs,
        tags: DeviceTags,
        input: CUdeviceptr,
        output: CUdeviceptr,
        len: u64,
    ) -> Result<(), Error> {
        let span = span(Access::Maps, input, output, len)?;
        let results = self.checked(inputs, tags, (input, output, len))?;
        self.device.enter()?;
        if self.is_empty() {
            return Ok(());
        }
        let Self { messages, jobs, kernel, hasher, places, tables, .. } = self;
        let (GcmJobInputs { keys, nonces, aad }, context, count) = (inputs, self.device.context(), self.len());
        let if_verified = if matches!(results, BatchResults::Verdicts { .. }) { 16 * count } else { 0 };
        let [masks, counters, hashes, hash_keys, round_keys] =
            [16 * count, 16 * count, if_verified, 16 * count, 16 * (jobs.bits.rounds() + 1) * count]
                .map(self::places());
        let there = |range: &Range<usize>| tables.place() + range.start as u64;
        // SAFETY: as the caller promises; the memory is freed on the stream, after the work.
        unsafe {
            capture::keep(context, stream, &(kernel.clone(), hasher.clone(), tables.clone()))?;
            StreamMemory::run(context, stream, round_keys.end, 0..round_keys.end, |memory| {
                let at = |range: &Range<usize>| memory + range.start as u64;
                let put = || {
                    let copied = result::memcpy_dtod_async(at(&masks), there(&places.counters), 32 * count, stream);
                    context.call("cuMemcpyDtoDAsync", copied)?;
                    copy_rows(context, stream, (nonces.at, 12), 12, count as u64, at(&masks))?;
                    copy_rows(context, stream, (nonces.at, 12), 12, count as u64, at(&counters))?;
                    let of = OfMessages {
                        messages: there(&places.messages),
                        order: there(&places.order),
                        all: count as u32,
                        aad: aad.address_or(tables.place()),
                        masks: at(&masks),
                    };
                    make_masks(kernel, stream, jobs, &of, keys.at, results)?;
                    let (messages, order, tables) = (messages.messages(), messages.order()?, jobs.tables()?);
                    let besides = Besides {
                        tables: [there(&places.jobs), there(&places.runs), at(&counters)],
                        keys: keys.at,
                        hashes: at(&hashes),
                        hash_keys: at(&hash_keys),
                        round_keys: at(&round_keys),
                    };
                    Together { kernel, hasher, jobs, tables, messages, order }.run(stream, span, &of, &besides, results)
                };
                put().inspect_err(|_| {
                    if if_verified > 0 {
                        clear(stream, output, messages.messages());
                    }
                })
            })
        }
    }

    /// The results, if the memory of a call is as kernels need it.
    fn checked(
        &self,
        GcmJobInputs { keys, nonces, aad }: &GcmJobInputs,
        tags: DeviceTags,
        (input, output, len): (CUdeviceptr, CUdeviceptr, u64),
    ) -> Result<BatchResults, Error> {
        let count = self.len();
        self.messages.check(len)?;
        keys.check("keys", count, self.jobs.bits.bytes(), 4)?;
        nonces.check("nonces", count, 12, 1)?;
        let needed = self.messages.messages().aad_end();
        let given = counted(aad.bytes, "byte");
        if needed == 0 && aad.bytes > 0 {
            // It would not be authenticated.
            return refused(format!(
                "{given} of additional data, and the layout has none: make it with ranges of that"
            ));
        }
        if aad.bytes < needed || needed > 0 && aad.at == 0 {
            let there = format!("{given} of additional data at {:#x}", aad.at);
            return refused(format!("{there}: the layout needs {needed}, in GPU memory"));
        }
        let each = |what, at, each: usize| {
            let all = DeviceBytes { at, bytes: (each * count) as u64 };
            all.check(what, count, each, 4).map(|()| all)
        };
        let (made, expected) = match tags {
            DeviceTags::Make { tags } => (each("tags", tags, 16)?, DeviceBytes::NONE),
            DeviceTags::Verify { expected, tag_bytes: 16, verdicts } => {
                (each("verdicts", verdicts, 4)?, each("tags", expected, 16)?)
            }
            DeviceTags::Verify { tag_bytes: bytes, .. } => return Err(Error::TagLength { bytes }),
        };
        let read = [keys, nonces, &expected].map(DeviceBytes::range);
        let [input, output] = [input, output].map(|at| range(at, len));
        apart(&[made.range()], &[&read[..], &[input, output.clone(), aad.range()]].concat())?;
        // Additional data may be between messages.
        apart(&[output], &read)?;
        Ok(tags.results())
    }
}
