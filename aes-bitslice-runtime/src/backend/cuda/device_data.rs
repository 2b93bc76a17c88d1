//! Calls on data in device memory: on the caller's stream, in place or not, without synchronisation.

use crate::backend::cuda::commands::Span;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_buffers::{Addresses, DeviceBuffers};
use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::kernel::capture;
use crate::backend::cuda::launch::InOneLaunch;
use crate::backend::cuda::memory::hash_memory::HashMemory;
use crate::backend::cuda::memory::tag_results::TagResult;
use crate::backend::cuda::pending::{Later, Pending, Results, Started};
use crate::backend::device::driver::Driver;
use crate::backend::device::hash::Sum;
use crate::backend::device::key::KeyOnDevice;
use crate::base::error::Error;
use crate::base::tag::Tag;
use crate::cpu::key::CpuKey;
use crate::exec::call::{self, Call, Data, Target};
use crate::exec::choice::Choice;
use crate::exec::work::Work;
use crate::op::buffers::Access;
use crate::op::kernels::KernelsNeeded;
use crate::op::operation::{Composition, Keys, Operation, Pass, Passes, Place};
use crate::op::own_key::OwnKey;
use crate::op::partial_hash::{HASH, Terms, Verdict};
use aes_bitslice_core::mode::Mode;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use cudarc::driver::{CudaStream, DevicePtrMut};
use std::sync::Arc;

/// Calls of a [`Cipher`](crate::Cipher) on device memory.
///
/// They return when the work is on the stream, not when it completes; a device error shows when the caller waits for the stream.
/// `stream.record_event(None)` after a call gives an event for its completion: it can be queried, waited for, or used to hold up another
/// stream. Round keys travel with each launch, so the cipher may be dropped before the stream reaches the call. Dropping a cipher that has
/// its own memory on the device waits for everything there: a cipher with its own kernel, such as that of
/// [`Engine::load_baked`](crate::Engine::load_baked) or [`Engine::cipher_of`](crate::Engine::cipher_of), or one that has hashed (GCM, GMAC,
/// GHASH). Buffers and streams belong to the engine's context, [`Engine::cuda_context`](crate::Engine::cuda_context).
///
/// It is `Send` and `Sync`: any number of threads may use one at the same time, each on its own stream or all on one.
///
/// Any alignment works; data aligned to 16 bytes is fast. For key stream, as in [`Ctr`](crate::Ctr), the alignment that counts is that of
/// the data byte where the first whole block of key stream begins: with `offset` 5 into the key stream, byte 11 of the data.
///
/// Every call may fail with [`Error::Poisoned`], and the first call of a mode with [`Error::SelfTestFailed`]; a baked kernel answers other
/// modes with [`Error::NotInKernel`]. Key stream for data that is not all whole aligned blocks takes up to three launches. Two co-resident
/// kernels take up to four launches for CTR and two for ECB, over the caller's stream and one of the engine's, for which the caller's
/// stream then waits. If the driver refuses one of them, the output holds what the others write. After a call in place nothing tells which
/// parts those are: discard the output. [`CbcDecrypt`](crate::CbcDecrypt) in place allocates a little device memory on the stream, 16 bytes
/// for each thread block.
///
/// The first call that uses a kernel loads it and waits for the known answer it must give. The kernel that a call uses may depend on the
/// size and alignment of its data ([`Kernels::AutoAny`](crate::Kernels::AutoAny)), so a later call may load another.
/// [`prepare`](Self::prepare) loads them in advance, before time counts.
///
/// # Graphs
/// A stream may be captured into a graph. Nothing can be loaded during capture: call [`prepare`](Self::prepare) first. The graph, and each
/// graph instantiated or cloned from it, shares ownership of the code and the keys that its calls need, so the engine and the cipher may be
/// dropped before it is launched. It holds the round keys, as launch arguments in the driver's memory, until it is destroyed. The caller
/// keeps the buffers alive. Co-resident kernels run one after the other in a graph. If a cipher whose drop waits, or a [`Pending`] of
/// AES-GCM-SIV or XAES-256-GCM, is dropped while a stream of the context is being captured, the driver refuses to wait: that invalidates the
/// capture, and the kernel and the tables stay as long as the context does.
pub struct DeviceCipher<'a> {
    device: &'a Arc<Device>,
    /// `None` for calls that have keys of their own.
    key: Option<&'a DeviceKey>,
    /// The key on the CPU; `None` for a cipher of one kernel.
    cpu: Option<&'a Arc<CpuKey>>,
    choice: Option<Choice>,
}

