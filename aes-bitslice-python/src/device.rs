//! One operation on GPU memory, on the caller's stream, without waiting.

use crate::error::{Error, UnavailableError, of_runtime};
use crate::memory::{Call, Stream};
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaContext, DriverError, result, sys};
use aes_bitslice_runtime::cuda::{self, DeviceCipher, Pending};
use aes_bitslice_runtime::{Cipher, Error as Runtime, GcmEncrypt, Mode, Nonce, Operation};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A key on one GPU, as a call takes it.
pub struct OnDevice<'a> {
    cipher: DeviceCipher<'a>,
    context: Arc<CudaContext>,
    /// The modes whose kernels were loaded, a bit each, for all GPUs of the cipher.
    loaded: &'a AtomicU64,
    bit: u32,
}

impl<'a> OnDevice<'a> {
    /// The key of a cipher on the GPU with this number.
    pub fn of(cipher: &'a Cipher, ordinal: usize, loaded: &'a AtomicU64) -> PyResult<Self> {
        let backend = cipher.engine().backend();
        let elsewhere = || {
            UnavailableError::new_err(format!(
                "the data is in the memory of CUDA device {ordinal}, and this engine is {backend}: open Engine(\"cuda:{ordinal}\")"
            ))
        };
        let contexts = cipher.engine().cuda_contexts().map_err(|_| elsewhere())?;
        let at = contexts.iter().position(|context| context.ordinal() == ordinal).ok_or_else(elsewhere)?;
        let key = cipher.devices().map_err(of_runtime)?.swap_remove(at);
        // There is room for nine GPUs; those beyond have one place in common.
        let bit = Mode::ALL.len() as u32 * (at as u32).min(8);
        Ok(Self { cipher: key, context: contexts[at].clone(), loaded, bit })
    }

    /// Loads the kernels of a mode, if that was not done before.
    pub fn prepare(&self, mode: Mode) -> Result<(), Runtime> {
        self.cipher.prepare(mode)?;
        self.loaded.fetch_or(self.mask(mode), Ordering::Relaxed);
        Ok(())
    }

    /// Loads all that GCM takes, the tables of the key's hash included.
    pub fn prepare_gcm(&self) -> Result<(), Runtime> {
        self.cipher.prepare_for(&GcmEncrypt::new(&Nonce::from([0; 12]), &[]))
    }

    fn mask(&self, mode: Mode) -> u64 {
        1 << (self.bit + Mode::ALL.iter().position(|&m| m == mode).unwrap_or(0) as u32)
    }

    /// Does an operation that returns nothing.
    pub fn run<O: Operation<Output = ()>>(
        &self,
        py: Python<'_>,
        call: &Call<'_>,
        mode: Mode,
        operation: O,
    ) -> PyResult<()> {
        let stream = stream_of(call);
        if self.loaded.load(Ordering::Relaxed) & self.mask(mode) == 0 {
            if self.is_captured(stream) {
                return Err(Error::new_err(format!(
                    "the stream is being captured into a graph, and the kernels are not loaded yet: call cipher.prepare(\"{}\") before",
                    mode.name()
                )));
            }
            py.detach(|| self.prepare(mode)).map_err(of_runtime)?;
        }
        let (input, output, len) = pointers(call);
        py.detach(|| {
            // SAFETY: the objects hold their memory until the call has returned, and free it in the order of streams, as they do for
            // their libraries' own kernels; the stream is one of this device, as its library or the caller says.
            unsafe { self.cipher.run_raw(stream.handle as sys::CUstream, operation, input, output, len) }
                .map_err(of_runtime)?;
            self.wait(stream)
        })
    }

    /// Does an operation that returns a value when the stream has come to it.
    pub fn run_with_output<O: Operation>(&self, py: Python<'_>, call: &Call<'_>, operation: O) -> PyResult<Pending<O>> {
        let (input, output, len) = pointers(call);
        self.run_raw_with_output(py, stream_of(call), input, output, len, operation)
    }

    /// The same of memory that is only read.
    pub fn read<O: Operation>(
        &self,
        py: Python<'_>,
        stream: Stream,
        (input, len): (u64, u64),
        operation: O,
    ) -> PyResult<Pending<O>> {
        self.run_raw_with_output(py, stream, input, input, len, operation)
    }

    fn run_raw_with_output<O: Operation>(
        &self,
        py: Python<'_>,
        stream: Stream,
        input: u64,
        output: u64,
        len: u64,
        operation: O,
    ) -> PyResult<Pending<O>> {
        py.detach(|| {
            let handle = stream.handle as sys::CUstream;
            // SAFETY: as above.
            let pending = unsafe { self.cipher.run_raw_with_output(handle, operation, input, output, len) };
            let pending = pending.map_err(of_runtime)?;
            self.wait(stream)?;
            Ok(pending)
        })
    }

