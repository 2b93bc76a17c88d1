//! What a user of a printed kernel must know to launch it, as JSON beside the source.

use super::{Dialect, ExpandedKey, KeySource, bitsliced, header};
use crate::aes::KeyBits;
use crate::basis::Basis;
use crate::kernel::{KeyStrategy, Mode, Plan, kernel_name, self_test};
use crate::layout::Layout;
use crate::table::{Bytewise, ConflictFree, KeyExpansion, TableSpec, ThreadBlocks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// The manifest of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of this format.
    pub format: u32,
    /// The command line that remakes source and manifest, as the source's heading gives it.
    pub generated_by: String,
    /// The language of the source.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dialect: Dialect,
    /// The kernel's name.
    pub kernel: String,
    /// The source file, beside the manifest.
    pub source: String,
    /// SHA-256 of the source file, hexadecimal.
    pub source_sha256: String,
    /// Whether the source holds a key.
    pub secret: bool,
    /// The mode's name.
    pub mode: String,
    /// The key's length, if the kernel is for one only.
    pub key_bits: Option<usize>,
    /// How round keys reach the kernel.
    pub keys: KeySource,
    /// The rows of the basis that round keys given at launch are in (and, between rounds, bytes).
    pub basis: [u8; 8],
    /// Entry point for whole blocks aligned to 16 bytes.
    pub entry: String,
    /// Entry point for any alignment.
    pub entry_bytes: String,
    /// Threads a thread block.
    pub threads: u32,
    /// Thread blocks that there have to be registers for on one multiprocessor, where the source cannot say so; 0 where it
    /// does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub blocks_per_sm: u32,
    /// Blocks of 16 bytes that a thread block works on at a time.
    pub blocks: u32,
    /// Bytes of shared memory that a thread block is launched with, beside what the code declares.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared_bytes: u32,
    /// How many thread blocks to launch.
    pub grid: Grid,
    /// CTR: whether thread blocks begin where the counter is a multiple of `blocks`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aligned_counters: bool,
    /// What it is made of, if it is bitsliced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitsliced: Option<Bitsliced>,
    /// SHA-256 of the answer to [`self_test`], hexadecimal, where the key is baked in: whoever loads the
    /// kernel cannot know it otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_answer_sha256: Option<String>,
    /// Registers by entry point and architecture, where the kernel was compiled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub registers: BTreeMap<String, u32>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How many thread blocks to launch: any number is right, for each takes an equal share of what a thread block works on at
/// a time (a run), one run after the other; but not where the grid covers all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grid {
    /// As many as it takes, a run each.
    Covers,
    /// As many runs each as pay for what a thread block does once, and as leave thread blocks enough to keep the device
    /// busy to the end.
    Shares {
        /// Runs a thread block at most.
        most: u32,
        /// Thread blocks a multiprocessor at least.
        left: u32,
    },
    /// So many a multiprocessor, whatever the size.
    Persistent {
        /// Thread blocks a multiprocessor.
        each: u32,
    },
}

impl Grid {
    /// How many thread blocks `runs` are for, on a device of so many multiprocessors.
    pub fn thread_blocks(self, runs: u64, multiprocessors: u32) -> u64 {
        let each = match self {
            Self::Covers => 1,
            Self::Shares { most, left } => {
                (runs / (u64::from(multiprocessors) * u64::from(left))).clamp(1, most.into())
            }
            Self::Persistent { each } => runs.div_ceil(u64::from(multiprocessors) * u64::from(each)).max(1),
        };
        runs.div_ceil(each)
    }
}

/// What a bitsliced kernel is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bitsliced {
    /// The key strategy's name.
    pub strategy: String,
    /// The S-box's name.
    pub sbox: String,
    /// The layout's name.
    pub layout: String,
    /// LUT3s of the S-box, of one column of MixColumns with its key, and of the whole cipher by key length.
    pub lut3: Lut3Counts,
}

/// Lookup tables of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lut3Counts {
    /// One S-box between rounds; the first and the last, which change the basis, may have more.
    pub sub_byte: usize,
    /// One column of MixColumns with its round key: the largest of the kernel's.
    pub mix_column: usize,
    /// The whole cipher on 32 blocks, by key length in bits.
    pub cipher: BTreeMap<usize, usize>,
}