/// The name of the memory, used in error texts.
const MEMORY: &str = "device memory";

impl<'a> DeviceCipher<'a> {
    pub(crate) fn new(key: &'a DeviceKey, cpu: Option<&'a Arc<CpuKey>>) -> Self {
        Self { device: key.device(), key: Some(key), cpu, choice: None }
    }

    /// For calls that have keys of their own.
    pub(crate) fn without_key(device: &'a Arc<Device>) -> Self {
        Self { device, key: None, cpu: None, choice: None }
    }

    pub(crate) fn device(&self) -> &'a Arc<Device> {
        self.device
    }

    /// The key, which there is where the operation of a checked call needs one.
    pub(crate) fn key(&self) -> Result<&'a DeviceKey, Error> {
        self.key.ok_or(Error::NeedsKey { what: MEMORY })
    }

    /// Makes calls with this kernel and this geometry instead of the fastest ones: for measuring. A cipher of one kernel keeps to that
    /// kernel.
    ///
    /// Every call fails with [`Error::NoSuchKernel`] if there is no such kernel for its mode, if
    /// [`Engine::with_kernels`](crate::Engine::with_kernels) does not allow it, or if a number of the geometry is out of bounds.
    pub fn by(self, choice: Choice) -> Self {
        Self { choice: Some(choice), ..self }
    }

    /// Loads every kernel that calls of a mode may use, whatever their size, and waits for the known answers they must give, unless that
    /// was done before. These are the kernels that [`by`](Self::by) names, else all that
    /// [`Engine::with_kernels`](crate::Engine::with_kernels) allows. [`Kernels::AutoAny`](crate::Kernels::AutoAny) allows every kernel for
    /// the mode on this device.
    ///
    /// # Errors
    /// [`Error::SelfTestFailed`], [`Error::NotInKernel`] on a kernel for another mode, [`Error::NoSuchKernel`] if there is no such kernel,
    /// and any error the driver reports.
    pub fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.key()?.prepare(mode, self.choice)
    }

    /// Loads everything that calls of an operation need, unless that was done before: if it hashes, also the GHASH kernel and the tables of
    /// the key. AES-GCM-SIV and XAES-256-GCM have tables for each message, built in its call.
    ///
    /// # Errors
    /// [`Error::SelfTestFailed`], [`Error::NotInKernel`] on a kernel for another mode, [`Error::NoSuchKernel`] if there is no such kernel,
    /// [`Error::NeedsKey`] for an operation that hashes, on a cipher of one kernel, and any error the driver reports.
    pub fn prepare_for<O: Operation>(&self, operation: &O) -> Result<(), Error> {
        operation.clone().carry_out(Preparation(self))
    }

    /// Does an operation on `data`: `&mut data` in place, or into it where the operation only writes; or from an input to an output of the same
    /// length, `(&input, &mut output)`.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::WrongAccess`] for input and output of an operation that only reads or only writes, any error of the
    /// operation's own checks, [`Error::Unsupported`] for an operation without kernels, [`Error::WrongCall`] for one that hashes or has its own
    /// keys, [`Error::OtherContext`], and any error the driver reports.
    pub fn run<O: Operation<Output = ()>>(
        &self,
        stream: &CudaStream,
        operation: O,
        data: impl DeviceBuffers,
    ) -> Result<(), Error> {
        self.call(stream, operation, data, |operation, data| operation.carry_out(Put { cipher: self, data }))
    }

    /// Does an operation that returns a value, such as the tag of [`GcmEncrypt`](crate::GcmEncrypt): on `&mut data`, in place, or only reading
    /// it; or from an input to an output of the same length, `(&input, &mut output)`. It returns when the work is on the stream; the value is
    /// available once the stream has reached it.
    ///
    /// [`GcmDecrypt`](crate::GcmDecrypt) writes plaintext, and clears it on the same stream if it is not authentic. Look at it, from the
    /// host or from another stream, only after that, and use none of it before [`Pending::wait`] has reported that it is authentic. Later
    /// work on the same stream sees the message or zeros.
    ///
    /// The first call under a key builds the hash tables of the key, and waits for them, unless [`prepare_for`](Self::prepare_for) did.
    ///
    /// AES-GCM-SIV and XAES-256-GCM have their own key and tables for each message. So each call waits until these are on the device, and
    /// the [`Pending`], when it has the value or is dropped, waits for everything the device is doing.
    /// [`GcmSivEncrypt`](crate::GcmSivEncrypt) makes two passes over the data, and waits here until the stream reaches the end of the
    /// first. [`GcmSivDecrypt`](crate::GcmSivDecrypt) does not wait for the stream, unless it is the default stream or was created without
    /// `CU_STREAM_NON_BLOCKING`: copies of the tables wait for such streams.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::WrongAccess`] for input and output of an operation that only reads or only writes, any error of the
    /// operation's own checks, [`Error::Unsupported`] for an operation without kernels, [`Error::WrongCall`] for one that returns no value and
    /// has no keys of its own, [`Error::NeedsKey`] on a cipher of one kernel, [`Error::InCapture`] on a stream that is being captured into a
    /// graph, [`Error::OtherContext`], and any error the driver reports.
    pub fn run_with_output<O: Operation>(
        &self,
        stream: &CudaStream,
        operation: O,
        data: impl DeviceBuffers,
    ) -> Result<Pending<O>, Error> {
        self.call(stream, operation, data, |operation, data| {
            operation.carry_out(PutWithOutput { cipher: self, own: None, data }).map(Pending)
        })
    }

    /// Does an operation that returns a value on raw device pointers and a raw stream; `input` may equal `output`. `len` is in bytes. An
    /// operation that only reads ignores `output`, which may be 0. When to look at the output, and what the call waits for, is said at
    /// [`run_with_output`](Self::run_with_output).
    ///
    /// # Safety
    /// `input` and `output`, as far as the operation reads and writes them, point to `len` bytes of memory that this device can reach, live
    /// until the work is done; `stream` is live and belongs to the engine's context.
    ///
    /// # Errors
    /// Any error of the operation's own checks, [`Error::Unsupported`] for an operation without kernels, [`Error::WrongCall`] for one that
    /// returns no value and has no keys of its own, [`Error::NeedsKey`] on a cipher of one kernel, [`Error::InCapture`] on a stream that is
    /// being captured into a graph, [`Error::Overlap`] if the ranges overlap without being equal, and any error the driver reports.
    pub unsafe fn run_raw_with_output<O: Operation>(
        &self,
        stream: CUstream,
        operation: O,
        input: CUdeviceptr,
        output: CUdeviceptr,
        len: u64,
    ) -> Result<Pending<O>, Error> {
        // SAFETY: as the caller guarantees.
        let data = unsafe { OnStream::new(self.device, stream, input, output, len) };
        operation.carry_out(PutWithOutput { cipher: self, own: None, data }).map(Pending)
    }

    /// Does an operation that makes a tag, [`GcmEncrypt`](crate::GcmEncrypt) or [`Gmac`](crate::Gmac), on data as in
    /// [`run_with_output`](Self::run_with_output), and writes the tag to the first 16 bytes of `tag`. Nothing comes to the host and nothing is
    /// waited for, here or later: later work on the stream sees the tag.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::WrongAccess`] for input and output of an operation that only reads, any error of the operation's
    /// own checks, [`Error::Unsupported`] for an operation that makes no tag in one pass, [`Error::NeedsKey`] on a cipher of one kernel,
    /// [`Error::InCapture`] on a stream that is being captured into a graph, because each launch of the graph would use the nonce again,
    /// [`Error::OutOfRange`] for fewer than 16 bytes of `tag`, [`Error::OtherContext`], and any error the driver reports.
    pub fn run_to_tag<O: Operation<Output = Tag>>(
        &self,
        stream: &CudaStream,
        operation: O,
        data: impl DeviceBuffers,
        tag: &mut impl DevicePtrMut<u8>,
    ) -> Result<(), Error> {
        self.own(&[stream, tag.stream()])?;
        if tag.len() < HASH {
            return Err(Error::OutOfRange { at: 0, bytes: HASH, len: tag.len() });
        }
        self.call(stream, operation, data, |operation, data| {
            // The guard orders the tag's memory on the stream.
            let (tag, _made) = tag.device_ptr_mut(stream);
            operation.carry_out(PutTag { cipher: self, data, tag })
        })
    }

    /// Does an operation that makes a tag on raw device pointers and a raw stream; `input` may equal `output`. `len` is in bytes. An
    /// operation that only reads ignores `output`, which may be 0. The tag goes to the 16 bytes at `tag`, which is a multiple of 4
    /// ([`run_to_tag`](Self::run_to_tag)).
    ///
    /// # Safety
    /// `input` and `output`, as far as the operation reads and writes them, point to `len` bytes, and `tag` to 16 bytes, of memory that this
    /// device can reach, live until the work is done; `stream` is live and belongs to the engine's context.
    ///
    /// # Errors
    /// Those of [`run_to_tag`](Self::run_to_tag), and [`Error::Overlap`] if input and output overlap without being equal, or either and the
    /// tag. If the driver refuses a launch, discard output and tag.
    pub unsafe fn run_raw_to_tag<O: Operation<Output = Tag>>(
        &self,
        stream: CUstream,
        operation: O,
        input: CUdeviceptr,
        output: CUdeviceptr,
        len: u64,
        tag: CUdeviceptr,
    ) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        let data = unsafe { OnStream::new(self.device, stream, input, output, len) };
        operation.carry_out(PutTag { cipher: self, data, tag })
    }

    /// Does an operation on raw device pointers and a raw stream; `input` may equal `output`. `len` is in bytes. An operation that only
    /// writes ignores `input`, which may be 0.
    ///
    /// # Safety
    /// `input` and `output`, as far as the operation reads and writes them, point to `len` bytes of memory that this device can reach, live
    /// until the work is done; `stream` is live and belongs to the engine's context.
    ///
    /// # Errors
    /// Any error of the operation's own checks, [`Error::Unsupported`] for an operation without kernels, [`Error::WrongCall`] for one that
    /// hashes or has its own keys, [`Error::Overlap`] if the ranges overlap without being equal, and any error the driver reports.
    pub unsafe fn run_raw<O: Operation<Output = ()>>(
        &self,
        stream: CUstream,
        operation: O,
        input: CUdeviceptr,
        output: CUdeviceptr,
        len: u64,
    ) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        let data = unsafe { OnStream::new(self.device, stream, input, output, len) };
        operation.carry_out(Put { cipher: self, data })
    }

    /// Makes a call on a stream with data that an operation with this access, and of this name, takes.
    ///
    /// # Errors
    /// [`Error::OtherContext`], [`Error::WrongAccess`], [`Error::LengthMismatch`], and those of the call.
    pub(crate) fn with_data<R>(
        &self,
        stream: &CudaStream,
        data: impl DeviceBuffers,
        (access, operation): (Access, &'static str),
        call: impl FnOnce(Addresses) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let [input, output] = data.streams();
        self.own(&[stream, input, output])?;
        if data.is_pair() && access != Access::Maps {
            return Err(access.refused(operation));
        }
        data.with(stream, call)
    }

    /// Puts an operation on a stream, with the data that it is on.
    fn call<O: Operation, R>(
        &self,
        stream: &CudaStream,
        operation: O,
        data: impl DeviceBuffers,
        put: impl FnOnce(O, OnStream<'a>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.with_data(stream, data, (operation.access(), O::NAME), |Addresses { input, output, len }| {
            // SAFETY: the memory is borrowed for the call, and ordered on the stream by its guards; the stream is of the engine's context.
            put(operation, unsafe { OnStream::new(self.device, stream.cu_stream(), input, output, len) })
        })
    }

    /// Refuses streams of another context than the engine's.
    pub(crate) fn own(&self, streams: &[&CudaStream]) -> Result<(), Error> {
        let own = self.device.context().shared().cu_ctx();
        if streams.iter().all(|stream| stream.context().cu_ctx() == own) { Ok(()) } else { Err(Error::OtherContext) }
    }
}

