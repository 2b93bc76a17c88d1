//! The information needed to launch a printed kernel, as JSON in a file next to the source: what every kernel has, and what the kernels of
//! ciphers and of hashes have besides.
//!
//! | file | idea |
//! |---|---|
//! | `cipher` | what a cipher's kernel computes, and how it divides the work |
//! | `hash` | a hash kernel, and how it is launched |

/// How the manifests of one function are read and written. These two are not generic: they are compiled here, once for each function, and not
/// in each crate that reads manifests.
macro_rules! as_json {
    () => {
        fn read(json: &str) -> serde_json::Result<Manifest<Self>> {
            serde_json::from_str(json)
        }

        fn written(manifest: &Manifest<Self>) -> serde_json::Result<String> {
            serde_json::to_string_pretty(manifest)
        }
    };
}

mod cipher;
mod hash;

pub use cipher::{Bitsliced, Cipher, GateCounts, kernel_name};
pub use hash::{Capabilities, Hash};

use super::entry::Entry;
use super::signature::{EntryPoint, SignatureError};
use crate::dialect::Dialect;
use crate::digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Deref;
use zeroize::Zeroizing;

/// The manifest of one kernel of a function: a [`Cipher`] or a [`Hash`](struct@Hash).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest<F = Cipher> {
    /// Version of this format.
    pub format: u32,
    /// The command line that regenerates source and manifest, as given in the heading of the source.
    pub generated_by: String,
    /// The language of the source.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dialect: Dialect,
    /// The kernel's name.
    pub kernel: String,
    /// The source file, in the folder of the manifest.
    pub source: String,
    /// SHA-256 of the source file, hexadecimal.
    pub source_sha256: String,
    /// Whether the source holds a key.
    pub secret: bool,
    /// What it computes.
    pub function: F,
    /// The entry points, and their parameters.
    pub entries: BTreeMap<Entry, EntryPoint>,
    /// Threads per thread block; the maximum where the grid determines the number.
    pub threads: u32,
    /// The number of thread blocks that one multiprocessor must have registers for, where the source cannot say so; 0 where it does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub blocks_per_sm: u32,
    /// Bytes of shared memory that a thread block of the maximum size is launched with, in addition to what the code declares; for
    /// [`Grid::Warps`](super::grid::Grid::Warps), each warp's share is the same. Entry points that [end decryptions](Entry::ends_decryption) or [describe](Entry::describes) need none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared_bytes: u32,
    /// Whether [some entry points](Entry::may_overlap) may begin before earlier work on their stream completes: code for compute capability
    /// 9.0 and later waits for that work itself, before it reads or writes data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overlaps: bool,
    /// Registers by entry point and architecture, where the kernel was compiled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub registers: BTreeMap<String, u32>,
}

/// What kernels compute.
pub trait Function: Clone {
    /// Which entry points its kernels have: those that [hash](Entry::hashes), or the others.
    const HASHES: bool;
    /// Those that every kernel of it has.
    const NEEDED: &[Entry];

    /// Rejects values that no kernel of it can be launched with.
    fn check(manifest: &Manifest<Self>) -> Result<(), ManifestError>;

    /// A manifest that is not checked.
    #[doc(hidden)]
    fn read(json: &str) -> serde_json::Result<Manifest<Self>>;

    #[doc(hidden)]
    fn written(manifest: &Manifest<Self>) -> serde_json::Result<String>;
}

/// What only kernels of this function have is read like what all have.
impl<F> Deref for Manifest<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.function
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The reason why a text is not a manifest that this version can use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is not the JSON of a manifest. Only the position is reported: the parser's message may quote the text, which may be a key.
    #[error("not a kernel manifest: line {line}, column {column}: not the JSON of one")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1; 0 at the end of a line.
        column: usize,
    },
    /// The parameters of an entry point cannot be read from the source.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// It has another format version.
    #[error("manifest format {0}, but this version reads format {format}", format = FORMAT)]
    Format(u32),
    /// A field has a value that is not valid here.
    #[error("manifest field `{field}`: {what}")]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        what: String,
    },
}

impl From<serde_json::Error> for ManifestError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json { line: error.line(), column: error.column() }
    }
}

/// The version of the format.
pub const FORMAT: u32 = 6;

impl<F: Function> Manifest<F> {
    /// Reads a manifest.
    ///
    /// # Errors
    /// [`ManifestError`] says what is wrong with it.
    pub fn parse(json: &str) -> Result<Self, ManifestError> {
        let format = format_of(json)?;
        if format != FORMAT {
            return Err(ManifestError::Format(format));
        }
        let manifest = F::read(json)?;
        manifest.check()?;
        Ok(manifest)
    }

