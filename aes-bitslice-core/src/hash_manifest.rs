//! The information needed to launch a printed hash kernel, as JSON next to the source. A hash kernel has no cipher key, mode or basis, so
//! this is not the [`Manifest`](crate::manifest::Manifest) of a cipher's kernel.
//!
//! # How to launch it
//!
//! Use thread blocks of `threads` threads with `shared_bytes` of shared memory in addition to what the code declares (in CUDA, more than 48
//! KiB must first be allowed for the function). For W *units*, any number from 1 on, tables built for W, and n = [`Shape::tiles`] of the
//! message, launch max(1, min(n, W)) thread blocks. The fastest W is `units_per_sm` times the number of multiprocessors; a smaller W leaves
//! room for another kernel.
//!
//! The manifest lists parameters by name, kind and order. Their values are:
//!
//! | parameter | kind | what |
//! |---|---|---|
//! | `in` | start of the input data | the message; aligned to 16 bytes except for `entry_bytes` |
//! | `length` | u64 | bytes; a partial last block counts as padded with zeros |
//! | `tables` | buffer of u32, aligned to 16 bytes | [`tables`](crate::ghash::tables) of the hash key, [`Shape::table_words`] for W |
//! | `units` | u32 | W |
//! | `out` | start of the output data, in u32 | 16 bytes, aligned to 4 |
//! | `factor` | 4 words | a block: an element of the field |
//! | `addend` | 4 words | a block |
//!
//! POLYVAL (RFC 8452) is the same hash of byte-reversed blocks under another key ([`Blocks`](crate::ghash::Blocks)): only the tables of a
//! launch differ.
//!
//! The launch adds (XORs) `hash · factor + addend` to the 16 bytes at `out`, atomically, word by word, in the bit order of SP 800-38D.
//! Before the launch, `out` therefore holds zeros or other parts of the sum: launches for parts of one message, each with factor H^(blocks
//! after the part), may run in any order and concurrently, on any streams, and need no memory of their own. With factor 1 (the byte 0x80,
//! then zeros) and addend 0, the launch adds the hash of the part alone. One launch over the ciphertext computes GCM's tag: the factor is
//! H, and the addend is the hash of the associated data times H^(blocks of ciphertext + 1), plus the length block times H, plus the
//! encrypted first counter.
//!
//! `entry_clear` ends a decryption, after the launch that computed the hash. It zeros `length` bytes at `out`, unless `hash · factor +
//! addend` is zero in all bits set in `mask`. Any number of thread blocks will do.
//!
//! | parameter | kind | what |
//! |---|---|---|
//! | `out` | start of the output data | plaintext; any alignment |
//! | `length` | u64 | bytes |
//! | `hash` | buffer of u32 | 16 bytes, as another launch wrote them with factor 1 and addend 0 |
//! | `factor`, `addend`, `mask` | 4 words | blocks |
//!
//! # Many messages at a time
//!
//! `messages.entry` computes the GCM tags of many messages, and `messages.entry_clear` ends their decryption. The description of the
//! messages is public: 12 words each. Any number of thread blocks will do; a thread block processes a group of eight messages at a time,
//! which takes as long as the longest of them. The tables are built for `messages.shape` and one unit.
//!
//! | words of a message | what |
//! |---|---|
//! | 0 to 3 | J0 (SP 800-38D, section 7.1): three words of its bytes, then its counter as a number; for counter mode |
//! | 4, 5 and 6, 7 | the offset of its first byte in the data, and its length in bytes |
//! | 8 and 9 | the offset of its additional data in `aad`, and the length of that in bytes |
//! | 10 | its first run of 32 counters; for counter mode. One more entry after the last has only this: the number of all runs |
//! | 11 | the number of bytes of its tag that count; for decryption |
//!
//! | parameter | kind | what |
//! |---|---|---|
//! | `in`, `out` | start of the input data; start of the tags, in u32 | ciphertext, any alignment; 16 bytes for each message |
//! | `messages`, `all` | buffer, aligned to 16 bytes; u32 | the messages, and their number |
//! | `order` | buffer of u32 | the indices of the messages, in the order in which they form groups: neighbours have similar lengths |
//! | `aad` | buffer | the additional data of all messages; any alignment |
//! | `masks` | buffer of u32 | 16 bytes for each message: J0 encrypted. May be the memory of the tags |
//! | `tables` | buffer of u32, aligned to 16 bytes | as above |
//! | `out`, `tags`, `expected`, `verdicts` of `entry_clear` | | plaintext; tags computed; tags expected; a u32 per message: 1 if cleared |
//!
//! `out` can be read once the launch has completed, in stream order. Tables and message must stay until then. Tables, factor and addend
//! reveal the hash key: wipe them as you wipe keys.