impl Target for DeviceCipher<'_> {
    fn cpu(&self) -> Option<&CpuKey> {
        self.cpu.map(|cpu| &**cpu)
    }

    fn kernels_for<O: Operation>(&self, operation: &O) -> Result<KernelsNeeded, Error> {
        if self.key.is_none() && O::KEYS != Keys::Own {
            return Err(Error::NeedsKey { what: O::NAME });
        }
        let kernels = operation.kernels();
        // Which kernels there are for a cipher alone depends on the key, and is found when one is chosen.
        let is_chosen_later = !kernels.return_value();
        if kernels.exist() && (is_chosen_later || self.device.supports(kernels)) {
            return Ok(kernels);
        }
        Err(Error::Unsupported { operation: O::NAME, backend: MEMORY.into() })
    }
}

/// The data of a call in device memory, and its stream, which is live and belongs to the context of the device. The memory is the device's,
/// and live until the work is done.
#[derive(Clone, Copy)]
struct OnStream<'k> {
    device: &'k Device,
    stream: CUstream,
    input: CUdeviceptr,
    output: CUdeviceptr,
    len: u64,
    returns_value: Option<bool>,
}

impl<'k> OnStream<'k> {
    /// # Safety
    /// The stream is live and belongs to the context of the device; the memory is the device's, and live until the work is done.
    unsafe fn new(device: &'k Device, stream: CUstream, input: CUdeviceptr, output: CUdeviceptr, len: u64) -> Self {
        Self { device, stream, input, output, len, returns_value: None }
    }
}

