//! The CUDA driver, used without the runtime: whether it exists, the context of a thread, the order of streams, and the device of memory.

use crate::error::of_runtime;
use aes_bitslice_runtime::Error as Runtime;
use aes_bitslice_runtime::cuda;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaContext, DriverError, result, sys};
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};

/// Whether there is a driver; without one, calls to it would panic.
fn is_there() -> bool {
    static IS_THERE: OnceLock<bool> = OnceLock::new();
    // SAFETY: only looks whether the library opens.
    *IS_THERE.get_or_init(|| unsafe { sys::is_culib_present() })
}

/// Fails if there is no driver or no device.
fn driver() -> PyResult<()> {
    if is_there() { Ok(()) } else { cuda::devices().map(drop).map_err(of_runtime) }
}

/// Does `work`, and restores this thread's CUDA context: to PyTorch and others, that is the current device.
pub fn keeping_context<T>(work: impl FnOnce() -> T) -> T {
    if !is_there() {
        return work();
    }
    // An error means that the driver was not used before, so there is none.
    let before = result::ctx::get_current().ok().flatten();
    let done = work();
    // SAFETY: it was this thread's context, and nothing here destroys it.
    let _ = unsafe { result::ctx::set_current(before.unwrap_or(std::ptr::null_mut())) };
    done
}

/// Makes a context current on this thread.
pub fn enter(context: &Arc<CudaContext>) -> Result<(), DriverError> {
    // SAFETY: the context is retained as long as the value lives. (`bind_to_thread` would first report, and forget, others' errors.)
    unsafe { result::ctx::set_current(context.cu_ctx()) }
}

/// Makes a stream of a device wait for all work on another so far.
pub fn order(py: Python<'_>, ordinal: usize, before: u64, after: u64) -> PyResult<()> {
    let failed =
        |call: &str, e: DriverError| of_runtime(Runtime::Cuda { call: call.into(), code: format!("{:?}", e.0) });
    driver()?;
    let context = CudaContext::new(ordinal).map_err(|e| failed("cuDevicePrimaryCtxRetain", e))?;
    py.detach(|| {
        enter(&context).map_err(|e| failed("cuCtxSetCurrent", e))?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        let event = event.map_err(|e| failed("cuEventCreate", e))?;
        // SAFETY: both streams are live and of this context, as their libraries and the caller say; the event is live, and the driver keeps
        // what it needs of it.
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

/// The bytes at an address of a device, when a stream has reached this point.
pub fn read<const N: usize>(py: Python<'_>, ordinal: usize, stream: u64, from: u64) -> PyResult<[u8; N]> {
    let failed =
        |call: &str, e: DriverError| of_runtime(Runtime::Cuda { call: call.into(), code: format!("{:?}", e.0) });
    driver()?;
    let context = CudaContext::new(ordinal).map_err(|e| failed("cuDevicePrimaryCtxRetain", e))?;
    py.detach(|| {
        enter(&context).map_err(|e| failed("cuCtxSetCurrent", e))?;
        let (mut bytes, stream) = ([0; N], stream as sys::CUstream);
        // SAFETY: the stream is live and of this context, and so is the memory, as their library says; the copy is waited for here.
        let copied = unsafe {
            result::memcpy_dtoh_async(&mut bytes, from, stream).and_then(|()| result::stream::synchronize(stream))
        };
        copied.map(|()| bytes).map_err(|e| failed("cuMemcpyDtoHAsync", e))
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
        // An empty array.
        (Err(_), 0) => Ok(0),
        (Err(_), _) => Err(pyo3::exceptions::PyValueError::new_err(
            "the driver does not know the memory that __cuda_array_interface__ points to",
        )),
    }
}
