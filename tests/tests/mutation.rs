//! A fault in any gate of a whole cipher is caught: every gate of every circuit of a plan complements its output in
//! turn, and the plan, evaluated on random blocks, must then differ from the reference. (That each circuit by itself is
//! right for all its inputs, and that faults show there, is proven beside the circuits.)

use aes_bitslice_gen::aes::{Direction, KeySchedule};
use aes_bitslice_gen::kernel::{BakedStrategy, KernelSpec, Mode, Plan};
use aes_bitslice_gen::layout::PLANES;
use aes_bitslice_gen::sbox;
use aes_bitslice_tests::reference::{Reference, noise};

/// One block a bit of a word.
type Word = u64;
const LANES: usize = Word::BITS as usize;

fn planes(blocks: &[u8]) -> [Word; PLANES] {
    assert_eq!(blocks.len(), 16 * LANES);
    let bit = |lane: usize, plane: usize| Word::from(blocks[16 * lane + plane / 8] >> (plane % 8) & 1);
    std::array::from_fn(|plane| (0..LANES).fold(0, |word, lane| word | bit(lane, plane) << lane))
}

/// Checks the plan, and then that it fails with each gate faulty.
fn every_fault_shows(spec: &KernelSpec, key: &[u8]) {
    let direction = spec.mode.direction();
    let input = noise(1, 16 * LANES);
    let expected = planes(&Reference::new(key).ecb(direction, &input));
    let schedule = KeySchedule::new(key, direction).unwrap();
    let bit = |key: &[u8; 16], plane: usize| key[plane / 8] >> (plane % 8) & 1 == 1;
    let round_keys: Vec<[Word; PLANES]> =
        schedule.round_keys().iter().map(|k| std::array::from_fn(|p| if bit(k, p) { !0 } else { 0 })).collect();
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

fn mode(direction: Direction) -> Mode {
    match direction {
        Direction::Encrypt => Mode::EcbEncrypt,
        Direction::Decrypt => Mode::EcbDecrypt,
    }
}

#[test]
fn planes_strategy() {
    for sbox in sbox::ALL {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            for key_len in [16, 24, 32] {
                every_fault_shows(&KernelSpec::planes(mode(direction), sbox), &noise(2, key_len));
            }
        }
    }
}

fn baked(strategy: BakedStrategy, direction: Direction) {
    for key_len in [16, 32] {
        let key = noise(3, key_len);
        let spec = KernelSpec::baked(mode(direction), &sbox::LUT3, strategy, &key).unwrap();
        every_fault_shows(&spec, &key);
    }
}

#[test]
fn one_hot_mux() {
    baked(BakedStrategy::OneHotMux, Direction::Encrypt);
    baked(BakedStrategy::OneHotMux, Direction::Decrypt);
}

#[test]
fn immediate_encryption() {
    baked(BakedStrategy::Immediate, Direction::Encrypt);
}

#[test]
fn immediate_decryption() {
    baked(BakedStrategy::Immediate, Direction::Decrypt);
}