impl Data for OnStream<'_> {
    type Checked = Span;

    fn returns_value(&self) -> Option<bool> {
        self.returns_value
    }

    fn checked<O: Operation>(self, operation: &O) -> Result<(Span, u64), Error> {
        let span = span(operation.access(), self.input, self.output, self.len)?;
        self.device.enter()?;
        let returns_value = self.returns_value != Some(false);
        // SAFETY: as the type says.
        if returns_value && unsafe { capture::is_in_capture(self.device.context(), self.stream) }? {
            return Err(Error::InCapture { operation: O::NAME });
        }
        Ok((span, self.len))
    }
}

/// A call that puts an operation on a stream, which returns nothing.
struct Put<'k> {
    cipher: &'k DeviceCipher<'k>,
    data: OnStream<'k>,
}

impl Place for Put<'_> {
    type Value<V: Send + 'static> = ();

    fn pass<O: Pass>(self, operation: O) -> Result<(), Error> {
        let Self { cipher, data } = self;
        let data = OnStream { returns_value: Some(false), ..data };
        let (call, span) = Call::scrubbed(cipher, operation, data)?;
        // SAFETY: as the type of the data says.
        unsafe { cipher.put(data.stream, span, &call) }
    }

    fn composed<C: Composition>(self, _composition: C) -> Result<(), Error> {
        Err(Error::WrongCall { operation: C::NAME, call: "run_with_output" })
    }
}

