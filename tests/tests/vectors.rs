//! Every published vector on every engine, in both directions: alone, and among random neighbours in each of 32 lanes
//! and in lanes of a full batch.
//!
//! A bitsliced engine computes many blocks at once, one per lane, and layout mistakes show only in some lanes or only with
//! certain neighbours. So a vector is put at block 0 to 31 of a longer message and the whole message is checked; in CTR that
//! message starts that many blocks before the vector's counter, and in CBC the ciphertext block before the vector is its IV. A
//! batch has up to 512 lanes, so each vector is also put into a message of that many blocks, in two of them, and in CTR in all.
//! Where even a short call takes a while, every vector is put in one lane of each kind. Except in exhaustive runs, vectors are
//! put in eight of the 32 lanes, and where a call takes a while some are left out.

use aes_bitslice_core::aes::{Direction, KeySchedule, cipher, sbox};
use aes_bitslice_runtime::Mode::CbcDecrypt;
use aes_bitslice_runtime::{Cipher, Counter, CounterMode, Engine, Key};
use aes_bitslice_tests::engines::{Device, has_mode, is_slow, name};
use aes_bitslice_tests::environment::{all_or, sample};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::reference::{Reference, noise};
use aes_bitslice_tests::vectors::{Case, cases};
use aes_bitslice_tests::{tests, tests_of_engines};
use std::process::ExitCode;

fn main() -> ExitCode {
    Tests::default()
        .on_each(&Device::ALL, &[], tests_of_engines![cavp, nist_examples, nessie, long_ctr])
        .with(&[], tests![every_state_of_the_worked_examples])
        .run()
}

/// Lanes that every vector is put in.
const LANES: usize = 32;
/// Blocks of an engine's largest batch.
const BATCH: usize = 512;
/// One in this many vectors of a long list is checked where a call takes a while, except in exhaustive runs: a few of each
/// file.
const FEW: usize = 7;

/// How a vector uses the cipher: alone, from an initialization vector, from an initial counter block.
#[derive(Clone, Copy)]
enum Mode {
    Ecb,
    Cbc([u8; 16]),
    Ctr([u8; 16]),
}

impl Mode {
    fn of(vector: &Case) -> Self {
        let block = || vector.iv.as_slice().try_into().expect("16 bytes");
        match vector.mode.as_str() {
            "ecb" => Self::Ecb,
            "cbc" => Self::Cbc(block()),
            "ctr" => Self::Ctr(block()),
            other => panic!("{}: mode {other}", vector.source),
        }
    }
}

/// A message and its ciphertext, and the mode that turns one into the other.
struct Message {
    mode: Mode,
    plaintext: Vec<u8>,
    ciphertext: Vec<u8>,
}

impl Message {
    /// The vector with `lane` blocks of noise before it, and noise after it.
    fn surrounded(vector: &Case, lane: usize, noise: &[u8], reference: &Reference) -> Self {
        let start = 16 * lane;
        let end = start + vector.plaintext.len();
        let with_vector = || {
            let mut plaintext = noise.to_vec();
            plaintext[start..end].copy_from_slice(&vector.plaintext);
            plaintext
        };
        let (mode, plaintext, ciphertext) = match Mode::of(vector) {
            Mode::Ecb => {
                let plaintext = with_vector();
                let ciphertext = reference.ecb(Direction::Encrypt, &plaintext);
                (Mode::Ecb, plaintext, ciphertext)
            }
            Mode::Cbc(iv) => {
                // Ciphertext after the IV, one block further on.
                let mut chain = [&[0x69; 16], noise].concat();
                chain[start..start + 16].copy_from_slice(&iv);
                chain[start + 16..end + 16].copy_from_slice(&vector.ciphertext);
                let (iv, ciphertext) = chain.split_first_chunk().expect("a block and more");
                (Mode::Cbc(*iv), reference.cbc(Direction::Decrypt, *iv, ciphertext), ciphertext.to_vec())
            }
            Mode::Ctr(counter) => {
                let first = u128::from_be_bytes(counter).wrapping_sub(lane as u128).to_be_bytes();
                let plaintext = with_vector();
                let ciphertext = reference.ctr(first, 0, &plaintext);
                (Mode::Ctr(first), plaintext, ciphertext)
            }
        };
        // The reference gives the result for the noise only; the vector gives its own.
        assert_eq!(plaintext[start..end], vector.plaintext, "{}", vector.source);
        assert_eq!(ciphertext[start..end], vector.ciphertext, "{}", vector.source);
        Self { mode, plaintext, ciphertext }
    }

    fn alone(vector: &Case) -> Self {
        Self { mode: Mode::of(vector), plaintext: vector.plaintext.clone(), ciphertext: vector.ciphertext.clone() }
    }

