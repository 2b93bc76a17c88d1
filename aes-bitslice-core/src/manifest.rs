//! The information needed to launch a printed kernel, as JSON in a file next to the source.

use crate::basis::Basis;
use crate::cmac::{self, OF_CMAC};
use crate::column_basis::ColumnBasis;
use crate::dialect::Dialect;
use crate::jobs::ManyKeys;
use crate::key_source::{ExpandedKey, KeySource};
use crate::layout::{BLOCKS_PER_WORD, Layout};
use crate::mode::{Mode, State};
use crate::signature::{EntryPoint, Kind, SignatureError};
use crate::strategy::KeyStrategy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// The manifest of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
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
    /// The mode's name.
    pub mode: String,
    /// The key length, if the kernel is for one length only.
    pub key_bits: Option<usize>,
    /// How round keys reach the kernel.
    pub keys: KeySource,
    /// The rows of the basis of bytes between rounds, and of round keys given at launch unless `key_basis` says otherwise.
    pub basis: [u8; 8],
    /// The rows of the basis of columns of round keys given at launch, where it differs from `basis` ([`ColumnBasis`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_basis: Option<[u32; 32]>,
    /// The rows of the basis of bytes of the tweak round keys, where the mode has tweaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tweak_basis: Option<[u8; 8]>,
    /// The rows of the basis of columns of the tweak round keys, where it differs from `tweak_basis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tweak_key_basis: Option<[u32; 32]>,
    /// Entry point for whole blocks aligned to 16 bytes, and its parameters.
    pub entry: EntryPoint,
    /// Entry point for any alignment, and its parameters.
    pub entry_bytes: EntryPoint,
    /// Entry point for counter mode on many messages at a time, each with its own counter, and its parameters; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_messages: Option<EntryPoint>,
    /// Entry point for one message whose counter is secret, and its parameters; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_secret_counter: Option<EntryPoint>,
    /// Entry point for CMAC of many messages at a time, and its parameters ([`cmac`]); `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_cmac: Option<EntryPoint>,
    /// Entry points for many keys at a time, and their parameters; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub many_keys: Option<ManyKeys>,
    /// Threads per thread block; the maximum where the grid determines the number.
    pub threads: u32,
    /// The number of thread blocks that one multiprocessor must have registers for, where the source cannot say so; 0 where it does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub blocks_per_sm: u32,
    /// Blocks of 16 bytes per tile: the unit that a thread block works on at a time, or a warp for [`Grid::Warps`].
    pub tile_blocks: u32,
    /// Bytes of shared memory that a thread block of the maximum size is launched with, in addition to what the code declares; for
    /// [`Grid::Warps`], each warp's share is the same.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared_bytes: u32,
    /// How many thread blocks to launch.
    pub grid: Grid,
    /// Whether it may begin before earlier work on its stream completes: code for compute capability 9.0 and later waits for that work
    /// itself, before it reads or writes data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overlaps: bool,
    /// CTR: whether tiles begin where the counter is a multiple of `tile_blocks`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aligned_counters: bool,
    /// The parts of the kernel, if it is bitsliced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitsliced: Option<Bitsliced>,
    /// SHA-256 of the output of [`self_test`](crate::self_test), hexadecimal, where the key is baked in, because a program that loads the
    /// kernel cannot compute it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_answer_sha256: Option<String>,
    /// Registers by entry point and architecture, where the kernel was compiled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub registers: BTreeMap<String, u32>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How many thread blocks to launch, and of how many threads. Except for [`Covers`](Self::Covers), any number is correct: each thread block
/// takes an equal share of the tiles, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grid {
    /// One thread block for each tile.
    Covers,
    /// The same number of thread blocks on each multiprocessor, whatever the size of the data.
    Persistent {
        /// Thread blocks per multiprocessor.
        each: u32,
    },
    /// The same number of thread blocks on each multiprocessor, with as many warps as they have tiles, because a warp works on one tile at
    /// a time. Every size then keeps as much of the device busy as it can, and all thread blocks end together.
    Warps {
        /// Thread blocks per multiprocessor.
        each: u32,
        /// The minimum number of warps per thread block.
        least: u32,
    },
}

/// Schedulers of a multiprocessor, among which its warps are divided.
const SCHEDULERS: u64 = 4;

/// The maximum number of bytes of shared memory that a kernel with a share for each warp needs in addition to those shares: what its code
/// declares, and 1 KiB that CUDA reserves in each thread block.
pub const DECLARED_BYTES: u32 = 17 << 10;

/// The size of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GridSize {
    /// Thread blocks.
    pub thread_blocks: u64,
    /// Threads per thread block.
    pub threads: u32,
}

