//! Where segments lie in a file, and their plaintext in the message.

use crate::error::Error;
use std::ops::Range;

/// Bytes of a tag.
pub(crate) const TAG: usize = 16;

/// Where segments lie in a file, and their plaintext in the message. Segments are counted from 0.
///
/// All segments have the same length but the first, which is shorter by the header of the stream, and the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Places {
    /// Bytes of the file before the stream.
    pub(crate) front: usize,
    /// Bytes of the stream's header.
    pub(crate) header: usize,
    /// Bytes of a segment, its tag included, of the first the header, too.
    pub(crate) segment: usize,
}

/// A part of a message, and what of its file holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The first segment.
    pub first: u64,
    /// How many there are.
    pub segments: u64,
    /// The bytes of the file that the segments have.
    pub read: Range<u64>,
    /// The bytes of their plaintext before those that were asked for.
    pub skip: usize,
    /// Whether the last of them is the last of the message.
    pub is_end: bool,
}

impl Places {
    /// Bytes of the file before the first segment.
    pub fn header_bytes(self) -> usize {
        self.front + self.header
    }

    /// Bytes of a segment and its tag, but for the first and the last.
    pub fn segment_bytes(self) -> usize {
        self.segment
    }

    /// The most bytes of plaintext of a segment.
    pub fn plaintext_bytes(self, index: u64) -> usize {
        self.segment - TAG - if index == 0 { self.header } else { 0 }
    }

    /// The segment that holds this byte of the message, as long as it has one.
    pub fn segment_of(self, byte: u64) -> u64 {
        (byte + self.header as u64) / (self.segment - TAG) as u64
    }

    /// The first byte of a segment's plaintext in the message.
    pub fn first_byte(self, index: u64) -> u64 {
        (index * (self.segment - TAG) as u64).saturating_sub(self.header as u64)
    }

    /// The first byte of a segment's ciphertext in the file.
    pub fn place(self, index: u64) -> u64 {
        self.front as u64 + (index * self.segment as u64).max(self.header as u64)
    }

    /// The bytes of the file of a message of this length.
    pub fn file_bytes(self, message: u64) -> u64 {
        let segments = self.segment_of(message.saturating_sub(1)) + 1;
        message + self.header_bytes() as u64 + segments * TAG as u64
    }

    /// The segments of a file of this length, and the bytes of its message.
    ///
    /// # Errors
    /// [`Error::CutOff`] for one that no message has.
    pub fn message(self, file: u64) -> Result<(u64, u64), Error> {
        let stream = file.saturating_sub(self.front as u64);
        let segments = stream.div_ceil(self.segment as u64);
        let overhead = self.header as u64 + segments * TAG as u64;
        let last = file - self.place(segments.saturating_sub(1)).min(file);
        match stream.checked_sub(overhead).filter(|_| last >= TAG as u64) {
            Some(message) => Ok((segments, message)),
            None => Err(Error::CutOff("its last segment has no room for a tag")),
        }
    }

    /// What of a file of `file` bytes holds the bytes `range` of its message; none where these are none.
    ///
    /// # Errors
    /// [`Error::Range`] for bytes that the message does not have, and as [`message`](Self::message).
    pub fn part(self, file: u64, range: &Range<u64>) -> Result<Option<Part>, Error> {
        let (segments, len) = self.message(file)?;
        if range.start > range.end || range.end > len {
            return Err(Error::Range { start: range.start, end: range.end, len });
        }
        if range.is_empty() {
            return Ok(None);
        }
        let (first, behind) = (self.segment_of(range.start), self.segment_of(range.end - 1) + 1);
        let read = self.place(first)..self.place(behind).min(file);
        let skip = (range.start - self.first_byte(first)) as usize;
        Ok(Some(Part { first, segments: behind - first, read, skip, is_end: behind == segments }))
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
                        let part = places.part(file, &(start..end)).unwrap().unwrap();
                        assert_eq!(part.read, first.1.start..last.1.end, "{start}..{end} of {len}");
                        assert_eq!((places.place(part.first), part.segments), (first.1.start, touched.len() as u64));
                        assert_eq!((part.skip as u64, part.is_end), (start - first.0.start, last.1.end == file));
                    }
                }
                assert!(places.part(file, &(len..len)).unwrap().is_none());
                assert!(matches!(places.part(file, &(0..len + 1)), Err(Error::Range { .. })));
            }
            for file in [0, 55, 115] {
                assert!(places.message(front + file).is_err() && places.message(file).is_err());
            }
        }
    }
}
