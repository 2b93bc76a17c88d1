//! Every published vector on every engine that has its mode: a file is a test, which runs each of its cases in both directions, in place
//! and not. What is invalid must be refused, and what was to be authentic cleared.
//!
//! A bitsliced engine computes many blocks at once, one per lane, and layout mistakes show only in some lanes or only with certain
//! neighbours. So a message of ECB, CBC or CTR is also put at block 0 to 31 of a longer one, and into one of as many blocks as an engine's
//! largest batch: whole such messages are cases, too. In CTR they start that many blocks before the vector's counter, and in CBC the
//! ciphertext block before the vector is its IV.
//!
//! A Monte Carlo test is serial: 100 rounds, each with a key derived from the round before, of 1,000 calls of one block, each with data
//! derived from the call before (NIST, "The ACVP AES block cipher algorithm specification", section "Monte Carlo tests for block ciphers").
//! The values of every round are published, so that a round is a case.

use aes_bitslice_core::aes::{Direction, KeySchedule, cipher, sbox};
use aes_bitslice_runtime::{
    Buffers, CbcDecrypt, CbcEncrypt, Cipher, Cmac, CmacVerifyBatch, Counter, CounterMode, Ctr, Ecb, Engine, Error,
    GcmDecrypt, GcmEncrypt, GcmSivDecrypt, GcmSivEncrypt, Gmac, Kernels, Key, Mode, Nonce, Xts,
};
use aes_bitslice_tests::engines::{Device, has_mode, is_slow, name};
use aes_bitslice_tests::environment::{all_or, sample};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::reference::{Reference, noise};
use aes_bitslice_tests::tests;
use aes_bitslice_tests::vectors::{Case, FILES, any_tag, cases, for_engines};
use std::fmt::Debug;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut tests = Tests::default();
    for (file, _) in FILES {
        tests = tests.on_each(devices(file), &[], &[(file, move |engines: &'static [Engine]| check(file, engines))]);
    }
    tests.with(&[], tests![every_state_of_the_worked_examples]).run()
}

/// Those that have the mode of a file: table kernels neither authenticate nor tweak, and CMAC is the processor's on every engine.
fn devices(file: &str) -> &'static [Device] {
    match file.split('-').next() {
        Some("ecb" | "cbc" | "ctr") => &Device::ALL,
        Some("cmac") => &[Device::Cpu],
        _ => &[Device::Cpu, Device::Cuda(Kernels::Auto), Device::OpenCl],
    }
}

/// One in this many cases runs: except in exhaustive runs a part of a long file, and a smaller one where a call takes a while.
fn step(file: &str, cases: usize, slow: bool) -> usize {
    let some = match (file.contains("monte-carlo"), slow) {
        (true, true) => 100,
        (true, false) => 10,
        (false, true) if cases > 200 => 7,
        // In CAVP's GCM, every length of nonce, data and tag occurs among any few neighbours of fifteen.
        (false, _) if cases > 10_000 => 7,
        _ => 1,
    };
    all_or(1, some)
}

fn check(file: &str, engines: &[Engine]) {
    let published = for_engines(file);
    let slow = engines.iter().any(is_slow);
    for (i, case) in sample(0, step(file, published.len(), slow), published.iter().enumerate()) {
        let key = if case.mode == "xts" { Key::xts(&case.key) } else { Key::new(&case.key) };
        let Ok(key) = key else {
            assert!(!case.valid, "{}: the key is refused", case.source);
            continue;
        };
        let ciphers: Vec<Cipher> = engines.iter().map(|engine| engine.cipher(&key).unwrap()).collect();
        let run = |case: &Case| ciphers.iter().for_each(|cipher| Run { case, cipher }.check());
        run(case);
        // Of ACVP's known answers in ECB and CBC, most are CAVP's.
        let has_lanes = ["ecb", "cbc", "ctr"].contains(&case.mode.as_str()) && !file.ends_with("acvp");
        if case.valid && has_lanes {
            among_others(case, i, slow).for_each(|case| run(&case));
        }
    }
}

/// Lanes that every message is put in.
const LANES: usize = 32;
/// Blocks of an engine's largest batch.
const BATCH: usize = 512;

/// The case in lanes: in eight of 32, or in exhaustive runs in all, and in two of a batch, or in all in CTR, of which there are few cases.
/// Where even a short call takes a while, in one lane of each kind.
fn among_others(case: &Case, i: usize, slow: bool) -> impl Iterator<Item = Case> {
    let noise = noise(i as u64, 16 * BATCH + case.plaintext.len().next_multiple_of(16) - 16);
    let reference = Reference::new(&case.key);
    let of_batch = if case.mode == "ctr" { 1 } else { 256 };
    let steps = if slow { (LANES, BATCH) } else { (all_or(1, 4), of_batch) };
    // An odd number of lanes apart: neighbours are in other ones.
    let lanes = |step, of| sample(37 * i, step, 0..of).map(move |lane| (lane, of));
    lanes(steps.0, LANES)
        .chain(lanes(steps.1, BATCH))
        .map(move |(lane, of)| in_lane(case, lane, of, &noise[16 * (BATCH - of)..], &reference))
}

/// The case with `lane` blocks of noise before it, and noise after it.
fn in_lane(case: &Case, lane: usize, of: usize, noise: &[u8], reference: &Reference) -> Case {
    let start = 16 * lane;
    let end = start + case.plaintext.len();
    let (mut iv, mut ciphertext) = (case.iv.clone(), noise.to_vec());
    ciphertext[start..end].copy_from_slice(&case.ciphertext);
    let plaintext = match case.mode.as_str() {
        "ecb" => reference.ecb(Direction::Decrypt, &ciphertext),
        "cbc" => {
            if lane > 0 {
                ciphertext[start - 16..start].copy_from_slice(&case.iv);
                iv = vec![0x69; 16];
            }
            reference.cbc(Direction::Decrypt, block(&iv), &ciphertext)
        }
        _ => {
            iv = u128::from_be_bytes(block(&iv)).wrapping_sub(lane as u128).to_be_bytes().to_vec();
            reference.ctr(block(&iv), 0, &ciphertext)
        }
    };
    let source = format!("{}, in lane {lane} of {of}", case.source);
    // The reference gives the result for the noise only; the vector gives its own.
    assert_eq!(plaintext[start..end], case.plaintext, "{source}");
    Case { source, iv, plaintext, ciphertext, ..case.clone() }
}

fn block(bytes: &[u8]) -> [u8; 16] {
    bytes.try_into().expect("16 bytes")
}

/// A case on an engine.
struct Run<'a> {
    case: &'a Case,
    cipher: &'a Cipher,
}

