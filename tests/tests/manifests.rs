//! The description of every stored kernel in the file next to its source matches the source: the parameters of its entry points, by name,
//! kind and order; and a manifest that differs is refused.

use aes_bitslice_core::argument::{Argument, Kind};
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::digest;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::{Manifest, ManifestError};
use aes_bitslice_core::signature::{EntryPoint, SignatureError};
use aes_bitslice_kernels::{KERNELS, OPENCL_KERNELS};
use aes_bitslice_tests::refused;

/// Source and manifest of every stored kernel.
fn stored() -> Vec<(&'static str, Manifest)> {
    let cuda = KERNELS.iter().map(|stored| (Dialect::Cuda, stored.name, stored.source, stored.manifest));
    let opencl = OPENCL_KERNELS.iter().map(|stored| (Dialect::OpenCl, stored.name, stored.source, stored.manifest));
    let parse = |(dialect, name, source, manifest): (Dialect, &str, &'static str, &str)| {
        let manifest = <Manifest>::parse(manifest).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((manifest.dialect, manifest.kernel.as_str()), (dialect, name));
        (source, manifest)
    };
    cuda.chain(opencl).map(parse).collect()
}

#[test]
fn every_manifest_matches_its_source() {
    let stored = stored();
    assert!(!stored.is_empty());
    for (source, manifest) in stored {
        manifest.check_source(source).unwrap_or_else(|e| panic!("{}: {e}", manifest.kernel));
        assert_eq!(manifest.source_sha256, digest::of_text(source), "{}", manifest.kernel);
        assert!(!manifest.secret, "{}", manifest.kernel);
        for entry in manifest.entries.values() {
            assert_eq!(EntryPoint::read(source, &entry.name).as_ref(), Ok(entry), "{}", manifest.kernel);
            assert!(
                entry.parameters.len() >= 3,
                "{}: data, a length and round keys at least: {entry}",
                manifest.kernel
            );
        }
        // Parsing keeps everything that is stored: nothing is dropped on the way.
        assert_eq!(<Manifest>::parse(&manifest.to_json()).unwrap(), manifest);
    }
}

/// Each way in which a list of parameters can be wrong, at each place.
fn wrong_lists(entry: &EntryPoint) -> Vec<EntryPoint> {
    let mut wrong = Vec::new();
    let mut changed = |change: &dyn Fn(&mut EntryPoint)| {
        let mut entry = entry.clone();
        change(&mut entry);
        wrong.push(entry);
    };
    for i in 0..entry.parameters.len() {
        changed(&|entry| _ = entry.parameters.remove(i));
        changed(&|entry| entry.parameters.insert(i, entry.parameters[i].clone()));
        changed(&|entry| entry.parameters[i].name = Argument::Verdicts);
        changed(&|entry| {
            let kind = &mut entry.parameters[i].kind;
            *kind = match *kind {
                Kind::U64 => Kind::U32,
                Kind::Words(words) => Kind::Words(words + 1),
                _ => Kind::U64,
            };
        });
        if i > 0 {
            changed(&|entry| entry.parameters.swap(i - 1, i));
        }
    }
    wrong
}

#[test]
fn wrong_lists_of_parameters_are_refused() {
    for (source, manifest) in stored() {
        for (&entry, point) in &manifest.entries {
            for wrong in wrong_lists(point) {
                let mut manifest = manifest.clone();
                manifest.entries.insert(entry, wrong.clone());
                let refused = manifest.check_source(source);
                let is_it = |field: &str| field == entry.name();
                assert!(
                    matches!(refused, Err(ManifestError::Field { field, .. }) if is_it(field)),
                    "{wrong}: {refused:?}"
                );
            }
        }
        let mut wrong = manifest;
        wrong.entries.get_mut(&Entry::Blocks).unwrap().name.push('_');
        refused!(wrong.check_source(source), ManifestError::Signature(SignatureError::Missing(_)));
    }
}

#[test]
fn sources_that_take_something_else_are_refused() {
    for (source, manifest) in stored() {
        let begin = format!("KERNEL {}(", manifest.entries[&Entry::Blocks].name);
        assert_eq!(source.matches(&begin).count(), 1, "{}", manifest.kernel);
        let longer = source.replace(&begin, &format!("{begin}u32 units, "));
        refused!(manifest.check_source(&longer), ManifestError::Field { field: "blocks", .. });
        let unknown = source.replace(&begin, &format!("{begin}u32 added, "));
        refused!(manifest.check_source(&unknown), ManifestError::Signature(SignatureError::Parameter { .. }));
    }
}
