//! One call's data, in place or from one buffer to another, and its pieces spread over the cores.

use crate::Error;
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
}

impl<'a> From<Buffers<'a>> for InOutBuf<'a, 'a, u8> {
    fn from(buffers: Buffers<'a>) -> Self {
        match buffers {
            Buffers::InPlace(data) => data.into(),
            Buffers::To { input, output } => InOutBuf::new(input, output).expect("equal lengths, as checked"),
        }
    }
}

/// Calls `call` with every piece and its position in the data, on all cores; a single piece stays on this thread.
pub(crate) fn over_cores(
    data: Buffers<'_>,
    call: impl Fn(usize, InOutBuf<'_, '_, u8>) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    if data.len() <= PIECE {
        return call(0, data.into());
    }
    match data {
        Buffers::InPlace(data) => {
            data.par_chunks_mut(PIECE).enumerate().try_for_each(|(i, piece)| call(i * PIECE, piece.into()))
        }
        Buffers::To { input, output } => input
            .par_chunks(PIECE)
            .zip(output.par_chunks_mut(PIECE))
            .enumerate()
            .try_for_each(|(i, (input, output))| call(i * PIECE, Buffers::To { input, output }.into())),
    }
}
