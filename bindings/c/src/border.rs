//! The wrapper of every function: no panic leaves the library, and a failure leaves a code and a message.

use crate::status::{AES_BITSLICE_BUG, AES_BITSLICE_OK, Failure};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The message of this thread's last failure.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Does `work`; a failure or a panic becomes a code and this thread's message.
pub(crate) fn call(work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    match caught(work) {
        Ok(()) => AES_BITSLICE_OK,
        Err(failure) => {
            keep(&failure.message);
            failure.status
        }
    }
}

/// Does `work`; a panic becomes a failure.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let what = said(&*panic);
        Err(Failure::new(
            AES_BITSLICE_BUG,
            format!("a call panicked ({what}): this is an error of this library, report it"),
        ))
    })
}

/// Frees a handle of the library. A panic cannot be reported.
pub(crate) fn free(work: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(work));
}

/// The message, until the next call on this thread fails.
pub(crate) fn message() -> *const c_char {
    // A thread that is ending no longer has one.
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

fn keep(message: &str) {
    let bytes: Vec<u8> = message.bytes().filter(|&byte| byte != 0).collect();
    let text = CString::new(bytes).expect("no zeros are left");
    let _ = MESSAGE.try_with(|message| *message.borrow_mut() = text);
}

fn said(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "without a word",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;
    use std::hint::black_box;
    use std::thread;

    fn told() -> String {
        // SAFETY: this thread's string; it is copied before the next call on this thread.
        unsafe { CStr::from_ptr(message()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn failures_and_panics_leave_a_code_and_a_message() {
        assert_eq!(told(), "");
        assert_eq!(call(|| Err(Failure::new(7, "a test\0 of zeros"))), 7);
        assert_eq!(told(), "a test of zeros");
        assert_eq!(call(|| panic!("on purpose")), AES_BITSLICE_BUG);
        assert!(told().contains("(on purpose)"), "{}", told());
        assert_eq!(call(|| panic!("on {}", black_box("purpose"))), AES_BITSLICE_BUG);
        assert!(told().contains("(on purpose)"), "{}", told());
        assert_eq!(call(|| Ok(())), AES_BITSLICE_OK);
        assert!(told().contains("(on purpose)"), "a success leaves the message");
        thread::spawn(|| assert_eq!(told(), "")).join().unwrap();
        free(|| panic!("nobody is told"));
    }
}
