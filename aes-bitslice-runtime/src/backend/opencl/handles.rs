//! OpenCL's objects, each released when its owner is dropped, and its errors in this crate's terms.
//!
//! (The owning types of the crate `opencl3` panic if a release fails, as it may on a device that is lost.)

use crate::base::error::Error;
use opencl3::error_codes::{self, cl_int};
use opencl3::types::{CL_TRUE, cl_command_queue, cl_context, cl_device_id, cl_event, cl_kernel, cl_mem, cl_program};
use opencl3::{command_queue, event, kernel, memory, program};
use std::ptr;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident($raw:ty), $release:path) => {
        $(#[$doc])*
        pub(crate) struct $name($raw);

        // SAFETY: a handle, which any thread may use.
        unsafe impl Send for $name {}

        impl $name {
            /// # Safety
            /// The object is valid, and the caller hands over a reference to it that nothing else releases.
            pub(crate) unsafe fn owning(raw: $raw) -> Self {
                Self(raw)
            }

            pub(crate) fn raw(&self) -> $raw {
                self.0
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // An error cannot be handled here. What the device still needs lives on until the device is done with it.
                // SAFETY: this owns it, and it is not used after this.
                let _ = unsafe { $release(self.0) };
            }
        }
    };
}

handle! {
    /// A command queue.
    Queue(cl_command_queue), command_queue::release_command_queue
}
handle! {
    /// A buffer.
    Buffer(cl_mem), memory::release_mem_object
}
handle! {
    /// An event: whether a command is complete, and whether it failed.
    Event(cl_event), event::release_event
}
handle! {
    /// A program.
    Program(cl_program), program::release_program
}
handle! {
    /// A kernel object: an entry point of a program. Only one thread may use it at a time: its arguments are its state.
    KernelObject(cl_kernel), kernel::release_kernel
}

// SAFETY: every OpenCL function is safe to call from several threads at once except `clSetKernelArg` on one kernel.
unsafe impl Sync for Queue {}
// SAFETY: only `clSetKernelArg` must not be called from several threads at once, and this is no kernel.
unsafe impl Sync for Buffer {}
// SAFETY: only `clSetKernelArg` must not be called from several threads at once, and this is no kernel.
unsafe impl Sync for Event {}

/// A device of a platform: it exists as long as the process lives, and is never released.
#[derive(Clone, Copy)]
pub(crate) struct DeviceId(cl_device_id);

// SAFETY: a handle, which any thread may use.
unsafe impl Send for DeviceId {}
// SAFETY: a handle, which any thread may use; nothing is changed through it.
unsafe impl Sync for DeviceId {}

impl DeviceId {
    /// Wraps a device handle that a platform returned.
    pub(crate) fn new(raw: cl_device_id) -> Self {
        Self(raw)
    }

    pub(crate) fn raw(self) -> cl_device_id {
        self.0
    }
}

impl Queue {
    /// A queue that runs its commands in order.
    ///
    /// # Safety
    /// Context and device are valid, and the context has the device.
    pub(crate) unsafe fn new(context: cl_context, device: cl_device_id) -> Result<Self, Error> {
        // SAFETY: as the caller guarantees.
        let queue = call("clCreateCommandQueue", unsafe { command_queue::create_command_queue(context, device, 0) })?;
        // SAFETY: created just now.
        Ok(unsafe { Self::owning(queue) })
    }

    /// Makes the device begin with what is in the queue.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        call("clFlush", command_queue::flush(self.0))
    }

    /// Waits for everything in the queue.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        call("clFinish", command_queue::finish(self.0))
    }

    /// Puts setting the first bytes of a buffer to zero into the queue.
    pub(crate) fn clear(&self, buffer: &Buffer, len: usize) -> Result<Event, cl_int> {
        // SAFETY: queue and buffer are alive.
        unsafe { clear(self.0, buffer.0, 0, len) }
    }

    /// Copies to byte `at` of a buffer and on, and waits.
    pub(crate) fn write(&self, buffer: &Buffer, at: usize, from: &[u8]) -> Result<(), cl_int> {
        let data = from.as_ptr().cast_mut().cast();
        // SAFETY: queue and buffer are alive; a range beyond the buffer is an error; the bytes were read when the call returns.
        let written = unsafe {
            command_queue::enqueue_write_buffer(self.0, buffer.0, CL_TRUE, at, from.len(), data, 0, ptr::null())
        };
        written.map(owned).map(drop)
    }

    /// Copies from byte `at` of a buffer on, and waits.
    pub(crate) fn read(&self, buffer: &Buffer, at: usize, to: &mut [u8]) -> Result<(), cl_int> {
        let data = to.as_mut_ptr().cast();
        // SAFETY: queue and buffer are alive; a range beyond the buffer is an error; the bytes were written when the call returns.
        let read = unsafe {
            command_queue::enqueue_read_buffer(self.0, buffer.0, CL_TRUE, at, to.len(), data, 0, ptr::null())
        };
        read.map(owned).map(drop)
    }
}

