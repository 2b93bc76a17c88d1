//! The threads that the library starts have stacks of its own size, whatever the variable `RUST_MIN_STACK` says: where a stack is too small,
//! the process ends.

use crate::base::sync::thread::Builder;

/// Bytes of a stack: as many as Rust gives a thread by default.
pub const STACK: usize = 2 << 20;

/// A thread of this name, to be started.
pub fn own_thread(name: &str) -> Builder {
    Builder::new().name(name.into()).stack_size(STACK)
}
