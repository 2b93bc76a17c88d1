//! One call's data, in place or from one buffer to another, and its pieces spread over the cores.

use crate::Error;
use crate::work::{Part, Work};
use cipher::array::Array;
use cipher::consts::U16;
use cipher::inout::InOutBuf;
use rayon::prelude::*;

/// Bytes of a piece: small enough to balance the cores and stay in their second-level caches, large enough that
/// starting one costs nothing beside it.
pub(crate) const PIECE: usize = 256 << 10;

/// The data of one call; input and output have the same length.
pub(crate) enum Buffers<'a> {
    /// The output replaces the input.
    InPlace(&'a mut [u8]),
    /// The input stays as it is.
    To {
        /// What is read.
        input: &'a [u8],
        /// What is written.
        output: &'a mut [u8],
    },
}

impl<'a> Buffers<'a> {
    /// From one buffer to another.
    pub(crate) fn new(input: &'a [u8], output: &'a mut [u8]) -> Result<Self, Error> {
        if input.len() != output.len() {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        Ok(Self::To { input, output })
    }

    /// What is read, as it is before anything is written.
    pub(crate) fn input(&self) -> &[u8] {
        match self {
            Self::InPlace(data) => data,
            Self::To { input, .. } => input,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.input().len()
    }

    /// The same as blocks, of which there are whole ones only.
    pub(crate) fn into_blocks(self) -> InOutBuf<'a, 'a, Array<u8, U16>> {
        let (blocks, rest) = InOutBuf::from(self).into_chunks();
        debug_assert!(rest.is_empty(), "whole blocks");
        blocks
    }

    /// What is written; in place it holds the input.
    pub(crate) fn output(&mut self) -> &mut [u8] {
        match self {
            Self::InPlace(data) => data,
            Self::To { output, .. } => output,
        }
    }

    /// The same data, for as long as this is not used.
    pub(crate) fn reborrow(&mut self) -> Buffers<'_> {
        match self {
            Self::InPlace(data) => Buffers::InPlace(data),
            Self::To { input, output } => Buffers::To { input, output },
        }
    }

    /// The first `bytes`, and the rest.
    pub(crate) fn split_at(self, bytes: usize) -> (Self, Self) {
        match self {
            Self::InPlace(data) => {
                let (first, rest) = data.split_at_mut(bytes);
                (Self::InPlace(first), Self::InPlace(rest))
            }
            Self::To { input, output } => {
                let (input, input_rest) = input.split_at(bytes);
                let (output, output_rest) = output.split_at_mut(bytes);
                (Self::To { input, output }, Self::To { input: input_rest, output: output_rest })
            }
        }
    }
}

impl<'a> From<Buffers<'a>> for InOutBuf<'a, 'a, u8> {
    fn from(buffers: Buffers<'a>) -> Self {
        match buffers {
            Buffers::InPlace(data) => data.into(),
            Buffers::To { input, output } => InOutBuf::new(input, output).expect("equal lengths, as checked"),
        }
    }
}

/// Calls `call` with every part of the work, on all cores; a single piece stays on this thread.
pub(crate) fn over_cores(
    work: Work,
    data: Buffers<'_>,
    call: impl Fn(Part<'_>) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    if data.len() <= PIECE {
        return call(Part { work, data });
    }
    work.cut(data, PIECE).into_par_iter().try_for_each(&call)
}