impl Grid {
    /// The launch for `tiles` on a device with `multiprocessors`; `threads` is the value in the kernel's manifest.
    pub fn size(self, tiles: u64, multiprocessors: u32, threads: u32) -> GridSize {
        let resident = |each: u32| (u64::from(multiprocessors) * u64::from(each)).max(1);
        match self {
            Self::Covers => GridSize { thread_blocks: tiles, threads },
            Self::Persistent { each } => {
                let each = tiles.div_ceil(resident(each)).max(1);
                GridSize { thread_blocks: tiles.div_ceil(each), threads }
            }
            Self::Warps { each, least } => {
                let (thread_blocks, most) = (tiles.min(resident(each)), u64::from(threads / 32));
                let tiles = tiles.div_ceil(thread_blocks.max(1)).max(1);
                // With several turns, no turn is for a few warps only, and every scheduler has the same number of warps.
                let warps = match tiles.div_ceil(most) {
                    1 => tiles,
                    turns => tiles.div_ceil(turns).next_multiple_of(SCHEDULERS).min(most),
                };
                GridSize { thread_blocks, threads: (32 * warps as u32).max(32 * least).min(threads) }
            }
        }
    }

    /// Blocks of 16 bytes per tile of a bitsliced kernel in a layout; `threads` is the value in its manifest.
    pub fn tile_blocks(self, layout: Layout, threads: u32) -> u32 {
        let threads = if matches!(self, Self::Warps { .. }) { 32 } else { threads };
        BLOCKS_PER_WORD * threads / layout.threads()
    }
}

/// The parts of a bitsliced kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bitsliced {
    /// The key strategy's name.
    pub strategy: String,
    /// The S-box's name.
    pub sbox: String,
    /// The layout's name.
    pub layout: String,
    /// The numbers of LUT3s, where the circuits are of those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lut3: Option<GateCounts>,
    /// The numbers of gates, where the circuits are of two-input gates, as a paper describes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub two_input: Option<GateCounts>,
}

impl Bitsliced {
    /// The numbers of gates of either kind, and the kind: `LUT3s` or `gates`.
    pub fn gates(&self) -> Option<(&'static str, &GateCounts)> {
        let tables = self.lut3.as_ref().map(|counts| ("LUT3s", counts));
        tables.or(self.two_input.as_ref().map(|counts| ("gates", counts)))
    }
}

/// Numbers of gates in a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateCounts {
    /// One S-box between rounds; the first and the last, which change the basis, may have more.
    pub sub_byte: usize,
    /// One column of MixColumns with its round key: the largest in the kernel.
    pub mix_column: usize,
    /// The whole cipher on 32 blocks, by key length in bits.
    pub cipher: BTreeMap<usize, usize>,
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
    #[error("manifest format {0}, but this version reads format {format}", format = Manifest::FORMAT)]
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

impl Manifest {
    /// The version of the format.
    pub const FORMAT: u32 = 5;

