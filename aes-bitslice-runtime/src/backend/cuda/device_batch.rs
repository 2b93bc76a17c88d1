//! Messages of GCM that arrays in the memory of a GPU describe, as the caller gives them; and what the GPU has found wrong with them.

use crate::backend::device::hash::BatchResults;
use crate::base::error::Error;
use crate::op::batch::{check_number, refused};
use crate::op::gcm::LONGEST;
use aes_bitslice_core::count::counted;
pub use aes_bitslice_core::described::IntegerType;
use aes_bitslice_core::described::{Array, Fault, NonceArray, STEPS, WrongRange};
use aes_bitslice_core::messages::groups;
use cudarc::driver::sys::CUdeviceptr;
use std::ops::Range;

/// Where messages are in data, or their additional data in that of all of them: the range of bytes of each, as arrays in GPU memory or by a
/// rule. The host does not look at the arrays.
#[derive(Clone, Copy, Debug)]
pub struct DeviceRanges {
    starts: Array,
    ends: Array,
}

impl DeviceRanges {
    /// Messages of `bytes` bytes each, of which the first begins at byte 0 of the data, and each of the others `stride` bytes after the one
    /// before.
    pub fn spaced(bytes: u64, stride: u64) -> Self {
        Self { starts: Array::spaced(0, stride), ends: Array { are_lengths: true, ..Array::spaced(bytes, 0) } }
    }

    /// Two integers for each message, contiguous, as an array of `n` rows and two columns has them: its first byte, and the byte after its
    /// last.
    pub fn pairs(integers: IntegerType, at: CUdeviceptr) -> Self {
        let bytes = integers.bytes();
        let one = |first| Array { integers: Some(integers), first, step: 2 * bytes, are_lengths: false };
        Self { starts: one(at), ends: one(at.wrapping_add(bytes)) }
    }

    /// The first byte of each message, and its number of bytes: two contiguous arrays.
    pub fn lengths(offsets: (IntegerType, CUdeviceptr), lengths: (IntegerType, CUdeviceptr)) -> Self {
        let array = |(integers, first): (IntegerType, _), are_lengths| Array {
            integers: Some(integers),
            first,
            step: integers.bytes(),
            are_lengths,
        };
        Self { starts: array(offsets, false), ends: array(lengths, true) }
    }