    /// Waits for the stream where the array's library would not.
    fn wait(&self, stream: Stream) -> PyResult<()> {
        match stream.waits {
            true => synchronized(&self.context, stream.handle),
            false => Ok(()),
        }
    }

    /// Whether the stream is being captured into a graph.
    fn is_captured(&self, stream: Stream) -> bool {
        if enter(&self.context).is_err() {
            return false;
        }
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream is live and of this context, and the pointer to a live value.
        let asked = unsafe { sys::cuStreamIsCapturing(stream.handle as sys::CUstream, &mut status) };
        // The legacy stream is an error while another stream is captured.
        asked.result().is_err() || status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE
    }
}

fn stream_of(call: &Call<'_>) -> Stream {
    call.stream.expect("memory of a GPU comes with a stream")
}

fn pointers(call: &Call<'_>) -> (u64, u64, u64) {
    (call.input.as_ref().map_or(call.output(), |input| input.pointer), call.output(), call.len)
}

fn synchronized(context: &Arc<CudaContext>, stream: u64) -> PyResult<()> {
    let failed =
        |what: &str, e: &dyn std::fmt::Debug| of_runtime(Runtime::Cuda { call: what.into(), code: format!("{e:?}") });
    enter(context).map_err(|e| failed("cuCtxSetCurrent", &e.0))?;
    // SAFETY: the stream is live and of this context.
    unsafe { result::stream::synchronize(stream as sys::CUstream) }.map_err(|e| failed("cuStreamSynchronize", &e.0))
}

/// Whether there is a driver; without one, calls of it would panic.
fn is_there() -> bool {
    static IS_THERE: OnceLock<bool> = OnceLock::new();
    // SAFETY: only looks whether the library opens.
    *IS_THERE.get_or_init(|| unsafe { sys::is_culib_present() })
}

/// Refuses where there is no driver or no device.
fn driver() -> PyResult<()> {
    match is_there() {
        true => Ok(()),
        false => cuda::devices().map(drop).map_err(of_runtime),
    }
}

/// Does it, and gives this thread the CUDA context back that it had: to PyTorch and others, that is the current device.
pub fn keeping_context<T>(work: impl FnOnce() -> T) -> T {
    if !is_there() {
        return work();
    }
    // An error says that the driver was not used before, so that there is none.
    let before = result::ctx::get_current().ok().flatten();
    let done = work();
    // SAFETY: it was this thread's, and nothing here destroys it.
    let _ = unsafe { result::ctx::set_current(before.unwrap_or(std::ptr::null_mut())) };
    done
}

/// Makes a context this thread's.
fn enter(context: &Arc<CudaContext>) -> Result<(), DriverError> {
    // SAFETY: the context is retained as long as the value lives. (`bind_to_thread` would report, and forget, errors of others first.)
    unsafe { result::ctx::set_current(context.cu_ctx()) }
}

/// Has a stream of a device wait for what is on another so far.
pub fn order(py: Python<'_>, ordinal: usize, before: u64, after: u64) -> PyResult<()> {
    let failed =
        |call: &str, e: DriverError| of_runtime(Runtime::Cuda { call: call.into(), code: format!("{:?}", e.0) });
    driver()?;
    let context = CudaContext::new(ordinal).map_err(|e| failed("cuDevicePrimaryCtxRetain", e))?;
    py.detach(|| {
        enter(&context).map_err(|e| failed("cuCtxSetCurrent", e))?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        let event = event.map_err(|e| failed("cuEventCreate", e))?;
        // SAFETY: both streams are live and of this context, as their libraries and the caller say; the event is live, and the driver
        // keeps what it needs of it.
        unsafe {
            let recorded = result::event::record(event, before as sys::CUstream);
            let waiting = recorded.and_then(|()| {
                let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
                result::stream::wait_event(after as sys::CUstream, event, flags)
            });
            let destroyed = result::event::destroy(event);
            waiting.and(destroyed).map_err(|e| failed("cuStreamWaitEvent", e))
        }
    })
}

/// The number of the device that memory belongs to.
pub fn of_pointer(pointer: u64) -> PyResult<usize> {
    driver()?;
    let mut ordinal: i32 = 0;
    let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    // SAFETY: the driver is there; any pointer may be asked about, and the other is to a live number.
    let asked = unsafe { sys::cuPointerGetAttribute((&raw mut ordinal).cast(), attribute, pointer) };
    match (asked.result(), pointer) {
        (Ok(()), _) => Ok(ordinal.max(0) as usize),
        // An array of no bytes.
        (Err(_), 0) => Ok(0),
        (Err(_), _) => Err(pyo3::exceptions::PyValueError::new_err(
            "the driver does not know the memory that __cuda_array_interface__ points to",
        )),
    }
}
