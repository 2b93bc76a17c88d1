//! Many messages under one key as a device is told of them.

use aes_bitslice_core::messages::Message;
use std::fmt;
use subtle::ConstantTimeEq;

/// Many messages, as a device encrypts or decrypts them in one call.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    pub(crate) messages: &'a [Message],
    /// Their numbers, in the order in which they are hashed.
    pub(crate) order: &'a [u32],
    /// The additional data of all of them.
    pub(crate) aad: &'a [u8],
    /// For a decryption: the tag of each, filled up with zeros.
    pub(crate) expected: Option<&'a [[u8; 16]]>,
    /// Whether first counters tell the hash key: those of nonces that have not 12 bytes do.
    pub(crate) counters_are_secret: bool,
}

/// What comes of a batch: of each message its tag, for an encryption; for a decryption whether it is authentic.
#[derive(Clone, Default)]
pub struct Results {
    pub(crate) tags: Vec<[u8; 16]>,
    pub(crate) authentic: Vec<bool>,
}

impl Results {
    /// Of what a device returned.
    pub(crate) fn of_device(batch: &Batch<'_>, bytes: &[u8]) -> Self {
        match batch.expected {
            None => Self { tags: bytes.as_chunks().0.to_vec(), authentic: vec![] },
            Some(_) => {
                let words = bytes.as_chunks::<4>().0;
                Self { tags: vec![], authentic: words.iter().map(|word| *word == [0; 4]).collect() }
            }
        }
    }

    /// Of the tags that were computed.
    pub(crate) fn of_tags(batch: &Batch<'_>, tags: Vec<[u8; 16]>) -> Self {
        match batch.expected {
            None => Self { tags, authentic: vec![] },
            Some(expected) => {
                let is_right = |((computed, expected), message): ((&[u8; 16], &[u8; 16]), &Message)| {
                    let counts = ..message.tag_bytes as usize;
                    computed[counts].ct_eq(&expected[counts]).into()
                };
                let authentic = tags.iter().zip(expected).zip(batch.messages).map(is_right).collect();
                Self { tags: vec![], authentic }
            }
        }
    }
}

/// Without tags.
impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Results of {} messages", self.tags.len() + self.authentic.len())
    }
}
