//! Where segments are in a file, and their plaintext in the message.

use crate::error::Error;
use std::ops::{Bound, Range, RangeBounds};

/// Bytes of a tag.
pub(crate) const TAG: usize = 16;

/// The most segments of a stream: their numbers have 32 bits.
const MOST_SEGMENTS: u64 = 1 << 32;

/// A number, or the largest that there is.
fn fit(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Where segments are in a file, and their plaintext in the message. Segments are counted from 0.
///
/// All segments have one length, except the first, which is shorter by the header of the stream, and the last.
///
/// Any number is accepted as a segment or a byte, even one that no stream has. A place or a length of 2^64 or more is `u64::MAX`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Places {
    /// Bytes of the file before the stream.
    pub(crate) front: usize,
    /// Bytes of the stream's header.
    pub(crate) header: usize,
    /// Bytes of a segment, its tag included, and for the first also the header.
    pub(crate) segment: usize,
}

/// A part of a message, and the part of its file that holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The bytes of the message that were asked for.
    pub range: Range<u64>,
    /// The first segment.
    pub first: u64,
    /// How many there are.
    pub segments: u64,
    /// The bytes of the file that hold the segments.
    pub read: Range<u64>,
    /// The number of bytes of their plaintext before the requested ones.
    pub skip: usize,
    /// Whether the last of them is the last of the message.
    pub is_end: bool,
}

impl Places {
    /// Bytes of the file before the first segment.
    pub fn header_bytes(self) -> usize {
        self.front + self.header
    }

    /// Bytes of a segment and its tag, except for the first and the last.
    pub fn segment_bytes(self) -> usize {
        self.segment
    }

    /// The most bytes of plaintext of a segment.
    pub fn plaintext_bytes(self, index: u64) -> usize {
        self.segment - TAG - if index == 0 { self.header } else { 0 }
    }

    /// The segment that holds this byte of the message, if the message has it.
    pub fn segment_of(self, byte: u64) -> u64 {
        fit((u128::from(byte) + self.header as u128) / (self.segment - TAG) as u128)
    }

    /// The first byte of a segment's plaintext in the message.
    pub fn first_byte(self, index: u64) -> u64 {
        fit((u128::from(index) * (self.segment - TAG) as u128).saturating_sub(self.header as u128))
    }

    /// The first byte of a segment's ciphertext in the file.
    pub fn place(self, index: u64) -> u64 {
        fit(self.front as u128 + (u128::from(index) * self.segment as u128).max(self.header as u128))
    }

    /// The number of bytes of the file of a message of this length.
    pub fn file_bytes(self, message: u64) -> u64 {
        let segments = u128::from(self.segment_of(message.saturating_sub(1))) + 1;
        fit(u128::from(message) + self.header_bytes() as u128 + segments * TAG as u128)
    }

    /// The number of segments of a file of this length, and of bytes of its message.
    ///
    /// # Errors
    /// [`Error::CutOff`] for a length that no message has, [`Error::TooLong`] for more segments than a stream can have.
    pub fn message(self, file: u64) -> Result<(u64, u64), Error> {
        let stream = file.saturating_sub(self.front as u64);
        let segments = stream.div_ceil(self.segment as u64);
        if segments > MOST_SEGMENTS {
            return Err(Error::TooLong);
        }
        let overhead = self.header as u64 + segments * TAG as u64;
        let last = file - self.place(segments.saturating_sub(1)).min(file);
        match stream.checked_sub(overhead).filter(|_| last >= TAG as u64) {
            Some(message) => Ok((segments, message)),
            None => Err(Error::CutOff("it is cut off: its last segment has no room for a tag")),
        }
    }

