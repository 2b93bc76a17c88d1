//! Where a key comes from: a file, standard input or an environment variable. Every copy made here is wiped.

use std::io::{ErrorKind, IsTerminal};
use std::path::Path;

use aes_bitslice_runtime::{Key, Keys};
use zeroize::Zeroizing;

use crate::access::exposure;
use crate::args::key::{KeyArgs, KeyFormat};
use crate::error::{Error, Exit, Result, warn};
use crate::filled::read_up_to;
use crate::{standard, text};

/// The longest possible key file: 128 hexadecimal digits and a line end of two bytes.
const LIMIT: usize = 130;

/// The kind of key that a command takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// One AES key of any length.
    Any,
    /// One of 256 bits.
    Aes256,
    /// The two keys of XTS.
    Xts,
}

impl From<Keys> for KeyKind {
    fn from(keys: Keys) -> Self {
        match keys {
            Keys::One | Keys::OnCpu(_) | Keys::Own => KeyKind::Any,
            Keys::Two => KeyKind::Xts,
        }
    }
}

/// The lengths in bytes that such a key can have.
fn lengths(kind: KeyKind) -> &'static [usize] {
    match kind {
        KeyKind::Any => &[16, 24, 32],
        KeyKind::Aes256 => &[32],
        KeyKind::Xts => &[32, 64],
    }
}

/// How long such a key is, in hexadecimal digits or in bytes.
fn length_in_words(kind: KeyKind, format: KeyFormat) -> &'static str {
    match (kind, format) {
        (KeyKind::Any, KeyFormat::Hex) => "a key has 32, 48 or 64 hexadecimal digits",
        (KeyKind::Any, KeyFormat::Raw) => "a key has 16, 24 or 32 bytes",
        (KeyKind::Aes256, KeyFormat::Hex) => "a key of 256 bits is needed here, which has 64 hexadecimal digits",
        (KeyKind::Aes256, KeyFormat::Raw) => "a key of 256 bits is needed here, which has 32 bytes",
        (KeyKind::Xts, KeyFormat::Hex) => "a key of XTS (`keygen --xts`) has 64 or 128 hexadecimal digits",
        (KeyKind::Xts, KeyFormat::Raw) => "a key of XTS has 32 or 64 bytes",
    }
}

/// Reads the key that the options name.
pub fn read(args: &KeyArgs, kind: KeyKind, quiet: bool) -> Result<Key> {
    match (&args.source.key_file, &args.source.key_env) {
        (Some(path), None) => from_file(path, kind, args.key_format, quiet),
        (None, Some(variable)) if args.key_format == KeyFormat::Hex => from_environment(variable, kind),
        (None, Some(_)) => Err(Error::usage("--key-env holds hexadecimal digits; use --key-file for a raw key")),
        _ => Err(Error::usage("give the key with --key-file or --key-env")),
    }
}

fn from_file(path: &Path, kind: KeyKind, format: KeyFormat, quiet: bool) -> Result<Key> {
    let is_standard_input = path == Path::new("-");
    let name = if is_standard_input { "the key on standard input".into() } else { name(path) };
    let refuse = |why: &str| Error::new(Exit::Key, format!("{name}: {why}"));
    let mut file = if is_standard_input {
        standard::input()?
    } else {
        standard::open(path).map_err(|error| match error.kind() {
            // As `cargo xtask gen --key` and other programs want it.
            ErrorKind::NotFound if is_behind_a_sign(path) => {
                refuse("there is no such file; leave out the `@`: --key-file takes the name alone")
            }
            ErrorKind::NotFound => {
                let advice = text::not_replaced(path).unwrap_or("for new data `aes-bitslice keygen` makes a key");
                refuse(&format!("there is no such file; {advice}"))
            }
            _ => refuse(&error.to_string()),
        })?
    };
    let metadata = file.metadata().map_err(|error| refuse(&error.to_string()))?;
    if metadata.is_dir() {
        return Err(refuse("it is a folder, not a file"));
    }
    if file.is_terminal() {
        return Err(refuse(text::TYPED));
    }
    // One byte more than a key can have shows that a file is too long, however long it is.
    let mut buffer = Zeroizing::new([0; LIMIT + 1]);
    let length = read_up_to(&mut file, &mut buffer[..]).map_err(|error| refuse(&error.to_string()))?;
    let bytes = &buffer[..length];
    let is_long = length > LIMIT;
    if format == KeyFormat::Hex
        && let Some(why) = text::not_plain(bytes)
    {
        return Err(refuse(why));
    }
    let key = match format {
        _ if bytes.is_empty() => return Err(refuse("it is empty")),
        _ if is_long => Err(Error::new(Exit::Key, format!("it is too long; {}", length_in_words(kind, format)))),
        KeyFormat::Hex => from_hex(bytes, kind, "it is not text; see --key-format raw"),
        KeyFormat::Raw => from_bytes(bytes, kind, KeyFormat::Raw),
    };
    let key = key.map_err(|error| refuse(error.message()))?;
    if !quiet && let Some(exposed) = exposure(&name, &metadata, is_standard_input) {
        warn(&exposed);
    }
    Ok(key)
}

/// How messages name the key file. Some users will put the key itself in its place, and no message may show that.
fn name(path: &Path) -> String {
    if looks_like_a_key(path) {
        "the key file (its name looks like a key and is not shown; --key-file takes a file that holds one)".into()
    } else {
        format!("key file `{}`", path.display())
    }
}

/// Whether it is the name of a file with an `@` in front.
fn is_behind_a_sign(path: &Path) -> bool {
    path.to_str().and_then(|text| text.strip_prefix('@')).is_some_and(|name| Path::new(name).exists())
}