use crate::dialect::Dialect;
use crate::digest;
use crate::ghash::Shape;
use crate::manifest::ManifestError;
use crate::signature::{EntryPoint, Kind};
use serde::{Deserialize, Serialize};

/// The manifest of one hash kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HashManifest {
    /// Version of this format.
    pub hash_format: u32,
    /// The command line that regenerates source and manifest, as given in the heading of the source.
    pub generated_by: String,
    /// The language of the source.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dialect: Dialect,
    /// The kernel's name.
    pub kernel: String,
    /// The source file, next to the manifest.
    pub source: String,
    /// SHA-256 of the source file, hexadecimal.
    pub source_sha256: String,
    /// How it divides a message, and the contents of its tables.
    pub shape: Shape,
    /// Entry point for messages aligned to 16 bytes, and its parameters.
    pub entry: EntryPoint,
    /// Entry point for any alignment, and its parameters; slower.
    pub entry_bytes: EntryPoint,
    /// Entry point that clears data that is not authentic, and its parameters.
    pub entry_clear: EntryPoint,
    /// The entry points for many messages at a time; `None` in a dialect that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<HashOfMessages>,
    /// Whether the entry points that hash may begin before earlier work on the stream completes, because they wait for it themselves
    /// (programmatic dependent launch, in code for compute capability 9.0 or later).
    #[serde(default, skip_serializing_if = "is_default")]
    pub overlaps: bool,
    /// Threads per thread block.
    pub threads: u32,
    /// Bytes of shared memory that a thread block is launched with, in addition to what the code declares.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared_bytes: u32,
    /// The fastest number of thread blocks per multiprocessor.
    pub units_per_sm: u32,
    /// CUDA: the compute capabilities that have its instructions; 80 means 8.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<Capabilities>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The entry points of a hash kernel for many messages at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HashOfMessages {
    /// How one message is divided, and the shape that tables are built for: its segment of a tile is a tile of this shape.
    pub shape: Shape,
    /// Entry point that computes tags, and its parameters.
    pub entry: EntryPoint,
    /// Entry point that clears messages that are not authentic, and its parameters.
    pub entry_clear: EntryPoint,
}

/// A range of compute capabilities; 80 means 8.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// The first capability.
    pub from: u32,
    /// The end of the range, exclusive, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<u32>,
}

impl Capabilities {
    /// Whether the range contains this capability.
    pub fn contains(&self, capability: u32) -> bool {
        self.from <= capability && self.below.is_none_or(|below| capability < below)
    }
}

/// The required parameters of an entry point that hashes.
const HASHES: &[(&str, Kind)] = &[("in", Kind::Input), ("length", Kind::U64), ("out", Kind::Output)];

/// The required parameters of the entry point that clears.
const CLEARS: &[(&str, Kind)] = &[("out", Kind::Output), ("length", Kind::U64), ("hash", Kind::Buffer)];

/// The required parameters of the entry point that computes the tags of many messages.
const HASHES_MESSAGES: &[(&str, Kind)] =
    &[("in", Kind::Input), ("messages", Kind::Buffer), ("all", Kind::U32), ("out", Kind::Output)];

/// The required parameters of the entry point that clears messages.
const CLEARS_MESSAGES: &[(&str, Kind)] =
    &[("out", Kind::Output), ("messages", Kind::Buffer), ("all", Kind::U32), ("verdicts", Kind::Buffer)];

