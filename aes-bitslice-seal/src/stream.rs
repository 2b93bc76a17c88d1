//! Tink's AES-GCM-HKDF streaming AEAD: where segments are, their nonces, and the key of a stream.
//!
//! ```text
//! stream   = header, segments
//! header   = its length (1 byte), salt (as long as the derived key), nonce prefix (7 bytes)
//! key      = HKDF-SHA256(input key, salt, info = associated data)
//! segment  = AES-GCM ciphertext, tag; nonce = prefix, index (4 bytes, big-endian), 1 for the last segment, else 0
//! ```
//!
//! All segments but the last have the same length on disk; the first includes the header. Source: "AES-GCM-HKDF Streaming AEAD" in
//! Tink's documentation.

use crate::error::Error;
use crate::start::{PREFIX, is_sealed, stream_header_bytes};
use aes_bitslice_runtime::{Cipher, DERIVED, Engine, GcmDecrypt, GcmEncrypt, Key, Nonce, Tag, scrubbed};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

/// Bytes of a tag.
pub(crate) const TAG: usize = 16;

/// The parameters of a stream, and the key that the keys of streams are derived from.
#[derive(Clone)]
pub(crate) struct StreamKey {
    pub(crate) input: Zeroizing<Vec<u8>>,
    /// Bytes of the derived key: 16 or 32.
    pub(crate) derived_bytes: usize,
    /// Bytes of a segment, its tag included.
    pub(crate) segment: usize,
}

impl StreamKey {
    /// AES-256 with segments of 1 MiB: Tink's `AES256_GCM_HKDF_1MB`.
    pub(crate) fn aes256_1mib(input: Zeroizing<Vec<u8>>) -> Self {
        Self { input, derived_bytes: 32, segment: 1 << 20 }
    }

    /// Bytes of the stream's header.
    pub(crate) fn header_bytes(&self) -> usize {
        stream_header_bytes(self.derived_bytes)
    }

    /// A new stream: its header, and its cipher.
    pub(crate) fn begin(&self, engine: &Engine, associated_data: &[u8]) -> Result<(Vec<u8>, Stream), Error> {
        let mut header = vec![0; self.header_bytes()];
        header[0] = self.header_bytes() as u8;
        getrandom::fill(&mut header[1..])?;
        let stream = self.stream(engine, &header, associated_data)?;
        Ok((header, stream))
    }

    /// The cipher of a stream that begins with this header.
    pub(crate) fn stream(&self, engine: &Engine, header: &[u8], associated_data: &[u8]) -> Result<Stream, Error> {
        if is_sealed(header) {
            return Err(Error::Sealed);
        }
        if header.len() != self.header_bytes() || usize::from(header[0]) != header.len() {
            return Err(Error::CutOff("it does not begin with a stream's header"));
        }
        let (salt, prefix) = header[1..].split_at(self.derived_bytes);
        let mut key = Zeroizing::new(vec![0; self.derived_bytes]);
        let derived =
            scrubbed::<DERIVED, _>(|| Hkdf::<Sha256>::new(Some(salt), &self.input).expand(associated_data, &mut key));
        derived.expect("a key is shorter than 255 hashes");
        let cipher = engine.cipher(&Key::new(&key)?)?;
        let prefix = prefix.try_into().expect("a prefix");
        Ok(Stream { cipher, prefix, places: Places { header: header.len(), segment: self.segment } })
    }
}

/// A stream: the cipher and the nonces of its segments.
pub(crate) struct Stream {
    cipher: Cipher,
    prefix: [u8; PREFIX],
    pub(crate) places: Places,
}

impl Stream {
    fn nonce(&self, index: u64, is_last: bool) -> Result<Nonce, Error> {
        let mut nonce = [0; 12];
        nonce[..PREFIX].copy_from_slice(&self.prefix);
        nonce[PREFIX..11].copy_from_slice(&u32::try_from(index).map_err(|_| Error::TooLong)?.to_be_bytes());
        nonce[11] = is_last.into();
        Ok(nonce.into())
    }

    /// Plaintext to ciphertext and tag.
    pub(crate) fn encrypt(&self, index: u64, is_last: bool, data: &mut Vec<u8>) -> Result<(), Error> {
        let nonce = self.nonce(index, is_last)?;
        let tag = self.cipher.run(GcmEncrypt::new(&nonce, &[]), &mut data[..])?;
        data.extend_from_slice(tag.as_bytes());
        Ok(())
    }

    /// Ciphertext and tag to plaintext; where the tag is not right, an error, and the data is cleared.
    pub(crate) fn decrypt(&self, index: u64, is_last: bool, data: &mut Vec<u8>) -> Result<(), Error> {
        let nonce = self.nonce(index, is_last)?;
        let Some(len) = data.len().checked_sub(TAG) else {
            data.clear();
            return Err(Error::Damaged { index });
        };
        let tag = Tag::new(&data[len..])?;
        data.truncate(len);
        match self.cipher.run(GcmDecrypt::new(&nonce, &[], &tag), &mut data[..]) {
            Err(aes_bitslice_runtime::Error::Unauthenticated) => Err(Error::Damaged { index }),
            outcome => Ok(outcome?),
        }
    }
}

/// Where segments lie in a stream, and their plaintext in the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// Bytes of the header.
    header: usize,
    /// Bytes of a segment, its tag included, of the first the header, too.
    segment: usize,
}

impl Places {
    /// The most bytes of plaintext of a segment.
    pub(crate) fn plaintext_bytes(self, index: u64) -> usize {
        self.segment - TAG - if index == 0 { self.header } else { 0 }
    }

    /// The segment that holds this byte of the message, as long as it has one.
    pub(crate) fn segment_of(self, byte: u64) -> u64 {
        (byte + self.header as u64) / (self.segment - TAG) as u64
    }

    /// The first byte of a segment's plaintext in the message.
    pub(crate) fn first_byte(self, index: u64) -> u64 {
        (index * (self.segment - TAG) as u64).saturating_sub(self.header as u64)
    }

    /// The first byte of a segment's ciphertext in the stream.
    pub(crate) fn place(self, index: u64) -> u64 {
        (index * self.segment as u64).max(self.header as u64)
    }

    /// The segments of a stream of `bytes` bytes, and the bytes of its message.
    pub(crate) fn message(self, bytes: u64) -> Result<(u64, u64), Error> {
        let segments = bytes.div_ceil(self.segment as u64);
        let overhead = self.header as u64 + segments * TAG as u64;
        let last = bytes - self.place(segments.saturating_sub(1)).min(bytes);
        match bytes.checked_sub(overhead).filter(|_| last >= TAG as u64) {
            Some(message) => Ok((segments, message)),
            None => Err(Error::CutOff("its last segment has no room for a tag")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_segments_written_one_after_the_other() {
        let places = Places { header: 40, segment: 100 };
        for len in 0..600_u64 {
            // Written: segment after segment.
            let (mut stream, mut at, mut index) = (40_u64, 0, 0);
            loop {
                let plain = (len - at).min(places.plaintext_bytes(index) as u64);
                assert_eq!((places.place(index), places.first_byte(index)), (stream, at), "{len}, {index}");
                assert!((at..at + plain).all(|byte| places.segment_of(byte) == index));
                (stream, at, index) = (stream + plain + 16, at + plain, index + 1);
                if at == len {
                    break;
                }
            }
            assert_eq!(places.message(stream).unwrap(), (index, len));
        }
        assert!(places.message(55).is_err() && places.message(0).is_err() && places.message(115).is_err());
    }
}