    /// Reads a manifest.
    pub fn parse(json: &str) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let Version { format } = serde_json::from_str(json)?;
        if format != Self::FORMAT {
            return Err(ManifestError::Format(format));
        }
        let manifest: Self = serde_json::from_str(json)?;
        manifest.check()?;
        Ok(manifest)
    }

    /// The manifest for a device whose thread blocks may have `bytes` of shared memory: for [`Grid::Warps`], with as many warps per thread
    /// block as the memory allows. `None` if the kernel needs more.
    pub fn within(&self, bytes: u32) -> Option<Self> {
        let warps = self.threads / 32;
        let all = match self.grid {
            Grid::Warps { .. } if self.shared_bytes > 0 => self.shared_bytes.saturating_add(DECLARED_BYTES),
            _ => self.shared_bytes,
        };
        if all <= bytes {
            return Some(self.clone());
        }
        let Grid::Warps { least, .. } = self.grid else { return None };
        let each = self.shared_bytes / warps;
        // The same number for each scheduler.
        let fit = bytes.saturating_sub(DECLARED_BYTES) / each / SCHEDULERS as u32 * SCHEDULERS as u32;
        (fit >= least.max(1)).then(|| Self { threads: 32 * fit, shared_bytes: each * fit, ..self.clone() })
    }

    /// Rejects values that no kernel can be launched with, or that contradict one another.
    ///
    /// # Errors
    /// [`ManifestError::Field`] names the first of them.
    pub fn check(&self) -> Result<(), ManifestError> {
        let manifest = self;
        let field = |field, what: &str| Err(ManifestError::Field { field, what: what.into() });
        if manifest.source.contains(['/', '\\']) || manifest.source.starts_with('.') {
            return field("source", "must be a plain file name in the folder of the manifest");
        }
        manifest.basis()?;
        manifest.key_basis()?;
        let mode = manifest.mode()?;
        if manifest.tweak_key_basis()?.is_some() != mode.has_tweaks() {
            return field("tweak_basis", "is there if and only if the mode has tweaks");
        }
        if !manifest.threads.is_multiple_of(32) || !(32..=1024).contains(&manifest.threads) {
            return field("threads", "must be whole warps, 32 to 1024");
        }
        // Otherwise counters would not wrap between two tiles.
        if manifest.aligned_counters && !manifest.tile_blocks.is_power_of_two() {
            return field("tile_blocks", "must be a power of two where counters are aligned");
        }
        if manifest.tile_blocks == 0 {
            return field("tile_blocks", "must not be 0");
        }
        if matches!(
            manifest.grid,
            Grid::Persistent { each: 0 } | Grid::Warps { each: 0, .. } | Grid::Warps { least: 0, .. }
        ) {
            return field("grid", "must not be of no thread blocks");
        }
        // A share for each warp.
        if matches!(manifest.grid, Grid::Warps { .. }) && !manifest.shared_bytes.is_multiple_of(manifest.threads / 32) {
            return field("shared_bytes", "must be the same for each warp");
        }
        if manifest.key_basis.is_some() && manifest.bitsliced.is_none() {
            return field("key_basis", "is of bitsliced kernels only");
        }
        if manifest.entry_cmac.is_some() && (mode != Mode::EcbEncrypt || manifest.tile_blocks as usize != cmac::TILE) {
            return field("entry_cmac", "is of ECB encryption in tiles of 256 blocks only");
        }
        let entry = manifest.kernel.replace('-', "_");
        if manifest.entry.name != entry || manifest.entry_bytes.name != format!("{entry}_bytes") {
            return field("entry", "and `entry_bytes` must be the kernel's name, with underscores");
        }
        for (of, point, parameters) in [
            ("entry_messages", &manifest.entry_messages, &OF_MESSAGES[..]),
            ("entry_secret_counter", &manifest.entry_secret_counter, &OF_SECRET_COUNTER),
            ("entry_cmac", &manifest.entry_cmac, &OF_CMAC),
        ] {
            let Some(point) = point else { continue };
            if point.name != format!("{entry}{}", &of["entry".len()..]) {
                return field(of, "must be the kernel's name, with underscores, and then the end of this field's name");
            }
            if let Some((missing, _)) = parameters.iter().find(|(name, kind)| !point.takes(name, *kind)) {
                return field(of, &format!("takes no `{missing}`, or one of another kind"));
            }
        }
        for (of, point, parameters) in manifest.many_keys.iter().flat_map(ManyKeys::entries) {
            if point.name != format!("{entry}{}", &of["entry".len()..]) {
                return field("many_keys", &format!("names its `{of}` after another kernel"));
            }
            if let Some((missing, _)) = parameters.iter().find(|(name, kind)| !point.takes(name, *kind)) {
                return field("many_keys", &format!("has an `{of}` without `{missing}`, or with one of another kind"));
            }
        }
        if manifest
            .many_keys
            .as_ref()
            .is_some_and(|many| many.threads % 32 != 0 || !(32..=manifest.threads).contains(&many.threads))
        {
            return field("many_keys", "must have whole warps, no more than `threads`");
        }
        if manifest.bitsliced.is_some() {
            let (strategy, layout) = (manifest.strategy()?, manifest.layout()?);
            if manifest.tile_blocks != manifest.grid.tile_blocks(layout, manifest.threads) {
                return field("tile_blocks", "must be what the threads of a warp or thread block hold in this layout");
            }
            // A layout other than the code's would skip data: the code's entry points say which layout it has.
            let name = kernel_name(mode, strategy, manifest.key_bits, layout);
            if manifest.kernel != name {
                return field("kernel", &format!("must be {name}, as mode, strategy and layout have it"));
            }
            if manifest.bitsliced.as_ref().is_some_and(|parts| parts.lut3.is_some() == parts.two_input.is_some()) {
                return field("lut3", "or `two_input` must be there, and not both");
            }
            if !strategy.has(layout) {
                return field("layout", &format!("must be `{}` where the strategy is `{strategy}`", strategy.layout()));
            }
            if manifest.keys != KeySource::of(strategy) {
                return field("keys", "must be as the strategy has it");
            }
            // Only code by column has warps that take several tiles, and counters that begin at multiples.
            let is_right = match layout {
                Layout::State => manifest.grid == Grid::Covers,
                Layout::Column => matches!(manifest.grid, Grid::Warps { .. }),
            };
            if !is_right {
                return field(
                    "grid",
                    "must be `covers` where the layout is `state`, and of `warps` where it is `column`",
                );
            }
            if manifest.aligned_counters != (layout == Layout::Column && mode.state() == State::Counters) {
                return field("aligned_counters", "must be true where blocks by column are counters, and only there");
            }
        }
        if manifest.secret != (manifest.keys == KeySource::Baked) {
            return field("keys", "must be `baked` if and only if the source holds a key");
        }
        if manifest.secret != manifest.known_answer_sha256.is_some() {
            return field("known_answer_sha256", "is there if and only if a key is baked in");
        }
        if manifest.secret != manifest.key_bits.is_some() {
            return field("key_bits", "a kernel names a key length if and only if a key is baked in");
        }
        Ok(())
    }

    /// Rejects a source whose entry points take other parameters than the manifest says.
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
        Ok(())
    }

    /// The entry points, with the names of their fields.
    pub fn entries(&self) -> Vec<(&'static str, &EntryPoint)> {
        let messages = self.entry_messages.iter().map(|entry| ("entry_messages", entry));
        let secret_counter = self.entry_secret_counter.iter().map(|entry| ("entry_secret_counter", entry));
        let cmac = self.entry_cmac.iter().map(|entry| ("entry_cmac", entry));
        let many_keys = self.many_keys.iter().flat_map(ManyKeys::entries).map(|(field, entry, _)| (field, entry));
        let all = [("entry", &self.entry), ("entry_bytes", &self.entry_bytes)].into_iter();
        all.chain(messages).chain(secret_counter).chain(cmac).chain(many_keys).collect()
    }

    /// The mode.
    pub fn mode(&self) -> Result<Mode, ManifestError> {
        self.mode.parse().map_err(|e| ManifestError::Field { field: "mode", what: format!("{e}") })
    }

    /// The key strategy of a bitsliced kernel.
    pub fn strategy(&self) -> Result<KeyStrategy, ManifestError> {
        let name = &self.of_bitsliced("strategy")?.strategy;
        name.parse().map_err(|e| ManifestError::Field { field: "strategy", what: format!("{e}") })
    }

    /// The layout of a bitsliced kernel.
    pub fn layout(&self) -> Result<Layout, ManifestError> {
        let name = &self.of_bitsliced("layout")?.layout;
        name.parse().map_err(|e| ManifestError::Field { field: "layout", what: format!("{e}") })
    }

    fn of_bitsliced(&self, field: &'static str) -> Result<&Bitsliced, ManifestError> {
        let missing = || ManifestError::Field { field, what: "is missing: the kernel is not bitsliced".into() };
        self.bitsliced.as_ref().ok_or_else(missing)
    }

    /// The basis.
    pub fn basis(&self) -> Result<Basis, ManifestError> {
        Basis::new(self.basis).map_err(|e| ManifestError::Field { field: "basis", what: e.to_string() })
    }

    /// The basis of the round keys.
    pub fn key_basis(&self) -> Result<ColumnBasis, ManifestError> {
        column_basis("key_basis", self.basis()?, self.key_basis)
    }

    /// The basis of the tweak round keys; `None` where the mode has no tweaks.
    pub fn tweak_key_basis(&self) -> Result<Option<ColumnBasis>, ManifestError> {
        let of_bytes = self.tweak_basis.map(Basis::new).transpose();
        match of_bytes.map_err(|e| ManifestError::Field { field: "tweak_basis", what: e.to_string() })? {
            Some(of_bytes) => column_basis("tweak_key_basis", of_bytes, self.tweak_key_basis).map(Some),
            None if self.tweak_key_basis.is_some() => {
                let what = "is of a key that there is not without `tweak_basis`".into();
                Err(ManifestError::Field { field: "tweak_key_basis", what })
            }
            None => Ok(None),
        }
    }

    /// The words of a key for this kernel, in the form of its [`KeySource`]; `None` if the length is not an AES key length.
    pub fn key_words(&self, key: &[u8]) -> Result<Option<Zeroizing<Vec<u32>>>, ManifestError> {
        let (direction, basis) = (self.mode()?.direction(), self.key_basis()?);
        Ok(ExpandedKey::new(key).map(|key| self.keys.words(&key, direction, basis)))
    }

    /// The manifest as JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }
}