    fn check(&self, cipher: &Cipher, what: &dyn std::fmt::Display) {
        let run = |direction, input: &[u8]| {
            let mut data = input.to_vec();
            match (self.mode, direction) {
                (Mode::Ecb, Direction::Encrypt) => cipher.ecb_encrypt(&mut data),
                (Mode::Ecb, Direction::Decrypt) => cipher.ecb_decrypt(&mut data),
                (Mode::Cbc(iv), Direction::Encrypt) => cipher.cbc_encrypt(&iv, &mut data),
                (Mode::Cbc(iv), Direction::Decrypt) => cipher.cbc_decrypt(&iv, &mut data),
                (Mode::Ctr(block), _) => cipher.ctr_apply(&Counter::new(CounterMode::Ctr128BE, block), 0, &mut data),
            }
            .unwrap_or_else(|e| panic!("{what}: {e}"));
            data
        };
        assert!(run(Direction::Encrypt, &self.plaintext) == self.ciphertext, "encryption: {what}");
        if matches!(self.mode, Mode::Cbc(_)) && !has_mode(cipher.engine(), CbcDecrypt) {
            return;
        }
        assert!(run(Direction::Decrypt, &self.ciphertext) == self.plaintext, "decryption: {what}");
    }
}

fn check(engines: &[Engine], files: &[&str]) {
    let vectors: Vec<Case> = files.iter().flat_map(|file| cases(file)).collect();
    let slow = engines.iter().any(is_slow);
    let step = if slow && vectors.len() > 100 { all_or(1, FEW) } else { 1 };
    for (i, vector) in sample(0, step, vectors.iter().enumerate()) {
        let reference = Reference::new(&vector.key);
        let open = |engine: &Engine| (name(engine), engine.cipher(&Key::new(&vector.key).unwrap()).unwrap());
        let ciphers: Vec<(String, Cipher)> = engines.iter().map(open).collect();
        let noise = noise(i as u64, 16 * BATCH + vector.plaintext.len().next_multiple_of(16) - 16);
        let alone = Message::alone(vector);
        for (engine, cipher) in &ciphers {
            alone.check(cipher, &format_args!("{} alone on {engine}", vector.source));
        }
        let in_lane = |lane: usize, of: usize| {
            let message = Message::surrounded(vector, lane, &noise[16 * (BATCH - of)..], &reference);
            for (engine, cipher) in &ciphers {
                message.check(cipher, &format_args!("{} in lane {lane} of {of} on {engine}", vector.source));
            }
        };
        let steps = match (slow, vector.mode.as_str()) {
            (true, _) => (LANES, BATCH),
            (false, "ctr") => (all_or(1, 4), 1), // There are few.
            (false, _) => (all_or(1, 4), 256),
        };
        // An odd number of lanes apart: neighbours are in other ones.
        sample(37 * i, steps.0, 0..LANES).for_each(|lane| in_lane(lane, LANES));
        sample(37 * i, steps.1, 0..BATCH).for_each(|lane| in_lane(lane, BATCH));
    }
}

fn cavp(engines: &'static [Engine]) {
    check(engines, &["cbc-cavp", "ecb-cavp"]);
}

fn nist_examples(engines: &'static [Engine]) {
    check(engines, &["ecb-examples", "cbc-examples", "ctr-examples"]);
}

fn nessie(engines: &'static [Engine]) {
    check(engines, &["ecb-nessie"]);
}

fn long_ctr(engines: &'static [Engine]) {
    check(engines, &["ctr-rustcrypto"]);
}

/// The steps of the generator's own FIPS 197 arithmetic, against which its circuits are checked, one by one as NIST's worked
/// examples show them. Decryption is the plain inverse cipher: the round keys backwards, and InvMixColumns after the key.
fn every_state_of_the_worked_examples() {
    let traces: Vec<Case> = cases("ecb-examples").into_iter().filter(|case| !case.states.is_empty()).collect();
    assert_eq!(traces.len(), 6);
    for trace in traces {
        let (direction, input) = match trace.direction.as_str() {
            "encrypt" => (Direction::Encrypt, &trace.plaintext),
            "decrypt" => (Direction::Decrypt, &trace.ciphertext),
            other => panic!("{}: direction {other}", trace.source),
        };
        let is_inverse = direction == Direction::Decrypt;
        let schedule = KeySchedule::new(&trace.key, Direction::Encrypt).unwrap();
        let mut keys = schedule.round_keys().to_vec();
        if is_inverse {
            keys.reverse();
        }
        let (blocks, _) = input.as_chunks::<16>();
        for (&input, expected) in blocks.iter().zip(trace.states.chunks(trace.states.len() / blocks.len())) {
            let mut state = input;
            let mut states = Vec::new();
            let add = |state: &mut [u8; 16], key: &[u8; 16]| state.iter_mut().zip(key).for_each(|(s, k)| *s ^= k);
            add(&mut state, &keys[0]);
            states.push(state);
            for (round, key) in keys.iter().enumerate().skip(1) {
                let last = round + 1 == keys.len();
                state = state.map(|b| sbox::table(direction)[b as usize]);
                states.push(state);
                state = std::array::from_fn(|i| state[cipher::shift_rows_source(i, direction)]);
                states.push(state);
                if !last && !is_inverse {
                    cipher::mix_columns(&mut state, direction);
                    states.push(state);
                }
                add(&mut state, key);
                states.push(state);
                if !last && is_inverse {
                    cipher::mix_columns(&mut state, direction);
                    states.push(state);
                }
            }
            assert_eq!(states.concat(), expected, "{}", trace.source);
            let schedule = KeySchedule::new(&trace.key, direction).unwrap();
            assert_eq!(cipher::process(input, &schedule, direction), state, "{}", trace.source);
        }
    }
}
