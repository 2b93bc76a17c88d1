//! Seals and opens consecutive segments in one buffer, a chunk: at once and in place.
//!
//! ```text
//! message   plaintext 0 | plaintext 1 | plaintext 2
//! apart     plaintext 0 | room | plaintext 1 | room | plaintext 2 | room
//! file      ciphertext 0 | tag | ciphertext 1 | tag | ciphertext 2 | tag
//! ```
//!
//! The bytes read from a message or a file are contiguous at the front of the buffer, and so are the bytes to write.

use crate::error::Error;
use crate::places::{Places, TAG};
use crate::stream::Stream;
use aes_bitslice_core::memory::{collected, room, tried};
use aes_bitslice_runtime::{
    self as runtime, GcmDecrypt, GcmDecryptBatch, GcmEncrypt, GcmEncryptBatch, GcmMessage, Operation, Tag,
};
use std::ops::Range;

/// A segment of a chunk.
struct Segment {
    nonce: [u8; 12],
    /// Its plaintext, contiguous with the others'.
    message: Range<usize>,
    /// Its plaintext or ciphertext without the tag, where it is in the file.
    file: Range<usize>,
}

impl Segment {
    /// Where its tag is.
    fn tag(&self) -> Range<usize> {
        self.file.end..self.file.end + TAG
    }

    fn in_batch(&self) -> GcmMessage<'_> {
        GcmMessage { nonce: &self.nonce, aad: &[], range: self.file.start as u64..self.file.end as u64 }
    }
}

impl Stream {
    /// Seals the `bytes` bytes of the message at the front of `memory`, which belong to the segments from number `first` on. Returns how
    /// many bytes they become.
    pub(crate) fn seal(&self, first: u64, is_last: bool, memory: &mut [u8], bytes: usize) -> Result<usize, Error> {
        let segments = self.segments(first, is_last, bytes, 0)?;
        let end = segments.last().map_or(0, |last| last.tag().end);
        for Segment { message, file, .. } in segments.iter().skip(1).rev() {
            memory.copy_within(message.clone(), file.start);
        }
        let data = &mut memory[..end];
        let tags = if self.is_batched(segments.len()) {
            let messages = collected(segments.iter().map(Segment::in_batch))?;
            self.run(GcmEncryptBatch::new(&messages)?, data)?
        } else {
            let one = |segment: &Segment| {
                self.run(GcmEncrypt::new(&segment.nonce.into(), &[]), &mut data[segment.file.clone()])
            };
            tried(segments.iter().map(one))?
        };
        for (segment, tag) in segments.iter().zip(&tags) {
            data[segment.tag()].copy_from_slice(tag.as_bytes());
        }
        Ok(end)
    }

    /// Opens the `bytes` bytes of a file at the front of `memory`: the segments from number `first` on. Returns how many bytes of the
    /// message they become. If any is not authentic, or anything else fails, all are cleared.
    pub(crate) fn open(&self, first: u64, is_last: bool, memory: &mut [u8], bytes: usize) -> Result<usize, Error> {
        let data = &mut memory[..bytes];
        self.open_all(first, is_last, data).inspect_err(|_| data.fill(0))
    }

    fn open_all(&self, first: u64, is_last: bool, data: &mut [u8]) -> Result<usize, Error> {
        let segments = self.segments(first, is_last, data.len(), TAG)?;
        let tags = tried(segments.iter().map(|segment| Tag::new(&data[segment.tag()])))?;
        let damaged = if self.is_batched(segments.len()) {
            let messages = collected(segments.iter().map(Segment::in_batch))?;
            self.run(GcmDecryptBatch::new(&messages, &tags)?, data)?.failed().first().copied()
        } else {
            let mut is_damaged = |(segment, tag): (&Segment, &Tag)| {
                let decrypt = GcmDecrypt::new(&segment.nonce.into(), &[], tag);
                match self.run(decrypt, &mut data[segment.file.clone()]) {
                    Err(runtime::Error::Unauthenticated) => Some(Ok(())),
                    outcome => outcome.err().map(Err),
                }
            };
            let mut outcomes = segments.iter().zip(&tags).map(&mut is_damaged);
            match outcomes.by_ref().enumerate().find_map(|(n, outcome)| Some((n, outcome?))) {
                Some((_, Err(error))) => return Err(error.into()),
                found => found.map(|(n, _)| n),
            }
        };
        if let Some(number) = damaged {
            return Err(Error::Damaged { index: first + number as u64 });
        }
        for Segment { message, file, .. } in segments.iter().skip(1) {
            data.copy_within(file.clone(), message.start);
        }
        Ok(segments.last().map_or(0, |last| last.message.end))
    }

    /// Whether this many segments are one batch call. On a GPU a single one is not: a batch has an eighth of a thread block for each. Nor is
    /// it where no other chunk occupies the other cores: a batch has one core for each.
    fn is_batched(&self, segments: usize) -> bool {
        self.is_batched && (segments > 1 || !(self.in_turn || self.cipher.engine().backend().is_cuda()))
    }

    /// Runs an operation where the engine is.
    fn run<O: Operation>(&self, operation: O, data: &mut [u8]) -> Result<O::Output, runtime::Error> {
        #[cfg(feature = "cuda")]
        if let Some(gpus) = &self.gpus {
            return gpus.run(&self.cipher, operation, data);
        }
        self.cipher.run(operation, data)
    }

