//! The files that were open when the process started, by their numbers.
//!
//! Before `main`, Rust's standard library opens `/dev/null` in place of closed standard input, output and error. So the numbers are looked
//! at before that, by a function that the loader runs.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

/// How many numbers are looked at.
const MOST: usize = 1024;

static OPEN: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];

extern "C" fn record() {
    for (number, open) in (0..).zip(&OPEN) {
        // SAFETY: it asks for a descriptor's flags, and fails if the number is none.
        let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
        open.store(flags != -1, Ordering::Relaxed);
    }
}

// The loader calls what this section points to: a function without parameters that ignores what it is given, and needs nothing of the
// standard library.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static RECORD: extern "C" fn() = record;

/// Whether this number was that of an open file.
pub fn was_open(number: usize) -> bool {
    OPEN.get(number).is_some_and(|open| open.load(Ordering::Relaxed))
}

/// A second handle to the file of this number, with the same position.
///
/// # Errors
/// If there was none when the process started, or the number is not one of those that are looked at.
pub fn duplicate(number: usize) -> io::Result<File> {
    if number >= MOST {
        return Err(io::Error::other(format!("only open files with numbers below {MOST} can be named so")));
    }
    if !was_open(number) {
        return Err(io::Error::other(format!("no file is open as number {number}")));
    }
    // SAFETY: it was open before the program ran, so nothing in the program owns it or closes it.
    let file = unsafe { BorrowedFd::borrow_raw(number as RawFd) };
    file.try_clone_to_owned().map(File::from)
}