/// Why a text is no manifest that this version can use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is not the JSON of a manifest.
    #[error("not a kernel manifest: {0}")]
    Json(#[from] serde_json::Error),
    /// It is of another format version.
    #[error("manifest format {0}, but this version reads format {format}", format = Manifest::FORMAT)]
    Format(u32),
    /// A field has a value that means nothing here.
    #[error("manifest field `{field}`: {what}")]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        what: String,
    },
}

impl Manifest {
    /// The version of the format.
    pub const FORMAT: u32 = 3;

    /// The manifest of a plan printed as `source`.
    pub fn bitsliced(plan: &Plan, geometry: bitsliced::Geometry, dialect: Dialect, source: &str) -> Self {
        let spec = &plan.spec;
        let largest = |is_one: fn(&str) -> bool| {
            let sizes = plan.functions.iter().filter(|f| is_one(&f.name)).map(|f| f.circuit.gates().len());
            sizes.max().unwrap_or(0)
        };
        let lengths = spec.key_bits().map_or(KeyBits::ALL.to_vec(), |k| vec![k]);
        let entry = bitsliced::entry_point(spec);
        let by_column = spec.layout == Layout::Column;
        let beside = spec.round_keys.strategy() == KeyStrategy::Bits;
        Self {
            format: Self::FORMAT,
            generated_by: header::command(source).unwrap_or_default().into(),
            dialect,
            kernel: spec.name(),
            source: format!("{}.{}", spec.name(), dialect.extension()),
            source_sha256: header::digest(source),
            secret: spec.round_keys.baked().is_some(),
            mode: spec.mode.name().into(),
            key_bits: spec.key_bits().map(KeyBits::bits),
            keys: KeySource::of(spec.round_keys.strategy()),
            basis: spec.basis.rows(),
            entry_bytes: format!("{entry}_bytes"),
            entry,
            threads: geometry.threads,
            blocks_per_sm: match dialect {
                Dialect::Cuda => 0,
                Dialect::OpenCl => geometry.blocks_per_sm,
            },
            blocks: geometry.blocks(spec.layout),
            shared_bytes: 0,
            // Measured. What CTR does once, two rounds for its tables, is worth more than what the others do.
            grid: match (spec.layout, spec.mode) {
                (Layout::State, _) => Grid::Covers,
                // Beside a table kernel: as many as are on the device at a time (3 a multiprocessor for CTR, 4 for ECB, on
                // compute capability 9.0) or a multiple of that, so that the last of them end together.
                (Layout::Column, Mode::Ctr) if beside => Grid::Persistent { each: 3 },
                (Layout::Column, _) if beside => Grid::Persistent { each: 4 * 14 },
                (Layout::Column, Mode::Ctr) => Grid::Shares { most: 16, left: 32 },
                (Layout::Column, _) => Grid::Shares { most: 8, left: 64 },
            },
            aligned_counters: by_column && spec.mode == Mode::Ctr,
            bitsliced: Some(Bitsliced {
                strategy: spec.round_keys.strategy().name().into(),
                sbox: spec.sbox.name.into(),
                layout: spec.layout.name().into(),
                lut3: Lut3Counts {
                    sub_byte: largest(|name| matches!(name, "sub_byte" | "inv_sub_byte")),
                    mix_column: largest(|name| name.starts_with("mix_column")),
                    cipher: lengths.iter().map(|k| (k.bits(), plan.gates_executed(k.rounds()))).collect(),
                },
            }),
            known_answer_sha256: spec
                .round_keys
                .baked()
                .map(|keys| header::digest_bytes(&self_test::expected(spec.mode, keys))),
            registers: BTreeMap::new(),
        }
    }

    /// The manifest of a table kernel printed as `source`.
    pub fn table(spec: &TableSpec, source: &str) -> Self {
        let grid = match spec.thread_blocks() {
            ThreadBlocks::Cover => Grid::Covers,
            ThreadBlocks::Loop { each } => Grid::Persistent { each },
        };
        Self::of_tables(&spec.name(), spec.mode(), spec.threads(), spec.blocks(), grid, source)
    }