/// A call that puts an operation on a stream, which returns a value.
struct PutWithOutput<'k> {
    cipher: &'k DeviceCipher<'k>,
    /// The key of the call, where it has its own.
    own: Option<DeviceKey>,
    data: OnStream<'k>,
}

impl PutWithOutput<'_> {
    /// Puts a pass over the data on the stream, without waiting.
    fn start<O: Pass>(self, operation: O) -> Result<Started<O>, Error> {
        let Self { cipher, own, data } = self;
        let (call, span) = Call::scrubbed(cipher, operation, data)?;
        // SAFETY: as the type of the data says.
        let results = unsafe { cipher.put_with_results(data.stream, span, &call) }?;
        Ok(Started { call, results, _own: own })
    }
}

/// The work of checked calls.
impl DeviceCipher<'_> {
    /// Puts the cipher of a call on a stream, without waiting.
    ///
    /// # Safety
    /// The stream is live and belongs to the context of the device; the span is within memory of the device that is live until the work is done.
    unsafe fn put(&self, stream: CUstream, span: Span, work: &dyn Work) -> Result<(), Error> {
        let key = self.key()?;
        // SAFETY: as the caller promises.
        unsafe { capture::keep(key.device().context(), stream, key) }?;
        work.kernels().mode.map_or(Ok(()), |mode| {
            // SAFETY: as the caller promises.
            unsafe { key.launch(&mut { stream }, span, work, mode, self.choice) }
        })
    }

    /// Puts a call on a stream, without waiting, and returns what its value is computed from.
    ///
    /// # Safety
    /// As [`put`](Self::put).
    unsafe fn put_with_results(&self, stream: CUstream, span: Span, work: &dyn Work) -> Result<Results, Error> {
        if let Some(batch) = work.messages()? {
            if batch.is_empty() {
                // The CPU computes the results for messages that are all empty.
                return Ok(Results::None);
            }
            self.prepare_batch(&batch)?;
            // SAFETY: as the caller promises; the messages are within the length, as was checked.
            return unsafe { self.launch_batch(stream, span, &batch) }.map(Results::Batch);
        }
        let (key, len) = (self.key()?, span.len);
        // Before anything is written: known-answer tests may fail.
        if let Some(one) = key.in_one_launch(work, span, self.choice)? {
            let verdict = work.verdict(len).or_else(|| work.tag(len).map(Verdict::none));
            // SAFETY: as the caller promises.
            return unsafe {
                match verdict {
                    Some(verdict) => self.launch_for_terms(stream, &one, &verdict).map(Results::Terms),
                    None => Ok(Results::Hash(len, self.launch_all(key, stream, span, work, Some(&one), None)?)),
                }
            };
        }
        work.hash_key().map_or(Ok(()), |hash| key.hash_kernel(hash).map(drop))?;
        if len == 0 {
            return Ok(Results::None);
        }
        let terms = work.tag(len);
        // SAFETY: as the caller promises.
        let memory = unsafe { self.launch_all(key, stream, span, work, None, terms.as_ref()) }?;
        Ok(if terms.is_some() { Results::Sum(memory) } else { Results::Hash(len, memory) })
    }

    /// Puts a call that makes a tag on a stream, without waiting; the tag is written to `tag`, in memory as that of the data.
    ///
    /// # Safety
    /// As [`put`](Self::put); the tag is in such memory, too.
    unsafe fn put_with_tag(
        &self,
        stream: CUstream,
        span: Span,
        work: &dyn Work,
        tag: CUdeviceptr,
    ) -> Result<(), Error> {
        let no_tag = || Error::Unsupported { operation: work.name(), backend: "a tag in GPU memory".into() };
        let (terms, hash) = work.tag(span.len).zip(work.hash_key()).ok_or_else(no_tag)?;
        if !tag.is_multiple_of(4) {
            let what = "the tag is made at a multiple of 4 bytes: give such a place for it".into();
            return Err(Error::Length { operation: work.name(), what });
        }
        let overlaps = |data: CUdeviceptr| data < tag + HASH as u64 && tag < data + span.len;
        if span.input.into_iter().chain(span.output).any(overlaps) {
            return Err(Error::Overlap);
        }
        let key = self.key()?;
        // Before anything is written: its known-answer test may fail.
        if let Some(one) = key.in_one_launch(work, span, self.choice)? {
            // SAFETY: as the caller promises.
            return unsafe { one.run(key.device(), stream, &Verdict::none(terms), tag) };
        }
        key.hash_kernel(hash)?;
        // SAFETY: as the caller promises.
        unsafe {
            key.driver().clear(&mut { stream }, tag, HASH)?;
            self.launch_steps(key, stream, span, work, Sum { terms: &terms, at: tag })
        }
    }

    /// Loads everything that a call needs, unless that was done before.
    fn prepare_work(&self, work: &dyn Work) -> Result<(), Error> {
        self.device.enter()?;
        match work.messages()? {
            Some(batch) => {
                self.prepare_batch(&batch)?;
                self.prepare_described(&batch)
            }
            None => self.key()?.prepare_call(work, self.choice),
        }
    }

    /// Puts a call that one launch performs on a stream, without waiting: its tag or its verdict comes back in pinned memory.
    ///
    /// # Safety
    /// As [`put`](Self::put).
    unsafe fn launch_for_terms(
        &self,
        stream: CUstream,
        one: &InOneLaunch<'_>,
        verdict: &Verdict,
    ) -> Result<TagResult, Error> {
        let device = self.device;
        let mut result = device.tag_results.take()?;
        // SAFETY: as the caller promises; the result's memory is live until the work is done.
        unsafe { result.fill(stream, |terms| one.run(device, stream, verdict, terms)) }?;
        Ok(result)
    }

    /// Puts the launches of a call on a stream, without waiting. The hash is added to the sum, if there is one.
    ///
    /// # Safety
    /// As [`put`](Self::put); the sum is in such memory, too.
    unsafe fn launch_steps(
        &self,
        key: &DeviceKey,
        stream: CUstream,
        span: Span,
        work: &dyn Work,
        sum: Sum<'_, CUdeviceptr>,
    ) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        let launch = |step| unsafe { key.launch_step(&mut { stream }, span, work, step, self.choice, sum) };
        work.kernels().steps().try_for_each(launch)
    }

    /// Puts all steps of a call on a stream, without waiting, or the one launch that performs them. The memory has the hash, or with its terms
    /// the `tag`; zeros where none is computed.
    ///
    /// # Safety
    /// As [`put`](Self::put).
    unsafe fn launch_all(
        &self,
        key: &DeviceKey,
        stream: CUstream,
        span: Span,
        work: &dyn Work,
        one: Option<&InOneLaunch<'_>>,
        tag: Option<&Terms>,
    ) -> Result<HashMemory, Error> {
        let mut memory = key.device().hash_memories.take(tag.is_some())?;
        // SAFETY: as the caller promises; the memory is live until the work is done.
        unsafe {
            memory.fill(stream, |hash| {
                let of_hash = Terms::of_hash();
                let launched = match one {
                    Some(one) => one.run(key.device(), stream, &Verdict::none(of_hash), hash),
                    None => {
                        let sum = Sum { terms: tag.unwrap_or(&of_hash), at: hash };
                        self.launch_steps(key, stream, span, work, sum)
                    }
                };
                launched
                    .and_then(|()| key.clear_unless_authentic(&mut { stream }, span, work, hash))
                    .inspect_err(|_| clear_unverified(stream, span, work))
            })?;
        }
        Ok(memory)
    }
}

