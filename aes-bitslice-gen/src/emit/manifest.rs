//! The manifests of printed kernels.

use super::bitsliced::parts::{OWN_KEY_WARPS, Parts};
use super::header;
use crate::kernel::plan::{Plan, Step};
use crate::kernel::spec::{KernelSpec, Layers};
use crate::table::conflict_free::spec::ConflictFree;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::grid::Grid;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::{Bitsliced, Cipher, FORMAT, Function, GateCounts, Manifest};
use aes_bitslice_core::mode::{Mode, State};
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
    let function = Cipher {
        mode: mode.name().into(),
        key_bits: None,
        keys: KeySource::Argument,
        basis: Basis::STANDARD.rows(),
        key_basis: None,
        tweak_basis: None,
        tweak_key_basis: None,
        own_key_threads: None,
        tile_blocks,
        grid,
        aligned_counters: false,
        bitsliced: None,
        known_answer_sha256: None,
    };
    // In CUDA C the source says so.
    let blocks_per_sm = u32::from(dialect == Dialect::OpenCl);
    Manifest { threads, blocks_per_sm, ..of(name, dialect, source, function) }
}

/// What the manifests of all kernels say: whatever their source and its entry points say.
///
/// # Panics
/// Where [`plain`] panics.
pub(super) fn of<F: Function>(name: &str, dialect: Dialect, source: &str, function: F) -> Manifest<F> {
    Manifest {
        format: FORMAT,
        generated_by: header::command(source).unwrap_or_default().into(),
        dialect,
        kernel: name.into(),
        source: format!("{name}.{}", dialect.extension()),
        source_sha256: digest::of_text(source),
        secret: false,
        function,
        entries: Manifest::<F>::entries_in(source, name).unwrap_or_else(|error| panic!("{name}: {error}")),
        threads: 0,
        blocks_per_sm: 0,
        shared_bytes: 0,
        overlaps: false,
        registers: BTreeMap::new(),
    }
}

