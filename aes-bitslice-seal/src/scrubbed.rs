//! Work that derives keys, and whose part of the stack is overwritten behind it: hashes leave copies of what they took there.

use zeroize::zeroize_stack;

/// Bytes of stack that such work takes at most.
const DEPTH: usize = 32 << 10;

/// Does `work`, then sets the stack that it used to zero. What is returned should hold no secret itself: a handle to memory that
/// is wiped, for example.
pub(crate) fn scrubbed<R>(work: impl FnOnce() -> R) -> R {
    let result = in_a_frame_of_its_own(work);
    zeroize_stack::<DEPTH>();
    result
}

/// Never part of the caller's frame, which stays.
#[inline(never)]
fn in_a_frame_of_its_own<R>(work: impl FnOnce() -> R) -> R {
    work()
}
