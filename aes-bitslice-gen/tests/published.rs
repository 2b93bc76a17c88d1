//! Kernels as described by Hajihassani et al. 2019, with round keys in memory and in the code: their plans are evaluated and their text is
//! run on the CPU, in every mode; and faults are detected.

use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::manifest::{Manifest, ManifestError, Printed};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check::{self, CheckError, all_or, missing_barriers_show, sample};
use aes_bitslice_gen::emit::{cuda, opencl};
use aes_bitslice_gen::kernel::{KernelSpec, Plan, Preset};
use aes_bitslice_gen::sbox;

const KEY: [u8; 16] = *b"sixteen bytes...";

/// The modes of staged kernels; the last one is not in the paper.
const MODES: [Mode; 5] = [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr, Mode::Keystream, Mode::CbcDecrypt];

/// The kernels of a mode with the keys in memory, and with [`KEY`] in the code: without and with the first and the last round key in the
/// multiplexer.
fn kernels(mode: Mode) -> [KernelSpec; 3] {
    [KernelSpec::hajihassani_2019(mode), baked(mode), baked(mode).generic()]
}

fn baked(mode: Mode) -> KernelSpec {
    Preset::Hajihassani2019.spec(mode, &KEY).unwrap()
}

fn print(spec: &KernelSpec) -> Printed {
    cuda::print(&spec.clone().into(), "a test").unwrap()
}

#[test]
fn plans_of_every_sbox_and_key_length() {
    for sbox in sbox::ALL {
        for mode in MODES {
            for bits in KeyBits::ALL {
                let key: Vec<u8> = (0..bits.bytes()).map(|i| (41 * i) as u8 ^ 0x3c).collect();
                let fetched = KernelSpec::planes_in_memory(mode, sbox);
                let one_hot = KernelSpec::baked(mode, sbox, &key).unwrap();
                for spec in [fetched.clone(), fetched.published(), one_hot.clone().published(), one_hot.generic()] {
                    check::evaluate(&Plan::new(&spec), &key).unwrap();
                }
            }
        }
    }
}

#[test]
fn faults_of_circuits_show() {
    for spec in MODES.into_iter().flat_map(kernels) {
        let mut plan = Plan::new(&spec);
        check::evaluate(&plan, &KEY).unwrap();
        for f in 0..plan.functions.len() {
            let sound = plan.functions[f].circuit.clone();
            if sound.gates().is_empty() {
                continue;
            }
            plan.functions[f].circuit = sound.with_fault(0);
            assert!(matches!(check::evaluate(&plan, &KEY), Err(CheckError::Circuit { .. })), "{}", spec.name());
            plan.functions[f].circuit = sound;
        }
    }
}

#[test]
fn printed_kernels_pass_and_faults_show() {
    // By default, one kernel of each mode, with the keys by turns in memory and in the code.
    for spec in MODES.into_iter().enumerate().flat_map(|(i, mode)| sample(i, all_or(1, 3), kernels(mode))) {
        let Printed { source, manifest } = print(&spec);
        if !check::printed(&source, &manifest, &KEY).unwrap() {
            eprintln!("there is no C compiler: printed kernels were not tested");
            return;
        }
        let check = |from: &str, to: &str| {
            assert!(source.contains(from), "{}: {from}", spec.name());
            check::printed(&source.replace(from, to), &manifest, &KEY)
        };
        // A transposition that moves bits wrongly, a guard that counts one block too many, and a text that is not C.
        assert!(matches!(check("0x33333333", "0x33333331"), Err(CheckError::Printed { .. })), "{}", spec.name());
        let wide = check("left < BLOCKS ? (u32)left :", "left < BLOCKS ? (u32)left + 1 :");
        assert!(matches!(wide, Err(CheckError::OutOfBounds { .. })), "{}", spec.name());
        match spec.round_keys.baked() {
            // A thread that does not reach a barrier.
            None => {
                let stuck = check("BARRIER(); // All are done", "if (threadIdx.x != 5) BARRIER(); // All are done");
                assert!(matches!(stuck, Err(CheckError::Stuck { .. })), "{}", spec.name());
            }
            // A selector for another round.
            Some(_) => {
                let other = check("0u - (u32)(round == i", "0u - (u32)(round + 1 == i");
                assert!(matches!(other, Err(CheckError::Printed { .. })), "{}", spec.name());
            }
        }
        let Err(CheckError::Rejected { log, .. }) = check("u32 s[128];", "u32 s[;") else { panic!("compiled") };
        // The compiler quotes the source, which may be the key.
        assert_eq!(log.contains("withheld"), spec.round_keys.baked().is_some(), "{log}");
    }
}