/// Whether a file's name has as many hexadecimal digits as a key, and nothing else.
pub fn looks_like_a_key(path: &Path) -> bool {
    let digits = path.file_name().unwrap_or_default().as_encoded_bytes();
    matches!(digits.len(), 32 | 48 | 64 | 128) && digits.iter().all(u8::is_ascii_hexdigit)
}

/// How messages name the variable. Some users will put the key itself in its place: what is not usual for a name is not shown, nor is
/// what has hexadecimal digits alone.
fn variable_name(variable: &str) -> String {
    let is_usual = |sign: char| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == '_';
    let is_shown = variable.chars().all(is_usual)
        && !variable.starts_with(|sign: char| sign.is_ascii_digit())
        && variable.contains(|sign: char| !sign.is_ascii_hexdigit());
    if is_shown {
        format!("the environment variable `{variable}` of --key-env")
    } else {
        "the environment variable of --key-env".into()
    }
}

fn from_environment(variable: &str, kind: KeyKind) -> Result<Key> {
    let refuse = |why: &str| Error::new(Exit::Key, format!("{} {why}", variable_name(variable)));
    let text = std::env::var_os(variable).ok_or_else(|| refuse("is not set"))?;
    let bytes = Zeroizing::new(text.into_encoded_bytes());
    if bytes.is_empty() {
        return Err(refuse("is empty"));
    }
    from_hex(&bytes, kind, "it is not text").map_err(|error| refuse(&format!("holds no key: {}", error.message())))
}

/// Hexadecimal digits and at most one line end.
fn from_hex(bytes: &[u8], kind: KeyKind, if_no_text: &str) -> Result<Key> {
    let digits = bytes.strip_suffix(b"\n").map_or(bytes, |line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut decoded = Zeroizing::new(vec![0; digits.len() / 2]);
    // The time does not depend on the key.
    if base16ct::mixed::decode(digits, &mut decoded).is_ok() {
        return from_bytes(&decoded, kind, KeyFormat::Hex);
    }
    // It is not a key, and may be examined.
    let why = match digits.iter().position(|digit| !digit.is_ascii_hexdigit()) {
        _ if std::str::from_utf8(digits).is_err() => if_no_text.into(),
        Some(at) if digits[at..].iter().all(|sign| matches!(sign, b'\r' | b'\n')) => {
            "more than one line end follows the key".into()
        }
        Some(at) => format!("the key is not hexadecimal: character {} is no hexadecimal digit", at + 1),
        None => format!("{}, not {}", length_in_words(kind, KeyFormat::Hex), digits.len()),
    };
    Err(Error::new(Exit::Key, why))
}

/// A key from its bytes, which came in this `format`.
fn from_bytes(bytes: &[u8], kind: KeyKind, format: KeyFormat) -> Result<Key> {
    if !lengths(kind).contains(&bytes.len()) {
        let found = if format == KeyFormat::Hex { 2 * bytes.len() } else { bytes.len() };
        let is_other = match (kind, bytes.len()) {
            _ if format == KeyFormat::Raw && bytes.trim_ascii_end().iter().all(u8::is_ascii_hexdigit) => {
                ": these are hexadecimal digits; leave --key-format raw out"
            }
            (KeyKind::Any | KeyKind::Aes256, 64) => ": this is a key of XTS, which is two",
            (KeyKind::Aes256, 16 | 24) => "; for new files `aes-bitslice keygen -b 256 -o KEY` makes one",
            (KeyKind::Xts, 16 | 24) => ": this is one key, and XTS takes two, one after the other",
            _ => "",
        };
        return Err(Error::new(Exit::Key, format!("{}, not {found}{is_other}", length_in_words(kind, format))));
    }
    Ok(match kind {
        KeyKind::Any | KeyKind::Aes256 => Key::new(bytes)?,
        KeyKind::Xts => Key::xts(bytes)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_a_key_is_not_shown() {
        for digits in [32, 48, 64, 128] {
            for path in ["aB".repeat(digits / 2), format!("folder/{}", "0".repeat(digits))] {
                assert!(!name(Path::new(&path)).contains(&path[path.len() - digits..]), "{path}");
            }
            for variable in ["AB".repeat(digits / 2), "A".repeat(digits - 1), format!("0X{}", "1".repeat(digits))] {
                assert!(!variable_name(&variable).contains(&variable), "{variable}");
            }
            let (longer, other) = ("0".repeat(digits + 1), "g".repeat(digits));
            for path in [longer.as_str(), &other, "key", ".."] {
                assert_eq!(name(Path::new(path)), format!("key file `{path}`"));
            }
        }
    }

    #[test]
    fn the_name_of_a_variable_is_shown() {
        assert_eq!(variable_name("MY_KEY_2"), "the environment variable `MY_KEY_2` of --key-env");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_key_file_is_read_to_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |path: &Path| from_file(path, KeyKind::Xts, KeyFormat::Hex, true);
        for (end, fits) in [("", true), ("\n", true), ("\r\n", true), ("\r\n\n", false), ("\n\n", false), ("0", false)]
        {
            std::fs::write(file.path(), ["01".repeat(32), "23".repeat(32), end.into()].concat()).unwrap();
            assert_eq!(read(file.path()).is_ok(), fits, "{end:?}");
        }
        // Nothing is at its beginning.
        let error = read(Path::new("/proc/self/mem")).err().unwrap();
        assert!(error.message().contains("Input/output error"), "{}", error.message());
    }
}
