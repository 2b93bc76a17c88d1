//! Many messages in one call: their description for a device, and their results.

use crate::base::error::Error;
use crate::base::tag::{Tag, is_right};
use crate::base::threads::divided;
use crate::cpu::hash_key::HashKey;
use crate::op::gcm_by_key::OfGcmJobs;
use crate::op::gcm_messages::Messages;
use crate::op::many_keys::Jobs;
use crate::op::ranges::{Fault, Placed};
use crate::op::tagging::{Computed, Make, Tagging, Verify};
use aes_bitslice_core::count::counted;
use aes_bitslice_core::memory::{NoMemory, collected, filled, room};
use aes_bitslice_core::order::Order;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Many messages that a device processes in one call.
#[derive(Clone, Copy)]
pub enum Batch<'a> {
    /// Messages to encrypt or decrypt, with tags.
    Gcm(OfGcm<'a>),
    /// Messages to read and compute tags of.
    Cmac(OfCmac<'a>),
    /// Messages to encrypt or decrypt, with tags, each under a key of its own.
    GcmJobs(OfGcmJobs<'a>),
    /// Jobs, each under a key of its own.
    Jobs(&'a Jobs),
}

impl Batch<'_> {
    /// Whether a device has nothing to do: no message has data.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Gcm(batch) => batch.messages.places().have_no_bytes(),
            Self::Cmac(batch) => batch.messages.have_no_bytes(),
            Self::GcmJobs(batch) => batch.messages.places().have_no_bytes(),
            Self::Jobs(jobs) => jobs.ranges.have_no_bytes(),
        }
    }
}

/// GCM messages.
#[derive(Clone, Copy)]
pub struct OfGcm<'a> {
    pub(crate) messages: &'a Messages,
    /// The order in which they are hashed.
    pub(crate) order: &'a Order,
    /// The additional data of all of them.
    pub(crate) aad: &'a [u8],
    /// For decryption: the tag of each, padded with zeros.
    pub(crate) expected: Option<&'a [[u8; 16]]>,
    /// Whether first counters reveal the hash key: they do if a nonce does not have 12 bytes.
    pub(crate) counters_are_secret: bool,
    pub(crate) hash: &'a HashKey,
}

/// CMAC messages.
#[derive(Clone, Copy)]
pub struct OfCmac<'a> {
    /// Where they are in the data.
    pub(crate) messages: &'a Placed,
    /// The order in which they are processed.
    pub(crate) order: &'a Order,
    /// K1 and K2.
    pub(crate) subkeys: &'a [[u8; 16]; 2],
}

/// The number of messages whose tags are compared at a time, by a thread.
const PART: usize = 8192;

/// The result of a batch: for each message its tag, or whether it is authentic. A call has `None` where there is no memory for it.
#[derive(Default)]
pub struct Results {
    pub(crate) tags: Vec<[u8; 16]>,
    pub(crate) authentic: Vec<bool>,
}

/// Does not show tags.
impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Results of {} messages", self.tags.len() + self.authentic.len())
    }
}

impl Results {
    /// For messages that have these tags, if others were expected or none. Runs in constant time, and does not leave the tags of forged
    /// messages in memory.
    pub(crate) fn of(tags: Vec<[u8; 16]>, expected: Option<&Tags>) -> Result<Self, NoMemory> {
        let Some(expected) = expected else { return Ok(Self { tags, authentic: vec![] }) };
        Self::compared(&Zeroizing::new(tags), expected)
    }

    /// For messages that have these tags, where others were expected: compared by all cores, in constant time. Who owns the tags wipes them.
    pub(crate) fn compared(tags: &[[u8; 16]], expected: &Tags) -> Result<Self, NoMemory> {
        let mut authentic = filled(false, tags.len())?;
        let [computed, padded] = [tags, &expected.padded[..]].map(|tags| tags.chunks(PART));
        let parts = computed.zip(padded).zip(expected.bytes.chunks(PART)).zip(authentic.chunks_mut(PART));
        divided(parts, |(((computed, padded), bytes), authentic)| {
            for (((computed, padded), &bytes), authentic) in computed.iter().zip(padded).zip(bytes).zip(authentic) {
                *authentic = is_right(padded, bytes.into(), computed).into();
            }
        });
        Ok(Self { tags: vec![], authentic })
    }

    pub(crate) fn copied(&self) -> Result<Self, NoMemory> {
        let Self { tags, authentic } = self;
        Ok(Self { tags: collected(tags.iter().copied())?, authentic: collected(authentic.iter().copied())? })
    }
}

