//! What a user of a printed hash kernel must know to launch it, as JSON next to the source. Such a kernel has no cipher's key, mode or
//! basis, so this is not the [`Manifest`](crate::manifest::Manifest) of a cipher's kernel.
//!
//! # How to launch it
//!
//! On thread blocks of `threads` threads with `shared_bytes` of shared memory besides what the code declares (in CUDA more than
//! 48 KiB has to be allowed for the function first). With W *units*, any number from 1 on, the tables made for W, and n =
//! [`Shape::tiles`] of the message: max(1, min(n, W)) thread blocks. `units_per_sm` times the multiprocessors is the W that is fastest;
//! fewer leave room for another kernel.
//!
//! Parameters are listed in the manifest, by name, kind and order; these have values:
//!
//! | parameter | kind | what |
//! |---|---|---|
//! | `in` | where the data begins that is read | the message; aligned to 16 bytes but for `entry_bytes` |
//! | `length` | u64 | bytes; a ragged last block counts as filled up with zeros |
//! | `tables` | buffer of u32, aligned to 16 bytes | [`tables`](crate::ghash::tables) of the hash key, [`Shape::table_words`] of W |
//! | `units` | u32 | W |
//! | `out` | where the data begins that is written, in u32 | 16 bytes, aligned to 4 |
//! | `factor` | 4 words | a block: an element of the field |
//! | `addend` | 4 words | a block |
//!
//! POLYVAL (RFC 8452) is the same hash of blocks whose bytes are reversed, under another key
//! ([`Blocks`](crate::ghash::Blocks)): launches differ in their tables only.
//!
//! The launch adds (that is XOR) `hash · factor + addend` to the 16 bytes at `out`, atomically, word by word, in the bit order of
//! SP 800-38D. So `out` holds zeros, or other parts of the sum, before: launches for parts of one message, each with
//! factor H^(blocks behind the part), may be in any order and at the same time, on any streams, and need no memory of their own. With
//! the factor 1 (the byte 0x80, then zeros) and the addend 0 it is the hash of the part alone. GCM's tag comes of one launch over
//! the ciphertext: factor H, and as addend the hash of the associated data times H^(blocks of ciphertext + 1), plus the block of
//! lengths times H, plus the encrypted first counter.
//!
//! `entry_clear` ends a decryption, behind the launch that made the hash. It sets `length` bytes at `out` to zero, unless `hash · factor +
//! addend` is zero in all bits that `mask` has. Any number of thread blocks will do.
//!
//! | parameter | kind | what |
//! |---|---|---|
//! | `out` | where the data begins that is written | plaintext; of any alignment |
//! | `length` | u64 | bytes |
//! | `hash` | buffer of u32 | 16 bytes, as another launch wrote them with the factor 1 and the addend 0 |
//! | `factor`, `addend`, `mask` | 4 words | blocks |
//!
//! # Many messages at a time
//!
//! `messages.entry` makes the tags of GCM of many messages, and `messages.entry_clear` ends their decryption. What describes the messages
//! is public: 12 words for each. Any number of thread blocks will do; a group of eight messages is one's work at a time, and takes as long
//! as the longest of them. The tables are made for `messages.shape` and one unit.
//!
//! | words of a message | what |
//! |---|---|
//! | 0 to 3 | J0 (SP 800-38D, section 7.1): three words of its bytes, then its counter as a number; for the counter mode |
//! | 4, 5 and 6, 7 | its first byte in the data, and its bytes |
//! | 8 and 9 | the first byte of its additional data in `aad`, and its bytes |
//! | 10 | its first run of 32 counters; for the counter mode. Behind the last message comes one of which only this counts: the number of all runs |
//! | 11 | the bytes of its tag that count; for a decryption |
//!
//! | parameter | kind | what |
//! |---|---|---|
//! | `in`, `out` | where the data begins that is read; where tags go, in u32 | ciphertext, of any alignment; 16 bytes for each message |
//! | `messages`, `all` | buffer, aligned to 16 bytes; u32 | the messages, and how many there are |
//! | `order` | buffer of u32 | the numbers of the messages, in the order in which they make groups: neighbours of like length |
//! | `aad` | buffer | the additional data of all messages; of any alignment |
//! | `masks` | buffer of u32 | 16 bytes for each message: the cipher of J0. It may be the memory of the tags |
//! | `tables` | buffer of u32, aligned to 16 bytes | as above |
//! | `out`, `tags`, `expected`, `verdicts` of the one that clears | | plaintext; the tags that were made, those that are expected, and a u32 for each message: 1 if it was cleared |
//!
//! What `out` is in the end can be read when the launch is over, in the order of its stream. Tables and message must stay until then.
//! Tables, factor and addend give the hash key away: they are to be wiped as keys are.

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
    /// The command line that remakes source and manifest, as the source's heading gives it.
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
    /// How it divides a message, and what it has tables of.
    pub shape: Shape,
    /// Entry point for messages aligned to 16 bytes, and what it takes.
    pub entry: EntryPoint,
    /// Entry point for any alignment, and what it takes; slower.
    pub entry_bytes: EntryPoint,
    /// Entry point that clears what is not authentic, and what it takes.
    pub entry_clear: EntryPoint,
    /// The entry points for many messages at a time; none in a dialect that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<HashOfMessages>,
    /// Whether the entry points that hash may begin before what is ahead of them on the stream is done, for they wait for that
    /// themselves (programmatic dependent launch, where the code is of compute capability 9.0 or later).
    #[serde(default, skip_serializing_if = "is_default")]
    pub overlaps: bool,
    /// Threads of a thread block.
    pub threads: u32,
    /// Bytes of shared memory that a thread block is launched with, in addition to what the code declares.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared_bytes: u32,
    /// Thread blocks of a multiprocessor that are fastest.
    pub units_per_sm: u32,
    /// CUDA: the compute capabilities that have its instructions, as 80 for 8.0.
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
    /// How one message is divided, for which tables are made: its segment of a tile is a tile of this shape.
    pub shape: Shape,
    /// Entry point that makes tags, and what it takes.
    pub entry: EntryPoint,
    /// Entry point that clears messages that are not authentic, and what it takes.
    pub entry_clear: EntryPoint,
}