/// Puts setting bytes of a buffer to zero into a queue. A range beyond the buffer is an error.
///
/// # Safety
/// Queue and buffer are alive.
pub(crate) unsafe fn clear(queue: cl_command_queue, buffer: cl_mem, at: usize, len: usize) -> Result<Event, cl_int> {
    let zero = 0u8;
    // SAFETY: as the caller guarantees; the pattern is copied by the call.
    let cleared = unsafe {
        command_queue::enqueue_fill_buffer(queue, buffer, (&raw const zero).cast(), 1, at, len, 0, ptr::null())
    };
    cleared.map(owned)
}

impl Event {
    /// Another owner of the same event.
    pub(crate) fn another(&self) -> Result<Self, Error> {
        // SAFETY: the event is alive.
        call("clRetainEvent", unsafe { event::retain_event(self.0) })?;
        // SAFETY: retained just now.
        Ok(unsafe { Self::owning(self.0) })
    }

    /// Whether its command has completed or failed.
    pub(crate) fn is_over(&self) -> bool {
        self.status().is_some_and(|status| status <= event::CL_COMPLETE)
    }

    /// The state of its command, or the error that it failed with; `None` if the driver does not report it.
    fn status(&self) -> Option<cl_int> {
        let status = event::get_event_data(self.0, event::CL_EVENT_COMMAND_EXECUTION_STATUS);
        number("clGetEventInfo", status).ok().map(|status| status as cl_int)
    }

    /// Waits for the commands of all events, and returns the error of the first one that failed.
    pub(crate) fn wait<'e>(events: impl IntoIterator<Item = &'e Self>) -> Result<(), Error> {
        call("clWaitForEvents", Self::waited(events))
    }

    pub(crate) fn waited<'e>(events: impl IntoIterator<Item = &'e Self>) -> Result<(), cl_int> {
        let events: Vec<&Self> = events.into_iter().collect();
        if events.is_empty() {
            return Ok(());
        }
        let raw: Vec<cl_event> = events.iter().map(|event| event.raw()).collect();
        let waited = event::wait_for_events(&raw);
        if waited == Err(error_codes::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
            // The call does not promise that it waited for the others.
            raw.iter().for_each(|&event| _ = event::wait_for_events(&[event]));
        }
        // Some drivers return no error when waiting for a failed command (NVIDIA's, 580).
        match (waited, events.iter().filter_map(|event| event.status()).find(|&status| status < 0)) {
            (Ok(()) | Err(error_codes::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST), Some(status)) => Err(status),
            (waited, _) => waited,
        }
    }
}

/// The result of a call that puts a command into a queue.
pub(crate) fn event_of(name: &str, result: Result<cl_event, cl_int>) -> Result<Event, Error> {
    call(name, result).map(owned)
}

/// The event of a command that was put into a queue.
fn owned(event: cl_event) -> Event {
    // SAFETY: the call created it for the caller.
    unsafe { Event::owning(event) }
}

