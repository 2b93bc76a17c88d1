//! NIST's vectors for ACVP on every engine that has the mode: known answers in both directions, Monte Carlo tests, and inputs that must be
//! refused.
//!
//! A Monte Carlo test is serial: 100 rounds, each with a key derived from the round before, of 1,000 calls of one block, each with data
//! derived from the call before (NIST, "The ACVP AES block cipher algorithm specification", section "Monte Carlo tests for block ciphers").
//! The values of every round are published. Except in exhaustive runs, 10 rounds run, or one where a call takes a while.

use aes_bitslice_runtime::Mode::CbcDecrypt;
use aes_bitslice_runtime::{
    Cipher, Cmac, CmacVerifyBatch, Counter, CounterMode, Engine, GcmDecrypt, GcmEncrypt, GcmSivDecrypt, GcmSivEncrypt,
    Gmac, Kernels, Key, Nonce, Tag, Xts,
};
use aes_bitslice_tests::engines::{Device, cipher, has_mode, is_slow, name};
use aes_bitslice_tests::environment::{all_or, sample};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::tests_of_engines;
use aes_bitslice_tests::vectors::{Case, any_tag, cases};
use std::process::ExitCode;

/// One in this many known answers is checked where a call takes a while, except in exhaustive runs.
const FEW: usize = 7;

fn main() -> ExitCode {
    let gpu = Device::Cuda(Kernels::Auto);
    Tests::default()
        .on_each(&Device::ALL, &[], tests_of_engines![ecb, cbc, ctr, ecb_monte_carlo, cbc_monte_carlo])
        .on_each(&[Device::Cpu, gpu, Device::OpenCl], &[], tests_of_engines![gcm, gcm_siv, gmac, xts])
        .on_each(&[Device::Cpu], &[], tests_of_engines![cmac])
        .run()
}

fn block(bytes: &[u8]) -> [u8; 16] {
    bytes.try_into().unwrap()
}

/// Runs the known answers of a file on every engine, a part of them where a call takes a while.
fn check(engines: &[Engine], file: &str, run: impl Fn(&Engine, &Case, &str)) {
    for engine in engines {
        let step = if is_slow(engine) { all_or(1, FEW) } else { 1 };
        for case in sample(0, step, cases(file)) {
            run(engine, &case, &format!("{}, {}", name(engine), case.source));
        }
    }
}

fn ecb(engines: &'static [Engine]) {
    check(engines, "ecb-acvp", |engine, case, source| {
        let cipher = cipher(engine, &case.key);
        let mut data = case.plaintext.clone();
        cipher.ecb_encrypt(&mut data).unwrap();
        assert_eq!(data, case.ciphertext, "{source}");
        cipher.ecb_decrypt(&mut data).unwrap();
        assert_eq!(data, case.plaintext, "{source}");
    });
}

fn cbc(engines: &'static [Engine]) {
    check(engines, "cbc-acvp", |engine, case, source| {
        let (cipher, iv) = (cipher(engine, &case.key), block(&case.iv));
        let mut data = case.plaintext.clone();
        cipher.cbc_encrypt(&iv, &mut data).unwrap();
        assert_eq!(data, case.ciphertext, "{source}");
        if has_mode(engine, CbcDecrypt) {
            cipher.cbc_decrypt(&iv, &mut data).unwrap();
            assert_eq!(data, case.plaintext, "{source}");
        }
    });
}

/// In the last byte, only the bits of the message are compared.
fn ctr(engines: &'static [Engine]) {
    check(engines, "ctr-acvp", |engine, case, source| {
        let masked = |data: &[u8]| {
            let mut data = data.to_vec();
            if let (Some(last), Some(bits)) = (data.last_mut(), case.bits) {
                *last &= !(0xff >> (bits % 8));
            }
            data
        };
        let counter = Counter::new(CounterMode::Ctr32BE, block(&case.iv));
        for (input, output) in [(&case.plaintext, &case.ciphertext), (&case.ciphertext, &case.plaintext)] {
            let mut data = input.clone();
            cipher(engine, &case.key).ctr_apply(&counter, 0, &mut data).unwrap();
            assert_eq!(masked(&data), masked(output), "{source}");
        }
    });
}

