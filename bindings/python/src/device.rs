//! One operation on GPU memory, on the caller's stream, without waiting.

use crate::dlpack::Place;
use crate::driver::enter;
use crate::error::{Error, UnavailableError, of_runtime};
use crate::memory::{Call, Memory, Stream};
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaContext, DriverError, result, sys};
use aes_bitslice_runtime::cuda::{
    DeviceBatch, DeviceBytes, DeviceCipher, DeviceTags, GcmJobInputs, GcmJobLayout, JobLayout, Pending,
};
use aes_bitslice_runtime::{Cipher, EachKey, Engine, Error as Runtime, Mode, Operation, Tag};
use pyo3::prelude::*;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// A key on one GPU, as calls use it.
pub struct OnDevice<'a> {
    cipher: DeviceCipher<'a>,
    context: Arc<CudaContext>,
    /// The modes whose kernels were loaded, one bit each, for all GPUs of the cipher.
    loaded: &'a AtomicU64,
    bit: u32,
}

impl<'a> OnDevice<'a> {
    /// The key of a cipher on the GPU with this number.
    pub fn of(cipher: &'a Cipher, ordinal: usize, loaded: &'a AtomicU64) -> PyResult<Self> {
        let (at, context) = context_of(cipher.engine(), ordinal)?;
        let key = cipher.devices().map_err(of_runtime)?.swap_remove(at);
        // There is room for eight GPUs; any further ones share the last place.
        let bit = 8 * (at as u32).min(7);
        Ok(Self { cipher: key, context, loaded, bit })
    }

    /// Loads the kernels of a mode, unless that was done before.
    pub fn prepare(&self, mode: Mode) -> Result<(), Runtime> {
        self.cipher.prepare(mode)?;
        self.loaded.fetch_or(self.mask(mode), Ordering::Relaxed);
        Ok(())
    }

    /// Loads everything that an operation needs, including the tables of the key's hash.
    pub fn prepare_for<O: Operation>(&self, operation: &O) -> Result<(), Runtime> {
        self.cipher.prepare_for(operation)
    }

    fn mask(&self, mode: Mode) -> u64 {
        // The counter mode of AES-GCM-SIV is prepared with its operation.
        let mut modes = Mode::ALL.iter().filter(|&&mode| mode != Mode::CtrLe32);
        1 << (self.bit + modes.position(|&m| m == mode).unwrap_or(0) as u32)
    }

    /// Does an operation that returns nothing.
    pub fn run<O: Operation<Output = ()>>(&self, call: &Call<'_>, mode: Mode, operation: O) -> PyResult<()> {
        let stream = stream_of(call);
        if self.loaded.load(Ordering::Relaxed) & self.mask(mode) == 0 {
            if is_captured(&self.context, stream) {
                return Err(Error::new_err(format!(
                    "the stream is being captured into a graph, and the kernels are not loaded yet: call cipher.prepare(\"{}\") before",
                    mode.name()
                )));
            }
            call.py().detach(|| self.prepare(mode)).map_err(of_runtime)?;
        }
        // SAFETY: the objects hold their memory until the call has returned, and free it in stream order, as they do for their libraries' own
        // kernels; the stream belongs to this device, as its library or the caller says.
        self.put(call, |stream, input, output, len| unsafe {
            self.cipher.run_raw(stream, operation, input, output, len)
        })
    }

    /// Does an operation that returns a value when the stream has reached it.
    pub fn run_with_output<O: Operation>(&self, call: &Call<'_>, operation: O) -> PyResult<Pending<O>> {
        // SAFETY: as in `run`.
        self.put(call, |stream, input, output, len| unsafe {
            self.cipher.run_raw_with_output(stream, operation, input, output, len)
        })
    }

    /// Does an operation that makes a tag, whose 16 bytes go to the address `tag`.
    pub fn run_to_tag<O: Operation<Output = Tag>>(&self, call: &Call<'_>, operation: O, tag: u64) -> PyResult<()> {
        // SAFETY: as in `run`, also for the tag.
        self.put(call, |stream, input, output, len| unsafe {
            self.cipher.run_raw_to_tag(stream, operation, input, output, len, tag)
        })
    }

    /// Encrypts or decrypts messages that arrays on this GPU describe.
    pub fn run_described(&self, call: &Call<'_>, batch: &DeviceBatch, tags: DeviceTags, fault: u64) -> PyResult<()> {
        // SAFETY: as in `run`, also for what is not data.
        self.put(call, |stream, input, output, len| unsafe {
            self.cipher.run_raw_described(stream, batch, tags, input, output, len, fault)
        })
    }

    /// Puts work on the stream of a call; it gets the stream, the addresses of input and output, and the number of bytes.
    fn put<T: Send>(
        &self,
        call: &Call<'_>,
        work: impl FnOnce(sys::CUstream, u64, u64, u64) -> Result<T, Runtime> + Send,
    ) -> PyResult<T> {
        put(&self.context, call, work)
    }
}

