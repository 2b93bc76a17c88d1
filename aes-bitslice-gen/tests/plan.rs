//! Every plan, evaluated on bit-planes, against the cipher of the standard: every S-box, mode, strategy and key size, for random keys.

use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check::{self, all_or};
use aes_bitslice_gen::kernel::{KernelSpec, Plan};
use aes_bitslice_gen::sbox;
use proptest::prelude::*;

/// A key of this length in bytes; occasionally one whose bits are all equal, of which nothing is left once it is folded into the circuits.
fn key(bytes: usize) -> impl Strategy<Value = Vec<u8>> {
    let uniform = prop::sample::select(vec![0x00, 0xff]).prop_map(move |byte| vec![byte; bytes]);
    prop_oneof![1 => uniform, 7 => prop::collection::vec(any::<u8>(), bytes)]
}

/// Builds a plan for a key with each of `specs` and evaluates it.
fn check(specs: impl Fn(Mode, &'static sbox::Sbox, &[u8]) -> KernelSpec) {
    for sbox in sbox::ALL {
        for mode in Mode::ALL {
            for bits in KeyBits::ALL {
                let config =
                    ProptestConfig { cases: all_or(32, 4), failure_persistence: None, ..ProptestConfig::default() };
                proptest!(config, |(key in key(bits.bytes()))| {
                    let plan = Plan::new(&specs(mode, sbox, &key));
                    check::evaluate(&plan, &key).map_err(|e| TestCaseError::fail(e.to_string()))?;
                });
            }
        }
    }
}

#[test]
fn keys_at_launch() {
    check(|mode, sbox, _| KernelSpec::planes(mode, sbox));
}

/// Any basis works, even one that no netlist is stored for.
#[test]
fn other_bases() {
    let basis = Basis::new([3, 2, 4, 8, 16, 32, 64, 129]).unwrap();
    check(|mode, sbox, _| KernelSpec::planes(mode, sbox).with_basis(basis));
}

#[test]
fn baked_one_hot_mux() {
    check(|mode, sbox, key| KernelSpec::baked(mode, sbox, key).unwrap());
}
