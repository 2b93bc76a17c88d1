//! Files of other programs, told by how they begin.

/// What to do with a file that begins with `start`, if `openssl enc` made it from a password: its key and its IV are not those of a key
/// file. `None` for any other file.
pub fn of_openssl(start: &[u8]) -> Option<&'static str> {
    /// `Salted__` in base64, as `openssl enc -a` writes it.
    const IN_BASE64: &[u8] = b"U2FsdGVkX1";
    if start.starts_with(b"Salted__") {
        return Some(
            "begins with `Salted__`, as `openssl enc` writes where it makes key and IV from a password: decrypt it with `openssl enc -d`; \
             or have `openssl enc -d -P` print its key and IV, leave out its first 16 bytes (`tail -c +17`), and give these",
        );
    }
    start.starts_with(IN_BASE64).then_some(
        "begins with `Salted__` in base64, as `openssl enc -a` writes where it makes key and IV from a password: decrypt it with `openssl enc -d -a`",
    )
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
