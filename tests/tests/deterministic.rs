//! The generator's output is the same to the byte in every process: it does not depend on addresses, hash seeds or the
//! order of construction.

use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::digest;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::emit::{cuda, ghash, header, opencl, rust};
use aes_bitslice_gen::ghash::Ghash;
use aes_bitslice_gen::kernel::{Design, KernelSpec};
use aes_bitslice_gen::sbox::{self, Sbox};
use aes_bitslice_gen::stored;
use aes_bitslice_gen::table::{ConflictFree, TableCount};
use aes_bitslice_kernels::{KERNELS, OPENCL_KERNELS};
use aes_bitslice_papers::kernels::{Bytewise, TableSpec};
use aes_bitslice_tests::environment::all_or_every;
use aes_bitslice_tests::kernels::{COMPLETE, print};
use aes_bitslice_tests::reference::noise;
use std::collections::BTreeSet;
use std::process::Command;

/// The file for the output of a process that the test has started.
const OUTPUT: &str = "AES_BITSLICE_DIGESTS_TO";

/// The bitsliced kernels with an S-box: every mode, every source of round keys, every layout.
fn of_sbox(sbox: &'static Sbox) -> impl Iterator<Item = Design> {
    Mode::ALL
        .into_iter()
        .flat_map(move |mode| {
            let baked = KeyBits::ALL.map(|bits| KernelSpec::baked(mode, sbox, &noise(1, bits.bytes())).unwrap());
            let at_launch = [KernelSpec::planes(mode, sbox), KernelSpec::co_resident(mode, sbox)];
            let specs = baked.into_iter().chain(at_launch);
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
        let alone = alone.into_iter().flatten();
        alone.clone().chain(alone.filter_map(ConflictFree::co_resident))
    });
    conflict_free.map(Design::from)
}

/// The kernels that only the papers have.
fn of_papers() -> impl Iterator<Item = Printed> {
    let staged = sbox::ALL.iter().flat_map(|sbox| {
        let spec = |mode| KernelSpec::planes_in_memory(mode, sbox);
        COMPLETE.into_iter().flat_map(move |mode| [spec(mode).staged(), spec(mode).published().staged()])
    });
    let staged = staged.flat_map(|spec| Dialect::ALL.map(|dialect| print(spec.clone(), dialect))).flatten();
    let bytewise = [Direction::Encrypt, Direction::Decrypt].into_iter().flat_map(Bytewise::ul_haq_2011);
    let bytewise = bytewise.flat_map(|spec| Dialect::ALL.map(|dialect| spec.print(dialect, "a test")));
    staged.chain(bytewise).chain(TableSpec::papers().into_iter().map(|spec| spec.print("a test")))
}

/// Name and digest of everything that can be generated, a line each; except in exhaustive runs, only some kernels.
fn digests() -> String {
    let mut lines = String::new();
    let mut add = |name: &str, text: &str| lines += &format!("{name} {}\n", digest::of_text(text));
    for sbox in sbox::ALL {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            add(&format!("{} {direction:?}", sbox.name), &sbox.lut3(direction).to_string());
        }
    }
    // Twelve kernels of each mode and S-box: one of any five in a row.
    let of_sboxes = all_or_every(5, sbox::ALL.iter().copied().flat_map(of_sbox));
    let of_sboxes = of_sboxes.flat_map(|design| Dialect::ALL.map(|dialect| print(design.clone(), dialect))).flatten();
    let tables = tables().filter_map(|design| print(design, Dialect::Cuda));
    for Printed { source, manifest } in of_sboxes.chain(tables).chain(all_or_every(5, of_papers())) {
        let name = format!("{} {}", manifest.kernel, manifest.dialect);
        add(&name, &(source.to_string() + &manifest.to_json()));
    }
    let hashes = Ghash::ALL.into_iter().flat_map(|kernel| Dialect::ALL.map(|d| ghash::print(kernel, d, "a test")));
    for Printed { source, manifest } in hashes.flatten() {
        add(&format!("{} {}", manifest.kernel, manifest.dialect), &(source.to_string() + &manifest.to_json()));
    }
    add("rust, lut3", &rust::lut3());
    add("rust, two_input", &rust::two_input());
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

/// The stored kernels equal those printed now, without edits.
#[test]
fn stored_kernels_are_up_to_date() {
    let cuda = KERNELS.iter().map(|stored| (stored.name, stored.source, stored.manifest));
    let opencl = OPENCL_KERNELS.iter().map(|stored| (stored.name, stored.source, stored.manifest));
    let in_cuda = |design: &Design| cuda::print(design, "cargo xtask gen").expect("stored");
    let in_opencl = |spec: &KernelSpec| opencl::print(&spec.clone().into(), "cargo xtask gen").expect("stored");
    up_to_date(cuda.collect(), stored::cuda().iter().map(in_cuda).collect());
    up_to_date(opencl.collect(), stored::opencl().iter().map(in_opencl).collect());
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
        assert_eq!(digest::of_text(source), printed.manifest.source_sha256, "{name}");
    }
}
