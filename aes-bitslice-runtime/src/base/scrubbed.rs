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

#[cfg(all(test, target_os = "linux"))]
pub(crate) mod tests {
    use super::*;
    use std::fs::File;
    use std::hint::black_box;
    use std::os::unix::fs::FileExt;

    const SECRET: [u8; 16] = *b"\xa5 key on a stack";

    #[inline(never)]
    pub(crate) fn leaves_it_on_the_stack() {
        let mut frame = [0; 8 << 10];
        frame.as_chunks_mut().0.fill(SECRET);
        black_box(&frame);
    }

    /// How often it is in the stack below this frame, which the kernel reads.
    #[inline(never)]
    pub(crate) fn found() -> usize {
        let here = 0_u8;
        let mut stack = vec![0; 16 << 10];
        let at = (&raw const here).addr() - stack.len();
        File::open("/proc/self/mem").unwrap().read_exact_at(&mut stack, at as u64).unwrap();
        stack.windows(SECRET.len()).filter(|bytes| **bytes == SECRET).count()
    }

    #[test]
    fn what_work_leaves_on_the_stack_is_overwritten() {
        leaves_it_on_the_stack();
        assert!(found() > 100, "the search finds what is there");
        scrubbed::<DERIVED, _>(leaves_it_on_the_stack);
        assert_eq!(found(), 0);
    }
}