    /// The part of a file of `file` bytes that holds the bytes `range` of its message: at least one segment. For an empty range, it is the
    /// segment that contains it, or the last if the range is at the end. A range without an end goes to the end of the message.
    ///
    /// # Errors
    /// [`Error::Range`] for bytes that the message of a file this long does not have, [`Error::CutOff`] for a length that no message has,
    /// [`Error::TooLong`] for more segments than a stream can have. The length of a file may have been changed:
    /// [`Opening::part`](crate::Opening::part) checks it.
    pub fn part(self, file: u64, range: &impl RangeBounds<u64>) -> Result<Part, Error> {
        let (segments, len) = self.message(file)?;
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => Some(last.saturating_add(1)),
            Bound::Excluded(&end) => Some(end),
            Bound::Unbounded => None,
        };
        let range = start..end.unwrap_or(len);
        if range.start > range.end || range.end > len {
            return Err(Error::Range { start, end, len });
        }
        let first = self.segment_of(range.start).min(segments - 1);
        let end = if range.is_empty() { first } else { self.segment_of(range.end - 1) } + 1;
        let read = self.place(first)..self.place(end).min(file);
        let skip = (range.start - self.first_byte(first)) as usize;
        Ok(Part { range, first, segments: end - first, read, skip, is_end: end == segments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_segments_written_one_after_the_other() {
        for front in [0, 96] {
            let places = Places { front, header: 40, segment: 100 };
            let front = front as u64;
            for len in 0..600_u64 {
                // Written: segment after segment.
                let (mut file, mut at, mut index, mut parts) = (front + 40, 0, 0, vec![]);
                loop {
                    let plain = (len - at).min(places.plaintext_bytes(index) as u64);
                    assert_eq!((places.place(index), places.first_byte(index)), (file, at), "{len}, {index}");
                    assert!((at..at + plain).all(|byte| places.segment_of(byte) == index));
                    parts.push((at..at + plain, file..file + plain + 16));
                    (file, at, index) = (file + plain + 16, at + plain, index + 1);
                    if at == len {
                        break;
                    }
                }
                assert_eq!(places.message(file).unwrap(), (index, len));
                assert_eq!(places.file_bytes(len), file);
                for start in (0..len).step_by(7) {
                    for end in (start + 1..=len).step_by(11) {
                        let touches = |(message, _): &&(Range<u64>, _)| message.start < end && message.end > start;
                        let touched: Vec<_> = parts.iter().filter(touches).collect();
                        let (first, last) = (touched[0], touched[touched.len() - 1]);
                        let part = places.part(file, &(start..end)).unwrap();
                        assert_eq!(part.range, start..end);
                        assert_eq!(part.read, first.1.start..last.1.end, "{start}..{end} of {len}");
                        assert_eq!((places.place(part.first), part.segments), (first.1.start, touched.len() as u64));
                        assert_eq!((part.skip as u64, part.is_end), (start - first.0.start, last.1.end == file));
                    }
                }
                // An empty range is in the segment of its byte, or in the last.
                for start in (0..len).step_by(7) {
                    let alone = places.part(file, &(start..start)).unwrap();
                    let byte = places.part(file, &(start..start + 1)).unwrap();
                    assert_eq!(alone, Part { range: start..start, ..byte });
                }
                let end = places.part(file, &(len..len)).unwrap();
                let last = &parts[parts.len() - 1];
                assert_eq!((end.read, end.segments, end.is_end), (last.1.clone(), 1, true));
                assert_eq!((end.first, end.skip as u64), (index - 1, len - last.0.start));
                assert!(matches!(places.part(file, &(0..len + 1)), Err(Error::Range { .. })));
            }
            for file in [0, 55, 115] {
                assert!(places.message(front + file).is_err() && places.message(file).is_err());
            }
        }
    }
    #[test]
    fn any_number_is_taken() {
        for front in [0, 96] {
            let places = Places { front, header: 40, segment: 100 };
            assert_eq!(places.segment_of(u64::MAX), ((u128::from(u64::MAX) + 40) / 84) as u64);
            for index in [u64::MAX / 84, u64::MAX / 84 + 1, u64::MAX] {
                let (first, place) = (u128::from(index) * 84 - 40, u128::from(index) * 100 + front as u128);
                assert_eq!(u128::from(places.first_byte(index)), first.min(u64::MAX.into()));
                assert_eq!(u128::from(places.place(index)), place.min(u64::MAX.into()));
            }
            assert_eq!(places.file_bytes(u64::MAX), u64::MAX);
            assert_eq!(places.file_bytes(0), front as u64 + 56);
            // More segments than a stream has.
            let longest = front as u64 + (100 << 32);
            assert_eq!(places.message(longest).unwrap(), (1 << 32, (84 << 32) - 40));
            for file in [longest + 16, u64::MAX] {
                assert!(matches!(places.message(file), Err(Error::TooLong)));
                assert!(matches!(places.part(file, &(0..1)), Err(Error::TooLong)));
            }
        }
    }
}
