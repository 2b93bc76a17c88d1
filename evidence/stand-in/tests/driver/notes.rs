//! The stand-in itself: it notes what no caller of the driver may do, on one device and between two, and copies when the driver
//! does.

use crate::stand_in::{self, Fault, Machine};
use aes_bitslice_runtime::cuda::cudarc::driver::DriverError;
use aes_bitslice_runtime::cuda::cudarc::driver::result::stream::StreamKind;
use aes_bitslice_runtime::cuda::cudarc::driver::result::{self, ctx, device, primary_ctx};
use aes_bitslice_runtime::cuda::cudarc::driver::sys::{self, CUcontext, CUevent_flags, CUevent_wait_flags, CUresult};
use std::ffi::CString;
use std::{ptr, slice};

const BYTES: usize = 64;

/// The notes on calls in a context, which is released after them.
fn noted(calls: impl FnOnce()) -> String {
    result::init().expect("the stand-in");
    let device = device::get(0).expect("a device");
    // SAFETY: a device; its context is retained while it is used.
    unsafe {
        ctx::set_current(primary_ctx::retain(device).expect("a context")).expect("a context");
        calls();
        primary_ctx::release(device).expect("a context");
    }
    let notes = stand_in::notes();
    stand_in::begins_anew();
    notes
}

fn allocate() -> Result<u64, DriverError> {
    // SAFETY: a context was entered.
    unsafe { result::malloc_sync(BYTES) }
}

fn wait() -> Result<(), DriverError> {
    // SAFETY: every context has the default stream.
    unsafe { result::stream::synchronize(ptr::null_mut()) }
}

/// The notes when memory is freed whose bytes were all set to a value, with a call ahead of that.
fn freed(value: u8, waits: bool, ahead: fn()) -> String {
    noted(|| {
        let memory = allocate().expect("memory");
        // SAFETY: memory of that many bytes.
        unsafe { result::memset_d8_sync(memory, value, BYTES) }.expect("memory");
        if waits {
            wait().expect("the default stream");
        }
        ahead();
        // SAFETY: nothing uses it except the stand-in, which notes it.
        unsafe { result::free_sync(memory) }.expect("memory");
    })
}

pub fn memory_is_freed_clear_and_unused() {
    let calls: [fn(); 5] = [
        || {},
        || {
            stand_in::fails(0, Fault::OutOfMemory);
            assert!(allocate().is_err());
        },
        || {
            stand_in::fails(1, Fault::Stall(1));
            assert!(ctx::get_current().is_ok() && ctx::get_current().is_ok());
        },
        // Other memory could not be cleared, and another stream could not be waited for.
        || {
            let other = allocate().expect("memory");
            stand_in::fails(0, Fault::InvalidValue);
            assert!(clear(other).is_err());
        },
        || {
            let other = result::stream::create(StreamKind::NonBlocking).expect("a stream");
            stand_in::fails(0, Fault::InvalidValue);
            // SAFETY: made above.
            assert!(unsafe { result::stream::synchronize(other) }.is_err());
        },
    ];
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(freed(0, true, call), "", "call {n}");
        assert!(freed(1, true, call).contains("with something in it"), "call {n}");
        assert!(freed(0, false, call).contains("before what uses it is done"), "call {n}");
    }
    // After a failed wait there is nothing else to do.
    let failed_wait = || {
        stand_in::fails(0, Fault::InvalidValue);
        assert!(wait().is_err());
    };
    assert_eq!(freed(1, false, failed_wait), "");
}

pub fn a_context_is_not_used_after_its_release() {
    assert_eq!(noted(|| _ = allocate()), "");
    // This thread still has it.
    assert!(allocate().is_err());
    assert!(stand_in::notes().contains("a context is used that was released"));
}

pub fn a_copy_from_pinned_memory_is_done_when_it_returns() {
    let notes = noted(|| {
        let (mut found, memory) = ([0_u8; BYTES], allocate().expect("memory"));
        // SAFETY: memory of that many bytes, of the device and of the host, which is freed last.
        unsafe {
            let pinned = result::malloc_host(BYTES, 0).expect("pinned memory").cast::<u8>();
            pinned.write_bytes(5, BYTES);
            result::memcpy_htod_sync(memory, slice::from_raw_parts(pinned, BYTES)).expect("a copy");
            pinned.write_bytes(0, BYTES);
            result::memcpy_dtoh_async(&mut found, memory, ptr::null_mut()).expect("a copy");
            result::memset_d8_sync(memory, 0, BYTES).expect("memory");
            wait().expect("the default stream");
            result::free_host(pinned.cast()).expect("pinned memory");
            result::free_sync(memory).expect("memory");
        }
        assert_eq!(found, [5; BYTES]);
    });
    assert_eq!(notes, "");
}

/// The notes on calls on two devices that have access to each other's memory, or cannot have it: the calls get a context of each.
fn noted_on_two(peers: u32, calls: impl FnOnce([CUcontext; 2])) -> String {
    stand_in::configure(Machine { devices: 2, peers, architecture: 80, at_once: false });
    result::init().expect("the stand-in");
    let devices = [0, 1].map(|ordinal| device::get(ordinal).expect("a device"));
    // SAFETY: devices, whose contexts are released below.
    calls(devices.map(|device| unsafe { primary_ctx::retain(device) }.expect("a context")));
    // SAFETY: their contexts were retained above.
    devices.into_iter().for_each(|device| unsafe { primary_ctx::release(device) }.expect("a context"));
    let notes = stand_in::notes();
    stand_in::begins_anew();
    notes
}

