//! The manifests of printed kernels.

use super::bitsliced::parts::{BatchOf, OWN_KEY_WARPS, Parts};
use super::header;
use crate::kernel::plan::{Plan, Step};
use crate::kernel::spec::{KernelSpec, Layers};
use crate::table::conflict_free::spec::ConflictFree;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::jobs::ManyKeys;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::{Bitsliced, GateCounts, Grid, Manifest};
use aes_bitslice_core::mode::{Mode, State};
use aes_bitslice_core::signature::EntryPoint;
use aes_bitslice_core::{digest, self_test};
use std::collections::BTreeMap;

/// The manifest of a kernel without bit-planes, whose round keys are a launch argument in the standard basis: `threads` per thread block,
/// which works on tiles of `tile_blocks` blocks of 16 bytes. Its entry points are read from `source`.
///
/// # Panics
/// If `source` has no entry points of that name, or they have parameters of forms unknown to [`aes_bitslice_core::signature`].
pub fn plain(
    name: &str,
    mode: Mode,
    threads: u32,
    tile_blocks: u32,
    grid: Grid,
    dialect: Dialect,
    source: &str,
) -> Manifest {
    let entry = name.replace('-', "_");
    let read = |entry: &str| EntryPoint::read(source, entry).unwrap_or_else(|error| panic!("{name}: {error}"));
    Manifest {
        format: Manifest::FORMAT,
        generated_by: header::command(source).unwrap_or_default().into(),
        dialect,
        kernel: name.into(),
        source: format!("{name}.{}", dialect.extension()),
        source_sha256: digest::of_text(source),
        secret: false,
        mode: mode.name().into(),
        key_bits: None,
        keys: KeySource::Argument,
        basis: Basis::STANDARD.rows(),
        key_basis: None,
        tweak_basis: None,
        tweak_key_basis: None,
        entry: read(&entry),
        entry_bytes: read(&format!("{entry}_bytes")),
        entry_messages: None,
        entry_secret_counter: None,
        entry_cmac: None,
        many_keys: None,
        threads,
        // In CUDA C the source says so.
        blocks_per_sm: match dialect {
            Dialect::Cuda => 0,
            Dialect::OpenCl => 1,
        },
        tile_blocks,
        shared_bytes: 0,
        grid,
        overlaps: false,
        aligned_counters: false,
        bitsliced: None,
        known_answer_sha256: None,
        registers: BTreeMap::new(),
    }
}