impl HashManifest {
    /// The version of the format.
    pub const FORMAT: u32 = 3;

    /// Reads a manifest.
    ///
    /// # Errors
    /// [`ManifestError`] says what is wrong with it.
    pub fn parse(json: &str) -> Result<Self, ManifestError> {
        let manifest: Self = serde_json::from_str(json)?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Rejects values that no kernel can be launched with, or that contradict one another.
    ///
    /// # Errors
    /// [`ManifestError::Field`] names the first of them.
    pub fn check(&self) -> Result<(), ManifestError> {
        let field = |field, what: &str| Err(ManifestError::Field { field, what: what.into() });
        if self.hash_format != Self::FORMAT {
            return field("hash_format", &format!("is {}, but this version reads {}", self.hash_format, Self::FORMAT));
        }
        if self.source.contains(['/', '\\']) || self.source.starts_with('.') {
            return field("source", "must be a plain file name, of a file next to the manifest");
        }
        if let Err(error) = self.shape.check() {
            return field("shape", &error.to_string());
        }
        if !self.threads.is_multiple_of(32) || !(32..=1024).contains(&self.threads) {
            return field("threads", "must be whole warps, 32 to 1024");
        }
        if self.units_per_sm == 0 {
            return field("units_per_sm", "must not be 0");
        }
        if let Some(Err(error)) = self.messages.as_ref().map(|messages| messages.shape.check()) {
            return field("messages", &error.to_string());
        }
        let name = self.kernel.replace('-', "_");
        let needed = [
            ("", HASHES),
            ("_bytes", HASHES),
            ("_clear", CLEARS),
            ("_messages", HASHES_MESSAGES),
            ("_messages_clear", CLEARS_MESSAGES),
        ];
        for ((of, entry), (end, data)) in self.entries().into_iter().zip(needed) {
            if entry.name != format!("{name}{end}") {
                return field(of, "must be the kernel's name, with underscores, and then what it does");
            }
            if let Some(twice) = entry.named_twice() {
                return field(of, &format!("takes `{twice}` twice"));
            }
            if let Some((missing, _)) = data.iter().find(|(name, kind)| !entry.takes(name, *kind)) {
                return field(of, &format!("takes no `{missing}`, or one of another kind"));
            }
        }
        if (self.dialect == Dialect::Cuda) != self.compute_capability.is_some() {
            return field("compute_capability", "is there if and only if the dialect is CUDA C");
        }
        Ok(())
    }

    /// Rejects a source that is not this kernel's, or whose entry points take other parameters than the manifest says.
    ///
    /// # Errors
    /// [`ManifestError::Signature`] if an entry point is not in the source or cannot be read, [`ManifestError::Field`] if its parameters
    /// differ.
    pub fn check_source(&self, source: &str) -> Result<(), ManifestError> {
        for (field, entry) in self.entries() {
            let written = EntryPoint::read(source, &entry.name)?;
            if written != *entry {
                let what = format!("says that {entry} is what the source has as {written}: generate both anew");
                return Err(ManifestError::Field { field, what });
            }
        }
        if self.source_sha256 != digest::of_text(source) {
            let what = "is of another source: generate both anew".into();
            return Err(ManifestError::Field { field: "source_sha256", what });
        }
        Ok(())
    }

    /// The entry points, with the names of their fields.
    pub fn entries(&self) -> Vec<(&'static str, &EntryPoint)> {
        let mut entries =
            vec![("entry", &self.entry), ("entry_bytes", &self.entry_bytes), ("entry_clear", &self.entry_clear)];
        if let Some(HashOfMessages { entry, entry_clear, .. }) = &self.messages {
            entries.extend([("messages.entry", entry), ("messages.entry_clear", entry_clear)]);
        }
        entries
    }

    /// The manifest as JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }
}

/// A printed hash kernel.
pub struct PrintedHash {
    /// The source, heading included.
    pub source: String,
    /// The information needed to launch it.
    pub manifest: HashManifest,
}
