//! The first bytes of a file, which tell sealed files and Tink's streams apart.

/// The first bytes of a sealed file.
pub(crate) const MAGIC: [u8; 8] = *b"AESBSEAL";

/// The version of the format of sealed files, which comes next.
pub(crate) const VERSION: u8 = 1;

/// Bytes of a nonce prefix in the header of a stream.
pub(crate) const PREFIX: usize = 7;

/// Whether a file that begins with these bytes is a sealed file.
pub fn is_sealed(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

/// Whether a file that begins with these bytes can be a stream: its header begins with its own length.
pub(crate) fn is_like_stream(start: &[u8]) -> bool {
    start.first().is_some_and(|&length| [16, 32].map(stream_header_bytes).contains(&length.into()))
}

/// Bytes of the header of a stream whose derived key has `derived_bytes` bytes: its length, a salt, a nonce prefix.
pub(crate) const fn stream_header_bytes(derived_bytes: usize) -> usize {
    1 + derived_bytes + PREFIX
}