/// A range of compute capabilities, as 80 for 8.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// The first.
    pub from: u32,
    /// The first one behind the last, if there is a last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<u32>,
}

impl Capabilities {
    /// Whether this one is among them.
    pub fn contains(&self, capability: u32) -> bool {
        self.from <= capability && self.below.is_none_or(|below| capability < below)
    }
}

/// What an entry point that hashes cannot do without.
const HASHES: &[(&str, Kind)] = &[("in", Kind::Input), ("length", Kind::U64), ("out", Kind::Output)];

/// What the entry point that clears cannot do without.
const CLEARS: &[(&str, Kind)] = &[("out", Kind::Output), ("length", Kind::U64), ("hash", Kind::Buffer)];

/// What the entry point that makes tags of many messages cannot do without.
const HASHES_MESSAGES: &[(&str, Kind)] =
    &[("in", Kind::Input), ("messages", Kind::Buffer), ("all", Kind::U32), ("out", Kind::Output)];

/// What the entry point that clears messages cannot do without.
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

    /// Refuses values that no kernel is launched with, or that contradict one another.
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
                return field(of, "must be the kernel's name, with underscores, and what it does behind it");
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

    /// Refuses a source that is not the one, or whose entry points take something else than is said here.
    ///
    /// # Errors
    /// [`ManifestError::Signature`] if an entry point is not in the source or cannot be read, [`ManifestError::Field`] if it takes
    /// something else.
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
    /// What must be known of it to launch it.
    pub manifest: HashManifest,
}
