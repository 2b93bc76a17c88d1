//! What is done with the tag of a message, or with the tags of many: it is made, or compared with the one that is expected.

use crate::base::error::Error;
use crate::base::tag::Tag;

/// What is computed of messages: a tag, or the [results](crate::op::batch::Results) of a batch.
pub trait Computed {
    /// What may be expected of them.
    type Expected;
}

impl Computed for [u8; 16] {
    type Expected = Tag;
}

/// What is done with what is computed.
pub trait Tagging<C: Computed>: Clone + Send + Sync + 'static {
    /// The value that the call returns.
    type Output: Send + 'static;

    /// What is expected, for a message that is decrypted or verified.
    #[doc(hidden)]
    fn expected(&self) -> Option<&C::Expected>;

    #[doc(hidden)]
    fn finish(&self, computed: C) -> Result<Self::Output, Error>;
}

/// Returns what is computed.
#[derive(Clone, Copy, Debug)]
pub struct Make;

/// Compares what is computed with what is expected.
#[derive(Clone, Copy, Debug)]
pub struct Verify<T>(pub(crate) T);

impl Tagging<[u8; 16]> for Make {
    type Output = Tag;

    fn expected(&self) -> Option<&Tag> {
        None
    }

    #[inline]
    fn finish(&self, computed: [u8; 16]) -> Result<Tag, Error> {
        Ok(Tag::from(computed))
    }
}

impl Tagging<[u8; 16]> for Verify<Tag> {
    type Output = ();

    fn expected(&self) -> Option<&Tag> {
        Some(&self.0)
    }

    #[inline]
    fn finish(&self, computed: [u8; 16]) -> Result<(), Error> {
        self.0.verify(&computed)
    }
}