impl Computed for Results {
    type Expected = Tags;
}

/// The tags that messages are expected to have, in the order of the messages.
#[derive(Clone, Debug)]
pub struct Tags {
    /// Padded with zeros.
    pub(crate) padded: Arc<Vec<[u8; 16]>>,
    /// The number of bytes of each that count.
    pub(crate) bytes: Arc<Vec<u8>>,
}

impl Tags {
    /// The tags of this number of messages.
    ///
    /// # Errors
    /// [`Error::Batch`] if there is another number of tags.
    pub(crate) fn new(tags: &[Tag], messages: usize) -> Result<Self, Error> {
        if tags.len() != messages {
            let (tags, messages) = (counted(tags.len(), "tag"), counted(messages, "message"));
            return refused(format!("{tags} for {messages}: give one for each"));
        }
        let padded = collected(tags.iter().map(|tag| tag.padded().0))?;
        let bytes = collected(tags.iter().map(|tag| tag.as_bytes().len() as u8))?;
        Ok(Self { padded: Arc::new(padded), bytes: Arc::new(bytes) })
    }

    /// The contiguous tags of this number of messages, of `tag_bytes` bytes each: 12 to 16, or 4 or 8 if they are `short`.
    ///
    /// # Errors
    /// [`Error::TagLength`] for another length, and [`Error::Batch`] if there is another number of bytes.
    pub(crate) fn side_by_side(tags: &[u8], tag_bytes: usize, short: bool, messages: usize) -> Result<Self, Error> {
        if !matches!((tag_bytes, short), (12..=16, false) | (4 | 8, true)) {
            return Err(Error::TagLength { bytes: tag_bytes });
        }
        if messages.checked_mul(tag_bytes) != Some(tags.len()) {
            let (found, messages) = (counted(tags.len(), "byte"), counted(messages, "message"));
            return refused(format!("{found} of tags for {messages}: give {tag_bytes} for each"));
        }
        let padded = match tags.as_chunks() {
            (whole, []) if tag_bytes == 16 => collected(whole.iter().copied()),
            _ => {
                let padded = |tag: &[u8]| std::array::from_fn(|i| tag.get(i).copied().unwrap_or(0));
                collected(tags.chunks(tag_bytes).map(padded))
            }
        };
        Ok(Self { padded: Arc::new(padded?), bytes: Arc::new(filled(tag_bytes as u8, messages)?) })
    }
}

/// Returns the tags of messages as one array: 16 bytes of each, in the order of the messages.
#[derive(Clone, Copy, Debug)]
pub struct SideBySide;

impl Tagging<Results> for SideBySide {
    type Output = Vec<[u8; 16]>;

    fn expected(&self) -> Option<&Tags> {
        None
    }

    fn finish(&self, computed: Results) -> Result<Vec<[u8; 16]>, Error> {
        Ok(computed.tags)
    }
}

impl Tagging<Results> for Make {
    type Output = Vec<Tag>;

    fn expected(&self) -> Option<&Tags> {
        None
    }

    fn finish(&self, computed: Results) -> Result<Vec<Tag>, Error> {
        Ok(collected(computed.tags.into_iter().map(Tag::from))?)
    }
}

impl Tagging<Results> for Verify<Tags> {
    type Output = OpenedBatch;

    fn expected(&self) -> Option<&Tags> {
        Some(&self.0)
    }

    fn finish(&self, computed: Results) -> Result<OpenedBatch, Error> {
        let mut failed = room(computed.authentic.iter().filter(|is_authentic| !**is_authentic).count())?;
        for (n, part) in computed.authentic.chunks(PART).enumerate() {
            // Without a branch for each message: few parts have a wrong one.
            if !part.iter().fold(true, |all, is_authentic| all & is_authentic) {
                failed.extend((PART * n..).zip(part).filter(|(_, is_authentic)| !**is_authentic).map(|(n, _)| n));
            }
        }
        Ok(OpenedBatch { failed })
    }
}

/// Reports which messages of a batch were authentic. In a decryption, the data of the others is cleared.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "which messages failed is seen here only"]
pub struct OpenedBatch {
    failed: Vec<usize>,
}

impl OpenedBatch {
    /// The numbers of the messages that failed, from 0, ascending; empty if all are good.
    pub fn failed(&self) -> &[usize] {
        &self.failed
    }

    /// Whether the message with this number is authentic.
    pub fn is_authentic(&self, message: usize) -> bool {
        self.failed.binary_search(&message).is_err()
    }

