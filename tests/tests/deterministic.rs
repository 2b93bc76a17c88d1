//! The generator says the same to the byte in every process: nothing in its output hangs on addresses, hash seeds or
//! the order in which things were made.

use aes_bitslice_gen::aes::{Direction, KeyBits};
use aes_bitslice_gen::emit::{Printed, cuda, header, opencl, rust};
use aes_bitslice_gen::kernel::{self, BakedStrategy, Design, KernelSpec, Mode};
use aes_bitslice_gen::layout::Layout;
use aes_bitslice_gen::sbox::{self, Sbox};
use aes_bitslice_gen::table::{Bytewise, ConflictFree, TableCount, TableSpec};
use aes_bitslice_kernels::{KERNELS, OPENCL_KERNELS};
use aes_bitslice_tests::reference::noise;
use std::collections::BTreeSet;
use std::process::Command;

/// Where a process that was started by the test writes what it generates.
const OUTPUT: &str = "AES_BITSLICE_DIGESTS_TO";

/// The bitsliced kernels with an S-box: every mode, every place that round keys come from, every layout.
fn of_sbox(sbox: &'static Sbox) -> impl Iterator<Item = Design> {
    Mode::ALL
        .into_iter()
        .flat_map(move |mode| {
            let baked = KeyBits::ALL.into_iter().flat_map(move |bits| {
                let key = noise(1, bits.bytes());
                BakedStrategy::ALL.map(|strategy| KernelSpec::baked(mode, sbox, strategy, &key).unwrap())
            });
            let in_memory =
                KernelSpec { sbox, basis: sbox.basis(mode.direction()), ..KernelSpec::hajihassani_2019(mode) };
            let at_launch = [KernelSpec::planes(mode, sbox), KernelSpec::beside(mode, sbox), in_memory];
            let specs = baked.chain(at_launch);
            specs.flat_map(|spec| {
                Layout::ALL.into_iter().filter_map(move |layout| spec.clone().with_layout(layout).ok())
            })
        })
        .map(Design::from)
}

/// The table kernels.
fn tables() -> impl Iterator<Item = Design> {
    let conflict_free = Mode::ALL.into_iter().flat_map(|mode| {
        let alone = [TableCount::One, TableCount::Four].map(|count| ConflictFree::new(mode, count));
        alone.into_iter().chain(alone.map(ConflictFree::beside))
    });
    TableSpec::papers().into_iter().map(Design::from).chain(conflict_free.map(Design::from))
}

fn in_opencl(design: &Design) -> Printed {
    opencl::print(design, "a test").unwrap_or_else(|e| panic!("{e}"))
}

/// Name and digest of everything there is to generate, a line each.
fn digests() -> String {
    let mut lines = String::new();
    let mut add = |name: String, text: &str| lines += &format!("{name} {}\n", header::digest(text));
    for sbox in sbox::ALL {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            add(format!("{} {direction:?}", sbox.name), &sbox.lut3(direction).to_string());
        }
        for design in of_sbox(sbox) {
            for Printed { source, manifest } in [cuda::print(&design, "a test"), in_opencl(&design)] {
                let name = format!("{} {} {}", design.name(), sbox.name, manifest.dialect);
                add(name, &(source.to_string() + &manifest.to_json()));
            }
        }
    }
    for design in tables() {
        let Printed { source, manifest } = cuda::print(&design, "a test");
        add(design.name(), &(source.to_string() + &manifest.to_json()));
    }
    for direction in [Direction::Encrypt, Direction::Decrypt] {
        for design in Bytewise::ul_haq_2011(direction).into_iter().map(Design::from) {
            for Printed { source, manifest } in [cuda::print(&design, "a test"), in_opencl(&design)] {
                add(format!("{} {}", design.name(), manifest.dialect), &(source.to_string() + &manifest.to_json()));
            }
        }
    }
    add("rust, lut3".into(), &rust::lut3());
    add("rust, two_input".into(), &rust::two_input());
    lines
}

#[test]
fn the_same_in_every_process() {
    let here = digests();
    if let Some(path) = std::env::var_os(OUTPUT) {
        return std::fs::write(path, here).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("digests");
    let mut process = Command::new(std::env::current_exe().unwrap());
    let ran = process.args(["--exact", "the_same_in_every_process"]).env(OUTPUT, &path).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    let there = std::fs::read_to_string(path).unwrap();
    for (here, there) in here.lines().zip(there.lines()) {
        assert_eq!(here, there);
    }
    assert_eq!(here.len(), there.len());
}

/// What is stored is what is printed now, and nobody has edited it.
#[test]
fn stored_kernels_are_up_to_date() {
    let cuda = KERNELS.iter().map(|stored| (stored.name, stored.source, stored.manifest));
    let opencl = OPENCL_KERNELS.iter().map(|stored| (stored.name, stored.source, stored.manifest));
    let in_cuda = |design: &Design| cuda::print(design, "cargo xtask gen");
    let in_opencl = |spec: &KernelSpec| opencl::print(&spec.clone().into(), "cargo xtask gen").expect("bitsliced");
    up_to_date(cuda.collect(), kernel::stored().iter().map(in_cuda).collect());
    up_to_date(opencl.collect(), kernel::stored_for_opencl().iter().map(in_opencl).collect());
}

fn up_to_date(stored: Vec<(&str, &str, &str)>, printed: Vec<Printed>) {
    let names = |list: Vec<&str>| list.into_iter().map(String::from).collect::<BTreeSet<_>>();
    assert_eq!(
        names(stored.iter().map(|(name, ..)| *name).collect()),
        names(printed.iter().map(|printed| &*printed.manifest.kernel).collect())
    );
    assert_eq!(stored.len(), printed.len());
    for printed in &printed {
        let (name, source, manifest) =
            stored.iter().find(|(name, ..)| *name == printed.manifest.kernel).expect("names are the same");
        assert!(header::is_intact(source), "{name} was edited");
        assert!(*printed.source == *source, "{name} is stale: run `cargo xtask gen`");
        assert_eq!(printed.manifest.to_json(), *manifest, "{name}");
        assert_eq!(header::digest(source), printed.manifest.source_sha256, "{name}");
    }
}