    /// The entry points that a kernel of this name has in its source, and their parameters.
    ///
    /// # Errors
    /// [`SignatureError`] if it lacks one that it needs, or one cannot be read.
    pub fn entries_in(source: &str, kernel: &str) -> Result<BTreeMap<Entry, EntryPoint>, SignatureError> {
        let all = Entry::ALL.into_iter().filter(|entry| entry.hashes() == F::HASHES);
        all.filter_map(|entry| match EntryPoint::read(source, &entry.name_in(kernel)) {
            Err(SignatureError::Missing(_)) if !F::NEEDED.contains(&entry) => None,
            read => Some(read.map(|point| (entry, point))),
        })
        .collect()
    }

    /// One of its entry points.
    ///
    /// # Errors
    /// [`ManifestError::Field`] if it has none.
    pub fn entry(&self, entry: Entry) -> Result<&EntryPoint, ManifestError> {
        let none =
            || ManifestError::Field { field: entry.name(), what: format!("is not there: {} has none", self.kernel) };
        self.entries.get(&entry).ok_or_else(none)
    }

    /// Rejects values that no kernel can be launched with, or that contradict one another.
    ///
    /// # Errors
    /// [`ManifestError::Field`] names the first of them.
    pub fn check(&self) -> Result<(), ManifestError> {
        let field = |field, what: &str| Err(ManifestError::Field { field, what: what.into() });
        if self.source.contains(['/', '\\']) || self.source.starts_with('.') {
            return field("source", "must be a plain file name in the folder of the manifest");
        }
        if !self.threads.is_multiple_of(32) || !(32..=1024).contains(&self.threads) {
            return field("threads", "must be whole warps, 32 to 1024");
        }
        F::NEEDED.iter().try_for_each(|&entry| self.entry(entry).map(|_| ()))?;
        for (entry, point) in &self.entries {
            let of = entry.name();
            if entry.hashes() != F::HASHES {
                return field(of, "is of kernels that compute something else");
            }
            if point.name != entry.name_in(&self.kernel) {
                return field(of, "must be the kernel's name, with underscores, and then what it does");
            }
            if let Some(argument) = point.impossible() {
                return field(of, &format!("takes `{argument}` twice, or one of another kind"));
            }
            if let Some(missing) = entry.arguments().iter().find(|argument| !point.takes(**argument)) {
                return field(of, &format!("takes no `{missing}`"));
            }
        }
        F::check(self)
    }

    /// Rejects a source that is not this kernel's, or whose entry points take other parameters than the manifest says.
    ///
    /// # Errors
    /// [`ManifestError::Signature`] if an entry point is not in the source or cannot be read, [`ManifestError::Field`] if its parameters
    /// differ, or anything else of the source.
    pub fn check_source(&self, source: &str) -> Result<(), ManifestError> {
        for (entry, point) in &self.entries {
            let written = EntryPoint::read(source, &point.name)?;
            if written != *point {
                let what = format!("says that {point} is what the source has as {written}: generate both anew");
                return Err(ManifestError::Field { field: entry.name(), what });
            }
        }
        if self.source_sha256 != digest::of_text(source) {
            let what = "is of another source: generate both anew".into();
            return Err(ManifestError::Field { field: "source_sha256", what });
        }
        Ok(())
    }

    /// The manifest as JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        F::written(self).expect("plain data") + "\n"
    }
}

/// The version of a manifest, whatever else is in it.
fn format_of(json: &str) -> serde_json::Result<u32> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    serde_json::from_str(json).map(|Version { format }| format)
}

/// A printed kernel.
#[derive(Clone)]
pub struct Printed<F = Cipher> {
    /// The source, heading included. With a key baked in, the source is the key.
    pub source: Zeroizing<String>,
    /// The information needed to launch it.
    pub manifest: Manifest<F>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text given as a manifest may be a key.
    #[test]
    fn no_error_of_the_parser_quotes_the_text() {
        for text in [
            "53378008125337800812533780081253",
            "{\"format\": \"53378008\"}",
            "{\"secret\": \"53378008\"}",
            "{\"format\": 6, \"53378008\": 1}",
            "\"53378008\"",
            "5337.8008e2",
        ] {
            for error in [Manifest::<Cipher>::parse(text).unwrap_err(), Manifest::<Hash>::parse(text).unwrap_err()] {
                assert!(matches!(error, ManifestError::Json { line: 1, .. }), "{error:?}");
                assert!(!format!("{error} {error:?}").contains("5337"), "{error:?}");
                assert!(std::error::Error::source(&error).is_none());
            }
        }
    }
}
