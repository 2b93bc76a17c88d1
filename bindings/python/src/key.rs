//! Keys: they come from bytes, text, a file, the environment or the system, never show themselves, and are wiped.

use crate::buffer::{bytes, new_bytes, small};
use crate::call::LONG;
use crate::documented::parameter;
use crate::error::{of_runtime, os_error};
use crate::memory::Host;
use crate::new_file::{Like, NewFile, only_path};
use crate::number;
use crate::patient::Patient;
use crate::signals;
use aes_bitslice_runtime::{Key as RuntimeKey, KeyBits};
use pyo3::exceptions::{PyLookupError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// An AES key, or the two keys of XTS. It never shows itself, cannot be pickled, and is wiped when no longer
/// used.
///
/// The key with these 16, 24 or 32 bytes.
///
/// The object that they are copied from is not wiped. `ValueError` for any other number of bytes.
///
/// data: the bytes of the key.
#[pyclass(frozen, weakref, module = "aes_bitslice")]
pub struct Key {
    pub key: RuntimeKey,
}

/// The longest text of a key: two keys of 256 bits in hexadecimal digits, and a line end.
const LONGEST: usize = 130;

#[pymethods]
impl Key {
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let key = RuntimeKey::new(small(data, "a key")?.bytes()).map_err(of_runtime)?;
        Ok(Self { key })
    }

    /// An XTS key of 32 or 64 bytes: the data key and the tweak key. If they are equal, it decrypts, and does not
    /// encrypt.
    ///
    /// data: the bytes of both keys, one after another.
    #[staticmethod]
    fn xts(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let key = RuntimeKey::xts(small(data, "a key")?.bytes()).map_err(of_runtime)?;
        Ok(Self { key })
    }

    /// A new key of 128, 192 or 256 bits from the system's random number generator; for XTS, two such keys.
    ///
    /// bits: of the key, or of each of the two.
    /// xts: whether it is for XTS.
    #[staticmethod]
    #[pyo3(signature = (bits = 256, *, xts = false))]
    fn generate(#[pyo3(from_py_with = number::bits)] bits: usize, xts: bool) -> PyResult<Self> {
        let bits = key_bits(bits)?;
        if xts && bits == KeyBits::Aes192 {
            return Err(PyValueError::new_err("there is no XTS with keys of 192 bits: use 128 or 256"));
        }
        let key = if xts { RuntimeKey::generate_xts(bits) } else { RuntimeKey::generate(bits) };
        Ok(Self { key: key.map_err(of_runtime)? })
    }

    /// A key derived from a secret with HKDF-SHA256 (RFC 5869), so that one secret serves for a key of each purpose, tenant or file.
    ///
    /// secret: a `Key`, or 16 random bytes or more; no passphrase. An object that they are copied from is not wiped.
    /// info: says what the key is for; another `info` gives a key that tells nothing about this one.
    /// salt: public bytes, which may be empty; random ones make keys of their own where nothing else differs.
    /// bits: of the derived key: 128, 192 or 256.
    #[staticmethod]
    #[pyo3(signature = (secret, info, *, salt = None, bits = 256))]
    fn derive(
        secret: &Bound<'_, PyAny>,
        info: &Bound<'_, PyAny>,
        salt: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::bits)] bits: usize,
    ) -> PyResult<Self> {
        let (bits, info) = (key_bits(bits)?, small(info, "info")?);
        let salt = salt.map(|salt| small(salt, "salt")).transpose()?;
        let derive = |secret: &[u8]| {
            let salt = salt.as_ref().map_or(&[][..], |salt| salt.bytes());
            RuntimeKey::derive(secret, salt, info.bytes(), bits).map_err(of_runtime)
        };
        let key = match secret.cast::<Self>() {
            Ok(key) => derive(key.get().key.expose()),
            Err(_) => derive(small(secret, "secret")?.bytes()),
        };
        Ok(Self { key: key? })
    }

    /// The key given as hexadecimal digits. Error messages never repeat the text.
    ///
    /// text: 32, 48 or 64 digits; for XTS, 64 or 128.
    #[doc = parameter!(xts)]
    #[staticmethod]
    #[pyo3(signature = (text, *, xts = false))]
    fn from_hex(text: &str, xts: bool) -> PyResult<Self> {
        of_text(text.as_bytes(), xts, format_args!("this is no key"))
    }

    /// The key in a file, as hexadecimal digits and a line end, as `aes-bitslice keygen` and `save` write it.
    ///
    /// Error messages name the file, unless its name is 32 hexadecimal digits or more: it may be the key itself.
    ///
    /// path: of the file.
    #[doc = parameter!(xts)]
    #[staticmethod]
    #[pyo3(signature = (path, *, xts = false))]
    fn from_file(py: Python<'_>, #[pyo3(from_py_with = only_path)] path: PathBuf, xts: bool) -> PyResult<Self> {
        let mut text = Zeroizing::new([0; LONGEST + 2]);
        // A pipe may have to be waited for.
        let len = py.detach(|| read_start(&path, &mut text[..])).map_err(|error| at_path(error, &path))?;
        of_text(&text[..len], xts, format_args!("the file {} holds no key", path_shown(&path)))
    }

    /// The key in an environment variable, as hexadecimal digits. `LookupError` if it is not set.
    ///
    /// Error messages name the variable, unless its name has 16 hexadecimal digits in a row: it may be the key itself.
    ///
    /// name: of the variable.
    #[doc = parameter!(xts)]
    #[staticmethod]
    #[pyo3(signature = (name, *, xts = false))]
    fn from_env(name: &str, xts: bool) -> PyResult<Self> {
        let shown = if has_part_of_a_key(name) { HIDDEN } else { name };
        let text = std::env::var_os(name)
            .ok_or_else(|| PyLookupError::new_err(format!("the environment variable {shown} is not set")))?;
        let text = Zeroizing::new(text.into_encoded_bytes());
        of_text(&text, xts, format_args!("the environment variable {shown} holds no key"))
    }

    /// The key that a reference names: `env:NAME` or `file:PATH`. A reference is not secret and may replace the key
    /// in transit.
    ///
    /// reference: `env:NAME`, `file:PATH`, or one of a scheme of `aes_bitslice.keys`.
    #[doc = parameter!(xts)]
    #[staticmethod]
    #[pyo3(signature = (reference, *, xts = false))]
    fn from_reference(py: Python<'_>, reference: &str, xts: bool) -> PyResult<Self> {
        match reference.split_once(':') {
            Some(("env", name)) => Self::from_env(name, xts),
            // `~` is for `keys` to refuse, which does so before any key is read, too.
            Some(("file", path)) if !path.starts_with('~') => Self::from_file(py, path.into(), xts),
            _ => {
                let key = py.import("aes_bitslice.keys")?.call_method1("resolve", (reference,))?;
                let key = key.cast_into::<Self>()?.get().key.clone();
                match key.is_xts() == xts {
                    true => Ok(Self { key }),
                    false => Err(PyValueError::new_err(format!(
                        "the key of this reference is {} XTS key, and xts is {}",
                        if xts { "no" } else { "an" },
                        if xts { "True" } else { "False" },
                    ))),
                }
            }
        }
    }

    /// Writes the key to a new file that only this user can read, which appears whole or not at all.
    /// `FileExistsError` if the file exists.
    ///
    /// path: of the new file.
    fn save(&self, #[pyo3(from_py_with = only_path)] path: PathBuf) -> PyResult<()> {
        let digits = Zeroizing::new(base16ct::lower::encode_string(self.key.expose()));
        let text = Zeroizing::new([digits.as_bytes(), b"\n"].concat());
        let mut file = NewFile::at(&path, path_shown(&path).into_owned(), None, &Like::Private)?;
        file.write_all(&text).map_err(|error| file.failed(error))?;
        file.finish()
    }

    /// The bytes of the key, for a caller that stores them. This copy is not wiped.
    fn expose<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, self.key.expose())
    }

    /// 128, 192 or 256; for XTS, the bits of each of the two keys.
    #[getter]
    fn bits(&self) -> usize {
        self.key.bits().bits()
    }

    /// Whether it is an XTS key.
    #[getter]
    fn is_xts(&self) -> bool {
        self.key.is_xts()
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.key)
    }

    /// Takes the same time whatever the bytes of the keys are.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.key == other.get().key)
    }

    /// Says nothing about the bytes.
    fn __hash__(&self) -> u64 {
        self.key.expose().len() as u64
    }

    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a key cannot be pickled, because schedulers and caches keep pickles: give a reference (Key.from_reference) instead",
        ))
    }
}

