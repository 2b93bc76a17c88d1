//! What a cipher's kernel computes, and how it divides the work.

use super::{Function, Manifest, ManifestError};
use crate::basis::Basis;
use crate::column_basis::ColumnBasis;
use crate::layout::Layout;
use crate::mode::{Mode, State};
use crate::protocol::cmac;
use crate::protocol::entry::Entry;
use crate::protocol::grid::{DECLARED_BYTES, Grid, SCHEDULERS};
use crate::protocol::key_source::{ExpandedKey, KeySource};
use crate::strategy::KeyStrategy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// What only the manifest of a cipher's kernel says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cipher {
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
    /// The maximum number of threads per thread block for the entry points that expand keys, where it has them. As many of these thread
    /// blocks fit on a multiprocessor as the registers of the kernel's thread blocks allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_key_threads: Option<u32>,
    /// Blocks of 16 bytes per tile: the unit that a thread block works on at a time, or a warp for [`Grid::Warps`].
    pub tile_blocks: u32,
    /// How many thread blocks to launch.
    pub grid: Grid,
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

impl Function for Cipher {
    const HASHES: bool = false;
    const NEEDED: &[Entry] = &[Entry::Blocks, Entry::Bytes];

    as_json!();

    fn check(manifest: &Manifest<Self>) -> Result<(), ManifestError> {
        let field = |field, what: &str| Err(ManifestError::Field { field, what: what.into() });
        manifest.basis()?;
        manifest.key_basis()?;
        let mode = manifest.mode()?;
        if manifest.tweak_key_basis()?.is_some() != mode.has_tweaks() {
            return field("tweak_basis", "is there if and only if the mode has tweaks");
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
        if manifest.entry(Entry::Cmac).is_ok()
            && (mode != Mode::EcbEncrypt || manifest.tile_blocks as usize != cmac::TILE)
        {
            return field("cmac", "is of ECB encryption in tiles of 256 blocks only");
        }
        let many_keys = [Entry::Each, Entry::Expand, Entry::Jobs].map(|entry| manifest.entry(entry).is_ok());
        if many_keys != [manifest.own_key_threads.is_some(); 3] {
            return field("own_key_threads", "is there if and only if the entry points for many keys are");
        }
        if manifest.own_key_threads.is_some_and(|own| own % 32 != 0 || !(32..=manifest.threads).contains(&own)) {
            return field("own_key_threads", "must be whole warps, no more than `threads`");
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
}

impl Manifest {
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
        // As many warps for one scheduler as for another.
        let fit = bytes.saturating_sub(DECLARED_BYTES) / each / SCHEDULERS as u32 * SCHEDULERS as u32;
        (fit >= least.max(1)).then(|| Self { threads: 32 * fit, shared_bytes: each * fit, ..self.clone() })
    }

    /// The words of a key for this kernel, in the form of its [`KeySource`]; `None` if the length is not an AES key length.
    pub fn key_words(&self, key: &[u8]) -> Result<Option<Zeroizing<Vec<u32>>>, ManifestError> {
        let (direction, basis) = (self.mode()?.direction(), self.key_basis()?);
        Ok(ExpandedKey::new(key).map(|key| self.keys.words(&key, direction, basis)))
    }
}

impl Cipher {
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
}

/// The basis of columns with these rows; without rows, the basis of their bytes.
fn column_basis(field: &'static str, of_bytes: Basis, rows: Option<[u32; 32]>) -> Result<ColumnBasis, ManifestError> {
    let basis = rows.map(ColumnBasis::new).transpose();
    let basis = basis.map_err(|e| ManifestError::Field { field, what: e.to_string() })?;
    Ok(basis.unwrap_or_else(|| of_bytes.into()))
}

/// The name of a bitsliced kernel with these properties; `key_bits` if it is for keys of one length only.
pub fn kernel_name(mode: Mode, strategy: KeyStrategy, key_bits: Option<usize>, layout: Layout) -> String {
    let key = key_bits.map(|bits| format!("-{bits}")).unwrap_or_default();
    let layout = if layout == strategy.layout() { String::new() } else { format!("-{layout}") };
    format!("aes{key}-{mode}-{strategy}{layout}")
}