/// A round of a Monte Carlo test: its input, and after 1,000 calls the last two outputs.
#[derive(PartialEq, Debug)]
struct Round {
    key: Vec<u8>,
    iv: [u8; 16],
    input: [u8; 16],
}

impl Round {
    /// The next key is this one XORed with the same number of the last output bits.
    fn next_key(&self, before: &[u8; 16], last: &[u8; 16]) -> Vec<u8> {
        let came = [*before, *last].concat();
        self.key.iter().zip(&came[32 - self.key.len()..]).map(|(key, came)| key ^ came).collect()
    }

    fn ecb(self, cipher: &Cipher, is_encryption: bool) -> (Self, [u8; 16]) {
        let (mut before, mut last) = ([0; 16], self.input);
        for _ in 0..1000 {
            before = last;
            if is_encryption { cipher.ecb_encrypt(&mut last) } else { cipher.ecb_decrypt(&mut last) }.unwrap();
        }
        (Self { key: self.next_key(&before, &last), iv: self.iv, input: last }, last)
    }

    /// The input is the output of two calls ago.
    fn cbc(self, cipher: &Cipher, is_encryption: bool) -> (Self, [u8; 16]) {
        let (mut chain, mut input, mut last) = (self.iv, self.input, self.iv);
        for _ in 0..1000 {
            let mut data = input;
            let run = if is_encryption { Cipher::cbc_encrypt } else { Cipher::cbc_decrypt };
            run(cipher, &chain, &mut data).unwrap();
            chain = if is_encryption { data } else { input };
            (input, last) = (last, data);
        }
        (Self { key: self.next_key(&input, &last), iv: last, input }, last)
    }
}

/// One in how many of the 100 rounds of a Monte Carlo test runs.
fn step(engine: &Engine) -> usize {
    all_or(1, if is_slow(engine) { 100 } else { 10 })
}

fn monte_carlo(engines: &[Engine], file: &str, run: impl Fn(Round, &Cipher, bool) -> (Round, [u8; 16])) {
    for engine in engines {
        for case in cases(file) {
            let source = format!("{}, {}", name(engine), case.source);
            let is_cbc = case.mode == "cbc-monte-carlo";
            let is_encryption = match case.direction.as_str() {
                "encrypt" => true,
                "decrypt" => false,
                other => panic!("{source}: direction {other}"),
            };
            if !is_encryption && is_cbc && !has_mode(engine, CbcDecrypt) {
                continue;
            }
            let iv_of = |iv: &[u8]| if is_cbc { block(iv) } else { [0; 16] };
            let in_and_out = |plain, secret| if is_encryption { (plain, secret) } else { (secret, plain) };
            let (input, _) = in_and_out(&case.plaintext, &case.ciphertext);
            let first = Round { key: case.key.clone(), iv: iv_of(&case.iv), input: block(input) };
            let begins = |n: usize| {
                let published = &case.rounds[n];
                let (input, output) = in_and_out(&published.plaintext, &published.ciphertext);
                (Round { key: published.key.clone(), iv: iv_of(&published.iv), input: block(input) }, block(output))
            };
            assert_eq!((case.rounds.len(), begins(0).0), (100, first), "{source}");
            for n in sample(0, step(engine), 0..100) {
                let (round, output) = begins(n);
                let cipher = engine.cipher(&Key::new(&round.key).unwrap()).unwrap();
                let (next, last) = run(round, &cipher, is_encryption);
                assert_eq!(last, output, "{source}, round {n}");
                assert!(n == 99 || next == begins(n + 1).0, "{source}, after round {n}");
            }
        }
    }
}

fn ecb_monte_carlo(engines: &'static [Engine]) {
    monte_carlo(engines, "ecb-monte-carlo-acvp", Round::ecb);
}

fn cbc_monte_carlo(engines: &'static [Engine]) {
    monte_carlo(engines, "cbc-monte-carlo-acvp", Round::cbc);
}

