//! Host memory: how much calls in flight may take together, and how much the process has.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Condvar, Mutex};

/// Bytes that the calls in flight share. Calls get theirs in the order in which they ask, so that small ones do not keep a large one
/// waiting.
pub struct Shares {
    all: u64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    free: u64,
    /// The number of the next arrival, and of the next that gets its share.
    comes: u64,
    gets: u64,
}

/// A share, given back on drop.
pub struct Share<'a>(&'a Shares, u64);

impl Shares {
    pub fn new(all: u64) -> Self {
        Self { all, state: Mutex::new(State { free: all, comes: 0, gets: 0 }), changed: Condvar::new() }
    }

    /// Waits for a number of bytes; for all, if they exceed the total.
    pub fn take(&self, bytes: u64) -> Share<'_> {
        let bytes = bytes.min(self.all);
        let mut state = self.state.lock().expect("no panic");
        let number = state.comes;
        state.comes += 1;
        let mut state =
            self.changed.wait_while(state, |state| state.gets != number || state.free < bytes).expect("no panic");
        state.free -= bytes;
        state.gets += 1;
        self.changed.notify_all();
        Share(self, bytes)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.0.state.lock().expect("no panic").free += self.1;
        self.0.changed.notify_all();
    }
}

/// Bytes of this process in memory.
pub fn resident() -> Option<u64> {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()?;
    Some(rustix::param::page_size() as u64 * pages)
}

/// Bytes of this process in memory, when the C library's allocator has returned to the system what it can.
pub fn resident_without_freed() -> Option<u64> {
    // SAFETY: it takes a number of bytes and returns whether it released memory; any thread may call it.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
    resident()
}

/// Restarts this program so that the C library's allocator keeps little of what is freed: it returns large blocks at once, and threads have
/// no caches. By default it keeps up to 64 MiB, and some thousand blocks for each thread, which fill up in the course of hours.
pub fn keeps_little() {
    const NAME: &str = "GLIBC_TUNABLES";
    const TUNABLES: &str = "glibc.malloc.mmap_threshold=131072:glibc.malloc.tcache_count=0";
    if std::env::var_os(NAME).is_none()
        && let Ok(program) = std::env::current_exe()
    {
        // It returns only if there is no such program; then this one continues.
        let _ = Command::new(program).args(std::env::args_os().skip(1)).env(NAME, TUNABLES).exec();
    }
}
