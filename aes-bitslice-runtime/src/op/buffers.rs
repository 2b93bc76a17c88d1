//! The host memory of one call: its input, its output, or both.

use crate::base::error::Error;
use cipher::array::Array;
use cipher::consts::U16;
use cipher::inout::InOutBuf;
use std::ops::Range;

/// How an operation accesses its data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Every byte of the input becomes a byte of the output.
    Maps,
    /// It reads its input and writes nothing.
    Reads,
    /// It writes its output and reads nothing.
    Writes,
}

impl Access {
    /// The error of a call whose data does not fit an operation with this access.
    pub(crate) fn refused(self, operation: &'static str) -> Error {
        let takes = match self {
            Self::Maps => "data that it may write: `&mut data` in place, or an input with an output of its length",
            Self::Reads => "an input, and no output: `&data`",
            Self::Writes => "an output, and no input: `&mut data`",
        };
        Error::WrongAccess { operation, takes }
    }
}

/// The host memory of one call. Input and output, where there are both, have the same length.
///
/// A call takes anything that converts into this: references to slices, arrays, `Vec<u8>`, [`HostBuffer`](crate::HostBuffer), and whatever else
/// has bytes by `AsRef` and `AsMut`. `&mut data` is both input and output, `(&input, &mut output)` is a separate input and output, and `&input`
/// is an input for an operation that only reads. An operation that only writes takes `&mut data`.
#[derive(Debug)]
pub enum Buffers<'a> {
    /// The output replaces the input.
    InPlace(&'a mut [u8]),
    /// The input is unchanged.
    To {
        /// The input.
        input: &'a [u8],
        /// The output.
        output: &'a mut [u8],
    },
    /// The input. Nothing is written.
    Read(&'a [u8]),
    /// The output, whatever was there before.
    Write(&'a mut [u8]),
}

impl<'a, D: AsMut<[u8]> + ?Sized> From<&'a mut D> for Buffers<'a> {
    #[inline]
    fn from(data: &'a mut D) -> Self {
        Self::InPlace(data.as_mut())
    }
}

impl<'a, D: AsRef<[u8]> + ?Sized> From<&'a D> for Buffers<'a> {
    #[inline]
    fn from(input: &'a D) -> Self {
        Self::Read(input.as_ref())
    }
}

impl<'a, I: AsRef<[u8]> + ?Sized, O: AsMut<[u8]> + ?Sized> From<(&'a I, &'a mut O)> for Buffers<'a> {
    #[inline]
    fn from((input, output): (&'a I, &'a mut O)) -> Self {
        Self::To { input: input.as_ref(), output: output.as_mut() }
    }
}

impl<'a> Buffers<'a> {
    /// This data as an operation with this access takes it.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for an input and an output of different lengths, [`Error::WrongAccess`] if an input or
    /// an output is missing, or there is one that the operation does not use.
    #[inline]
    pub(crate) fn accessed(self, access: Access, operation: &'static str) -> Result<Self, Error> {
        if let Self::To { input, output } = &self
            && input.len() != output.len()
        {
            return Err(Error::LengthMismatch { input: input.len(), output: output.len() });
        }
        match (access, self) {
            (Access::Maps, data @ (Self::InPlace(_) | Self::To { .. })) => Ok(data),
            (Access::Reads, Self::InPlace(data)) => Ok(Self::Read(data)),
            (Access::Reads, data @ Self::Read(_)) => Ok(data),
            (Access::Writes, Self::InPlace(data) | Self::Write(data)) => Ok(Self::Write(data)),
            (access, _) => Err(access.refused(operation)),
        }
    }

    /// The input, as it is before anything is written; empty if nothing is read.
    pub(crate) fn input(&self) -> &[u8] {
        match self {
            Self::InPlace(data) => data,
            Self::To { input, .. } | Self::Read(input) => input,
            Self::Write(_) => &[],
        }
    }

    /// The output: in place it holds the input. Empty if nothing is written.
    #[inline]
    pub(crate) fn output(&mut self) -> &mut [u8] {
        match self {
            Self::InPlace(data) | Self::Write(data) => data,
            Self::To { output, .. } => output,
            Self::Read(_) => &mut [],
        }
    }

    /// Whether there is an input.
    pub(crate) fn reads(&self) -> bool {
        !matches!(self, Self::Write(_))
    }

