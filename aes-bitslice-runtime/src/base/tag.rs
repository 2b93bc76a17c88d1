//! Authentication tags: compared in constant time, and never half right.

use crate::base::error::Error;
use std::fmt;
use subtle::ConstantTimeEq;

/// An authentication tag: 16 bytes, or fewer if both sides agreed on that. One of fewer than 12 is made by [`short`](Self::short) alone.
///
/// The time to compare two tags depends only on their lengths.
#[derive(Clone, Copy)]
pub struct Tag {
    bytes: [u8; 16],
    len: u8,
}

impl Tag {
    /// Creates a tag from these bytes: 12 to 16 (SP 800-38D, section 5.2.1.2).
    ///
    /// # Errors
    /// [`Error::TagLength`] for any other number of bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        if !(12..=16).contains(&bytes.len()) {
            return Err(Error::TagLength { bytes: bytes.len() });
        }
        Ok(Self::padding(bytes))
    }

    /// Creates a short tag from these bytes: 4 or 8. Whoever calls this knows that sender and receiver agreed on such tags: if the length of
    /// a received tag is what the sender says, one forged message in 2^32 is accepted.
    ///
    /// - For GCM and GMAC: appendix C of SP 800-38D allows short tags to few applications, such as voice over the Internet, and limits, for
    ///   each length of a tag and of the messages, how many messages may be decrypted under a key: the caller counts them. An attacker who
    ///   forges one learns of the hash key, and forges the next sooner. Drafts of revision 1 of the standard have no short tags.
    /// - For CMAC: SP 800-38B, appendix A.2, recommends 8 bytes or more; with 4, the caller limits how many wrong tags a key survives.
    ///
    /// ```
    /// # use aes_bitslice_runtime::{Error, Tag};
    /// let made = Tag::from([7; 16]);
    /// let sent = Tag::short(&made.as_bytes()[..8])?;
    /// # assert_eq!(sent.as_bytes(), [7; 8]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TagLength`] for any other number of bytes.
    pub fn short(bytes: &[u8]) -> Result<Self, Error> {
        if ![4, 8].contains(&bytes.len()) {
            return Err(Error::TagLength { bytes: bytes.len() });
        }
        Ok(Self::padding(bytes))
    }

    /// A tag of these bytes, at most 16.
    fn padding(bytes: &[u8]) -> Self {
        let mut tag = Self { bytes: [0; 16], len: bytes.len() as u8 };
        tag.bytes[..bytes.len()].copy_from_slice(bytes);
        tag
    }

    /// The first `len` bytes as a tag.
    ///
    /// # Errors
    /// [`Error::TagLength`] for a length that [`new`](Self::new) refuses, or one greater than the length of this tag.
    pub fn truncated(&self, len: usize) -> Result<Self, Error> {
        Self::new(self.as_bytes().get(..len).ok_or(Error::TagLength { bytes: len })?)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Its bytes padded with zeros to 16, and a mask that is 0xff for its own bytes.
    pub(crate) fn padded(&self) -> ([u8; 16], [u8; 16]) {
        (self.bytes, std::array::from_fn(|i| if i < self.len.into() { 0xff } else { 0 }))
    }

    /// Refuses a tag that differs from the first bytes of the computed one, as many as this tag has.
    #[inline]
    pub(crate) fn verify(&self, computed: &[u8; 16]) -> Result<(), Error> {
        if bool::from(is_right(&self.bytes, self.len.into(), computed)) { Ok(()) } else { Err(Error::Unauthenticated) }
    }
}

/// Whether the first `len` bytes of the expected tag, 1 to 16, are those of the computed one, in constant time.
#[inline]
pub(crate) fn is_right(expected: &[u8; 16], len: usize, computed: &[u8; 16]) -> subtle::Choice {
    let differences = u128::from_le_bytes(*expected) ^ u128::from_le_bytes(*computed);
    // The bytes of the tag are the lowest: others are shifted out.
    let differences = differences << (128 - 8 * len);
    ((differences | differences >> 64) as u64).ct_eq(&0)
}

impl PartialEq for Tag {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl Eq for Tag {}

impl From<[u8; 16]> for Tag {
    #[inline]
    fn from(bytes: [u8; 16]) -> Self {
        Self { bytes, len: 16 }
    }
}

impl AsRef<[u8]> for Tag {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// Shows the bytes as hexadecimal digits: a tag is not secret.
impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tag(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_the_standard_and_no_others() {
        let bytes: [u8; 20] = std::array::from_fn(|i| i as u8);
        for len in 0..=20 {
            let (tag, short) = (Tag::new(&bytes[..len]), Tag::short(&bytes[..len]));
            assert_eq!((tag.is_ok(), short.is_ok()), ((12..=16).contains(&len), [4, 8].contains(&len)), "{len}");
            assert_eq!(Tag::from([7; 16]).truncated(len).is_ok(), tag.is_ok(), "{len}");
            let Ok(tag) = tag.or(short) else { continue };
            assert_eq!((tag.as_bytes(), tag.as_ref()), (&bytes[..len], &bytes[..len]));
            let (padded, mask) = tag.padded();
            assert_eq!((&padded[..len], &mask[..len]), (&bytes[..len], &[0xff; 16][..len]));
            assert!(padded[len..].iter().chain(&mask[len..]).all(|&byte| byte == 0));
            assert!(tag.truncated(len + 1).is_err());
        }
    }

    #[test]
    fn every_bit_counts() {
        let computed: [u8; 16] = std::array::from_fn(|i| 17 * i as u8);
        for len in [4, 8, 12, 16] {
            let first = |tag: [u8; 16]| Tag::new(&tag[..len]).or(Tag::short(&tag[..len])).unwrap();
            let tag = first(computed);
            tag.verify(&computed).unwrap();
            for bit in 0..8 * len {
                let mut changed = computed;
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(matches!(tag.verify(&changed), Err(Error::Unauthenticated)));
                assert_ne!(first(changed), tag);
            }
        }
        let tag = Tag::from(computed);
        for bit in 0..64 {
            let both_halves = u128::from_le_bytes(computed) ^ (1 | 1 << 64) << bit;
            assert!(tag.verify(&both_halves.to_le_bytes()).is_err());
        }
        assert_eq!(format!("{:?}", Tag::short(&[0, 1, 0xfe, 255]).unwrap()), "Tag(0001feff)");
    }
}