/// After a failure, clears what a call that verifies may have decrypted: data that was not verified must not stay there. If even this fails,
/// nothing more can be done.
///
/// # Safety
/// The span is within memory of the device that is live until the work is done; the stream is live.
unsafe fn clear_unverified(stream: CUstream, span: Span, work: &dyn Work) {
    let verifies = work.verdict(span.len).is_some();
    if let Some(output) = span.output.filter(|_| verifies && span.len > 0) {
        // SAFETY: as the caller guarantees.
        let _ = unsafe { result::memset_d8_async(output, 0, span.len as usize, stream) };
    }
}

impl Place for PutWithOutput<'_> {
    type Value<V: Send + 'static> = Later<V>;

    fn pass<O: Pass>(mut self, operation: O) -> Result<Later<O::Output>, Error> {
        self.data.returns_value = Some(true);
        Ok(self.start(operation)?.later(|value| value))
    }

    fn composed<C: Composition>(self, composition: C) -> Result<Later<C::Output>, Error> {
        let Self { cipher, data, .. } = self;
        let (_, bytes) = data.checked(&composition)?;
        call::check(cipher, &composition, bytes)?;
        let derived = cipher.derived(&composition)?;
        let OwnKey { key, cpu } = derived.as_ref();
        let own = cipher.key()?.of_one_call(key)?;
        let cipher = DeviceCipher { key: Some(&own), cpu: Some(cpu), ..*cipher };
        let place = PutWithOutput { cipher: &cipher, own: Some(own.clone()), data };
        composition.clone().passes(derived.clone(), place)
    }
}

