//! Tells why a file of a secret is not the plain text that it must be, and why a name leads nowhere: some editors and shells write more than
//! plain text, and shells replace `~` only in some places.

use std::path::Path;

/// Why a secret is not read from a terminal.
pub const TYPED: &str = "it is a terminal, which would show the secret that is typed; use a pipe or a file";

/// Why these bytes are not plain text; `None` if they may be.
pub fn not_plain(bytes: &[u8]) -> Option<&'static str> {
    const UTF_16: &str =
        "it is UTF-16, as some versions of PowerShell write text: save it as UTF-8 without a byte order mark";
    match bytes {
        [0xef, 0xbb, 0xbf, ..] => {
            Some("it begins with a byte order mark, EF BB BF: save it without, as plain text alone")
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 1..=255, ..] | [1..=255, 0, ..] => Some(UTF_16),
        _ => None,
    }
}

/// Why this name of what is not there leads nowhere, if its `~` should have been replaced.
pub fn not_replaced(path: &Path) -> Option<&'static str> {
    let why = "its `~` was not replaced: shells do that only where a word begins, not within quotes or after `=`";
    let rest = path.as_os_str().as_encoded_bytes().strip_prefix(b"~")?;
    let user = rest.split(|&byte| byte == b'/').next().unwrap_or_default();
    let is_name = user.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte));
    // A file may be called `~tmp`.
    (is_name && (user.is_empty() || user.len() < rest.len())).then_some(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_replace_was_not_replaced() {
        for (name, is_told) in
            [("~", true), ("~/key", true), ("~ada/key", true), ("~$report", false), ("~tmp", false), ("a~/key", false)]
        {
            assert_eq!(not_replaced(Path::new(name)).is_some(), is_told, "{name}");
        }
    }

    #[test]
    fn marks_and_utf_16_are_told() {
        let utf_16: Vec<u8> = "00ff".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "00ff".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for text in [&utf_16[..], &big, &[b"\xff\xfe", &utf_16[..]].concat(), &[b"\xfe\xff", &big[..]].concat()] {
            assert!(not_plain(text).unwrap().contains("UTF-16"), "{text:?}");
        }
        assert!(not_plain(b"\xef\xbb\xbf00ff").unwrap().contains("byte order mark, EF BB BF"));
        for text in [&b""[..], b"0", b"00ff", "é".as_bytes(), b"\0", b"\0\0\0\0"] {
            assert_eq!(not_plain(text), None, "{text:?}");
        }
    }
}
