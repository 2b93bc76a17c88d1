//! Many messages under one key in one call: as a device is told of them, and what comes of them.

use crate::base::error::Error;
use crate::base::tag::Tag;
use crate::op::partial_hash::HashKey;
use aes_bitslice_core::messages::Message;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Many messages, as a device does them in one call.
#[derive(Clone, Copy)]
pub enum Batch<'a> {
    /// Encrypted or decrypted, with tags.
    Gcm(OfGcm<'a>),
    /// Read, and their tags made.
    Cmac(OfCmac<'a>),
}

impl Batch<'_> {
    /// Whether there are no messages.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Gcm(batch) => batch.messages.is_empty(),
            Self::Cmac(batch) => batch.messages == 0,
        }
    }
}

/// Messages of GCM.
#[derive(Clone, Copy)]
pub struct OfGcm<'a> {
    pub(crate) messages: &'a [Message],
    /// Their numbers, in the order in which they are hashed.
    pub(crate) order: &'a [u32],
    /// The additional data of all of them.
    pub(crate) aad: &'a [u8],
    /// For a decryption: the tag of each, filled up with zeros.
    pub(crate) expected: Option<&'a [[u8; 16]]>,
    /// Whether first counters tell the hash key: those of nonces that have not 12 bytes do.
    pub(crate) counters_are_secret: bool,
    /// The key of the hash, where it was derived.
    pub(crate) hash: Option<&'a HashKey>,
}

/// Messages of CMAC.
#[derive(Clone, Copy)]
pub struct OfCmac<'a> {
    /// How many.
    pub(crate) messages: usize,
    /// As kernels have them described (`aes_bitslice_core::cmac`).
    pub(crate) table: &'a [[u8; 4]],
    /// K1 and K2, where they were derived.
    pub(crate) subkeys: Option<&'a [[u8; 16]]>,
}

/// What comes of a batch: of each message its tag, or whether it is authentic.
#[derive(Clone, Default)]
pub struct Results {
    pub(crate) tags: Vec<[u8; 16]>,
    pub(crate) authentic: Vec<bool>,
}

/// Without tags.
impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Results of {} messages", self.tags.len() + self.authentic.len())
    }
}

/// The end of a call on a batch.
pub trait EndOfAll: Clone + Send + Sync + 'static {
    /// What the call returns.
    type Output: Send + 'static;

    /// The tags that are expected, filled up with zeros.
    #[doc(hidden)]
    fn expected(&self) -> Option<&[[u8; 16]]>;

    /// What comes of messages that have these tags.
    #[doc(hidden)]
    fn of_tags(&self, tags: Vec<[u8; 16]>) -> Results;

    #[doc(hidden)]
    fn end(&self, results: Results) -> Self::Output;
}

/// Tags are made: of each message one, of 16 bytes.
#[derive(Clone, Debug)]
pub struct MakeTags;

/// Tags are verified: it is told which messages are authentic.
#[derive(Clone, Debug)]
pub struct VerifyTags {
    /// Filled up with zeros.
    expected: Arc<[[u8; 16]]>,
    /// How many bytes of each count.
    bytes: Arc<[u8]>,
}

impl VerifyTags {
    /// Of the messages in their order.
    ///
    /// # Errors
    /// [`Error::Batch`] for another number of tags.
    pub(crate) fn new(tags: &[Tag], messages: usize) -> Result<Self, Error> {
        if tags.len() != messages {
            return refused(format!("{} tags for {messages} messages: give one for each", tags.len()));
        }
        Ok(Self {
            expected: tags.iter().map(|tag| tag.padded().0).collect(),
            bytes: tags.iter().map(|tag| tag.as_bytes().len() as u8).collect(),
        })
    }
}

impl EndOfAll for MakeTags {
    type Output = Vec<Tag>;

    fn expected(&self) -> Option<&[[u8; 16]]> {
        None
    }

    fn of_tags(&self, tags: Vec<[u8; 16]>) -> Results {
        Results { tags, authentic: vec![] }
    }

    fn end(&self, results: Results) -> Vec<Tag> {
        results.tags.into_iter().map(Tag::of).collect()
    }
}

impl EndOfAll for VerifyTags {
    type Output = OpenedBatch;

    fn expected(&self) -> Option<&[[u8; 16]]> {
        Some(&self.expected)
    }

    /// In constant time, and without leaving the tags of messages that somebody forged.
    fn of_tags(&self, tags: Vec<[u8; 16]>) -> Results {
        use subtle::ConstantTimeEq;
        let tags = Zeroizing::new(tags);
        let is_right = |((computed, expected), &bytes): ((&[u8; 16], &[u8; 16]), &u8)| {
            let counts = ..usize::from(bytes);
            computed[counts].ct_eq(&expected[counts]).into()
        };
        Results { tags: vec![], authentic: tags.iter().zip(&*self.expected).zip(&*self.bytes).map(is_right).collect() }
    }

    fn end(&self, results: Results) -> OpenedBatch {
        let failed = results.authentic.iter().enumerate().filter(|(_, is_authentic)| !**is_authentic);
        OpenedBatch { failed: failed.map(|(n, _)| n).collect() }
    }
}

/// Which messages of a batch were authentic. Where messages are decrypted, the data of the others is cleared.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "which messages failed is seen here only"]
pub struct OpenedBatch {
    failed: Vec<usize>,
}

impl OpenedBatch {
    /// The numbers of the messages that failed, from 0, ascending; none if all are good.
    pub fn failed(&self) -> &[usize] {
        &self.failed
    }

    /// Whether the message of this number is authentic.
    pub fn is_authentic(&self, message: usize) -> bool {
        self.failed.binary_search(&message).is_err()
    }

    /// For a caller who takes all messages or none.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] if any failed.
    pub fn all(&self) -> Result<(), Error> {
        if self.failed.is_empty() { Ok(()) } else { Err(Error::Unauthenticated) }
    }
}

/// The most messages of a batch: kernels number them in 32 bits, and the last of these numbers means none.
const MOST: usize = 1 << 31;

/// Refuses more messages than a batch has room for.
///
/// # Errors
/// [`Error::Batch`].
pub(crate) fn check_number(messages: usize) -> Result<(), Error> {
    match messages > MOST {
        true => refused(format!("{messages} messages, and a batch has room for {MOST}: make several batches")),
        false => Ok(()),
    }
}

pub(crate) fn refused<T>(what: String) -> Result<T, Error> {
    Err(Error::Batch { what })
}