    /// The manifest of a table kernel without bank conflicts printed as `source`.
    pub fn conflict_free(spec: &ConflictFree, source: &str) -> Self {
        let grid = Grid::Persistent { each: 1 };
        Self {
            shared_bytes: spec.shared_bytes(),
            aligned_counters: spec.mode == Mode::Ctr,
            ..Self::of_tables(&spec.name(), spec.mode, spec.threads(), spec.blocks(), grid, source)
        }
    }

    /// The manifest of a bytewise kernel printed as `source`.
    pub fn bytewise(spec: &Bytewise, dialect: Dialect, source: &str) -> Self {
        let threads = Bytewise::THREADS;
        let of_tables = Self::of_tables(&spec.name(), spec.mode(), threads, threads, Grid::Covers, source);
        let keys = match spec.keys {
            KeyExpansion::Host => KeySource::Schedule,
            KeyExpansion::Device => KeySource::CipherKey,
        };
        Self {
            dialect,
            source: format!("{}.{}", spec.name(), dialect.extension()),
            keys,
            blocks_per_sm: match dialect {
                Dialect::Cuda => 0,
                Dialect::OpenCl => 1,
            },
            ..of_tables
        }
    }

    fn of_tables(name: &str, mode: Mode, threads: u32, blocks: u32, grid: Grid, source: &str) -> Self {
        let entry = name.replace('-', "_");
        Self {
            format: Self::FORMAT,
            generated_by: header::command(source).unwrap_or_default().into(),
            dialect: Dialect::Cuda,
            kernel: name.into(),
            source: format!("{name}.{}", Dialect::Cuda.extension()),
            source_sha256: header::digest(source),
            secret: false,
            mode: mode.name().into(),
            key_bits: None,
            keys: KeySource::Argument,
            basis: Basis::STANDARD.rows(),
            entry_bytes: format!("{entry}_bytes"),
            entry,
            threads,
            blocks_per_sm: 0,
            blocks,
            shared_bytes: 0,
            grid,
            aligned_counters: false,
            bitsliced: None,
            known_answer_sha256: None,
            registers: BTreeMap::new(),
        }
    }

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
        let field = |field, what: &str| Err(ManifestError::Field { field, what: what.into() });
        if manifest.source.contains(['/', '\\']) || manifest.source.starts_with('.') {
            return field("source", "must be a plain file name beside the manifest");
        }
        manifest.basis()?;
        let mode = manifest.mode()?;
        if !manifest.threads.is_multiple_of(32) || !(32..=1024).contains(&manifest.threads) {
            return field("threads", "must be whole warps, 32 to 1024");
        }
        // Or counters would not wrap between two runs.
        if manifest.aligned_counters && !manifest.blocks.is_power_of_two() {
            return field("blocks", "must be a power of two where counters are aligned");
        }
        if manifest.blocks == 0 {
            return field("blocks", "must not be 0");
        }
        if matches!(
            manifest.grid,
            Grid::Shares { most: 0, .. } | Grid::Shares { left: 0, .. } | Grid::Persistent { each: 0 }
        ) {
            return field("grid", "must not be of no thread blocks");
        }
        let entry = manifest.kernel.replace('-', "_");
        if manifest.entry != entry || manifest.entry_bytes != format!("{entry}_bytes") {
            return field("entry", "and `entry_bytes` must be the kernel's name, with underscores");
        }
        if manifest.bitsliced.is_some() {
            let (strategy, layout) = (manifest.strategy()?, manifest.layout()?);
            if manifest.blocks != bitsliced::BLOCKS_PER_WORD * manifest.threads / layout.threads() {
                return field("blocks", "must be what so many threads hold in this layout");
            }
            // Another layout than the code's would leave data out: the code's entry points say which it has.
            let name = kernel_name(mode, strategy, manifest.key_bits, layout);
            if manifest.kernel != name {
                return field("kernel", &format!("must be {name}, as mode, strategy and layout have it"));
            }
            if !strategy.has(layout) {
                return field("layout", &format!("must be `{}` where the strategy is `{strategy}`", strategy.layout()));
            }
            if manifest.keys != KeySource::of(strategy) {
                return field("keys", "must be as the strategy has it");
            }
            // Several runs, and counters that begin at multiples, are what code by column does.
            if (layout == Layout::Column) == (manifest.grid == Grid::Covers) {
                return field("grid", "must be `covers` where the layout is `state`, and only there");
            }
            if manifest.aligned_counters != (layout == Layout::Column && mode == Mode::Ctr) {
                return field("aligned_counters", "must be true for CTR by column, and only there");
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
        Ok(manifest)
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

    /// The words of a key for this kernel, as [`KeySource`] has them; `None` for a key of no AES length.
    pub fn key_words(&self, key: &[u8]) -> Result<Option<Zeroizing<Vec<u32>>>, ManifestError> {
        let (direction, basis) = (self.mode()?.direction(), self.basis()?);
        Ok(ExpandedKey::new(key).map(|key| self.keys.words(&key, direction, basis)))
    }

    /// The manifest as JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::bitsliced::Geometry;
    use crate::kernel::{BakedStrategy, KernelSpec};
    use crate::sbox::LUT3;

    fn manifest(strategy: BakedStrategy, layout: Layout) -> Manifest {
        let spec = KernelSpec::baked(Mode::EcbEncrypt, &LUT3, strategy, &[7; 16]).unwrap().with_layout(layout).unwrap();
        Manifest::bitsliced(&Plan::new(&spec), Geometry::of(&spec), Dialect::Cuda, "")
    }

    #[test]
    fn a_layout_that_is_not_the_code_s_is_refused() {
        for (strategy, layout) in [
            (BakedStrategy::OneHotMux, Layout::State),
            (BakedStrategy::OneHotMux, Layout::Column),
            (BakedStrategy::Immediate, Layout::State),
        ] {
            let right = manifest(strategy, layout);
            assert_eq!(Manifest::parse(&right.to_json()).unwrap(), right);
            let (other, grid) = match layout {
                Layout::State => (Layout::Column, Grid::Shares { most: 8, left: 64 }),
                Layout::Column => (Layout::State, Grid::Covers),
            };
            let refused = |wrong: Manifest| {
                assert!(matches!(Manifest::parse(&wrong.to_json()), Err(ManifestError::Field { .. })), "{strategy}");
            };
            refused(Manifest { grid, ..right.clone() });
            let blocks = bitsliced::BLOCKS_PER_WORD * right.threads / other.threads();
            let bitsliced = right.bitsliced.clone().map(|b| Bitsliced { layout: other.name().into(), ..b });
            refused(Manifest { bitsliced, blocks, grid, ..right });
        }
    }

    #[test]
    fn keys_that_are_not_where_the_code_looks_are_refused() {
        for (spec, keys) in [
            (KernelSpec::planes(Mode::Ctr, &LUT3), KeySource::Argument),
            (KernelSpec::hajihassani_2019(Mode::Ctr), KeySource::Memory),
        ] {
            let right = Manifest::bitsliced(&Plan::new(&spec), Geometry::of(&spec), Dialect::Cuda, "");
            assert_eq!((right.keys, &Manifest::parse(&right.to_json()).unwrap()), (keys, &right));
            for other in [KeySource::Argument, KeySource::Memory, KeySource::Baked].into_iter().filter(|k| *k != keys) {
                let wrong = Manifest { keys: other, ..right.clone() };
                assert!(matches!(Manifest::parse(&wrong.to_json()), Err(ManifestError::Field { field: "keys", .. })));
            }
        }
        let refused = KernelSpec::hajihassani_2019(Mode::Ctr).with_layout(Layout::Column).unwrap_err();
        let says = "with the strategy `planes-in-memory` there is no kernel by column: use the layout `state`";
        assert_eq!(refused.to_string(), says);
    }

    #[test]
    fn grids() {
        let shares = Grid::Shares { most: 8, left: 64 };
        for (grid, runs, thread_blocks) in [
            (Grid::Covers, 1000, 1000),
            (shares, 1, 1),
            (shares, 640, 640),
            (shares, 1280 + 1, 641),
            (shares, 1 << 20, 1 << 17),
            (Grid::Persistent { each: 1 }, 1, 1),
            (Grid::Persistent { each: 1 }, 10, 10),
            (Grid::Persistent { each: 1 }, 11, 6),
            (Grid::Persistent { each: 2 }, 1 << 20, 20),
        ] {
            assert_eq!(grid.thread_blocks(runs, 10), thread_blocks, "{grid:?}, {runs} runs");
        }
    }
}
