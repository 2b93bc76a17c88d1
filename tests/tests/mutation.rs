//! A fault in any gate of a whole cipher is caught: every gate of every circuit of a plan complements its output, one at a
//! time, and the plan, evaluated on random blocks, must then differ from the reference. (That each circuit by itself is right
//! for all its inputs, and that faults show there, is proven where the circuits are.)

use aes_bitslice_core::aes::{Direction, KeySchedule};
use aes_bitslice_core::layout::{self, Layout};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::kernel::{KernelSpec, Plan};
use aes_bitslice_gen::sbox;
use aes_bitslice_runtime::transpose;
use aes_bitslice_tests::environment::all_or_one;
use aes_bitslice_tests::reference::{Reference, noise};

/// The bit-planes of 32 blocks.
fn planes(bytes: &[u8]) -> [u32; 128] {
    let (blocks, _) = bytes.as_chunks();
    transpose::to_planes(blocks.try_into().expect("32 blocks"))
}

/// Checks the plan, and then that it fails with each gate faulty.
fn every_fault_shows(spec: &KernelSpec, key: &[u8]) {
    let direction = spec.mode.direction();
    let input = noise(1, 512);
    let expected = planes(&Reference::new(key).ecb(direction, &input));
    let round_keys = layout::schedule_planes(&KeySchedule::new(key, direction).unwrap(), spec.key_basis());
    let input = planes(&input);
    let mut plan = Plan::new(spec);
    assert!(plan.evaluate(&input, &round_keys) == expected, "{}", spec.name());
    for f in 0..plan.functions.len() {
        let sound = plan.functions[f].circuit.clone();
        for gate in 0..sound.gates().len() {
            plan.functions[f].circuit = sound.with_fault(gate);
            let name = &plan.functions[f].name;
            assert!(plan.evaluate(&input, &round_keys) != expected, "{}: gate {gate} of {name}", spec.name());
        }
        plan.functions[f].circuit = sound;
    }
}

/// Every S-box in both directions, with a key of each length in exhaustive runs, else with one.
#[test]
fn planes_strategy() {
    for (i, sbox) in sbox::ALL.iter().enumerate() {
        for (j, direction) in [Direction::Encrypt, Direction::Decrypt].into_iter().enumerate() {
            for key_len in all_or_one(i + j, [16, 24, 32]) {
                every_fault_shows(&KernelSpec::planes(Mode::ecb(direction), sbox), &noise(2, key_len));
            }
        }
    }
}

fn baked(direction: Direction) {
    for key_len in all_or_one(0, [16, 32]) {
        let key = noise(3, key_len);
        let spec =
            KernelSpec::baked(Mode::ecb(direction), &sbox::LUT3, &key).unwrap().with_layout(Layout::State).unwrap();
        every_fault_shows(&spec, &key);
    }
}

#[test]
fn one_hot_mux() {
    baked(Direction::Encrypt);
    baked(Direction::Decrypt);
}