/// Puts work on the stream of a call; it gets the stream, the addresses of input and output, and the number of bytes.
fn put<T: Send>(
    context: &Arc<CudaContext>,
    call: &Call<'_>,
    work: impl FnOnce(sys::CUstream, u64, u64, u64) -> Result<T, Runtime> + Send,
) -> PyResult<T> {
    let (stream, (input, output, len)) = (stream_of(call), call.on_device());
    call.py().detach(|| {
        let done = work(stream.handle as sys::CUstream, input, output, len).map_err(of_runtime)?;
        wait(context, stream)?;
        Ok(done)
    })
}

/// A layout on one GPU.
pub struct LayoutOnDevice<T> {
    layout: T,
    context: Arc<CudaContext>,
}

impl<T: Send> LayoutOnDevice<T> {
    /// What `make` makes on the engine's only GPU.
    pub fn of(
        py: Python<'_>,
        engine: &Engine,
        make: impl FnOnce(&DeviceCipher<'_>) -> Result<T, Runtime> + Send,
    ) -> PyResult<Self> {
        let made = || {
            let (cipher, context) = (engine.under_own_keys(), engine.cuda_context()?);
            Ok(Self { layout: make(&cipher.device()?)?, context })
        };
        py.detach(made).map_err(of_runtime)
    }

    /// The layout.
    pub fn layout(&self) -> &T {
        &self.layout
    }

    /// The number of its GPU.
    pub fn ordinal(&self) -> usize {
        self.context.ordinal()
    }
}

impl LayoutOnDevice<JobLayout> {
    /// Does jobs under keys that are on this GPU.
    pub fn run(&self, call: &Call<'_>, keys: DeviceBytes, counters: DeviceBytes) -> PyResult<()> {
        // SAFETY: as in `OnDevice::run`, also for what is not data.
        put(&self.context, call, |stream, input, output, len| unsafe {
            self.layout.run_raw(stream, keys, counters, input, output, len)
        })
    }
}

impl LayoutOnDevice<GcmJobLayout> {
    /// Encrypts or decrypts messages under keys that are on this GPU.
    pub fn run_gcm(&self, call: &Call<'_>, inputs: &GcmJobInputs, tags: DeviceTags) -> PyResult<()> {
        // SAFETY: as in `OnDevice::run`, also for what is not data.
        put(&self.context, call, |stream, input, output, len| unsafe {
            self.layout.run_raw(stream, inputs, tags, input, output, len)
        })
    }
}

/// Calls under many keys on one GPU.
pub struct JobsOnDevice<'a> {
    /// Without a key.
    cipher: Cipher,
    context: Arc<CudaContext>,
    /// Whether the kernels were loaded: one bit for those that encrypt, one for those that decrypt.
    loaded: &'a AtomicU8,
}

impl<'a> JobsOnDevice<'a> {
    /// On the GPU with this number, which must be the engine's only one.
    pub fn of(engine: &'a Engine, ordinal: usize, loaded: &'a AtomicU8) -> PyResult<Self> {
        let (_, context) = context_of(engine, ordinal)?;
        let cipher = engine.under_own_keys();
        cipher.device().map_err(of_runtime)?;
        Ok(Self { cipher, context, loaded })
    }

    /// Runs jobs, or messages of GCM, and waits for them: their keys are wiped on the GPU before this returns.
    pub fn run<O: Operation>(&self, call: &Call<'_>, operation: O) -> PyResult<O::Output> {
        let (stream, (input, output, len)) = (stream_of(call), call.on_device());
        call.py().detach(|| {
            let device = self.cipher.device().map_err(of_runtime)?;
            // SAFETY: as in `OnDevice::run`.
            let pending =
                unsafe { device.run_raw_with_output(stream.handle as sys::CUstream, operation, input, output, len) };
            pending.and_then(|pending| pending.wait()).map_err(of_runtime)
        })
    }

    /// Processes the same number of bytes in a mode under each of the keys, which are on this GPU.
    pub fn run_each_key(&self, call: &Call<'_>, (mode, each): (Mode, &EachKey), keys: &Memory) -> PyResult<()> {
        let stream = stream_of(call);
        let bit = 1 << u8::from(mode == Mode::EcbDecrypt);
        if self.loaded.load(Ordering::Relaxed) & bit == 0 && is_captured(&self.context, stream) {
            return Err(Error::new_err(format!(
                "the stream is being captured into a graph, and the kernels for many keys are not loaded yet: make a call in the mode \
                 `{}` before",
                mode.name()
            )));
        }
        let ((input, output, len), (pointer, bytes)) = (call.on_device(), (keys.pointer, keys.len));
        let waits = stream.waits || keys.stream.is_some_and(|stream| stream.waits);
        call.py().detach(|| {
            let handle = stream.handle as sys::CUstream;
            let device = self.cipher.device().map_err(of_runtime)?;
            // SAFETY: as in `OnDevice::run`, also for the keys.
            unsafe { device.run_each_key_raw(handle, each, pointer, bytes, input, output, len) }.map_err(of_runtime)?;
            self.loaded.fetch_or(bit, Ordering::Relaxed);
            wait(&self.context, Stream { waits, ..stream })
        })
    }
}

