//! Runs work that uses a key and overwrites its part of the stack afterwards. The compiler leaves copies of a key there
//! when it moves values or spills registers; these copies have no owner, so nothing else wipes them.
//!
//! ```text
//! caller
//!   scrubbed
//!     work   ┐ the same bytes of the stack, one after the other
//!     zeros  ┘
//! ```
//!
//! Secrets that a job must keep for longer than it runs belong on the heap, in memory that is wiped.
//! `tests/tests/secrets.rs` searches a process for what remains.

use zeroize::zeroize_stack;

/// The maximum bytes of stack used by work on a key, where keys are expanded and loaded on engines.
pub(crate) const EXPANSION: usize = 64 << 10;

/// The maximum bytes of stack used by the expansion of one key on the CPU.
pub(crate) const ONE_KEY: usize = 16 << 10;

/// Bytes of stack used by work that derives secrets from a key or a passphrase.
pub const DERIVED: usize = 32 << 10;

/// Runs `work`, then zeroes the `DEPTH` bytes of stack below the caller's frame. The returned value should not hold a
/// secret itself: return a handle to memory that is wiped, for example.
pub fn scrubbed<const DEPTH: usize, R>(work: impl FnOnce() -> R) -> R {
    let result = in_a_frame_of_its_own(work);
    zeroize_stack::<DEPTH>();
    result
}

/// Never inlined into the caller's frame, which stays.
#[inline(never)]
fn in_a_frame_of_its_own<R>(work: impl FnOnce() -> R) -> R {
    work()
}
