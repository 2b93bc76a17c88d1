//! The generator says the same to the byte in every process: nothing in its output hangs on addresses, hash seeds or
//! the order in which things were made.

use aes_bitslice_gen::aes::KeyBits;
use aes_bitslice_gen::emit::Manifest;
use aes_bitslice_gen::emit::cuda::{self, Printed};
use aes_bitslice_gen::emit::{header, rust};
use aes_bitslice_gen::kernel::{BakedStrategy, KernelSpec, Mode};
use aes_bitslice_gen::layout::Layout;
use aes_bitslice_gen::{aes::Direction, sbox};
use aes_bitslice_kernels::KERNELS;
use aes_bitslice_tests::reference::noise;
use std::process::Command;

/// Where a process that was started by the test writes what it generates.
const OUTPUT: &str = "AES_BITSLICE_DIGESTS_TO";

/// Name and digest of everything there is to generate, a line each.
fn digests() -> String {
    let mut lines = String::new();
    let mut add = |name: String, text: &str| lines += &format!("{name} {}\n", header::digest(text));
    for sbox in sbox::ALL {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            add(format!("{} {direction:?}", sbox.name), &sbox.lut3(direction).to_string());
        }
        for mode in Mode::ALL {
            let baked = KeyBits::ALL.into_iter().flat_map(|bits| {
                let key = noise(1, bits.bytes());
                BakedStrategy::ALL.map(|strategy| KernelSpec::baked(mode, sbox, strategy, &key).unwrap())
            });
            let by_state = |spec: KernelSpec| spec.with_layout(Layout::State).unwrap();
            let specs: Vec<KernelSpec> = baked.chain([KernelSpec::planes(mode, sbox)]).collect();
            for spec in specs.iter().cloned().map(by_state).chain(specs.clone()) {
                let name = format!("{} {}", spec.name(), sbox.name);
                let Printed { source, manifest } = cuda::print(&spec.into(), "a test");
                add(name, &(source.to_string() + &manifest.to_json()));
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
    for stored in KERNELS {
        let manifest = Manifest::parse(stored.manifest).unwrap();
        let printed = cuda::print(&KernelSpec::planes(manifest.mode().unwrap(), &sbox::LUT3).into(), "cargo xtask gen");
        assert!(header::is_intact(stored.source), "{} was edited", stored.name);
        assert!(*printed.source == stored.source, "{} is stale: run `cargo xtask gen --check`", stored.name);
        assert_eq!(header::digest(stored.source), manifest.source_sha256, "{}", stored.name);
    }
}
