//! The header of a sealed file, version 1.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic: `AESBSEAL` |
//! | 1 | version: 1 |
//! | 1 | how the key was made: 1 a key of 256 bits, 2 a passphrase, by Argon2id (RFC 9106) version 0x13 |
//! | 2 | zero |
//! | 4, 4, 4 | Argon2id: memory in KiB, passes, lanes; big-endian; zero for a key |
//! | 32 | salt |
//! | 32 | commitment to the key |
//! | 8 | checksum: the first bytes of SHA-256 of all above |
//!
//! The header is the associated data of the stream that follows. The checksum tells a damaged header from a wrong key.

use crate::error::Error;
use crate::passphrase::PassphraseCost;
use crate::start::{MAGIC, VERSION, is_like_stream, is_sealed, of_openssl};
use sha2::{Digest, Sha256};

/// Bytes of a header.
pub(crate) const BYTES: usize = 96;

const CHECKSUM: usize = BYTES - 8;

/// The contents of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    /// How a passphrase became the key; `None` for a key.
    pub(crate) cost: Option<PassphraseCost>,
    pub(crate) salt: [u8; 32],
    pub(crate) commitment: [u8; 32],
}

impl Header {
    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8] = VERSION;
        bytes[9] = if self.cost.is_some() { 2 } else { 1 };
        let cost = self.cost.map_or([0; 3], |cost| [cost.memory_kib, cost.passes, cost.lanes]);
        bytes[12..24].copy_from_slice(cost.map(u32::to_be_bytes).as_flattened());
        bytes[24..56].copy_from_slice(&self.salt);
        bytes[56..CHECKSUM].copy_from_slice(&self.commitment);
        let checksum = Sha256::digest(&bytes[..CHECKSUM]);
        bytes[CHECKSUM..].copy_from_slice(&checksum[..8]);
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if !is_sealed(bytes) {
            return Err(match of_openssl(bytes) {
                Some(how) => Error::OfOpenssl(how),
                None if is_like_stream(bytes) => Error::LikeTink,
                None => Error::NotSealed,
            });
        }
        match bytes.get(8) {
            Some(&VERSION) => {}
            Some(0) => return Err(Error::DamagedHeader("there is no version 0")),
            Some(&version) => return Err(Error::Version(version)),
            None => return Err(Error::DamagedHeader("it is cut off")),
        }
        let bytes: &[u8; BYTES] = bytes.first_chunk().ok_or(Error::DamagedHeader("it is cut off"))?;
        if Sha256::digest(&bytes[..CHECKSUM])[..8] != bytes[CHECKSUM..] {
            return Err(Error::DamagedHeader("its checksum does not match"));
        }
        let number = |at: usize| u32::from_be_bytes(*bytes[at..].first_chunk().expect("within the header"));
        let cost = PassphraseCost { memory_kib: number(12), passes: number(16), lanes: number(20) };
        let cost = match (bytes[9], bytes[10..12] == [0; 2], bytes[12..24] == [0; 12]) {
            (1, true, true) => None,
            (2, true, _) => Some(cost),
            _ => return Err(Error::DamagedHeader("it says something that version 1 does not have")),
        };
        let block = |at: usize| *bytes[at..].first_chunk().expect("within the header");
        Ok(Self { cost, salt: block(24), commitment: block(56) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_every_bit_counts() {
        for cost in [None, Some(PassphraseCost { memory_kib: 65536, passes: 3, lanes: 4 })] {
            let header = Header { cost, salt: [7; 32], commitment: [9; 32] };
            let bytes = header.to_bytes();
            assert_eq!(Header::parse(&bytes).unwrap(), header);
            for bit in 0..8 * BYTES {
                let mut changed = bytes;
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(Header::parse(&changed).is_err(), "bit {bit}");
            }
            for len in 0..BYTES {
                assert!(Header::parse(&bytes[..len]).is_err(), "{len} bytes");
            }
        }
        let versions =
            [0, 2, 255].map(|version| Header::parse(&[&MAGIC[..], &[version]].concat()).unwrap_err().to_string());
        assert!(versions[0].contains("damaged: there is no version 0"), "{versions:?}");
        assert!(versions[1..].iter().all(|error| error.contains("use a newer program")), "{versions:?}");
        assert!(matches!(Header::parse(b"something else"), Err(Error::NotSealed)));
        assert!(matches!(Header::parse(b""), Err(Error::NotSealed)));
        assert!(matches!(Header::parse(b"Salted__12345678"), Err(Error::OfOpenssl(_))));
        for length in [24, 40] {
            assert!(matches!(Header::parse(&[length]), Err(Error::LikeTink)));
        }
    }

    /// Where the checksum does not show it.
    #[test]
    fn what_version_1_does_not_have_is_refused() {
        let cost = PassphraseCost { memory_kib: 65536, passes: 3, lanes: 4 };
        for cost in [None, Some(cost)] {
            let bytes = Header { cost, salt: [7; 32], commitment: [9; 32] }.to_bytes();
            let with = |at: usize, byte: u8| {
                let mut changed = bytes;
                changed[at] = byte;
                let checksum = Sha256::digest(&changed[..CHECKSUM]);
                changed[CHECKSUM..].copy_from_slice(&checksum[..8]);
                Header::parse(&changed)
            };
            assert!(with(24, 7).is_ok());
            let kinds = [0, 3, 4, 255].map(|kind| (9, kind));
            let zeros = (10..if cost.is_none() { 24 } else { 12 }).flat_map(|at| (0..8).map(move |bit| (at, 1 << bit)));
            for (at, byte) in kinds.into_iter().chain(zeros) {
                let outcome = with(at, byte);
                assert!(matches!(outcome, Err(Error::DamagedHeader(_))), "{byte} at {at}: {outcome:?}");
            }
            assert!(matches!(with(8, 2), Err(Error::Version(2))));
        }
        // A passphrase without a cost is one that the header says, and Argon2id refuses.
        let none = PassphraseCost { memory_kib: 0, passes: 0, lanes: 0 };
        let bytes = Header { cost: Some(none), salt: [7; 32], commitment: [9; 32] }.to_bytes();
        assert_eq!(Header::parse(&bytes).unwrap().cost, Some(none));
    }
}