/// Reads a file until it ends or `bytes` is full; returns the number of bytes read.
fn read_start(path: &Path, bytes: &mut [u8]) -> io::Result<usize> {
    let mut file = Patient::open(path)?;
    let mut len = 0;
    while len < bytes.len() {
        match file.read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

/// Hexadecimal digits and at most one line end.
fn of_text(text: &[u8], xts: bool, refusal: Arguments<'_>) -> PyResult<Key> {
    let digits = text.strip_suffix(b"\n").map_or(text, |line| line.strip_suffix(b"\r").unwrap_or(line));
    let refused = |why: String| PyValueError::new_err(format!("{refusal}: {why}"));
    // Some editors write this at the beginning of UTF-8.
    if digits.starts_with("\u{feff}".as_bytes()) {
        return Err(refused("it begins with a byte order mark, EF BB BF: save it without, as digits alone".into()));
    }
    let wanted = if xts { [64, 128].as_slice() } else { &[32, 48, 64] };
    if !wanted.contains(&digits.len()) {
        // Of a file, only its start was read.
        let found =
            if wanted.iter().all(|&most| digits.len() > most) { "more".into() } else { digits.len().to_string() };
        let wanted: Vec<String> = wanted.iter().map(usize::to_string).collect();
        let (last, rest) = wanted.split_last().expect("some");
        return Err(refused(format!("a key has {} or {last} hexadecimal digits, not {found}", rest.join(", "))));
    }
    let half = |digits: &[u8]| {
        let text = std::str::from_utf8(digits).map_err(|_| refused("it is not text".into()))?;
        RuntimeKey::from_hex(text).map_err(|_| refused("it has a character that is no hexadecimal digit".into()))
    };
    let key = match xts {
        false => half(digits)?,
        true => {
            let (data, tweak) = digits.split_at(digits.len() / 2);
            let both = Zeroizing::new([half(data)?.expose(), half(tweak)?.expose()].concat());
            RuntimeKey::xts(&both).map_err(|error| refused(error.to_string()))?
        }
    };
    Ok(Key { key })
}

/// A length of keys.
fn key_bits(bits: usize) -> PyResult<KeyBits> {
    let known = KeyBits::ALL.into_iter().find(|known| known.bits() == bits);
    known.ok_or_else(|| PyValueError::new_err(format!("a key has 128, 192 or 256 bits, not {bits}")))
}

fn at_path(error: io::Error, path: &Path) -> PyErr {
    os_error(error, &path_shown(path))
}

/// Stands for a name in a message: some users put the key itself in its place.
const HIDDEN: &str = "(a name that looks like a key and is not shown)";

/// Whether the name of a variable has 16 or more hexadecimal digits in a row: it may be a key, one with a typing error, or one after `0x`.
fn has_part_of_a_key(name: &str) -> bool {
    name.as_bytes().split(|c| !c.is_ascii_hexdigit()).any(|digits| digits.len() >= 16)
}

/// The path for a message. Files are often named after a hash: only a name of nothing but digits is hidden.
fn path_shown(path: &Path) -> Cow<'_, str> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes().trim_ascii();
    match name.len() >= 32 && name.iter().all(u8::is_ascii_hexdigit) {
        true => HIDDEN.into(),
        false => path.to_string_lossy(),
    }
}

/// Bytes from the system's random number generator: for nonces and IVs.
///
/// length: how many.
#[pyfunction]
pub fn random_bytes(
    py: Python<'_>,
    #[pyo3(from_py_with = number::length)] length: usize,
) -> PyResult<Bound<'_, PyAny>> {
    let (bytes, start) = new_bytes(py, length)?;
    let host = Host::new(start, length);
    for at in (0..length).step_by(LONG) {
        let mut part = host.part(at..length.min(at + LONG));
        py.detach(|| part.fill_random()).map_err(of_runtime)?;
        signals::check(py)?;
    }
    Ok(bytes)
}
