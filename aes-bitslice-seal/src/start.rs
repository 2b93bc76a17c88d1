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

/// How a file begins that `openssl enc` made from a password, and what to do with it; `None` for any other file.
pub fn of_openssl(start: &[u8]) -> Option<&'static str> {
    /// `Salted__` in base64, as `openssl enc -a` writes it.
    const IN_BASE64: &[u8] = b"U2FsdGVkX1";
    if start.starts_with(b"Salted__") {
        return Some(
            "begins with `Salted__`, as `openssl enc` writes where it makes key and IV from a password: decrypt it with `openssl enc -d`",
        );
    }
    start.starts_with(IN_BASE64).then_some(
        "begins with `Salted__` in base64, as `openssl enc -a` writes where it makes key and IV from a password: decrypt it with `openssl enc -d -a`",
    )
}

/// Whether a file that begins with these bytes can be a stream: its header begins with its own length.
pub(crate) fn is_like_stream(start: &[u8]) -> bool {
    start.first().is_some_and(|&length| [16, 32].map(stream_header_bytes).contains(&length.into()))
}

/// Bytes of the header of a stream whose derived key has `derived_bytes` bytes: its length, a salt, a nonce prefix.
pub(crate) const fn stream_header_bytes(derived_bytes: usize) -> usize {
    1 + derived_bytes + PREFIX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_salt_is_told_in_bytes_and_in_base64() {
        for (start, is_told) in [
            (&b"Salted__12345678"[..], true),
            (b"Salted__", true),
            (b"U2FsdGVkX1+abcde", true),
            (b"Salted_", false),
            (b"salted__12345678", false),
            (b"U2FsdGVkX", false),
            (b"", false),
        ] {
            assert_eq!(of_openssl(start).is_some(), is_told, "{start:?}");
        }
    }
}
