//! A hash kernel, which has no mode, and no cipher key unless it encrypts what it hashes, and how it is launched.

use super::{Function, Manifest, ManifestError};
use crate::column_basis::ColumnBasis;
use crate::dialect::Dialect;
use crate::ghash::{Arrangement, Shape};
use crate::protocol::entry::Entry;
use serde::{Deserialize, Serialize};

/// What only the manifest of a hash kernel says.
///
/// # How to launch it
///
/// Use thread blocks of `threads` threads with `shared_bytes` of shared memory in addition to what the code declares (in CUDA, more than 48
/// KiB must first be allowed for the function). For W *units*, any number from 1 on, tables built for W, and n = [`Shape::tiles`] of the
/// message, launch max(1, min(n, W)) thread blocks. The fastest W is `units_per_sm` times the number of multiprocessors; a smaller W leaves
/// room for another kernel.
///
/// The manifest lists parameters by name, kind and order. Their values are:
///
/// | parameter | kind | what |
/// |---|---|---|
/// | `in` | start of the input data | the message; aligned to 16 bytes except for `hash-bytes` |
/// | `length` | u64 | bytes; a partial last block counts as padded with zeros |
/// | `tables` | buffer of u32, aligned to 16 bytes | [`tables`](crate::ghash::tables) of the hash key, [`Shape::table_words`] for W |
/// | `units` | u32 | W |
/// | `out` | start of the output data, in u32 | 16 bytes, aligned to 4 |
/// | `factor` | 4 words | a block: an element of the field |
/// | `addend` | 4 words | a block |
///
/// POLYVAL (RFC 8452) is the same hash of byte-reversed blocks under another key ([`Blocks`](crate::ghash::Blocks)): only the tables of a
/// launch differ.
///
/// The launch adds (XORs) `hash · factor + addend` to the 16 bytes at `out`, atomically, word by word, in the bit order of SP 800-38D.
/// Before the launch, `out` therefore holds zeros or other parts of the sum: launches for parts of one message, each with factor H^(blocks
/// after the part), may run in any order and concurrently, on any streams, and need no memory of their own. With factor 1 (the byte 0x80,
/// then zeros) and addend 0, the launch adds the hash of the part alone. One launch over the ciphertext computes GCM's tag: the factor is
/// H, and the addend is the hash of the associated data times H^(blocks of ciphertext + 1), plus the length block times H, plus the
/// encrypted first counter.
///
/// `clear` ends a decryption, after the launch that computed the hash. It zeros `length` bytes at `out`, unless `hash · factor +
/// addend` is zero in all bits set in `mask`. Any number of thread blocks will do.
///
/// | parameter | kind | what |
/// |---|---|---|
/// | `out` | start of the output data | plaintext; any alignment |
/// | `length` | u64 | bytes |
/// | `hash` | buffer of u32 | 16 bytes, as another launch wrote them with factor 1 and addend 0 |
/// | `factor`, `addend`, `mask` | 4 words | blocks |
///
/// # GCM in one launch
///
/// A kernel with a `key_basis` has `encrypt` and `decrypt` instead: counter mode (SP 800-38A, section 6.5) of a message under a counter whose
/// last four bytes count, and wrap, and the hash of the ciphertext. W is a multiple of `threads` / 128, and a launch has exactly min(tiles, W · 128 /
/// `threads`) thread blocks: each has a tile, so none ends before the tables have come that it fetches. A tile begins where the counter's low word is a multiple of 256, so the first one has `skipped` = (low word) mod 256
/// blocks in front of the data. As many zero blocks as the last one has room for are hashed after the data: the sum that is multiplied by
/// `factor` is the hash times H^(those blocks), so a caller who wants `factor` times the hash passes `factor` times H^-(those blocks).
///
/// | parameter | kind | what |
/// |---|---|---|
/// | `in`, `out` | start of the data | the message, aligned to 16 bytes, and its output, which may be in place |
/// | `length` | u64 | bytes, at least 1 |
/// | `counter` | 4 words | the counter of the first block, least significant word first |
/// | `keys` | round keys | as of the kernel for counter mode whose key basis is this one's |
/// | `tables`, `units`, `factor`, `addend` | | as above |
/// | `sums`, `arrived` | buffers of u32 | 16 and 4 bytes of zeros, which are zeros again after the launch; launches that may run at a time have their own |
/// | `hash` | buffer of u32 | 16 bytes, to which `hash · factor + addend` is written, whatever they held |
/// | `mask` of `decrypt` | 4 words | a block; zeros if the data is not verified. Otherwise its first word is not 0, and `hash` gets the verdict: if `hash · factor + addend` is zero in all bits of the mask, zeros, else ones, and the output is zeroed, by one thread block |
///
/// # Many messages at a time
///
/// `hash-messages` computes the GCM tags of many messages, and `clear-messages` ends their decryption. The description of the
/// messages is public: 12 words each. Any number of thread blocks will do; a thread block processes a group of eight messages at a time,
/// which takes as long as the longest of them. The tables are built for `message_shape` and one unit.
///
/// | words of a message | what |
/// |---|---|
/// | 0 to 3 | J0 (SP 800-38D, section 7.1): three words of its bytes, then its counter as a number; for counter mode |
/// | 4, 5 and 6, 7 | the offset of its first byte in the data, and its length in bytes |
/// | 8 and 9 | the offset of its additional data in `aad`, and the length of that in bytes |
/// | 10 | its first run of 32 counters; for counter mode. One more entry after the last has only this: the number of all runs |
/// | 11 | the number of bytes of its tag that count; for decryption |
///
/// | parameter | kind | what |
/// |---|---|---|
/// | `in`, `out` | start of the input data; start of the tags, in u32 | ciphertext, any alignment; 16 bytes for each message |
/// | `messages`, `all` | buffer, aligned to 16 bytes; u32 | the messages, and their number |
/// | `order` | buffer of u32 | the indices of the messages, in the order in which they form groups: neighbours have similar lengths |
/// | `aad` | buffer | the additional data of all messages; any alignment |
/// | `masks` | buffer of u32 | 16 bytes for each message: J0 encrypted. May be the memory of the tags |
/// | `tables` | buffer of u32, aligned to 16 bytes | [`tables`](crate::ghash::tables) of the hash key, for `message_shape` and one unit |
/// | `out`, `tags`, `expected`, `verdicts` of `clear-messages` | | plaintext; tags computed; tags expected; a u32 per message: 1 if cleared |
///
/// A kernel of elements has `hash-jobs`, too, which computes such tags under a hash key of its own for each message: `wide`, from 0 to 5, is
/// the logarithm of the number of threads that share a message, and `hash_keys`, a buffer of u32, has the 16 bytes of each key, in the order
/// of the messages. The other parameters are those of `hash-messages`, which has tables instead.
///
/// A kernel with a `key_basis` computes tags while it encrypts or decrypts. First, `batch-masks` computes masks; no other launch may come
/// between. Then `batch-encrypt` and `batch-decrypt` process units of 32 >> `wide` messages, in the order of `order`, in which 2^32 - 1 stands for
/// none; 1 << `wide` groups of four threads share a message. Any number of thread blocks will do.
///
/// | parameter | kind | what |
/// |---|---|---|
/// | `in`, `out` | start of the data | any alignment; the output may be in place |
/// | `wide` | u32 | 0 to 5: the logarithm of the number of groups that share a message |
/// | `keys` | round keys | as of the kernel for counter mode whose key basis is this one's |
/// | `tables` | buffer of u32, aligned to 16 bytes | [`batch_tables`](crate::ghash::batch_tables) of the hash key and `wide` |
/// | `tags` | buffer of u32 | 16 bytes for each message |
/// | `expected`, `verdicts` | buffers of u32 | the tags that messages should have, padded to 16 bytes; 1 for each message that is cleared, else 0 |
///
/// Where arrays in device memory describe the messages, `batch-describe` and then `batch-order` write `messages` and `order`; if anything is
/// wrong with a message, `order` has none. Any number of thread blocks will do. They need no shared memory in addition to what the code
/// declares.
///
/// | parameter | kind | what |
/// |---|---|---|
/// | `starts`, `ends`, `aad_starts`, `aad_ends` | 4 words | an [`Array`](crate::described::Array) each, of positions in the data and in the additional data |
/// | `nonces` | 4 words | a [`NonceArray`](crate::described::NonceArray) |
/// | `length`, `aad_length` | u64 | bytes of the data, and of all additional data |
/// | `tag_bytes`, `all` | u32 | the number of bytes of each tag that count; the number of messages |
/// | `tally` | buffer of u32, aligned to 8 bytes | [`TALLY_WORDS`](crate::described::TALLY_WORDS) words, zeros before `batch-describe` |
/// | `fault` | buffer of u32 | 2 words: what [`Fault::read`](crate::described::Fault::read) reads |
///
/// `out` can be read once the launch has completed, in stream order. Tables and message must stay until then. Tables, factor and addend
/// reveal the hash key: wipe them as you wipe keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hash {
    /// How it divides a message, and the contents of its tables.
    pub shape: Shape,
    /// How its entry points for many messages divide one message, and the shape that their tables are built for: its segment of a tile is
    /// a tile of this shape. `None` in a dialect without these entry points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_shape: Option<Shape>,
    /// The fastest number of thread blocks per multiprocessor.
    pub units_per_sm: u32,
    /// CUDA: the compute capabilities that have its instructions; 80 means 8.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<Capabilities>,
    /// GCM in one launch: the rows of the basis of columns of round keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_basis: Option<[u32; 32]>,
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