/// The decrypted data; or nothing, and then the data must have been cleared.
fn opened(data: Vec<u8>, run: impl FnOnce(&mut [u8]) -> Result<(), aes_bitslice_runtime::Error>) -> Option<Vec<u8>> {
    let mut data = data;
    match run(&mut data) {
        Ok(()) => Some(data),
        Err(aes_bitslice_runtime::Error::Unauthenticated) => {
            assert!(data.iter().all(|byte| *byte == 0), "what is refused is cleared");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn gcm(engines: &'static [Engine]) {
    check(engines, "gcm-acvp", |engine, case, source| {
        let (cipher, nonce) = (cipher(engine, &case.key), Nonce::new(&case.iv).unwrap());
        let (aad, tag) = (&case.aad, any_tag(&case.tag).unwrap());
        let found = opened(case.ciphertext.clone(), |data| cipher.run(GcmDecrypt::new(&nonce, aad, &tag), data));
        assert_eq!(found, case.valid.then(|| case.plaintext.clone()), "{source}");
        if case.valid {
            let mut data = case.plaintext.clone();
            let found = cipher.run(GcmEncrypt::new(&nonce, aad), &mut data).unwrap();
            assert_eq!(data, case.ciphertext, "{source}");
            assert_eq!(any_tag(&found.as_bytes()[..case.tag.len()]).unwrap(), tag, "{source}");
        }
    });
}

fn gmac(engines: &'static [Engine]) {
    check(engines, "gmac-acvp", |engine, case, source| {
        let (cipher, nonce) = (cipher(engine, &case.key), Nonce::new(&case.iv).unwrap());
        let (aad, tag) = (&case.aad, any_tag(&case.tag).unwrap());
        let found = cipher.run(Gmac::new(&nonce), aad).unwrap();
        assert_eq!(any_tag(&found.as_bytes()[..case.tag.len()]).unwrap() == tag, case.valid, "{source}");
        let found = opened(vec![], |data| cipher.run(GcmDecrypt::new(&nonce, aad, &tag), data));
        assert_eq!(found.is_some(), case.valid, "{source}");
    });
}

fn gcm_siv(engines: &'static [Engine]) {
    check(engines, "gcm-siv-acvp", |engine, case, source| {
        let (cipher, nonce) = (cipher(engine, &case.key), Nonce::new(&case.iv).unwrap());
        let (aad, tag) = (&case.aad, Tag::new(&case.tag).unwrap());
        let found = opened(case.ciphertext.clone(), |data| cipher.run(GcmSivDecrypt::new(&nonce, aad, &tag), data));
        assert_eq!(found, case.valid.then(|| case.plaintext.clone()), "{source}");
        if case.valid {
            let mut data = case.plaintext.clone();
            let found = cipher.run(GcmSivEncrypt::new(&nonce, aad), &mut data).unwrap();
            assert_eq!((&data, found), (&case.ciphertext, tag), "{source}");
        }
    });
}

/// This engine does not support units that are not whole bytes: 2 in each of 14 groups.
fn xts(engines: &'static [Engine]) {
    assert_eq!(cases("xts-acvp").iter().filter(|case| case.bits.is_some()).count(), 28);
    check(engines, "xts-acvp", |engine, case, source| {
        if case.bits.is_some() {
            return;
        }
        let cipher = engine.cipher(&Key::xts(&case.key).unwrap()).unwrap();
        let (unit, tweak) = (case.plaintext.len() as u64, u128::from_le_bytes(block(&case.iv)));
        let mut data = case.plaintext.clone();
        cipher.run(Xts::encrypt(unit, tweak).unwrap(), &mut data).unwrap();
        assert_eq!(data, case.ciphertext, "{source}");
        cipher.run(Xts::decrypt(unit, tweak).unwrap(), &mut data).unwrap();
        assert_eq!(data, case.plaintext, "{source}");
    });
}

fn cmac(engines: &'static [Engine]) {
    check(engines, "cmac-acvp", |engine, case, source| {
        let (cipher, message, mac) = (cipher(engine, &case.key), &case.plaintext, &case.tag);
        let found = cipher.run(Cmac::new(), message).unwrap();
        assert_eq!(found.as_bytes()[..mac.len()] == *mac, case.valid, "{source}");
        // This engine does not support tags of 11 bytes.
        if let Ok(tag) = any_tag(mac) {
            let verify = CmacVerifyBatch::new(std::slice::from_ref(&(0..message.len() as u64)), &[tag]).unwrap();
            assert_eq!(cipher.run(verify, message).unwrap().failed().is_empty(), case.valid, "{source}");
        } else {
            assert_eq!(mac.len(), 11, "{source}");
        }
    });
}