    /// Refuses what the host can see is wrong with ranges of at most `longest` bytes each.
    fn check(&self, count: usize, longest: u64, what: &str) -> Result<(), Error> {
        for Array { integers, first, step, are_lengths } in [self.starts, self.ends] {
            let last = step.checked_mul((count as u64).saturating_sub(1)).and_then(|n| n.checked_add(first));
            match integers {
                Some(integers) if !first.is_multiple_of(integers.bytes()) => {
                    return refused(format!(
                        "{what} are integers of {} bytes: give an array that begins at a multiple of that",
                        integers.bytes()
                    ));
                }
                None if are_lengths && first > longest => {
                    return refused(format!("{what} of {first} bytes each, and there is room for {longest}"));
                }
                None if step >= STEPS || last.is_none() => {
                    return refused(format!(
                        "{what} begin 2^56 bytes apart, or beyond byte 2^64: give a smaller stride"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The nonces of messages in GPU memory, 12 bytes each. The GPU does not look for two that are the same: under one key, the caller must never
/// give the same nonce twice, in one call or in several. A graph that is launched again reads its nonces again, so new ones have to be there.
#[derive(Clone, Copy, Debug)]
pub struct DeviceNonces(NonceArray);

impl DeviceNonces {
    /// One for each message, contiguous.
    pub fn each(at: CUdeviceptr) -> Self {
        Self(NonceArray::Each(at))
    }

    /// Nonces that count up from the one at this address: the last `counter_bits` bits, 32 or 64, are a big-endian number, to which the number
    /// of the message is added (SP 800-38D, section 8.2.1). A number that would start again from zero is a fault.
    ///
    /// # Errors
    /// [`Error::Batch`] for another number of bits.
    pub fn counted(first: CUdeviceptr, counter_bits: u32) -> Result<Self, Error> {
        match counter_bits {
            32 | 64 => Ok(Self(NonceArray::Counted(first, counter_bits / 32))),
            _ => refused(format!("nonces with a counter of {counter_bits} bits: it has 32 or 64")),
        }
    }
}

/// The additional data of messages in GPU memory, at any alignment.
#[derive(Clone, Copy, Debug)]
pub struct DeviceAads {
    at: CUdeviceptr,
    bytes: u64,
    ranges: DeviceRanges,
}

impl DeviceAads {
    /// No message has any.
    pub fn none() -> Self {
        Self::shared(0, 0)
    }

    /// All messages have these bytes.
    pub fn shared(at: CUdeviceptr, bytes: u64) -> Self {
        Self { at, bytes, ranges: DeviceRanges::spaced(bytes, 0) }
    }

    /// That of each message is a range of these bytes, in any order; ranges may overlap.
    pub fn each(at: CUdeviceptr, bytes: u64, ranges: DeviceRanges) -> Self {
        Self { at, bytes, ranges }
    }
}

/// What a call does with the tags of the messages, in GPU memory: tags of 16 bytes each, contiguous, in the order of the messages. All addresses
/// are multiples of 4.
#[derive(Clone, Copy, Debug)]
pub enum DeviceTags {
    /// It encrypts, and makes them.
    Make {
        /// Where they go.
        tags: CUdeviceptr,
    },
    /// It decrypts, and compares them. Messages that are not authentic are cleared.
    Verify {
        /// The tags that messages should have; of each, 16 bytes.
        expected: CUdeviceptr,
        /// The number of bytes of each that count, the first ones: 12 to 16, or 4 or 8 ([`Tag::short`](crate::Tag::short)).
        tag_bytes: usize,
        /// Where a verdict of each message goes, a word of 32 bits: 0 if it is authentic, else another number.
        verdicts: CUdeviceptr,
    },
}

impl DeviceTags {
    /// The number of bytes that count.
    pub(crate) fn bytes(&self) -> Result<u32, Error> {
        match *self {
            Self::Make { .. } => Ok(16),
            Self::Verify { tag_bytes: bytes @ (4 | 8 | 12..=16), .. } => Ok(bytes as u32),
            Self::Verify { tag_bytes: bytes, .. } => Err(Error::TagLength { bytes }),
        }
    }

    pub(crate) fn results(&self) -> BatchResults {
        match *self {
            Self::Make { tags } => BatchResults::Tags(tags),
            Self::Verify { expected, verdicts, .. } => BatchResults::Verdicts { expected, verdicts },
        }
    }
}

/// Messages of GCM that arrays in GPU memory describe: for calls that wait for nothing, and that a graph can hold
/// ([`DeviceCipher::run_raw_described`](crate::cuda::DeviceCipher::run_raw_described)).
///
/// The GPU checks what the host checks of other batches, except that nonces are new: ranges ascend, do not overlap, and end within the data;
/// those of additional data end within it; no message is longer than 2^36 - 32 bytes. If anything is wrong, nothing is processed, and output,
/// tags and verdicts stay as they are, except that no verdict says that a message is authentic. What is wrong goes to two words of GPU memory,
/// which [`check`](Self::check) reads.
#[derive(Clone, Copy, Debug)]
pub struct DeviceBatch {
    count: u32,
    ranges: DeviceRanges,
    nonces: NonceArray,
    aads: DeviceAads,
}

impl DeviceBatch {
    /// `count` messages.
    ///
    /// # Errors
    /// [`Error::Batch`] for more messages than 2^31, arrays of integers that are not aligned to an integer, strides of 2^56 bytes and more, a
    /// rule by which messages have more than 2^36 - 32 bytes, and 4 GiB of additional data and more.
    pub fn new(count: usize, ranges: DeviceRanges, nonces: DeviceNonces, aads: DeviceAads) -> Result<Self, Error> {
        check_number(count)?;
        ranges.check(count, LONGEST, "ranges")?;
        if aads.bytes > u32::MAX.into() {
            return refused("4 GiB of additional data or more: make several batches".to_owned());
        }
        aads.ranges.check(count, u32::MAX.into(), "ranges of additional data")?;
        Ok(Self { count: count as u32, ranges, nonces: nonces.0, aads })
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The arrays as kernels take them: of the first and the last bytes, and of those of the additional data.
    pub(crate) fn arrays(&self) -> [[u32; 4]; 4] {
        let (ranges, aads) = (&self.ranges, &self.aads.ranges);
        [ranges.starts, ranges.ends, aads.starts, aads.ends].map(|array| array.words())
    }

    /// How many groups of threads share a message ([`groups`]), if the messages share `len` bytes evenly, or, where arrays describe them, the longest
    /// has twice as many as the others: the host does not know their lengths.
    pub(crate) fn groups(&self, len: u64, units: u32) -> u32 {
        let count = u64::from(self.count.max(1));
        let (blocks, longest) = match self.ranges.ends.integers {
            None => (self.ranges.ends.first.div_ceil(16), 1),
            Some(_) => (len.div_ceil(16 * count), 2),
        };
        groups(count, longest * blocks, count * (blocks + 1).div_ceil(32), units.into())
    }

    pub(crate) fn nonces(&self) -> [u32; 4] {
        self.nonces.words()
    }

    /// The address and the number of bytes of the additional data.
    pub(crate) fn aad(&self) -> (CUdeviceptr, u64) {
        (self.aads.at, self.aads.bytes)
    }

    /// The memory of its arrays and nonces, which kernels read.
    pub(crate) fn read(&self) -> Vec<Range<u64>> {
        let (count, last) = (u64::from(self.count), u64::from(self.count.saturating_sub(1)));
        let of = |array: &Array| {
            let bytes = array.integers?.bytes();
            Some(array.first..array.first.saturating_add(array.step * last + bytes))
        };
        let (ranges, aads) = (&self.ranges, &self.aads.ranges);
        let arrays = [&ranges.starts, &ranges.ends, &aads.starts, &aads.ends].into_iter().filter_map(of);
        let (nonces, bytes) = match self.nonces {
            NonceArray::Each(at) => (at, 12 * count),
            NonceArray::Counted(at, _) => (at, 12),
        };
        arrays.chain(std::iter::once(nonces..nonces.saturating_add(bytes))).collect()
    }

    /// Reads the two words that a call has written: whether all was right.
    ///
    /// # Errors
    /// [`Error::Batch`] with what is wrong with the first message that is: the call has processed none.
    pub fn check(fault: [u32; 2]) -> Result<(), Error> {
        let Ok(found) = Fault::read(fault) else {
            return refused(format!("{fault:?} is nothing that a call has written: look when it is done"));
        };
        let Some((fault, n)) = found else { return Ok(()) };
        refused(match fault {
            Fault::Range(wrong) => Self::wrong_range(&format!("message {n}"), "the data", wrong, LONGEST),
            Fault::Aad(wrong) => {
                let whose = format!("additional data of message {n}");
                Self::wrong_range(&whose, "all additional data", wrong, u32::MAX.into())
            }
            Fault::Nonce => {
                format!("nonces would start again: the first one leaves room for {}", counted(n as usize, "message"))
            }
        })
    }

    fn wrong_range(what: &str, of: &str, wrong: WrongRange, longest: u64) -> String {
        match wrong {
            WrongRange::NoPosition => {
                format!(
                    "{what} has a number that is not a position in the data: it must be 0 to 2^64 - 1, and so must its end"
                )
            }
            WrongRange::EndsFirst => format!("{what} ends before it begins"),
            WrongRange::TooLong => format!("{what} has more than {longest} bytes: make several of it"),
            WrongRange::Overlaps => {
                format!("{what} begins before the end of the one before it: ranges ascend and do not overlap")
            }
            WrongRange::Beyond => format!("{what} ends after the last byte of {of}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_core::messages::WIDEST;

    fn batch(count: usize, ranges: DeviceRanges) -> Result<DeviceBatch, Error> {
        DeviceBatch::new(count, ranges, DeviceNonces::each(3), DeviceAads::none())
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let integers = IntegerType::I64;
        assert!(batch(9, DeviceRanges::pairs(integers, 16)).is_ok());
        assert!(batch(9, DeviceRanges::pairs(integers, 20)).is_err());
        assert!(batch(9, DeviceRanges::lengths((IntegerType::U32, 20), (integers, 24))).is_ok());
        assert!(batch(9, DeviceRanges::lengths((IntegerType::U32, 20), (integers, 20))).is_err());
        assert!(batch((1 << 31) + 1, DeviceRanges::spaced(1, 1)).is_err());
        assert!(batch(200, DeviceRanges::spaced(7, STEPS - 1)).is_ok());
        assert!(batch(300, DeviceRanges::spaced(7, STEPS - 1)).is_err());
        assert!(batch(2, DeviceRanges::spaced(7, STEPS)).is_err());
        assert!(batch(2, DeviceRanges::spaced(LONGEST + 1, 7)).is_err());
        assert!(DeviceNonces::counted(0, 33).is_err());
        let much = DeviceAads::shared(0, 1 << 32);
        assert!(DeviceBatch::new(1, DeviceRanges::spaced(1, 1), DeviceNonces::each(0), much).is_err());
    }

    /// As many and as long ones as there may be.
    #[test]
    fn groups_of_any_messages_can_be_counted() {
        for (count, ranges) in [
            (1, DeviceRanges::pairs(IntegerType::U32, 0)),
            (1 << 31, DeviceRanges::pairs(IntegerType::U32, 0)),
            (1, DeviceRanges::spaced(LONGEST, 0)),
            (1 << 31, DeviceRanges::spaced(LONGEST, 0)),
        ] {
            assert!(batch(count, ranges).unwrap().groups(u64::MAX, 528) <= WIDEST);
        }
    }

    #[test]
    fn a_fault_names_its_message() {
        let says = |words| DeviceBatch::check(words).unwrap_err().to_string();
        assert!(DeviceBatch::check([0, 0]).is_ok());
        for (code, what) in [
            (1, "message 7 has a number that is not a position"),
            (2, "message 7 ends before it begins"),
            (3, "message 7 has more than 68719476704 bytes"),
            (4, "message 7 begins before the end"),
            (5, "message 7 ends after the last byte of the data"),
            (13, "additional data of message 7 ends after the last byte of all additional data"),
            (16, "room for 7 messages"),
            (17, "is nothing that a call has written"),
        ] {
            assert!(says([code, 7]).contains(what), "{}", says([code, 7]));
        }
    }
}