/// Memory of a GPU that is held, and the stream for work on it.
#[derive(Clone, Copy)]
pub struct Span<'a> {
    pointer: u64,
    len: u64,
    ordinal: usize,
    stream: u64,
    held: PhantomData<&'a ()>,
}

impl<'a> Span<'a> {
    /// `None` for host memory.
    pub fn of(memory: &'a Memory) -> Option<Self> {
        let (Place::Cuda(ordinal), Some(stream)) = (memory.place, memory.stream) else { return None };
        let Memory { pointer, len, .. } = *memory;
        Some(Self { pointer, len, ordinal, stream: stream.handle, held: PhantomData })
    }

    /// Copies what `fill` writes, on its stream, and waits for all of that. `fill` gets one half of `room` while the other is copied, and
    /// returns where the bytes go that it wrote at the front, or `None` at the end.
    pub fn fill<E: From<Runtime>>(
        &self,
        room: &mut [u8],
        mut fill: impl FnMut(&mut [u8]) -> Result<Option<Range<u64>>, E>,
    ) -> Result<(), E> {
        let failed = |e: DriverError| Runtime::Cuda { call: "cuMemcpyHtoDAsync".into(), code: format!("{:?}", e.0) };
        enter(&CudaContext::new(self.ordinal).map_err(failed)?).map_err(failed)?;
        let stream = self.stream as sys::CUstream;
        // Whatever happens, a half is not given back while it is copied.
        let copies = Waited(stream);
        let (mut this, mut other) = room.split_at_mut(room.len().div_ceil(2));
        loop {
            let Some(Range { start, end }) = fill(this)? else { return Ok(copies.wait().map_err(failed)?) };
            copies.wait().map_err(failed)?;
            assert!(start <= end && end <= self.len, "the bytes have room");
            let bytes = &this[..(end - start) as usize];
            // SAFETY: the memory is held and has room, as was just checked, and the bytes stay until the copy was waited for.
            let copied = unsafe { result::memcpy_htod_async(self.pointer + start, bytes, stream) };
            copied.map_err(failed)?;
            if other.is_empty() {
                copies.wait().map_err(failed)?;
            } else {
                std::mem::swap(&mut this, &mut other);
            }
        }
    }
}

/// A live stream whose copies are waited for, whatever happens.
struct Waited(sys::CUstream);

impl Waited {
    fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: who made this has said that it is live.
        unsafe { result::stream::synchronize(self.0) }
    }
}

impl Drop for Waited {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

/// Whether the stream is being captured into a graph.
fn is_captured(context: &Arc<CudaContext>, stream: Stream) -> bool {
    if enter(context).is_err() {
        return false;
    }
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream is live and of this context, and the pointer to a live value.
    let asked = unsafe { sys::cuStreamIsCapturing(stream.handle as sys::CUstream, &mut status) };
    // Asking about the legacy stream is an error while another stream is captured.
    asked.result().is_err() || status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE
}

/// The position of the GPU with this number in the engine, and its context.
fn context_of(engine: &Engine, ordinal: usize) -> PyResult<(usize, Arc<CudaContext>)> {
    let elsewhere = || {
        let backend = engine.backend();
        UnavailableError::new_err(format!(
            "the data is in the memory of CUDA device {ordinal}, and this engine is {backend}: open Engine(\"cuda:{ordinal}\")"
        ))
    };
    let contexts = engine.cuda_contexts().map_err(|_| elsewhere())?;
    let found = contexts.into_iter().enumerate().find(|(_, context)| context.ordinal() == ordinal);
    found.ok_or_else(elsewhere)
}

/// Waits for the stream if the array's library would not.
fn wait(context: &Arc<CudaContext>, stream: Stream) -> PyResult<()> {
    if stream.waits { synchronized(context, stream.handle) } else { Ok(()) }
}

fn stream_of(call: &Call<'_>) -> Stream {
    call.stream.expect("memory of a GPU comes with a stream")
}

fn synchronized(context: &Arc<CudaContext>, stream: u64) -> PyResult<()> {
    let failed =
        |what: &str, e: &dyn std::fmt::Debug| of_runtime(Runtime::Cuda { call: what.into(), code: format!("{e:?}") });
    enter(context).map_err(|e| failed("cuCtxSetCurrent", &e.0))?;
    // SAFETY: the stream is live and of this context.
    unsafe { result::stream::synchronize(stream as sys::CUstream) }.map_err(|e| failed("cuStreamSynchronize", &e.0))
}