/// Also without staging, where threads without data must reach the barriers of the keys in memory; and staged with round keys as bytes,
/// which no list of kernels has. By default, each in every other mode.
#[test]
fn other_combinations_pass() {
    for (n, mode) in MODES.into_iter().enumerate() {
        let fetched = KernelSpec::planes_in_memory(mode, &sbox::LUT3);
        let bytes = KernelSpec::planes(mode, &sbox::CANRIGHT).staged();
        let one_hot = KernelSpec::baked(mode, &sbox::CANRIGHT_NETLIST, &KEY).unwrap();
        let (one_hot, generic) = (one_hot.clone().published(), one_hot.generic());
        let specs = [fetched.clone(), fetched.published(), bytes.clone(), bytes.published(), one_hot, generic];
        // Only a staged kernel that makes the key stream has the key in its code.
        let specs = specs.into_iter().filter(|spec| mode != Mode::Keystream || spec.round_keys.baked().is_none());
        for spec in sample(n, all_or(1, 2), specs) {
            let Printed { source, manifest } = print(&spec);
            assert_eq!(<Manifest>::parse(&manifest.to_json()).unwrap(), manifest);
            check::printed(&source, &manifest, &KEY).unwrap_or_else(|e| panic!("{}: {e}", spec.name()));
        }
    }
}

#[test]
fn a_missing_barrier_shows() {
    // For keys in memory, two barriers for each round key; then the barriers of the mode, where others follow the first one if keys are
    // fetched.
    for (spec, which) in [
        (KernelSpec::hajihassani_2019(Mode::EcbEncrypt), vec![0, 1, 2, 3]),
        (KernelSpec::hajihassani_2019(Mode::Ctr), vec![0, 1, 3]),
        (KernelSpec::hajihassani_2019(Mode::Keystream), vec![0, 1, 2]),
        (KernelSpec::hajihassani_2019(Mode::CbcDecrypt), vec![0, 1, 2, 3, 4]),
        (baked(Mode::EcbEncrypt), vec![0, 1]),
        (baked(Mode::Ctr), vec![0, 1]),
        (baked(Mode::Keystream), vec![0]),
        (baked(Mode::CbcDecrypt), vec![0, 1, 2]),
    ] {
        let Printed { source, manifest } = print(&spec);
        missing_barriers_show(&source, &which, |source| check::printed(source, &manifest, &KEY));
    }
}

#[test]
fn manifests_say_where_the_keys_are() {
    for spec in MODES.map(KernelSpec::hajihassani_2019) {
        for printed in [cuda::print(&spec.clone().into(), "a test"), opencl::print(&spec.clone().into(), "a test")] {
            let Printed { source, manifest } = printed.unwrap();
            manifest.check_source(&source).unwrap();
            assert_eq!(
                (manifest.keys, &<Manifest>::parse(&manifest.to_json()).unwrap()),
                (KeySource::Memory, &manifest)
            );
            for other in [KeySource::Argument, KeySource::Baked] {
                let mut wrong = manifest.clone();
                wrong.function.keys = other;
                assert!(matches!(<Manifest>::parse(&wrong.to_json()), Err(ManifestError::Field { field: "keys", .. })));
            }
            let in_column = manifest.to_json().replace("\"state\"", "\"column\"");
            assert!(matches!(<Manifest>::parse(&in_column), Err(ManifestError::Field { .. })));
        }
    }
}
