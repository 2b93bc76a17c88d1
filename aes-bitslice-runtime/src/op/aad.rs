//! Additional data of a call. A few bytes are in place, so that nothing is allocated for them.

use std::ops::Deref;
use std::sync::Arc;

/// The most bytes in place: the header of a record or a packet.
const MOST: usize = 38;

/// A copy of additional data.
#[derive(Clone, Debug)]
pub(crate) enum Aad {
    Few { bytes: [u8; MOST], len: u8 },
    Many(Arc<[u8]>),
}

impl From<&[u8]> for Aad {
    #[inline]
    fn from(aad: &[u8]) -> Self {
        if aad.len() > MOST {
            return Self::Many(aad.into());
        }
        let mut bytes = [0; MOST];
        bytes[..aad.len()].copy_from_slice(aad);
        Self::Few { bytes, len: aad.len() as u8 }
    }
}

impl Deref for Aad {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Few { bytes, len } => &bytes[..usize::from(*len)],
            Self::Many(bytes) => bytes,
        }
    }
}
