//! Tink's AES-GCM-HKDF streaming AEAD: the nonces of segments, and the key of a stream.
//!
//! ```text
//! stream   = header, segments
//! header   = its length (1 byte), salt (as long as the derived key), nonce prefix (7 bytes)
//! key      = HKDF-SHA256(input key, salt, info = associated data)
//! segment  = AES-GCM ciphertext, tag; nonce = prefix, index (4 bytes, big-endian), 1 for the last segment, else 0
//! ```
//!
//! All segments except the last have the same length on disk; the first includes the header. Source: "AES-GCM-HKDF Streaming AEAD" in
//! Tink's documentation.

use crate::error::{Error, NO_HEADER};
#[cfg(feature = "cuda")]
use crate::gpus::Gpus;
use crate::places::Places;
use crate::start::{PREFIX, is_sealed, of_openssl, stream_header_bytes};
use aes_bitslice_runtime::{Backend, Cipher, DERIVED, Engine, Key, scrubbed};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

/// Bytes of a chunk, and its most segments: on a CPU it fits in a thread's caches; on a GPU it must be worth the transfer.
const CHUNK: (usize, usize) = (1 << 20, 256);
const CHUNK_OF_GPU: (usize, usize) = (8 << 20, 1 << 16);

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

    /// A new stream after `front` bytes of a file: its header, and its segments.
    pub(crate) fn begin(
        &self,
        engine: &Engine,
        associated_data: &[u8],
        front: usize,
    ) -> Result<(Vec<u8>, Stream), Error> {
        let mut header = vec![0; self.header_bytes()];
        header[0] = self.header_bytes() as u8;
        getrandom::fill(&mut header[1..])?;
        let stream = self.stream(engine, &header, associated_data, front)?;
        Ok((header, stream))
    }

    /// The segments of a stream that begins with this header after `front` bytes of a file.
    pub(crate) fn stream(
        &self,
        engine: &Engine,
        header: &[u8],
        associated_data: &[u8],
        front: usize,
    ) -> Result<Stream, Error> {
        if is_sealed(header) {
            return Err(Error::Sealed);
        }
        if let Some(how) = of_openssl(header) {
            return Err(Error::OfOpenssl(how));
        }
        if header.len() != self.header_bytes() || usize::from(header[0]) != header.len() {
            return Err(Error::CutOff(NO_HEADER));
        }
        let (salt, prefix) = header[1..].split_at(self.derived_bytes);
        let mut key = Zeroizing::new(vec![0; self.derived_bytes]);
        let derived =
            scrubbed::<DERIVED, _>(|| Hkdf::<Sha256>::new(Some(salt), &self.input).expand(associated_data, &mut key));
        derived.expect("a key is shorter than 255 hashes");
        let places = Places { front, header: header.len(), segment: self.segment };
        Stream::new(engine, &Key::new(&key)?, prefix.try_into().expect("a prefix"), places)
    }
}

/// A stream: the cipher and the nonces of its segments.
pub(crate) struct Stream {
    pub(crate) cipher: Cipher,
    prefix: [u8; PREFIX],
    pub(crate) places: Places,
    /// Whether the segments of a chunk take one call, or one call each.
    pub(crate) is_batched: bool,
    /// Whether one chunk is read, worked on and written at a time.
    pub(crate) in_turn: bool,
    #[cfg(feature = "cuda")]
    pub(crate) gpus: Option<Gpus>,
}

impl Stream {
    pub(crate) fn new(engine: &Engine, key: &Key, prefix: [u8; PREFIX], places: Places) -> Result<Self, Error> {
        Ok(Self {
            cipher: engine.cipher(key)?,
            prefix,
            places,
            // A batch in host memory runs on the CPU: other engines get each segment separately.
            is_batched: engine.backend().is_cuda() || engine.backend() == Backend::Cpu,
            in_turn: false,
            #[cfg(feature = "cuda")]
            gpus: Gpus::of(engine)?,
        })
    }

    /// Whether the engine has no device: a call waits for nothing but the CPU.
    pub(crate) fn is_on_cpu(&self) -> bool {
        matches!(self.cipher.engine().backend(), Backend::Cpu | Backend::CpuBitsliced)
    }

    /// The number of segments of a chunk, which the engine processes at a time.
    pub(crate) fn chunk_segments(&self) -> usize {
        let is_on_gpu = self.cipher.engine().backend().is_cuda();
        let (bytes, most) = if is_on_gpu { CHUNK_OF_GPU } else { CHUNK };
        (bytes / self.places.segment).clamp(1, most)
    }

    pub(crate) fn nonce(&self, index: u64, is_last: bool) -> Result<[u8; 12], Error> {
        let mut nonce = [0; 12];
        nonce[..PREFIX].copy_from_slice(&self.prefix);
        nonce[PREFIX..11].copy_from_slice(&u32::try_from(index).map_err(|_| Error::TooLong)?.to_be_bytes());
        nonce[11] = is_last.into();
        Ok(nonce)
    }
}
