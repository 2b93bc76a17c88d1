//! The stand-in itself: it notes what no caller of the driver may do, and copies when the driver does.

use crate::stand_in::{self, Fault};
use aes_bitslice_runtime::cuda::cudarc::driver::DriverError;
use aes_bitslice_runtime::cuda::cudarc::driver::result::{self, ctx, device, primary_ctx};
use std::{ptr, slice};

const BYTES: usize = 64;

/// What is noted of calls in a context, which is released behind them.
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

/// What is noted when memory is freed that all bytes of were set to a value, with a call ahead of that.
fn freed(value: u8, waits: bool, ahead: fn()) -> String {
    noted(|| {
        let memory = allocate().expect("memory");
        // SAFETY: memory of as many bytes.
        unsafe { result::memset_d8_sync(memory, value, BYTES) }.expect("memory");
        if waits {
            wait().expect("the default stream");
        }
        ahead();
        // SAFETY: nobody uses it but the stand-in, which notes it.
        unsafe { result::free_sync(memory) }.expect("memory");
    })
}

pub fn memory_is_freed_clear_and_unused() {
    let calls: [fn(); 3] = [
        || {},
        || {
            stand_in::fails(0, Fault::OutOfMemory);
            assert!(allocate().is_err());
        },
        || {
            stand_in::fails(1, Fault::Stall(1));
            assert!(ctx::get_current().is_ok() && ctx::get_current().is_ok());
        },
    ];
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(freed(0, true, call), "", "call {n}");
        assert!(freed(1, true, call).contains("with something in it"), "call {n}");
        assert!(freed(0, false, call).contains("before what uses it is done"), "call {n}");
    }
    // Where a wait has failed there is nothing else to be done.
    let failed_wait = || {
        stand_in::fails(0, Fault::InvalidValue);
        assert!(wait().is_err());
    };
    assert_eq!(freed(1, false, failed_wait), "");
}

pub fn a_context_is_not_used_behind_its_release() {
    assert_eq!(noted(|| _ = allocate()), "");
    // This thread has it still.
    assert!(allocate().is_err());
    assert!(stand_in::notes().contains("a context is used that was released"));
}

pub fn a_copy_from_pinned_memory_is_done_when_it_returns() {
    let notes = noted(|| {
        let (mut found, memory) = ([0_u8; BYTES], allocate().expect("memory"));
        // SAFETY: memory of as many bytes, of the device and of the host, which is freed last.
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