fn enter(context: CUcontext) {
    // SAFETY: it is retained.
    unsafe { ctx::set_current(context) }.expect("a context");
}

/// Sets memory to zero on the default stream of the current context.
fn clear(memory: u64) -> Result<(), DriverError> {
    // SAFETY: memory of that many bytes, of either device.
    unsafe { result::memset_d8_sync(memory, 0, BYTES) }?;
    wait()
}

fn free(memory: u64) -> Result<(), DriverError> {
    // SAFETY: nothing uses it any more.
    unsafe { result::free_sync(memory) }
}

/// Gives the current context access to the memory of another.
fn enable(peer: CUcontext) -> CUresult {
    // SAFETY: it is retained.
    unsafe { sys::cuCtxEnablePeerAccess(peer, 0) }
}

pub fn memory_of_a_peer_needs_access() {
    let lost = Err(DriverError(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    for (peers, enabled) in
        [(1, CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED), (2, CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)]
    {
        let notes = noted_on_two(peers, |[first, second]| {
            enter(first);
            let memory = allocate().expect("memory");
            enter(second);
            let mut can = 0;
            // SAFETY: devices, and a live number.
            unsafe { sys::cuDeviceCanAccessPeer(&mut can, 1, 0) }.result().expect("devices");
            assert_eq!(can == 1, peers == 2);
            let _ = enable(first);
            assert_eq!(enable(first), enabled);
            assert_eq!(clear(memory), if peers == 2 { Ok(()) } else { lost });
            // One context is lost, if any is.
            assert_eq!(
                allocate().and_then(|own| clear(own).and_then(|()| free(own))),
                if peers == 2 { Ok(()) } else { lost }
            );
            enter(first);
            assert_eq!((clear(memory), free(memory)), (Ok(()), Ok(())));
        });
        let noted = if peers == 2 { "" } else { "work of device 1 on memory of another, without access" };
        assert_eq!(notes, noted);
    }
    // Access belongs to one context, not to the other.
    let notes = noted_on_two(2, |[first, second]| {
        enter(second);
        let memory = allocate().expect("memory");
        assert_eq!(enable(first), CUresult::CUDA_SUCCESS);
        enter(first);
        assert_eq!(clear(memory), lost);
    });
    assert!(notes.contains("device 0 on memory of another"), "{notes}");
}

pub fn a_stream_waits_for_an_event_of_another_context() {
    let notes = noted_on_two(1, |[first, second]| {
        enter(second);
        let stream = result::stream::create(StreamKind::NonBlocking).expect("a stream");
        enter(first);
        let (memory, event) = (allocate().expect("memory"), result::event::create(CUevent_flags::CU_EVENT_DEFAULT));
        let (event, mut found) = (event.expect("an event"), [1; BYTES]);
        // SAFETY: memory of that many bytes, streams and an event, until they are freed here.
        unsafe {
            let pinned = result::malloc_host(BYTES, 0).expect("pinned memory").cast::<u8>();
            pinned.write_bytes(5, BYTES);
            result::memset_d8_async(memory, 0, BYTES, ptr::null_mut()).expect("memory");
            let to = slice::from_raw_parts_mut(pinned, BYTES);
            result::memcpy_dtoh_async(to, memory, ptr::null_mut()).expect("a copy");
            result::event::record(event, ptr::null_mut()).expect("an event");
            enter(second);
            assert!(result::event::record(event, stream).is_err());
            let waits = CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            result::stream::wait_event(stream, event, waits).expect("an event");
            found.copy_from_slice(slice::from_raw_parts(pinned, BYTES));
            assert_eq!(found, [5; BYTES], "nobody has waited");
            result::stream::synchronize(stream).expect("a stream");
            found.copy_from_slice(slice::from_raw_parts(pinned, BYTES));
            assert_eq!(found, [0; BYTES]);
            result::free_host(pinned.cast()).expect("pinned memory");
            result::stream::destroy(stream).expect("a stream");
            result::event::destroy(event).expect("an event");
        }
        free(memory).expect("memory");
    });
    assert_eq!(notes, "an event is recorded on a stream of another context");
}

pub fn what_is_of_a_context_is_used_in_it() {
    let kernel = aes_bitslice_kernels::KERNELS.iter().find(|kernel| kernel.name == "aes-ecb-encrypt-planes");
    let image = CString::new(kernel.expect("a kernel").ptx).expect("a text");
    let notes = noted_on_two(2, |[first, second]| {
        enter(first);
        // SAFETY: PTX that ends with a NUL; a launch that is refused before anything is read; what is loaded is unloaded.
        unsafe {
            let module = result::module::load_data(image.as_ptr().cast()).expect("a module");
            let function = result::module::get_function(module, c"aes_ecb_encrypt_planes".into()).expect("a function");
            enter(second);
            let mut config: sys::CUlaunchConfig = std::mem::zeroed();
            (config.gridDimX, config.gridDimY, config.gridDimZ, config.blockDimX) = (1, 1, 1, 128);
            assert!(sys::cuLaunchKernelEx(&config, function, ptr::null_mut(), ptr::null_mut()).result().is_err());
            assert!(result::module::unload(module).is_err());
            enter(first);
            result::module::unload(module).expect("a module");
        }
    });
    let lines: Vec<&str> = notes.lines().collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("in another context")), "{notes}");
}
