//! Calls on a stream that is being captured into a graph. The graph is launched later, any number of times, and needs the code and the keys
//! of the calls then, though the cipher may be gone. So the graph shares ownership of them, through a user object of the driver, and so
//! does every graph made from it, instantiated ones included:
//!
//! ```text
//! cipher ──┐
//! graph ───┼──► code and keys on the device
//! graph' ──┘
//! ```
//!
//! The last owner to go drops them. If that is a graph, this happens on a thread of this module: the driver reports it where CUDA must not
//! be called.

use crate::backend::cuda::context::Context;
use crate::base::error::Error;
use crate::exec::queue::Queue;
use cudarc::driver::sys::{self, CUgraph, CUgraphNode, CUresult, CUstream, CUstreamCaptureStatus};
use std::ffi::c_void;
use std::mem::{self, ManuallyDrop};
use std::ptr;
use std::sync::LazyLock;

/// Whether work put on a stream is captured into a graph.
///
/// # Safety
/// The stream is live and belongs to the context.
pub(crate) unsafe fn is_in_capture(context: &Context, stream: CUstream) -> Result<bool, Error> {
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the caller guarantees the stream; the pointer is to a live value.
    let asked = unsafe { sys::cuStreamIsCapturing(stream, &mut status) };
    context.call("cuStreamIsCapturing", asked.result())?;
    Ok(status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}

/// If the stream is being captured, makes the graph keep a clone of `used` as long as it lives, and every graph made from it.
///
/// # Safety
/// The stream is live and belongs to the context, which was entered on this thread.
pub(crate) unsafe fn keep<T: Clone + Send + 'static>(
    context: &Context,
    stream: CUstream,
    used: &T,
) -> Result<(), Error> {
    // SAFETY: as the caller guarantees.
    if !unsafe { is_in_capture(context, stream) }? {
        return Ok(());
    }
    // SAFETY: the caller guarantees a live stream of this context.
    let graph = unsafe { graph_of(context, stream) }?;
    let clone: Kept = Box::new(Box::new(used.clone()));
    let clone = Box::into_raw(clone);
    let flags = sys::CUuserObject_flags::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC as u32;
    let mut object = ptr::null_mut();
    // SAFETY: the pointers are to live values, and `drop_clone` takes the clone over.
    let made = unsafe { sys::cuUserObjectCreate(&mut object, clone.cast(), Some(drop_clone), 1, flags) };
    if let Err(e) = made.result() {
        // SAFETY: from `Box::into_raw`, and nothing else has it.
        drop(unsafe { Box::from_raw(clone) });
        return context.call("cuUserObjectCreate", Err(e));
    }
    let moved = sys::CUuserObjectRetain_flags::CU_GRAPH_USER_OBJECT_MOVE as u32;
    // SAFETY: the graph belongs to a capture that is still active, and takes over the one reference to the object.
    let retained = unsafe { sys::cuGraphRetainUserObject(graph, object, 1, moved) };
    context.call("cuGraphRetainUserObject", retained.result()).inspect_err(|_| {
        // SAFETY: this function still owns the reference.
        let _ = unsafe { sys::cuUserObjectRelease(object, 1) };
    })
}

/// The clone that a graph keeps, as a thin pointer.
type Kept = Box<Box<dyn Send>>;

/// Called by the driver when the last graph that keeps a clone is gone.
unsafe extern "C" fn drop_clone(clone: *mut c_void) {
    static DROPPED: LazyLock<Queue> = LazyLock::new(|| Queue::new(1));
    // SAFETY: from `Box::into_raw` above, and the driver calls this once.
    let clone = ManuallyDrop::new(unsafe { Box::from_raw(clone.cast::<Box<dyn Send>>()) });
    let job = move || {
        // Otherwise, freeing memory would invalidate a graph that another thread captures meanwhile.
        let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer is to a live value.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
        drop(ManuallyDrop::into_inner(clone));
    };
    // If no thread can be started, the clone stays as long as the process: it must not be dropped here.
    let _ = DROPPED.push(Box::new(job));
}

/// The graph that a stream is being captured into.
///
/// # Safety
/// The stream is live, belongs to the context, and is in capture.
unsafe fn graph_of(context: &Context, stream: CUstream) -> Result<CUgraph, Error> {
    /// The form of CUDA 11.3, which every driver has kept: bindings have this or a later form, depending on their version.
    type GetCaptureInfo = unsafe extern "C" fn(
        CUstream,
        *mut CUstreamCaptureStatus,
        *mut u64,
        *mut CUgraph,
        *mut *const CUgraphNode,
        *mut usize,
    ) -> CUresult;
    const VERSION: i32 = 11030;
    let mut function = ptr::null_mut();
    // SAFETY: the name ends with a NUL, and the pointer is to a live value.
    let found = unsafe {
        sys::cuGetProcAddress_v2(c"cuStreamGetCaptureInfo".as_ptr(), &mut function, VERSION, 0, ptr::null_mut())
    };
    context.call("cuGetProcAddress", found.result())?;
    if function.is_null() {
        let code = "no cuStreamGetCaptureInfo".into();
        return Err(Error::Cuda { call: "cuGetProcAddress".into(), code });
    }
    // SAFETY: it is the function of this name in this version, whose type this is.
    let get_capture_info: GetCaptureInfo = unsafe { mem::transmute(function) };
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let mut graph = ptr::null_mut();
    let none = ptr::null_mut();
    // SAFETY: the caller guarantees the stream; the pointers are to live values, or null where no value is wanted.
    let asked = unsafe { get_capture_info(stream, &mut status, ptr::null_mut(), &mut graph, none, ptr::null_mut()) };
    context.call("cuStreamGetCaptureInfo", asked.result())?;
    match status {
        CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE => Ok(graph),
        _ => Err(Error::Cuda { call: "cuStreamGetCaptureInfo".into(), code: "the capture is invalid".into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::driver;
    use cudarc::driver::result;
    use std::sync::{Arc, Weak};
    use std::time::{Duration, Instant};

    fn context() -> Context {
        let context = Context::open(&driver::usable(0).unwrap()).unwrap();
        context.enter().unwrap();
        context
    }

    fn is_dropped_soon(what: &Weak<()>) -> bool {
        let start = Instant::now();
        while what.strong_count() > 0 && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
        what.strong_count() == 0
    }

    #[test]
    #[ignore = "needs a CUDA GPU"]
    fn what_a_graph_keeps_lives_as_long_as_the_last_graph() {
        let context = context();
        let used = Arc::new(());
        let kept = Arc::downgrade(&used);
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).unwrap();
        // SAFETY: stream and graphs are live until they are destroyed here, in this order.
        unsafe {
            keep(&context, stream, &used).unwrap();
            assert_eq!(kept.strong_count(), 1, "kept without a capture");
            let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            result::stream::begin_capture(stream, mode).unwrap();
            keep(&context, stream, &used).unwrap();
            keep(&context, stream, &used).unwrap();
            let graph = result::stream::end_capture(stream).unwrap();
            drop(used);
            assert_eq!(kept.strong_count(), 2);
            let instance = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0)).unwrap();
            result::graph::destroy(graph).unwrap();
            std::thread::sleep(Duration::from_millis(200));
            assert!(kept.strong_count() > 0, "what was instantiated keeps it");
            result::graph::exec_destroy(instance).unwrap();
            assert!(is_dropped_soon(&kept));
            result::stream::destroy(stream).unwrap();
        }
    }
}
