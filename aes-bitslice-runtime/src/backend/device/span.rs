//! The location of a call's data in the memory of a device.

use crate::op::buffers::Access;
use std::fmt::Debug;

/// A byte of device memory.
pub(crate) trait Place: Copy + PartialEq + Debug + 'static {
    /// The byte this many bytes later.
    fn after(self, bytes: u64) -> Self;

    /// The byte this many bytes earlier. It may be before the memory, where nothing is read.
    fn before(self, bytes: u64) -> Self;

    /// Whether it is at a multiple of 16 bytes.
    fn is_aligned(self) -> bool;

    /// Its address as the value of a kernel's argument. Where the driver has buffers instead of addresses, it is the first byte of one.
    fn address(self) -> u64;
}

/// The location of a call's data, as far as it is read and written. If it is both, input and output are one range, or do not overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span<P> {
    /// The first byte that is read; `None` if none is.
    pub(crate) input: Option<P>,
    /// The first byte that is written; `None` if none is.
    pub(crate) output: Option<P>,
    /// The length in bytes.
    pub(crate) len: u64,
    /// Whether the output replaces the input.
    pub(crate) in_place: bool,
}

impl<P: Place> Span<P> {
    /// From an input to an output, which is in place if both are one.
    pub(crate) fn between(input: Option<P>, output: Option<P>, len: u64) -> Self {
        Self { input, output, len, in_place: input.is_some() && input == output }
    }

    /// The parts of these that an operation with this kind of access uses.
    pub(crate) fn new(access: Access, input: P, output: P, len: u64) -> Self {
        let (reads, writes) = (access != Access::Writes, access != Access::Reads);
        Self::between(reads.then_some(input), writes.then_some(output), len)
    }

    /// A span whose input and output, as far as they are used, are this range.
    pub(crate) fn in_place(access: Access, data: P, len: u64) -> Self {
        Self::new(access, data, data, len)
    }

    /// Whether byte `at` of every range used is at a multiple of 16 bytes.
    pub(crate) fn is_aligned(&self, at: u64) -> bool {
        self.input.into_iter().chain(self.output).all(|place| place.after(at).is_aligned())
    }

    /// The part from byte `at` on, `len` bytes long.
    pub(crate) fn part(&self, at: u64, len: u64) -> Self {
        let after = |place: Option<P>| place.map(|place| place.after(at));
        Self { input: after(self.input), output: after(self.output), len, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::device::driver::fake::At;

    #[test]
    fn what_is_not_used_is_not_there() {
        let span = |access| Span::new(access, At(64), At(97), 10);
        assert_eq!((span(Access::Maps).input, span(Access::Maps).output), (Some(At(64)), Some(At(97))));
        assert_eq!((span(Access::Reads).input, span(Access::Reads).output), (Some(At(64)), None));
        assert_eq!((span(Access::Writes).input, span(Access::Writes).output), (None, Some(At(97))));
        // Only the ranges used count.
        assert!(span(Access::Reads).is_aligned(0) && !span(Access::Reads).is_aligned(15));
        assert!(!span(Access::Writes).is_aligned(0) && span(Access::Writes).is_aligned(15));
        assert!((0..16).all(|at| !span(Access::Maps).is_aligned(at)));
        assert!(Span::in_place(Access::Maps, At(32), 10).is_aligned(16));
    }

    #[test]
    fn only_what_is_read_and_written_is_in_place() {
        assert!(Span::in_place(Access::Maps, At(64), 1).in_place);
        assert!(!Span::in_place(Access::Writes, At(64), 1).in_place);
        assert!(!Span::in_place(Access::Reads, At(64), 1).in_place);
        assert!(!Span::new(Access::Maps, At(64), At(80), 1).in_place);
        let part = Span::new(Access::Maps, At(64), At(80), 16).part(5, 3);
        assert_eq!(part, Span { input: Some(At(69)), output: Some(At(85)), len: 3, in_place: false });
    }
}