/// The result of a call, in this crate's terms.
pub(crate) fn call<T>(name: &str, result: Result<T, cl_int>) -> Result<T, Error> {
    result.map_err(|code| match code {
        error_codes::DLOPEN_RUNTIME_LOAD_FAILED => unavailable(
            "no OpenCL loader was found that loads (libOpenCL.so.1)",
            "install one (ocl-icd-libopencl1) and the device's OpenCL driver",
        ),
        error_codes::DLOPEN_FUNCTION_NOT_AVAILABLE => {
            unavailable(format!("the OpenCL loader has no {name}"), "install one of OpenCL 1.2 or later")
        }
        error_codes::CL_PLATFORM_NOT_FOUND_KHR => no_platform(),
        error_codes::CL_MEM_OBJECT_ALLOCATION_FAILURE => {
            Error::OutOfDeviceMemory { what: format!("what {name} asks for") }
        }
        error_codes::CL_OUT_OF_HOST_MEMORY => Error::OutOfHostMemory { what: format!("what {name} asks for") },
        _ => Error::OpenCl { call: name.into(), code: code_name(code) },
    })
}

/// The result of a call that creates a buffer of `len` bytes, or is the first to use it, which is when its memory is
/// allocated.
pub(crate) fn for_buffer<T>(name: &str, len: usize, result: Result<T, cl_int>) -> Result<T, Error> {
    use error_codes::{CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES};
    match result {
        Err(CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_RESOURCES | CL_INVALID_BUFFER_SIZE) => {
            Err(Error::OutOfDeviceMemory { what: format!("a buffer of {len} bytes") })
        }
        other => call(name, other),
    }
}

/// A number that an object reports about itself: four or eight bytes, in this machine's byte order.
pub(crate) fn number(name: &str, bytes: Result<Vec<u8>, cl_int>) -> Result<u64, Error> {
    let bytes = call(name, bytes)?;
    let unknown = || Error::OpenCl { call: name.into(), code: format!("{} bytes for a number", bytes.len()) };
    match bytes.len() {
        4 => bytes.first_chunk().map(|&bytes| u32::from_ne_bytes(bytes).into()),
        8 => bytes.first_chunk().map(|&bytes| u64::from_ne_bytes(bytes)),
        _ => None,
    }
    .ok_or_else(unknown)
}

/// A text that an object reports about itself, which ends with a NUL.
pub(crate) fn text(name: &str, bytes: Result<Vec<u8>, cl_int>) -> Result<String, Error> {
    let bytes = call(name, bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').trim().into())
}

/// OpenCL's name for an error.
fn code_name(code: cl_int) -> String {
    match error_codes::error_text(code) {
        name if name.starts_with("CL_") => name.into(),
        _ => format!("error {code}"),
    }
}

/// Why OpenCL cannot be used, and a remedy.
pub(crate) fn unavailable(what: impl Into<String>, help: &str) -> Error {
    Error::OpenClUnavailable { what: what.into(), help: help.into() }
}

/// The error where there is no platform.
pub(crate) fn no_platform() -> Error {
    unavailable("there is no OpenCL platform", "install the device's OpenCL driver")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_names() {
        let said = |code| call::<()>("clFinish", Err(code)).unwrap_err().to_string();
        assert_eq!(said(error_codes::CL_INVALID_VALUE), "OpenCL: clFinish failed with CL_INVALID_VALUE");
        assert_eq!(said(-12345), "OpenCL: clFinish failed with error -12345");
        assert!(said(error_codes::DLOPEN_RUNTIME_LOAD_FAILED).starts_with("OpenCL is not available: no OpenCL loader"));
        assert!(said(error_codes::DLOPEN_FUNCTION_NOT_AVAILABLE).contains("has no clFinish"));
        assert!(said(error_codes::CL_MEM_OBJECT_ALLOCATION_FAILURE).starts_with("not enough memory on the device"));
    }

    #[test]
    fn want_of_memory_for_a_buffer_is_told_by_its_size() {
        let of = |code| for_buffer::<()>("clCreateBuffer", 77, Err(code)).unwrap_err();
        for code in [
            error_codes::CL_MEM_OBJECT_ALLOCATION_FAILURE,
            error_codes::CL_OUT_OF_RESOURCES,
            error_codes::CL_INVALID_BUFFER_SIZE,
        ] {
            assert!(matches!(of(code), Error::OutOfDeviceMemory { what } if what == "a buffer of 77 bytes"), "{code}");
        }
        assert!(matches!(of(error_codes::CL_INVALID_CONTEXT), Error::OpenCl { .. }));
        assert!(matches!(of(error_codes::CL_OUT_OF_HOST_MEMORY), Error::OutOfHostMemory { .. }));
    }
}