/// The basis of columns with these rows; without rows, the basis of their bytes.
fn column_basis(field: &'static str, of_bytes: Basis, rows: Option<[u32; 32]>) -> Result<ColumnBasis, ManifestError> {
    let basis = rows.map(ColumnBasis::new).transpose();
    let basis = basis.map_err(|e| ManifestError::Field { field, what: e.to_string() })?;
    Ok(basis.unwrap_or_else(|| of_bytes.into()))
}

/// The parameters of the entry point for many messages besides the key: the data; the description of the messages
/// ([`messages`](crate::messages)): the messages, and the message of the first of every eight runs of 32 counters; the number of runs; and
/// the output for each encrypted first counter, 16 bytes per message.
const OF_MESSAGES: [(&str, Kind); 6] = [
    ("in", Kind::Input),
    ("out", Kind::Output),
    ("messages", Kind::Buffer),
    ("first_messages", Kind::Buffer),
    ("all", Kind::U32),
    ("masks", Kind::Buffer),
];

/// The parameters of the entry point for a secret counter besides the key: the data; its number of bytes; and the counter of its first
/// block, least significant word first, of which that word counts, and wraps.
const OF_SECRET_COUNTER: [(&str, Kind); 4] =
    [("in", Kind::Input), ("out", Kind::Output), ("length", Kind::U64), ("secret_counter", Kind::Words(4))];

