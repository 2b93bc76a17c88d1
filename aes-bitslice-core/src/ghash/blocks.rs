//! The byte order of a hash's blocks.
//!
//! POLYVAL (RFC 8452, section 3) is GHASH of byte-reversed blocks under another key (appendix A):
//!
//! ```text
//! POLYVAL(H, X1, X2, ...)  =  reversed(GHASH(x · reversed(H), reversed(X1), reversed(X2), ...))
//! ```
//!
//! Throughout this module, a hash of either kind is a GHASH: for POLYVAL, the GHASH on the right before it is reversed.

use super::field::{Element, ghash};

/// How a hash reads its blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Blocks {
    /// As they are: GHASH.
    AsTheyAre,
    /// The last byte first: POLYVAL.
    Reversed,
}

impl Blocks {
    /// Both ways.
    pub const ALL: [Self; 2] = [Self::AsTheyAre, Self::Reversed];

    /// The field element of a hash key: for POLYVAL, the element under which GHASH computes POLYVAL.
    pub fn key(self, key: [u8; 16]) -> Element {
        match self {
            Self::AsTheyAre => Element::from_block(key),
            Self::Reversed => Element::from_block(self.block(key)).times_x(),
        }
    }

    /// Converts a block to the order in which GHASH reads it, or a hash to its external order.
    pub fn block(self, mut block: [u8; 16]) -> [u8; 16] {
        if self == Self::Reversed {
            block.reverse();
        }
        block
    }

    /// The hash of data under a [key](Self::key), by its definition; a partial last block is padded with zeros.
    pub fn hash(self, key: Element, data: &[u8]) -> Element {
        let block = |bytes: &[u8]| self.block(std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0)));
        ghash(key, &data.chunks(16).flat_map(block).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(hex: &str) -> [u8; 16] {
        u128::from_str_radix(hex, 16).unwrap().to_be_bytes()
    }

    /// RFC 8452, appendix A: the key of GHASH, and the hash of two blocks.
    #[test]
    fn polyval_as_published() {
        let key = Blocks::Reversed.key(block("25629347589242761d31f826ba4b757b"));
        assert_eq!(key.to_block(), block("dcbaa5dd137c188ebb21492c23c9b112"));
        let data = [block("4f4f95668c83dfb6401762bb2d01a262"), block("d1a24ddd2721d006bbe45f20d3c9f362")].concat();
        let hash = Blocks::Reversed.hash(key, &data).to_block();
        assert_eq!(Blocks::Reversed.block(hash), block("f7a3b47b846119fae5b7866cf5e5b77e"));
        assert_ne!(Blocks::AsTheyAre.hash(key, &data).to_block(), hash);
    }
}
