//! Work that uses a key, and whose part of the stack is overwritten behind it: what the compiler moves, or keeps on the
//! stack for want of registers, leaves copies of a key there, which nobody owns and so nobody wipes.
//!
//! ```text
//! caller
//!   scrubbed
//!     work   ┐ the same bytes of the stack, one after the other
//!     zeros  ┘
//! ```
//!
//! What a job has to hold longer than it works belongs on the heap, in memory that is wiped. `tests/tests/secrets.rs`
//! searches a process for what remains.

use zeroize::zeroize_stack;

/// Bytes of stack that work on a key takes at most, where keys are expanded and brought to engines.
pub(crate) const EXPANSION: usize = 64 << 10;

/// Bytes of stack that work takes which derives secrets from a key or a passphrase.
pub const DERIVED: usize = 32 << 10;

/// Does `work`, then sets the `DEPTH` bytes of stack below the caller's to zero. What is returned should hold no secret
/// itself: a handle to memory that is wiped, for example.
pub fn scrubbed<const DEPTH: usize, R>(work: impl FnOnce() -> R) -> R {
    let result = in_a_frame_of_its_own(work);
    zeroize_stack::<DEPTH>();
    result
}

/// Never part of the caller's frame, which stays.
#[inline(never)]
fn in_a_frame_of_its_own<R>(work: impl FnOnce() -> R) -> R {
    work()
}