    /// For callers that accept either all messages or none.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] if any failed.
    pub fn all(&self) -> Result<(), Error> {
        if self.failed.is_empty() { Ok(()) } else { Err(Error::Unauthenticated) }
    }
}

/// The maximum number of messages in a batch: kernels number them in 32 bits, and the last of these numbers means none.
pub(crate) const MOST: usize = 1 << 31;

/// Refuses more messages than a batch has room for.
///
/// # Errors
/// [`Error::Batch`].
pub(crate) fn check_number(messages: usize) -> Result<(), Error> {
    if messages > MOST {
        refused(format!("{messages} messages, and a batch has room for {MOST}: make several batches"))
    } else {
        Ok(())
    }
}

pub(crate) fn refused<T>(fault: impl Into<Fault>) -> Result<T, Error> {
    Err(fault.into().error(|what| Error::Batch { what }))
}

/// What a call on messages at these places returns whose only part has these results, `None` if there is no memory for them. Without data there
/// is no part, because no backend is called.
///
/// # Errors
/// [`Error::PartsDoNotAdjoin`] if there is data, and no part.
pub(crate) fn finish<E: Tagging<Results>>(
    end: &E,
    messages: &Placed,
    mut parts: Vec<Option<Results>>,
    of_nothing: impl FnOnce() -> Option<Results>,
) -> Result<E::Output, Error> {
    let results = match parts.pop() {
        Some(results) => results,
        None if messages.have_no_bytes() => of_nothing(),
        None => return Err(Error::PartsDoNotAdjoin { what: "there is none".into() }),
    };
    let what = || format!("the results of {}", counted(messages.len(), "message"));
    end.finish(results.ok_or_else(|| Error::OutOfHostMemory { what: what() })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::ranges::Rules;

    /// Of a shorter tag the bytes count that it has, and of those every bit.
    #[test]
    fn each_tag_is_verified_on_its_own_and_every_bit_counts() {
        let computed: [[u8; 16]; 3] = std::array::from_fn(|n| std::array::from_fn(|i| (17 * i + 5 * n) as u8));
        for len in [4, 8, 12, 13, 14, 15, 16] {
            let tags = computed.map(|tag| Tag::new(&tag[..len]).or(Tag::short(&tag[..len])).unwrap());
            let verify = Verify(Tags::new(&tags, 3).unwrap());
            let failed = |computed: [[u8; 16]; 3]| {
                let results = Results::of(computed.to_vec(), verify.expected()).unwrap();
                verify.finish(results).unwrap().failed().to_vec()
            };
            assert_eq!(failed(computed), [0; 0]);
            for bit in 0..128 {
                let mut changed = computed;
                changed[1][bit / 8] ^= 1 << (bit % 8);
                assert_eq!(failed(changed), if bit < 8 * len { vec![1] } else { vec![] }, "{len} bytes, bit {bit}");
            }
            assert_eq!(failed([computed[0], computed[2], computed[1]]), [1, 2]);
        }
        assert!(Tags::new(&[Tag::from([1; 16])], 2).is_err() && Tags::new(&[], 1).is_err());
    }

    #[test]
    fn a_batch_is_good_if_every_message_is() {
        let opened = |failed: &[usize]| OpenedBatch { failed: failed.to_vec() };
        assert!(opened(&[]).all().is_ok() && matches!(opened(&[3]).all(), Err(Error::Unauthenticated)));
        let some = opened(&[1, 3]);
        assert_eq!([0, 1, 2, 3, 4].map(|n| some.is_authentic(n)), [true, false, true, false, true]);
    }

    #[test]
    fn messages_with_data_need_a_part() {
        let rules = Rules { what: "message", ascending: true, longest: 100 };
        let results = |byte| Results::of(vec![[byte; 16]], None).ok();
        let finished = |bytes, parts| {
            let messages = Placed::of(1, |_| Some(0..bytes), &rules).unwrap();
            finish(&SideBySide, &messages, parts, || results(7))
        };
        assert!(finished(0, vec![]).is_ok_and(|tags| tags == [[7; 16]]));
        assert!(finished(100, vec![results(8)]).is_ok_and(|tags| tags == [[8; 16]]));
        assert!(matches!(finished(100, vec![]), Err(Error::PartsDoNotAdjoin { .. })));
        assert!(matches!(finished(100, vec![None]), Err(Error::OutOfHostMemory { .. })));
    }

    #[test]
    fn tags_are_not_shown() {
        let results = Results { tags: vec![[7; 16]; 3], authentic: vec![] };
        assert_eq!(format!("{results:?}"), "Results of 3 messages");
    }
}