impl Run<'_> {
    fn check(&self) {
        let Self { case, cipher } = *self;
        match case.mode.as_str() {
            "ecb" => {
                self.encrypts(|data| cipher.run(Ecb::encrypt(), data).map(|()| vec![]));
                self.decrypts(|data| cipher.run(Ecb::decrypt(), data));
            }
            "cbc" => {
                let iv = block(&case.iv);
                self.encrypts(|data| cipher.run(CbcEncrypt::new(&iv), data).map(|()| vec![]));
                if has_mode(cipher.engine(), Mode::CbcDecrypt) {
                    self.decrypts(|data| cipher.run(CbcDecrypt::new(&iv), data));
                }
            }
            "ctr" => {
                let first = block(&case.iv);
                let blocks = case.plaintext.len() as u32 / 16;
                let wraps = u32::from_be_bytes(*first.last_chunk().expect("4 bytes")).checked_add(blocks).is_none();
                for width in
                    if wraps { &[CounterMode::Ctr128BE][..] } else { &[CounterMode::Ctr128BE, CounterMode::Ctr32BE] }
                {
                    let counter = Counter::new(*width, first);
                    self.encrypts(|data| cipher.run(Ctr::new(&counter, 0), data).map(|()| vec![]));
                    self.decrypts(|data| cipher.run(Ctr::new(&counter, 0), data));
                }
            }
            "xts" => {
                let (bytes, number) = (case.plaintext.len() as u64, u128::from_le_bytes(block(&case.iv)));
                // A unit of this length, and the last one of longer units.
                for unit in [bytes, bytes.next_multiple_of(16)] {
                    self.encrypts(|data| cipher.run(Xts::encrypt(unit, number)?, data).map(|()| vec![]));
                    self.decrypts(|data| cipher.run(Xts::decrypt(unit, number)?, data));
                }
            }
            "gcm" | "gmac" => {
                let (Ok(nonce), Ok(tag)) = (Nonce::new(&case.iv), any_tag(&case.tag)) else {
                    return self.expect("its nonce or tag", false);
                };
                self.encrypts(|data| Ok(cipher.run(GcmEncrypt::new(&nonce, &case.aad), data)?.as_bytes().to_vec()));
                self.decrypts(|data| cipher.run(GcmDecrypt::new(&nonce, &case.aad, &tag), data));
                if case.ciphertext.is_empty() {
                    let found = cipher.run(Gmac::new(&nonce), &case.aad).expect("a tag");
                    self.expect("GMAC", found.as_bytes().starts_with(&case.tag));
                }
            }
            "gcm-siv" => {
                let (nonce, tag) = (Nonce::new(&case.iv).expect("a nonce"), any_tag(&case.tag).expect("a tag"));
                self.encrypts(|data| Ok(cipher.run(GcmSivEncrypt::new(&nonce, &case.aad), data)?.as_bytes().to_vec()));
                self.decrypts(|data| cipher.run(GcmSivDecrypt::new(&nonce, &case.aad, &tag), data));
            }
            "cmac" => {
                let found = cipher.run(Cmac::new(), &case.plaintext).expect("a tag");
                self.expect("CMAC", found.as_bytes().starts_with(&case.tag));
                // Tags of 5, 10 and 11 bytes are not supported.
                if let Ok(tag) = any_tag(&case.tag) {
                    let message = 0..case.plaintext.len() as u64;
                    let verify = CmacVerifyBatch::new(std::slice::from_ref(&message), &[tag]).expect("a batch");
                    let wrong = cipher.run(verify, &case.plaintext).expect("verdicts");
                    self.expect("verification", wrong.failed().is_empty());
                }
            }
            "ecb-monte-carlo" => self.round(false),
            "cbc-monte-carlo" => self.round(true),
            other => panic!("{}: mode {other}", case.source),
        }
    }

    fn what(&self) -> String {
        format!("{} on {}", self.case.source, name(self.cipher.engine()))
    }

    fn expect(&self, call: &str, is_accepted: bool) {
        match (self.case.valid, is_accepted) {
            (true, false) => panic!("{}: {call} is wrong", self.what()),
            (false, true) => panic!("{}: {call} is accepted, and must be refused", self.what()),
            _ => {}
        }
    }

    /// Of bits that are not whole bytes, only those are compared.
    fn is_same(&self, mut found: Vec<u8>, expected: &[u8]) -> bool {
        let mut expected = expected.to_vec();
        if let Some(bits) = self.case.bits {
            for data in [&mut found, &mut expected] {
                *data.last_mut().expect("a byte") &= !(0xff >> (bits % 8));
            }
        }
        found == expected
    }

    /// A call that returns a tag, or nothing.
    fn encrypts(&self, run: impl Fn(Buffers<'_>) -> Result<Vec<u8>, Error>) {
        let found = self.output(&self.case.plaintext, run);
        let is_case =
            |(data, tag): (_, Vec<u8>)| self.is_same(data, &self.case.ciphertext) && tag.starts_with(&self.case.tag);
        self.expect("encryption", found.is_some_and(is_case));
    }

    fn decrypts(&self, run: impl Fn(Buffers<'_>) -> Result<(), Error>) {
        let found = self.output(&self.case.ciphertext, run);
        self.expect("decryption", found.is_some_and(|(data, ())| self.is_same(data, &self.case.plaintext)));
    }

    /// What a call makes of data, in place and from an input to an output; `None` if it refuses it.
    fn output<T: PartialEq + Debug>(
        &self,
        data: &[u8],
        run: impl Fn(Buffers<'_>) -> Result<T, Error>,
    ) -> Option<(Vec<u8>, T)> {
        let (mut in_place, mut output) = (data.to_vec(), vec![0xa5; data.len()]);
        match (run((&mut in_place).into()), run((data, &mut output[..]).into())) {
            (Ok(one), Ok(other)) => {
                assert!(in_place == output && one == other, "{}: in place and not", self.what());
                Some((output, one))
            }
            (Err(Error::Unauthenticated), Err(Error::Unauthenticated)) => {
                let is_cleared = in_place.iter().chain(&output).all(|byte| *byte == 0);
                assert!(is_cleared, "{}: what is refused is not cleared", self.what());
                None
            }
            (Err(Error::Length { .. }), Err(Error::Length { .. })) => None,
            other => panic!("{}: in place and not: {other:?}", self.what()),
        }
    }

    /// A round of a Monte Carlo test: its last output, and the values of the next one.
    fn round(&self, is_cbc: bool) {
        let Self { case, cipher } = *self;
        let is_encryption = case.direction == "encrypt";
        if is_cbc && !is_encryption && !has_mode(cipher.engine(), Mode::CbcDecrypt) {
            return;
        }
        let (input, output) =
            if is_encryption { (&case.plaintext, &case.ciphertext) } else { (&case.ciphertext, &case.plaintext) };
        let mut input = block(input);
        let mut chain = if is_cbc { block(&case.iv) } else { [0; 16] };
        let (mut before, mut last) = ([0; 16], chain);
        for _ in 0..1000 {
            let mut data = input;
            match (is_cbc, is_encryption) {
                (false, true) => cipher.ecb_encrypt(&mut data),
                (false, false) => cipher.ecb_decrypt(&mut data),
                (true, true) => cipher.cbc_encrypt(&chain, &mut data),
                (true, false) => cipher.cbc_decrypt(&chain, &mut data),
            }
            .expect("a block");
            chain = if is_encryption { data } else { input };
            (before, last) = (last, data);
            // In CBC, the output of two calls ago.
            input = if is_cbc { before } else { last };
        }
        self.expect("the last output", *output == last);
        if let [next] = &case.rounds[..] {
            // The key XORed with as many of the last output bits.
            let came = [before, last].concat();
            let key: Vec<u8> =
                case.key.iter().zip(&came[32 - case.key.len()..]).map(|(key, came)| key ^ came).collect();
            let next_input = if is_encryption { &next.plaintext } else { &next.ciphertext };
            self.expect("the next key", next.key == key);
            self.expect("the next input", *next_input == input && (!is_cbc || next.iv == last));
        }
    }
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
