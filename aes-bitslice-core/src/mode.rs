//! The function that a kernel computes: a mode of operation (SP 800-38A, SP 800-38E) in one direction.

use crate::aes::Direction;

crate::named::named_enum! {
    /// A mode of operation in one direction, as kernels implement it.
    #[non_exhaustive]
    Mode, "mode" {
        /// Electronic codebook, encryption (SP 800-38A, section 6.1).
        EcbEncrypt = "ecb-encrypt",
        /// Electronic codebook, decryption.
        EcbDecrypt = "ecb-decrypt",
        /// Counter mode; encryption and decryption are the same (SP 800-38A, section 6.5).
        Ctr = "ctr",
        /// Counter mode with the counter of AES-GCM-SIV: the first four bytes of the block, a little-endian number that wraps (RFC 8452,
        /// section 4).
        CtrLe32 = "ctr-le32",
        /// Cipher block chaining, decryption (SP 800-38A, section 6.2). Encryption is serial, and has no kernel.
        CbcDecrypt = "cbc-decrypt",
        /// The key stream of counter mode, which reads no data.
        Keystream = "keystream",
        /// Encryption with feed-forward: each block is encrypted and XORed with itself (Matyas, Meyer, Oseas 1985). Under a public key it is
        /// one-way, which the block cipher alone is not.
        Prg = "prg",
        /// XTS, encryption (IEEE 1619): data units under tweaks, which are computed with a second key.
        XtsEncrypt = "xts-encrypt",
        /// XTS, decryption.
        XtsDecrypt = "xts-decrypt",
    }
}

impl Mode {
    /// The modes that take one key and are operations in their own right, which counter mode of AES-GCM-SIV is not.
    pub const OF_ONE_KEY: [Self; 6] =
        [Self::EcbEncrypt, Self::EcbDecrypt, Self::Ctr, Self::CbcDecrypt, Self::Keystream, Self::Prg];

    /// Electronic codebook in a direction.
    pub fn ecb(direction: Direction) -> Self {
        match direction {
            Direction::Encrypt => Self::EcbEncrypt,
            Direction::Decrypt => Self::EcbDecrypt,
        }
    }

    /// XTS in a direction.
    pub fn xts(direction: Direction) -> Self {
        match direction {
            Direction::Encrypt => Self::XtsEncrypt,
            Direction::Decrypt => Self::XtsDecrypt,
        }
    }

    /// Whether it takes a second key, the tweak key, which encrypts in both directions.
    pub fn has_tweaks(self) -> bool {
        matches!(self, Self::XtsEncrypt | Self::XtsDecrypt)
    }

    /// The direction in which the block cipher runs, and of the round keys that a kernel of this mode takes.
    pub fn direction(self) -> Direction {
        match self {
            Self::EcbEncrypt | Self::Ctr | Self::CtrLe32 | Self::Keystream | Self::Prg | Self::XtsEncrypt => {
                Direction::Encrypt
            }
            Self::EcbDecrypt | Self::CbcDecrypt | Self::XtsDecrypt => Direction::Decrypt,
        }
    }

    /// The input of the block cipher.
    pub fn state(self) -> State {
        match self {
            Self::EcbEncrypt | Self::EcbDecrypt | Self::CbcDecrypt | Self::Prg => State::Data,
            Self::XtsEncrypt | Self::XtsDecrypt => State::Data,
            Self::Ctr | Self::CtrLe32 | Self::Keystream => State::Counters,
        }
    }
}

/// The input of a mode's block cipher.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// The data, in whole blocks of 16 bytes.
    Data,
    /// Counter blocks. The output is combined with the data, if any, from any byte on.
    Counters,
}
