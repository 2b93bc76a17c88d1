//! A key from the command line, a file or standard input. Every copy made here is wiped.

use aes_bitslice_core::aes::KeyBits;
use anyhow::{Context, Result, anyhow, bail};
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use zeroize::Zeroizing;

/// The longest text: 64 digits and a line end of two bytes.
const LIMIT: usize = 66;

/// Reads the key that an option's value stands for: hexadecimal digits, `@` and the name of a file of them, or `-`
/// for standard input.
pub fn read(option: &str) -> Result<Zeroizing<Vec<u8>>> {
    if option == "-" {
        return parse(&read_text(std::io::stdin().lock())?).context("key on standard input");
    }
    let Some(path) = option.strip_prefix('@') else {
        eprintln!(
            "warning: a key on the command line stays in the shell's history and shows in lists of processes; \
             use --key @FILE or --key -"
        );
        return parse(option.as_bytes()).context("key on the command line (--key @FILE reads it from a file)");
    };
    if path.is_empty() {
        bail!("--key @ lacks the name of a file");
    }
    let name = || name(path);
    let file = File::open(path).with_context(name)?;
    let metadata = file.metadata().with_context(name)?;
    if metadata.is_dir() {
        return Err(anyhow!("it is a folder, not a file").context(name()));
    }
    let key = read_text(file).and_then(|text| parse(&text)).with_context(name)?;
    if let Some(exposed) = exposure(&metadata) {
        eprintln!("warning: {} {exposed}", name());
    }
    Ok(key)
}

/// The warning about a key file that is not its owner's alone, in the words of `aes-bitslice`.
#[cfg(unix)]
fn exposure(metadata: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let may = |bits: u32| metadata.is_file() && metadata.mode() & bits != 0;
    let what = match (may(0o044), may(0o022)) {
        (false, false) => return None,
        (true, false) => "read",
        (false, true) => "written",
        (true, true) => "read and written",
    };
    Some(format!("can be {what} by other users; run `chmod 600` on it"))
}

/// Elsewhere it is not known.
#[cfg(not(unix))]
fn exposure(_metadata: &Metadata) -> Option<String> {
    None
}

/// The name of the key file for messages. Some users will put the key itself in its place, and no message may show
/// that.
fn name(path: &str) -> String {
    let digits = Path::new(path).file_name().unwrap_or_default().as_encoded_bytes();
    if matches!(digits.len(), 32 | 48 | 64) && digits.iter().all(u8::is_ascii_hexdigit) {
        "the key file (its name looks like a key and is not shown; @ stands before a file that holds one)".into()
    } else {
        format!("key file `{path}`")
    }
}

/// All of a text that may be a key; one byte more shows that it is too long, whatever its length.
fn read_text(source: impl Read) -> Result<Zeroizing<Vec<u8>>> {
    let mut text = Zeroizing::new(Vec::with_capacity(LIMIT + 1));
    source.take(LIMIT as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// Hexadecimal digits and at most one line end.
fn parse(text: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    match text {
        [0xef, 0xbb, 0xbf, ..] => bail!("it begins with a byte order mark, EF BB BF: save it without, as digits alone"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 1..=255, ..] | [1..=255, 0, ..] => {
            bail!("it is UTF-16, as some versions of PowerShell write text: save it as digits alone")
        }
        _ => {}
    }
    let digits = text.strip_suffix(b"\n").map_or(text, |line| line.strip_suffix(b"\r").unwrap_or(line));
    if digits.is_empty() {
        bail!("it is empty");
    }
    if text.len() > LIMIT {
        bail!("it is too long: a key is 32, 48 or 64 hexadecimal digits");
    }
    if digits.len().is_multiple_of(2) && KeyBits::from_bytes(digits.len() / 2).is_some() {
        let mut key = Zeroizing::new(vec![0; digits.len() / 2]);
        // In a time that does not depend on the digits.
        if base16ct::mixed::decode(digits, &mut key).is_ok() {
            return Ok(key);
        }
    }
    // It is not a key, and may be examined.
    match digits.iter().position(|digit| !digit.is_ascii_hexdigit()) {
        Some(at) => bail!("character {} is no hexadecimal digit; a key is 32, 48 or 64 of them", at + 1),
        None => bail!("a key is 32, 48 or 64 hexadecimal digits, not {}", digits.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_one_line_end() {
        let digits = "000102030405060708090a0B0c0D0e0f";
        let key: Vec<u8> = (0..16).collect();
        for text in [digits.to_string(), format!("{digits}\n"), format!("{digits}\r\n")] {
            assert_eq!(*parse(text.as_bytes()).unwrap(), key);
        }
        for digits in [48, 64] {
            assert_eq!(parse("7".repeat(digits).as_bytes()).unwrap().len(), digits / 2);
        }
        for bad in ["", "\n", &digits[1..], &digits[2..], &format!("{digits}\n\n"), &format!(" {digits}"), "kez"] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(read_text(std::io::repeat(b'1')).and_then(|text| parse(&text)).is_err());
    }

    #[test]
    fn a_name_that_looks_like_a_key_is_not_shown() {
        for digits in [32, 48, 64] {
            for path in ["aB".repeat(digits / 2), format!("folder/{}", "0".repeat(digits))] {
                assert!(!name(&path).contains(&path[path.len() - digits..]), "{path}");
            }
            let (longer, other) = ("0".repeat(digits + 1), "g".repeat(digits));
            for path in [longer.as_str(), &other, "key", ".."] {
                assert_eq!(name(path), format!("key file `{path}`"));
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_or_write_is_exposed() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::tempfile().unwrap();
        for (mode, what) in [
            (0o600, None),
            (0o400, None),
            (0o711, None),
            (0o640, Some("read")),
            (0o604, Some("read")),
            (0o620, Some("written")),
            (0o602, Some("written")),
            (0o666, Some("read and written")),
            (0o624, Some("read and written")),
        ] {
            file.set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
            let says = what.map(|what| format!("can be {what} by other users; run `chmod 600` on it"));
            assert_eq!(exposure(&file.metadata().unwrap()), says, "{mode:o}");
        }
    }
}