impl Passes for PutWithOutput<'_> {
    fn read<O: Pass>(&self, operation: O) -> Result<O::Output, Error> {
        PutWithOutput { own: None, ..*self }.start(operation)?.wait()
    }

    fn last<O: Pass, V: Send + 'static>(self, operation: O, value: V) -> Result<Later<V>, Error> {
        Ok(self.start(operation)?.later(|_| value))
    }
}

/// A call that puts an operation on a stream, which writes its tag to device memory.
struct PutTag<'k> {
    cipher: &'k DeviceCipher<'k>,
    data: OnStream<'k>,
    /// The tag's place, in memory as that of the data.
    tag: CUdeviceptr,
}

impl Place for PutTag<'_> {
    type Value<V: Send + 'static> = ();

    fn pass<O: Pass>(self, operation: O) -> Result<(), Error> {
        let Self { cipher, data, tag } = self;
        let data = OnStream { returns_value: Some(true), ..data };
        let (call, span) = Call::scrubbed(cipher, operation, data)?;
        // SAFETY: as the type of the data says; the tag's place is as well.
        unsafe { cipher.put_with_tag(data.stream, span, &call, tag) }
    }

    fn composed<C: Composition>(self, _composition: C) -> Result<(), Error> {
        Err(Error::Unsupported { operation: C::NAME, backend: "a tag in GPU memory".into() })
    }
}

