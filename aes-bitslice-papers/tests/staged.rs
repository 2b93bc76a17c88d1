//! Staged kernels: their plans evaluated, their text run on the CPU, in every mode; and that faults show.

use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::manifest::{Manifest, ManifestError, Printed};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check::{self, CheckError};
use aes_bitslice_gen::sbox;
use aes_bitslice_papers::kernels::Staged;

const KEY: [u8; 16] = *b"sixteen bytes...";

fn kernels() -> impl Iterator<Item = Staged> {
    Staged::modes().map(|mode| Staged::hajihassani_2019(mode).unwrap())
}

fn print(spec: &Staged) -> Printed {
    spec.print(Dialect::Cuda, "a test")
}

#[test]
fn plans_of_every_sbox_and_key_length() {
    for sbox in sbox::ALL {
        for mode in Staged::modes() {
            let plan = Staged::new(mode, sbox).unwrap().plan();
            for bits in KeyBits::ALL {
                let key: Vec<u8> = (0..bits.bytes()).map(|i| (41 * i) as u8 ^ 0x3c).collect();
                check::evaluate(&plan, &key).unwrap();
            }
        }
    }
}

#[test]
fn faults_of_circuits_show() {
    for spec in kernels() {
        let mut plan = spec.plan();
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
    for spec in kernels() {
        let Printed { source, manifest } = print(&spec);
        if !check::printed(&source, &manifest, &KEY).unwrap() {
            eprintln!("there is no C compiler: printed kernels were not tested");
            return;
        }
        let check = |from: &str, to: &str| {
            assert!(source.contains(from), "{}: {from}", spec.name());
            check::printed(&source.replace(from, to), &manifest, &KEY)
        };
        // A transposition that moves bits wrongly, a guard that counts one block too many, a thread that does not come to a
        // barrier, and a text that is no C.
        assert!(matches!(check("0x33333333", "0x33333331"), Err(CheckError::Printed { .. })), "{}", spec.name());
        let wide = check("left < BLOCKS ? (u32)left :", "left < BLOCKS ? (u32)left + 1 :");
        assert!(matches!(wide, Err(CheckError::OutOfBounds { .. })), "{}", spec.name());
        let stuck = check("BARRIER(); // All are done", "if (threadIdx.x != 5) BARRIER(); // All are done");
        assert!(matches!(stuck, Err(CheckError::Stuck { .. })), "{}", spec.name());
        let Err(CheckError::Rejected { log, .. }) = check("u32 s[128];", "u32 s[;") else { panic!("compiled") };
        assert!(!log.contains("withheld"), "{log}");
    }
}

#[test]
fn a_missing_barrier_shows() {
    for (mode, which) in [(Mode::EcbEncrypt, 0..4), (Mode::Ctr, 0..3), (Mode::CbcDecrypt, 0..5)] {
        let Printed { source, manifest } = print(&Staged::hajihassani_2019(mode).unwrap());
        let barriers: Vec<usize> = source.match_indices("    BARRIER();").map(|(at, _)| at).collect();
        for at in which.map(|i| barriers[i]) {
            let without = source[..at].to_string() + &source[at..].replacen("BARRIER();", "", 1);
            match check::printed(&without, &manifest, &KEY) {
                Ok(false) => return,
                Ok(true) => panic!("{}: the barrier at byte {at} is not missed", manifest.kernel),
                Err(_) => {}
            }
        }
    }
}

#[test]
fn manifests_say_where_the_keys_are() {
    for (spec, dialect) in kernels().flat_map(|spec| Dialect::ALL.map(|dialect| (spec, dialect))) {
        let Printed { source, manifest } = spec.print(dialect, "a test");
        manifest.check_source(&source).unwrap();
        assert_eq!((manifest.keys, &Manifest::parse(&manifest.to_json()).unwrap()), (KeySource::Memory, &manifest));
        for other in [KeySource::Argument, KeySource::Baked] {
            let wrong = Manifest { keys: other, ..manifest.clone() };
            assert!(matches!(Manifest::parse(&wrong.to_json()), Err(ManifestError::Field { field: "keys", .. })));
        }
        let in_column = manifest.to_json().replace("\"state\"", "\"column\"");
        assert!(matches!(Manifest::parse(&in_column), Err(ManifestError::Field { .. })));
    }
}
