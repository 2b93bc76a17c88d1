//! What a user of a printed kernel must know to launch it, as JSON beside the source.

use super::{cuda, header};
use crate::aes::KeyBits;
use crate::basis::Basis;
use crate::kernel::{KeyStrategy, Mode, Plan, kernel_name, self_test};
use crate::layout::Layout;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The manifest of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of this format.
    pub format: u32,
    /// The command line that remakes source and manifest, as the source's heading gives it.
    pub generated_by: String,
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
    /// The key strategy's name.
    pub strategy: String,
    /// The key's length, if the kernel is for one only.
    pub key_bits: Option<usize>,
    /// The S-box's name.
    pub sbox: String,
    /// The layout's name.
    pub layout: String,
    /// The rows of the basis that bytes are in between rounds, and round keys with them.
    pub basis: [u8; 8],
    /// Entry point for whole blocks aligned to 16 bytes.
    pub entry: String,
    /// Entry point for any alignment.
    pub entry_bytes: String,
    /// Threads a thread block.
    pub threads: u32,
    /// Blocks of 16 bytes that a thread block works on at a time.
    pub blocks: u32,
    /// LUT3s of the S-box, of one column of MixColumns with its key, and of the whole cipher by key length.
    pub lut3: Lut3Counts,
    /// SHA-256 of the answer to [`self_test`], hexadecimal, where the key is baked in: whoever loads the
    /// kernel cannot know it otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_answer_sha256: Option<String>,
    /// Registers by entry point and architecture, where the kernel was compiled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub registers: BTreeMap<String, u32>,
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
    pub const FORMAT: u32 = 2;

    /// The manifest of a plan printed as `source`, kept in a file of the name `file`.
    pub fn new(plan: &Plan, geometry: cuda::Geometry, file: &str, source: &str) -> Self {
        let spec = &plan.spec;
        let largest = |is_one: fn(&str) -> bool| {
            let sizes = plan.functions.iter().filter(|f| is_one(&f.name)).map(|f| f.circuit.gates().len());
            sizes.max().unwrap_or(0)
        };
        let lengths = spec.key_bits().map_or(KeyBits::ALL.to_vec(), |k| vec![k]);
        let entry = cuda::entry_point(spec);
        Self {
            format: Self::FORMAT,
            generated_by: header::command(source).unwrap_or_default().into(),
            kernel: spec.name(),
            source: file.into(),
            source_sha256: header::digest(source),
            secret: spec.round_keys.baked().is_some(),
            mode: spec.mode.name().into(),
            strategy: spec.round_keys.strategy().name().into(),
            key_bits: spec.key_bits().map(KeyBits::bits),
            sbox: spec.sbox.name.into(),
            layout: spec.layout.name().into(),
            basis: spec.basis.rows(),
            entry_bytes: format!("{entry}_bytes"),
            entry,
            threads: geometry.threads,
            blocks: geometry.blocks(spec.layout),
            lut3: Lut3Counts {
                sub_byte: largest(|name| matches!(name, "sub_byte" | "inv_sub_byte")),
                mix_column: largest(|name| name.starts_with("mix_column")),
                cipher: lengths.iter().map(|k| (k.bits(), plan.gates_executed(k.rounds()))).collect(),
            },
            known_answer_sha256: spec
                .round_keys
                .baked()
                .map(|keys| header::digest_bytes(&self_test::expected(spec.mode, keys))),
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
        let strategy = manifest.strategy()?;
        let field = |field, what: &str| Err(ManifestError::Field { field, what: what.into() });
        if manifest.source.contains(['/', '\\']) || manifest.source.starts_with('.') {
            return field("source", "must be a plain file name beside the manifest");
        }
        manifest.basis()?;
        if !manifest.threads.is_power_of_two() || !(32..=1024).contains(&manifest.threads) {
            return field("threads", "must be a power of two from 32 to 1024");
        }
        let (mode, layout) = (manifest.mode()?, manifest.layout()?);
        if manifest.blocks != cuda::BLOCKS_PER_WORD * manifest.threads / layout.threads() {
            return field("blocks", "must be what so many threads hold in this layout");
        }
        // Another layout than the code's would leave data out: the code's entry points say which it has.
        let name = kernel_name(mode, strategy, manifest.key_bits, layout);
        let entry = name.replace('-', "_");
        if manifest.kernel != name || manifest.entry != entry || manifest.entry_bytes != format!("{entry}_bytes") {
            return field(
                "kernel",
                &format!("and the entry points must be {name}, as mode, strategy and layout have it"),
            );
        }
        if strategy == KeyStrategy::Immediate && layout == Layout::Column {
            return field("layout", "must be `state` where the strategy is `immediate`");
        }
        if manifest.secret != (strategy != KeyStrategy::Planes) {
            return field("secret", "is true if and only if the strategy bakes a key in");
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

    /// The key strategy.
    pub fn strategy(&self) -> Result<KeyStrategy, ManifestError> {
        self.strategy.parse().map_err(|e| ManifestError::Field { field: "strategy", what: format!("{e}") })
    }

    /// The layout.
    pub fn layout(&self) -> Result<Layout, ManifestError> {
        self.layout.parse().map_err(|e| ManifestError::Field { field: "layout", what: format!("{e}") })
    }

    /// The basis.
    pub fn basis(&self) -> Result<Basis, ManifestError> {
        Basis::new(self.basis).map_err(|e| ManifestError::Field { field: "basis", what: e.to_string() })
    }

    /// The manifest as JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::cuda::Geometry;
    use crate::kernel::{BakedStrategy, KernelSpec};
    use crate::sbox::LUT3;

    fn manifest(strategy: BakedStrategy, layout: Layout) -> Manifest {
        let spec = KernelSpec::baked(Mode::EcbEncrypt, &LUT3, strategy, &[7; 16]).unwrap().with_layout(layout).unwrap();
        Manifest::new(&Plan::new(&spec), Geometry::of(&spec), "kernel.cu", "")
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
            let other = if layout == Layout::State { Layout::Column } else { Layout::State };
            let blocks = cuda::BLOCKS_PER_WORD * right.threads / other.threads();
            let wrong = Manifest { layout: other.name().into(), blocks, ..right };
            assert!(matches!(Manifest::parse(&wrong.to_json()), Err(ManifestError::Field { .. })), "{strategy}");
        }
    }
}