/// The manifest of a plan and parts printed as `source`.
///
/// # Panics
/// Where [`plain`] panics.
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
    let tweaks = spec.mode.has_tweaks().then(|| spec.of_tweaks());
    let expands_keys = plain.entries.contains_key(&Entry::Expand);
    let function = Cipher {
        key_bits: spec.key_bits().map(KeyBits::bits),
        keys: KeySource::of(strategy),
        basis: spec.basis.rows(),
        key_basis: other_key_basis(spec),
        tweak_basis: tweaks.as_ref().map(|spec| spec.basis.rows()),
        tweak_key_basis: tweaks.as_ref().and_then(other_key_basis),
        own_key_threads: expands_keys.then_some(32 * OWN_KEY_WARPS),
        aligned_counters: spec.layout == Layout::Column && spec.mode.state() == State::Counters,
        bitsliced: Some(Bitsliced {
            strategy: strategy.name().into(),
            sbox: spec.sbox.name.into(),
            layout: spec.layout.name().into(),
            lut3: (spec.layers == Layers::Fewest).then(|| counts.clone()),
            two_input: (spec.layers == Layers::Published).then_some(counts),
        }),
        known_answer_sha256: spec.round_keys.baked().map(answer),
        ..plain.function
    };
    Manifest {
        secret: spec.round_keys.baked().is_some(),
        function,
        // In OpenCL C, the source declares all of it.
        shared_bytes: if dialect == Dialect::Cuda { parts.shared_bytes() } else { 0 },
        blocks_per_sm: match dialect {
            Dialect::Cuda => 0,
            Dialect::OpenCl => geometry.blocks_per_sm,
        },
        overlaps: parts.overlaps && dialect == Dialect::Cuda,
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
/// Where [`plain`] panics.
pub fn conflict_free(spec: &ConflictFree, source: &str) -> Manifest {
    let (mode, grid) = (spec.mode(), Grid::Persistent { each: 1 });
    let mut manifest = plain(&spec.name(), mode, spec.threads(), spec.tile_blocks(), grid, Dialect::Cuda, source);
    manifest.shared_bytes = spec.shared_bytes();
    manifest.function.aligned_counters = mode.state() == State::Counters;
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::{cuda, opencl};
    use crate::sbox::LUT3;
    use crate::stored;
    use aes_bitslice_core::argument::Argument;
    use aes_bitslice_core::manifest::{ManifestError, Printed};
    use aes_bitslice_core::signature::{EntryPoint, Parameter};

    fn manifest(layout: Layout) -> Manifest {
        let spec = KernelSpec::baked(Mode::EcbEncrypt, &LUT3, &[7; 16]).unwrap().with_layout(layout).unwrap();
        cuda::print(&spec.into(), "").unwrap().manifest
    }

    #[test]
    fn a_layout_that_is_not_the_code_s_is_refused() {
        for layout in Layout::ALL {
            let right = manifest(layout);
            assert_eq!(<Manifest>::parse(&right.to_json()).unwrap(), right);
            let (other, grid) = match layout {
                Layout::State => (Layout::Column, Grid::Warps { each: 1, least: 1 }),
                Layout::Column => (Layout::State, Grid::Covers),
            };
            let refused = |wrong: Manifest| {
                assert!(matches!(<Manifest>::parse(&wrong.to_json()), Err(ManifestError::Field { .. })), "{layout}");
            };
            let with = |function| Manifest { function, ..right.clone() };
            refused(with(Cipher { grid, ..right.function.clone() }));
            let tile_blocks = grid.tile_blocks(other, right.threads);
            let bitsliced = right.bitsliced.clone().map(|b| Bitsliced { layout: other.name().into(), ..b });
            refused(with(Cipher { bitsliced, tile_blocks, grid, ..right.function.clone() }));
        }
    }

    #[test]
    fn keys_that_are_not_where_the_code_looks_are_refused() {
        let right = cuda::print(&KernelSpec::planes(Mode::Ctr, &LUT3).into(), "").unwrap().manifest;
        assert_eq!((right.keys, &<Manifest>::parse(&right.to_json()).unwrap()), (KeySource::Argument, &right));
        for other in [KeySource::Memory, KeySource::Baked] {
            let mut wrong = right.clone();
            wrong.function.keys = other;
            assert!(matches!(<Manifest>::parse(&wrong.to_json()), Err(ManifestError::Field { field: "keys", .. })));
        }
        let refused = KernelSpec::co_resident(Mode::Ctr, &LUT3).with_layout(Layout::State).unwrap_err();
        let says = "with the strategy `bits` there is no kernel by state: use the layout `column`";
        assert_eq!(refused.to_string(), says);
    }

    #[test]
    fn what_no_kernel_has_is_refused() {
        let manifest = |mode| cuda::print(&KernelSpec::planes(mode, &LUT3).into(), "").unwrap().manifest;
        let (of_cmac, decrypting) = (manifest(Mode::EcbEncrypt), manifest(Mode::EcbDecrypt));
        let (right, one_key) = (manifest(Mode::XtsDecrypt), manifest(Mode::Ctr));
        // Tweaks are always encrypted, even if the data is decrypted.
        assert!(right.key_basis.is_some() && right.key_basis != right.tweak_key_basis);
        assert_eq!(right.tweak_key_basis, one_key.key_basis);
        let dependent = right.key_basis.map(|mut rows| {
            rows[5] = rows[17] ^ rows[30];
            rows
        });
        let cmac = || of_cmac.entries[&Entry::Cmac].clone();
        let refused = |of: &Manifest, change: &dyn Fn(&mut Manifest), field| {
            let mut wrong = of.clone();
            change(&mut wrong);
            let error = <Manifest>::parse(&wrong.to_json()).unwrap_err();
            assert!(matches!(error, ManifestError::Field { field: named, .. } if named == field), "{error}");
        };
        refused(&right, &|m| m.function.key_basis = dependent, "key_basis");
        refused(&right, &|m| m.function.tweak_key_basis = dependent, "tweak_key_basis");
        refused(&one_key, &|m| m.function.tweak_key_basis = right.tweak_key_basis, "tweak_key_basis");
        refused(&right, &|m| m.shared_bytes += 1, "shared_bytes");
        refused(&of_cmac, &|m| _ = m.entries.insert(Entry::Cmac, m.entries[&Entry::Blocks].clone()), "cmac");
        refused(&of_cmac, &|m| m.entries.get_mut(&Entry::Cmac).unwrap().parameters.truncate(4), "cmac");
        refused(&decrypting, &|m| _ = m.entries.insert(Entry::Cmac, renamed(cmac(), m)), "cmac");
        refused(&of_cmac, &|m| _ = m.entries.remove(&Entry::Bytes), "bytes");
        refused(&of_cmac, &|m| _ = m.entries.remove(&Entry::Each), "own_key_threads");
        refused(&of_cmac, &|m| _ = m.entries.insert(Entry::Hash, cmac()), "hash");
        let twice = |m: &mut Manifest| {
            let parameters = &mut m.entries.get_mut(&Entry::Bytes).unwrap().parameters;
            parameters.push(parameters[0].clone());
        };
        refused(&right, &twice, "bytes");
    }

    /// The entry point for CMAC, named after another kernel.
    fn renamed(point: EntryPoint, of: &Manifest) -> EntryPoint {
        EntryPoint { name: Entry::Cmac.name_in(&of.kernel), ..point }
    }

    #[test]
    fn manifests_are_of_their_sources() {
        let in_opencl = stored::opencl().into_iter().map(|spec| opencl::print(&spec.into(), ""));
        let in_cuda = stored::cuda().into_iter().map(|design| cuda::print(&design, ""));
        for Printed { source, manifest } in in_cuda.chain(in_opencl).map(Result::unwrap) {
            manifest.check_source(&source).unwrap();
            let waits = source.contains("    LET_NEXT_BEGIN();\n") && manifest.dialect == Dialect::Cuda;
            assert_eq!(manifest.overlaps, waits, "{}", manifest.kernel);
            for entry in manifest.entries.values() {
                let by_name = |p: &&Parameter| ![Argument::In, Argument::Out].contains(&p.name);
                for parameter in entry.parameters.iter().filter(by_name) {
                    let begin = source.find(&format!("\nKERNEL {}(", entry.name)).unwrap();
                    let end = begin + source[begin..].find(") {").unwrap();
                    let name = parameter.name.name();
                    let ends = source[begin..end + 1].match_indices(name).map(|(at, _)| begin + at);
                    let is_it = |at: &usize| {
                        source[..*at].ends_with([' ', '*']) && source[at + name.len()..].starts_with([',', ')'])
                    };
                    let at = ends.into_iter().find(is_it).unwrap();
                    for other in ["other", if name == "skip" { "rounds" } else { "skip" }] {
                        let renamed = [&source[..at], other, &source[at + name.len()..]].concat();
                        manifest.check_source(&renamed).unwrap_err();
                    }
                }
            }
            // An entry point that only reads.
            let reads = source.replacen("_bytes(DATA(u8), ", "_bytes(INPUT(u8), ", 1);
            let reads = reads.replacen("_bytes(OUTPUT(u8), ", "_bytes(INPUT(u8), ", 1);
            assert!(reads != *source, "{}", manifest.kernel);
            assert!(matches!(manifest.check_source(&reads), Err(ManifestError::Field { field: "bytes", .. })));
        }
    }
}