/// The name of a bitsliced kernel with these properties; `key_bits` if it is for keys of one length only.
pub fn kernel_name(mode: Mode, strategy: KeyStrategy, key_bits: Option<usize>, layout: Layout) -> String {
    let key = key_bits.map(|bits| format!("-{bits}")).unwrap_or_default();
    let layout = if layout == strategy.layout() { String::new() } else { format!("-{layout}") };
    format!("aes{key}-{mode}-{strategy}{layout}")
}

/// A printed kernel.
pub struct Printed {
    /// The source, heading included. With a key baked in, the source is the key.
    pub source: Zeroizing<String>,
    /// The information needed to launch it.
    pub manifest: Manifest,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_manifest::HashManifest;

    /// A text given as a manifest may be a key.
    #[test]
    fn no_error_of_the_parser_quotes_the_text() {
        for text in [
            "53378008125337800812533780081253",
            "{\"format\": \"53378008\"}",
            "{\"secret\": \"53378008\"}",
            "{\"hash_format\": 3, \"53378008\": 1}",
            "\"53378008\"",
            "5337.8008e2",
        ] {
            for error in [Manifest::parse(text).unwrap_err(), HashManifest::parse(text).unwrap_err()] {
                assert!(matches!(error, ManifestError::Json { line: 1, .. }), "{error:?}");
                assert!(!format!("{error} {error:?}").contains("5337"), "{error:?}");
                assert!(std::error::Error::source(&error).is_none());
            }
        }
    }

    #[test]
    fn every_tile_has_a_warp_and_no_thread_block_is_without() {
        for (grid, threads) in [
            (Grid::Warps { each: 1, least: 1 }, 512),
            (Grid::Warps { each: 1, least: 4 }, 512),
            (Grid::Warps { each: 3, least: 4 }, 128),
            (Grid::Warps { each: 1, least: 16 }, 512),
        ] {
            let Grid::Warps { each, least } = grid else { unreachable!() };
            for tiles in (1..5000).chain([1 << 20, u64::from(u32::MAX)]) {
                let size = grid.size(tiles, 132, threads);
                assert!(size.thread_blocks <= tiles.min(132 * u64::from(each)), "{tiles}");
                assert!(size.threads.is_multiple_of(32) && (32 * least..=threads).contains(&size.threads), "{tiles}");
                // Enough warps for all tiles at once, or for no more turns than with the maximum number of warps.
                let turns = |warps: u32| tiles.div_ceil(size.thread_blocks).div_ceil(warps.into());
                assert_eq!(turns(size.threads / 32), turns(threads / 32), "{tiles}");
                assert!(turns(threads / 32) == 1 || size.thread_blocks == 132 * u64::from(each), "{tiles}");
            }
        }
        let none = Grid::Warps { each: 1, least: 1 }.size(0, 132, 512);
        assert_eq!(none, GridSize { thread_blocks: 0, threads: 32 });
        // 1 MiB in tiles of 4 KiB: two warps on nearly every multiprocessor.
        let mebibyte = Grid::Warps { each: 1, least: 1 }.size(256, 132, 512);
        assert_eq!(mebibyte, GridSize { thread_blocks: 132, threads: 64 });
        // 10 MiB are 19.4 tiles per multiprocessor: twelve warps with two turns, not sixteen and then four.
        let ten = Grid::Warps { each: 1, least: 1 }.size(2560, 132, 512);
        assert_eq!(ten, GridSize { thread_blocks: 132, threads: 384 });
    }
}