/// The manifest of a plan and parts printed as `source`.
///
/// # Panics
/// As [`plain`].
pub fn bitsliced(plan: &Plan, parts: &Parts, dialect: Dialect, source: &str) -> Manifest {
    let spec = &plan.spec;
    let (geometry, strategy) = (parts.geometry, parts.strategy);
    let largest = |is_one: fn(&str) -> bool| {
        let sizes = plan.functions.iter().filter(|f| is_one(&f.name)).map(|f| f.circuit.gates().len());
        sizes.max().unwrap_or(0)
    };
    // Where AddRoundKey is a separate step, a column of MixColumns with its key is two circuits.
    let apart = plan.round.iter().filter_map(|step| match step {
        Step::AddRoundKey(call) => call.functions.iter().map(|&f| plan.functions[f].circuit.gates().len()).max(),
        _ => None,
    });
    let mix_column = largest(|name| name.starts_with("mix_column")) + apart.sum::<usize>();
    let lengths = spec.key_bits().map_or(KeyBits::ALL.to_vec(), |k| vec![k]);
    let counts = GateCounts {
        sub_byte: largest(|name| matches!(name, "sub_byte" | "inv_sub_byte")),
        mix_column,
        cipher: lengths.iter().map(|k| (k.bits(), plan.gates_executed(k.rounds()))).collect(),
    };
    let grid = match (parts.grid, dialect) {
        // In OpenCL C, the source sets the number of threads per work-group.
        (Grid::Warps { each, .. }, Dialect::OpenCl) => Grid::Warps { each, least: geometry.threads / 32 },
        (grid, _) => grid,
    };
    let tile_blocks = grid.tile_blocks(spec.layout, geometry.threads);
    let plain = plain(&parts.name, spec.mode, geometry.threads, tile_blocks, grid, dialect, source);
    let answer = |keys| digest::of_bytes(&self_test::expected(spec.mode, keys));
    let read = |of: &str| {
        let entry = EntryPoint::read(source, &format!("{}_{of}", parts.entry_point()));
        entry.unwrap_or_else(|error| panic!("{}: {error}", parts.name))
    };
    let many_keys = || ManyKeys {
        entry_each: read("each"),
        entry_expand: read("expand"),
        entry_jobs: read("jobs"),
        threads: 32 * OWN_KEY_WARPS,
    };
    let tweaks = spec.mode.has_tweaks().then(|| spec.of_tweaks());
    Manifest {
        entry_messages: parts.has_batch_of(BatchOf::Messages).then(|| read("messages")),
        entry_secret_counter: parts.has_batch_of(BatchOf::Messages).then(|| read("secret_counter")),
        entry_cmac: parts.has_batch_of(BatchOf::Cmac).then(|| read("cmac")),
        many_keys: parts.has_batch_of(BatchOf::Keys).then(many_keys),
        secret: spec.round_keys.baked().is_some(),
        key_bits: spec.key_bits().map(KeyBits::bits),
        keys: KeySource::of(strategy),
        basis: spec.basis.rows(),
        key_basis: other_key_basis(spec),
        tweak_basis: tweaks.as_ref().map(|spec| spec.basis.rows()),
        tweak_key_basis: tweaks.as_ref().and_then(other_key_basis),
        // In OpenCL C, the source declares all of it.
        shared_bytes: if dialect == Dialect::Cuda { parts.shared_bytes() } else { 0 },
        blocks_per_sm: match dialect {
            Dialect::Cuda => 0,
            Dialect::OpenCl => geometry.blocks_per_sm,
        },
        overlaps: source.contains("    LET_NEXT_BEGIN();\n") && dialect == Dialect::Cuda,
        aligned_counters: spec.layout == Layout::Column && spec.mode.state() == State::Counters,
        bitsliced: Some(Bitsliced {
            strategy: strategy.name().into(),
            sbox: spec.sbox.name.into(),
            layout: spec.layout.name().into(),
            lut3: (spec.layers == Layers::Fewest).then(|| counts.clone()),
            two_input: (spec.layers == Layers::Published).then_some(counts),
        }),
        known_answer_sha256: spec.round_keys.baked().map(answer),
        ..plain
    }
}

/// The rows of the basis of columns of round keys given at launch, if it differs from the basis of their bytes.
fn other_key_basis(spec: &KernelSpec) -> Option<[u32; 32]> {
    let basis = spec.key_basis();
    (spec.round_keys.baked().is_none() && basis != spec.basis.into()).then(|| basis.rows())
}