/// Loads everything that calls of an operation need.
struct Preparation<'k>(&'k DeviceCipher<'k>);

impl Preparation<'_> {
    fn prepare<O: Pass>(&self, operation: O) -> Result<Call<O>, Error> {
        let Self(cipher) = self;
        let call = Call::without_data(*cipher, operation)?;
        cipher.prepare_work(&call)?;
        Ok(call)
    }
}

impl Place for Preparation<'_> {
    type Value<V: Send + 'static> = ();

    fn pass<O: Pass>(self, operation: O) -> Result<(), Error> {
        self.prepare(operation).map(drop)
    }

    fn composed<C: Composition>(self, composition: C) -> Result<(), Error> {
        let Self(cipher) = self;
        // No data, but a nonce, whose length counts.
        call::check(cipher, &composition, 0)?;
        let derived = cipher.derived(&composition)?;
        let OwnKey { key, cpu } = derived.as_ref();
        cipher.device.enter()?;
        let own = cipher.key()?.of_one_call(key)?;
        let cipher = DeviceCipher { key: Some(&own), cpu: Some(cpu), ..*cipher };
        composition.passes(derived.clone(), Preparation(&cipher))
    }
}

/// Passes over no data: a value that a pass returns is that of an empty message.
impl Passes for Preparation<'_> {
    fn read<O: Pass>(&self, operation: O) -> Result<O::Output, Error> {
        self.prepare(operation)?.finish(vec![])
    }

    fn last<O: Pass, V: Send + 'static>(self, operation: O, _value: V) -> Result<(), Error> {
        self.prepare(operation).map(drop)
    }
}

impl DeviceCipher<'_> {
    /// What a composition derives from the key, none of which is left on the stack.
    fn derived<C: Composition>(&self, composition: &C) -> Result<C::Derived, Error> {
        let cpu = self.cpu().ok_or(Error::NeedsKey { what: C::NAME })?;
        cpu.scrubbed(|| composition.derive(cpu))
    }
}

/// The span of a call, whose input and output are the same or apart.
pub(crate) fn span(access: Access, input: CUdeviceptr, output: CUdeviceptr, len: u64) -> Result<Span, Error> {
    if access == Access::Maps && input != output && input.abs_diff(output) < len {
        return Err(Error::Overlap);
    }
    Ok(Span::new(access, input, output, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_the_same_or_apart() {
        let span = |input, output, len| span(Access::Maps, input, output, len);
        assert!(span(4096, 4096, 100).is_ok());
        assert!(span(4096, 4196, 100).is_ok() && span(4196, 4096, 100).is_ok());
        assert!(matches!(span(4096, 4195, 100), Err(Error::Overlap)));
        assert!(matches!(span(4097, 4096, 2), Err(Error::Overlap)));
    }

    #[test]
    fn what_is_not_read_does_not_overlap() {
        assert!(span(Access::Writes, 4095, 4096, 100).is_ok());
    }
}
