//! The location of a call's data in device memory.

use crate::op::buffers::Access;
use cudarc::driver::sys::CUdeviceptr;

/// The location of a call's data, as far as it is read and written. If it is both, input and output are one range, or do not overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    /// The data that is read; `None` if there is none.
    pub(crate) input: Option<CUdeviceptr>,
    /// The data that is written; `None` if there is none.
    pub(crate) output: Option<CUdeviceptr>,
    /// The length in bytes.
    pub(crate) len: u64,
}

impl Span {
    /// The parts of these that an operation with this kind of access uses.
    pub(crate) fn new(access: Access, input: CUdeviceptr, output: CUdeviceptr, len: u64) -> Self {
        let (reads, writes) = (access != Access::Writes, access != Access::Reads);
        Self { input: reads.then_some(input), output: writes.then_some(output), len }
    }

    /// A span whose input and output, as far as they are used, are this range.
    pub(crate) fn in_place(access: Access, data: CUdeviceptr, len: u64) -> Self {
        Self::new(access, data, data, len)
    }

    /// Whether the output replaces the input.
    pub(crate) fn is_in_place(&self) -> bool {
        self.input.is_some() && self.input == self.output
    }

    /// Whether byte `at` of every range used is at a multiple of 16 bytes.
    pub(crate) fn is_aligned(&self, at: u64) -> bool {
        let is_aligned = |start: CUdeviceptr| start.wrapping_add(at).is_multiple_of(16);
        self.input.into_iter().chain(self.output).all(is_aligned)
    }

    /// The part from byte `at` on, `len` bytes long.
    pub(crate) fn part(&self, at: u64, len: u64) -> Self {
        Self { input: self.input.map(|start| start + at), output: self.output.map(|start| start + at), len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_is_not_there() {
        let span = |access| Span::new(access, 64, 97, 10);
        assert_eq!((span(Access::Maps).input, span(Access::Maps).output), (Some(64), Some(97)));
        assert_eq!((span(Access::Reads).input, span(Access::Reads).output), (Some(64), None));
        assert_eq!((span(Access::Writes).input, span(Access::Writes).output), (None, Some(97)));
        // Only the ranges used count.
        assert!(span(Access::Reads).is_aligned(0) && !span(Access::Reads).is_aligned(15));
        assert!(!span(Access::Writes).is_aligned(0) && span(Access::Writes).is_aligned(15));
        assert!((0..16).all(|at| !span(Access::Maps).is_aligned(at)));
        assert!(Span::in_place(Access::Maps, 32, 10).is_aligned(16));
    }

    #[test]
    fn only_what_is_read_and_written_is_in_place() {
        assert!(Span::in_place(Access::Maps, 64, 1).is_in_place());
        assert!(!Span::in_place(Access::Writes, 64, 1).is_in_place());
        assert!(!Span::in_place(Access::Reads, 64, 1).is_in_place());
        assert!(!Span::new(Access::Maps, 64, 80, 1).is_in_place());
        let part = Span::new(Access::Maps, 64, 80, 16).part(5, 3);
        assert_eq!(part, Span { input: Some(69), output: Some(85), len: 3 });
    }
}