/// The manifest of a table kernel without bank conflicts printed as `source`.
///
/// # Panics
/// As [`plain`].
pub fn conflict_free(spec: &ConflictFree, source: &str) -> Manifest {
    let (mode, grid) = (spec.mode(), Grid::Persistent { each: 1 });
    Manifest {
        shared_bytes: spec.shared_bytes(),
        aligned_counters: mode.state() == State::Counters,
        ..plain(&spec.name(), mode, spec.threads(), spec.tile_blocks(), grid, Dialect::Cuda, source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::{cuda, opencl};
    use crate::sbox::LUT3;
    use crate::stored;
    use aes_bitslice_core::manifest::{ManifestError, Printed};
    use aes_bitslice_core::strategy::BakedStrategy;

    fn manifest(strategy: BakedStrategy, layout: Layout) -> Manifest {
        let spec = KernelSpec::baked(Mode::EcbEncrypt, &LUT3, strategy, &[7; 16]).unwrap().with_layout(layout).unwrap();
        cuda::print(&spec.into(), "").unwrap().manifest
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
                Layout::State => (Layout::Column, Grid::Warps { each: 1, least: 1 }),
                Layout::Column => (Layout::State, Grid::Covers),
            };
            let refused = |wrong: Manifest| {
                assert!(matches!(Manifest::parse(&wrong.to_json()), Err(ManifestError::Field { .. })), "{strategy}");
            };
            refused(Manifest { grid, ..right.clone() });
            let tile_blocks = grid.tile_blocks(other, right.threads);
            let bitsliced = right.bitsliced.clone().map(|b| Bitsliced { layout: other.name().into(), ..b });
            refused(Manifest { bitsliced, tile_blocks, grid, ..right });
        }
    }

    #[test]
    fn keys_that_are_not_where_the_code_looks_are_refused() {
        let right = cuda::print(&KernelSpec::planes(Mode::Ctr, &LUT3).into(), "").unwrap().manifest;
        assert_eq!((right.keys, &Manifest::parse(&right.to_json()).unwrap()), (KeySource::Argument, &right));
        for other in [KeySource::Memory, KeySource::Baked] {
            let wrong = Manifest { keys: other, ..right.clone() };
            assert!(matches!(Manifest::parse(&wrong.to_json()), Err(ManifestError::Field { field: "keys", .. })));
        }
        let refused = KernelSpec::co_resident(Mode::Ctr, &LUT3).with_layout(Layout::State).unwrap_err();
        let says = "with the strategy `bits` there is no kernel by state: use the layout `column`";
        assert_eq!(refused.to_string(), says);
    }

    #[test]
    fn what_no_kernel_has_is_refused() {
        let manifest = |mode| cuda::print(&KernelSpec::planes(mode, &LUT3).into(), "").unwrap().manifest;
        let (of_cmac, decrypting) = (manifest(Mode::EcbEncrypt), manifest(Mode::EcbDecrypt));
        let mut renamed = of_cmac.entry_cmac.clone().expect("this kernel has one");
        renamed.name.push('_');
        let (right, one_key) = (manifest(Mode::XtsDecrypt), manifest(Mode::Ctr));
        // Tweaks are always encrypted, even if the data is decrypted.
        assert!(right.key_basis.is_some() && right.key_basis != right.tweak_key_basis);
        assert_eq!(right.tweak_key_basis, one_key.key_basis);
        let dependent = right.key_basis.map(|mut rows| {
            rows[5] = rows[17] ^ rows[30];
            rows
        });
        for (wrong, field) in [
            (Manifest { key_basis: dependent, ..right.clone() }, "key_basis"),
            (Manifest { tweak_key_basis: dependent, ..right.clone() }, "tweak_key_basis"),
            (Manifest { tweak_key_basis: right.tweak_key_basis, ..one_key }, "tweak_key_basis"),
            (Manifest { shared_bytes: right.shared_bytes + 1, ..right.clone() }, "shared_bytes"),
            (Manifest { entry_cmac: Some(of_cmac.entry.clone()), ..of_cmac.clone() }, "entry_cmac"),
            (Manifest { entry_cmac: Some(renamed), ..of_cmac.clone() }, "entry_cmac"),
            (Manifest { entry_cmac: of_cmac.entry_cmac, ..decrypting }, "entry_cmac"),
        ] {
            let error = Manifest::parse(&wrong.to_json()).unwrap_err();
            assert!(matches!(error, ManifestError::Field { field: named, .. } if named == field), "{error}");
        }
    }

    #[test]
    fn manifests_are_of_their_sources() {
        let in_opencl = stored::opencl().into_iter().map(|spec| opencl::print(&spec.into(), ""));
        let in_cuda = stored::cuda().into_iter().map(|design| cuda::print(&design, ""));
        for Printed { source, manifest } in in_cuda.chain(in_opencl).map(Result::unwrap) {
            manifest.check_source(&source).unwrap();
            for entry in [&manifest.entry, &manifest.entry_bytes] {
                for parameter in entry.parameters.iter().filter(|p| !["in", "out"].contains(&p.name.as_str())) {
                    let begin = source.find(&format!("\nKERNEL {}(", entry.name)).unwrap();
                    let end = begin + source[begin..].find(") {").unwrap();
                    let at = begin + source[begin..end].rfind(&format!(" {}", parameter.name)).unwrap() + 1;
                    let renamed = [&source[..at], "other", &source[at + parameter.name.len()..]].concat();
                    let error = manifest.check_source(&renamed).unwrap_err();
                    assert!(matches!(error, ManifestError::Field { .. }), "{}: {error}", manifest.kernel);
                }
            }
            // An entry point that only reads.
            let reads = source.replacen("_bytes(DATA(u8), ", "_bytes(INPUT(u8), ", 1);
            let reads = reads.replacen("_bytes(OUTPUT(u8), ", "_bytes(INPUT(u8), ", 1);
            assert!(reads != *source, "{}", manifest.kernel);
            assert!(matches!(manifest.check_source(&reads), Err(ManifestError::Field { field: "entry_bytes", .. })));
        }
    }
}