impl Function for Hash {
    const HASHES: bool = true;
    const NEEDED: &[Entry] = &[];

    as_json!();

    fn check(manifest: &Manifest<Self>) -> Result<(), ManifestError> {
        let field = |field, what: &str| Err(ManifestError::Field { field, what: what.into() });
        if let Err(error) = manifest.shape.check() {
            return field("shape", &error.to_string());
        }
        let encrypts = manifest.key_basis.is_some();
        let of_hash = [Entry::Hash, Entry::HashBytes, Entry::Clear].map(|entry| (entry, !encrypts));
        let of_gcm = [Entry::Encrypt, Entry::Decrypt, Entry::BatchMasks, Entry::BatchEncrypt, Entry::BatchDecrypt];
        let of_gcm = of_gcm.into_iter().chain([Entry::BatchDescribe, Entry::BatchOrder]);
        for (entry, is_needed) in of_hash.into_iter().chain(of_gcm.map(|entry| (entry, encrypts))) {
            if manifest.entry(entry).is_ok() != is_needed {
                return field(entry.name(), "is there as `key_basis` has it: with one, a kernel encrypts and decrypts");
            }
        }
        if encrypts && !manifest.threads.is_multiple_of(128) {
            return field("threads", "must be whole warpgroups of 128 where a kernel encrypts");
        }
        if let Some(Err(error)) = manifest.key_basis.map(ColumnBasis::new) {
            return field("key_basis", &error.to_string());
        }
        if manifest.units_per_sm == 0 {
            return field("units_per_sm", "must not be 0");
        }
        if let Some(Err(error)) = manifest.message_shape.map(|shape| shape.check()) {
            return field("message_shape", &error.to_string());
        }
        let of_messages = [Entry::HashMessages, Entry::ClearMessages].map(|entry| manifest.entry(entry).is_ok());
        if of_messages != [manifest.message_shape.is_some(); 2] {
            return field("message_shape", "is there if and only if the entry points for many messages are");
        }
        let of_elements = manifest.message_shape.is_some() && manifest.shape.arrangement == Arrangement::Element;
        if manifest.entry(Entry::HashJobs).is_ok() != of_elements {
            return field(
                Entry::HashJobs.name(),
                "is there if the shape is of elements, and there are others for messages",
            );
        }
        if (manifest.dialect == Dialect::Cuda) != manifest.compute_capability.is_some() {
            return field("compute_capability", "is there if and only if the dialect is CUDA C");
        }
        if manifest.secret {
            return field("secret", "is of ciphers only");
        }
        Ok(())
    }
}