    /// Whether there is an output.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self, Self::Read(_))
    }

    /// The length in bytes of the input, of the output, or of each if there are both.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::InPlace(data) | Self::Write(data) => data.len(),
            Self::To { input, .. } | Self::Read(input) => input.len(),
        }
    }

    /// Input and output as blocks, for an operation that maps whole blocks.
    pub(crate) fn into_blocks(self) -> InOutBuf<'a, 'a, Array<u8, U16>> {
        let (blocks, rest) = self.into_in_out().into_chunks();
        debug_assert!(rest.is_empty(), "whole blocks");
        blocks
    }

    /// Input and output, for an operation that maps.
    #[inline]
    pub(crate) fn into_in_out(self) -> InOutBuf<'a, 'a, u8> {
        match self {
            Self::InPlace(data) => data.into(),
            Self::To { input, output } => InOutBuf::new(input, output).expect("equal lengths, as checked"),
            Self::Read(_) | Self::Write(_) => unreachable!("an operation that maps has an input and an output"),
        }
    }

    /// Borrows this data; this value cannot be used until the borrow ends.
    #[inline]
    pub(crate) fn reborrow(&mut self) -> Buffers<'_> {
        match self {
            Self::InPlace(data) => Buffers::InPlace(data),
            Self::To { input, output } => Buffers::To { input, output },
            Self::Read(input) => Buffers::Read(input),
            Self::Write(output) => Buffers::Write(output),
        }
    }

    /// Parts of `bytes` bytes, the last of which may be shorter.
    pub(crate) fn chunks(self, bytes: usize) -> impl Iterator<Item = Self> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let data = rest.take().filter(|data| data.len() > 0)?;
            let len = data.len().min(bytes);
            let (chunk, after) = data.split_at(len);
            rest = Some(after);
            Some(chunk)
        })
    }

    /// The parts at these ranges, which are within the data, ascend and do not overlap.
    pub(crate) fn parts(
        self,
        ranges: impl IntoIterator<Item = Range<u64>, IntoIter: ExactSizeIterator>,
    ) -> impl ExactSizeIterator<Item = Self> {
        let (mut rest, mut done) = (Some(self), 0);
        ranges.into_iter().map(move |Range { start, end }| {
            let (_, from) = rest.take().expect("put back below").split_at((start - done) as usize);
            let (part, after) = from.split_at((end - start) as usize);
            (rest, done) = (Some(after), end);
            part
        })
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
            Self::Read(input) => {
                let (first, rest) = input.split_at(bytes);
                (Self::Read(first), Self::Read(rest))
            }
            Self::Write(output) => {
                let (first, rest) = output.split_at_mut(bytes);
                (Self::Write(first), Self::Write(rest))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_where_they_are_asked_for() {
        let (input, mut output): ([u8; 10], _) = (std::array::from_fn(|i| i as u8), [0; 10]);
        let mut parts: Vec<_> = Buffers::from((&input[..], &mut output[..])).parts([1..3, 3..3, 6..10]).collect();
        assert_eq!(parts.iter().map(Buffers::input).collect::<Vec<_>>(), [&[1, 2][..], &[], &[6, 7, 8, 9]]);
        parts.iter_mut().zip(1..).for_each(|(part, n)| part.output().fill(n));
        assert_eq!(output, [0, 1, 1, 0, 0, 0, 3, 3, 3, 3]);
        for (len, lengths) in [(0, &[][..]), (4, &[4]), (9, &[4, 4, 1])] {
            let chunks: Vec<_> = Buffers::from(&mut output[..len]).chunks(4).map(|chunk| chunk.len()).collect();
            assert_eq!(chunks, lengths);
        }
    }

    #[test]
    fn operations_get_the_buffers_that_they_use() {
        let (input, mut data, mut other) = ([1; 4], [2; 4], [3; 5]);
        let kind = |data: Buffers<'_>, access| {
            data.accessed(access, "test").map(|data| (data.reads(), data.writes(), data.len())).ok()
        };
        assert_eq!(kind((&mut data).into(), Access::Maps), Some((true, true, 4)));
        assert_eq!(kind((&mut data).into(), Access::Reads), Some((true, false, 4)));
        assert_eq!(kind((&mut data).into(), Access::Writes), Some((false, true, 4)));
        assert_eq!(kind((&input).into(), Access::Reads), Some((true, false, 4)));
        assert_eq!(kind((&input[..], &mut data[..]).into(), Access::Maps), Some((true, true, 4)));
        for (data, access) in [
            (Buffers::from(&input), Access::Maps),
            (Buffers::from(&input), Access::Writes),
            (Buffers::from((&input[..], &mut data[..])), Access::Reads),
        ] {
            assert!(matches!(data.accessed(access, "test"), Err(Error::WrongAccess { operation: "test", .. })));
        }
        let unequal = Buffers::from((&input[..], &mut other[..]));
        assert!(matches!(unequal.accessed(Access::Maps, "test"), Err(Error::LengthMismatch { input: 4, output: 5 })));
    }
}