    /// The segments from number `first` on that have `bytes` bytes in all, each with its plaintext and `more` bytes of a tag. There is at
    /// least one; all except the last of the stream are whole.
    ///
    /// # Errors
    /// [`Error::Damaged`] if a segment of a file is cut off; [`Error::TooLong`].
    fn segments(&self, first: u64, is_last: bool, bytes: usize, more: usize) -> Result<Vec<Segment>, Error> {
        let Places { segment, .. } = self.places;
        let mut segments = room(bytes / (segment - TAG + more) + 2)?;
        let (mut index, mut message, mut file, mut left) = (first, 0, 0, bytes);
        loop {
            let most = self.places.plaintext_bytes(index) + more;
            let all = left.min(most);
            left -= all;
            let Some(len) = all.checked_sub(more) else { return Err(Error::Damaged { index }) };
            if !is_last && all < most {
                assert!(more > 0, "a chunk of a message that is not the last is whole segments");
                return Err(Error::Damaged { index });
            }
            let nonce = self.nonce(index, is_last && left == 0)?;
            segments.push(Segment { nonce, message: message..message + len, file: file..file + len });
            (index, message, file) = (index + 1, message + len, file + len + TAG);
            if left == 0 {
                return Ok(segments);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_runtime::{Backend, Engine, Key};

    const SEGMENT: usize = 100;

    fn stream(is_batched: bool) -> Stream {
        let places = Places { front: 0, header: 40, segment: SEGMENT };
        let engine = Engine::open(Backend::Cpu).unwrap();
        let mut stream = Stream::new(&engine, &Key::new(&[3; 32]).unwrap(), [5; 7], places).unwrap();
        stream.is_batched = is_batched;
        stream
    }

    fn message(len: usize) -> Vec<u8> {
        (0..len as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect()
    }

    /// For every length around the ends of segments, from the first segment on and from a later one: one call for all, one call for each,
    /// and each segment by itself give equal output.
    #[test]
    fn a_chunk_is_its_segments() {
        let streams = [true, false].map(stream);
        for first in [0, 7] {
            for len in 0..4 * SEGMENT {
                let message = message(len);
                let mut expected = vec![];
                let (mut rest, mut index) = (&message[..], first);
                loop {
                    let (one, others) = rest.split_at(rest.len().min(streams[0].places.plaintext_bytes(index)));
                    let nonce = streams[0].nonce(index, others.is_empty()).unwrap().into();
                    let mut data = one.to_vec();
                    let tag = streams[0].cipher.run(GcmEncrypt::new(&nonce, &[]), &mut data[..]).unwrap();
                    expected.extend([&data, tag.as_bytes()].concat());
                    (rest, index) = (others, index + 1);
                    if rest.is_empty() {
                        break;
                    }
                }
                for stream in &streams {
                    let mut memory = [&message[..], &[9; 6 * TAG]].concat();
                    let sealed = stream.seal(first, true, &mut memory, len).unwrap();
                    assert!(memory[..sealed] == expected, "{len} from {first}");
                    let opened = stream.open(first, true, &mut memory, sealed).unwrap();
                    assert!(memory[..opened] == message, "{len} from {first}");
                }
            }
        }
    }

    /// The changed segment is reported, and nothing of the others is left.
    #[test]
    fn what_was_changed_is_reported_by_its_number() {
        for stream in [true, false].map(stream) {
            let mut sealed = [message(300), vec![0; 5 * TAG]].concat();
            let len = stream.seal(0, true, &mut sealed, 300).unwrap();
            sealed.truncate(len);
            for at in 0..len {
                let mut memory = sealed.clone();
                memory[at] ^= 4;
                let outcome = stream.open(0, true, &mut memory, len);
                let index = (at as u64 + 40) / SEGMENT as u64;
                assert!(matches!(outcome, Err(Error::Damaged { index: reported }) if reported == index), "byte {at}");
                assert!(memory == vec![0; len]);
            }
            // As if there were more, elsewhere, and cut off.
            assert!(stream.open(1, true, &mut sealed.clone(), len).is_err());
            for cut in 0..len {
                assert!(matches!(stream.open(0, true, &mut sealed.clone(), cut), Err(Error::Damaged { .. })), "{cut}");
            }
            let whole = 3 * SEGMENT - 40;
            let outcome = stream.open(0, true, &mut sealed.clone(), whole);
            assert!(matches!(outcome, Err(Error::Damaged { index: 2 })));
            assert_eq!(stream.open(0, false, &mut sealed.clone(), whole).unwrap(), whole - 3 * TAG);
            let outcome = stream.open(0, false, &mut sealed.clone(), whole - 1);
            assert!(matches!(outcome, Err(Error::Damaged { index: 2 })));
        }
    }

    #[test]
    #[should_panic(expected = "is whole segments")]
    fn a_chunk_that_is_not_the_last_ends_with_a_segment() {
        let _ = stream(true).seal(0, false, &mut [0; SEGMENT], 1);
    }

    #[test]
    fn a_stream_has_2_to_the_32_segments() {
        let stream = stream(true);
        assert!(stream.seal(u64::from(u32::MAX), true, &mut [0; SEGMENT], 1).is_ok());
        assert!(matches!(stream.seal(1 << 32, true, &mut [0; SEGMENT], 1), Err(Error::TooLong)));
    }
}
