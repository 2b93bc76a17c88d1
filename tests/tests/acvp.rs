//! NIST's vectors for ACVP on every engine that has the mode: known answers in both directions, Monte Carlo tests, and inputs that must be
//! refused.
//!
//! A Monte Carlo test is serial: 100 rounds, each with a key derived from the round before, of 1,000 calls of one block, each with data
//! derived from the call before (NIST, "The ACVP AES block cipher algorithm specification", section "Monte Carlo tests for block ciphers").
//! The values of every round are published. Except in exhaustive runs, only the first rounds run: 10, or one where a call takes a while.

use aes_bitslice_runtime::Mode::CbcDecrypt;
use aes_bitslice_runtime::{
    Cipher, Cmac, CmacVerifyBatch, Counter, CounterMode, Engine, GcmDecrypt, GcmEncrypt, GcmSivDecrypt, GcmSivEncrypt,
    Gmac, Kernels, Key, Nonce, Tag, Xts,
};
use aes_bitslice_tests::acvp::cases;
use aes_bitslice_tests::engines::{Device, has_mode, is_slow, name};
use aes_bitslice_tests::environment::all_or;
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::json::Case;
use aes_bitslice_tests::tests_of_engines;
use std::process::ExitCode;

/// One in this many known answers is checked where a call takes a while, except in exhaustive runs.
const FEW: usize = 7;

fn main() -> ExitCode {
    let gpu = Device::Cuda(Kernels::Auto);
    Tests::default()
        .on_each(&Device::ALL, &[], tests_of_engines![ecb, cbc, ctr, ecb_monte_carlo, cbc_monte_carlo])
        .on_each(&[Device::Cpu, gpu, Device::OpenCl], &[], tests_of_engines![gcm, gcm_siv, gmac])
        .on_each(&[Device::Cpu, gpu], &[], tests_of_engines![xts])
        // Compilers for processors take minutes over these kernels, before they cache them.
        .on_each(&[Device::OpenCl], &[Need::Exhaustive], tests_of_engines![xts])
        .on_each(&[Device::Cpu], &[], tests_of_engines![cmac])
        .run()
}

fn cipher(engine: &Engine, case: &Case) -> Cipher {
    engine.cipher(&Key::new(&case.bytes("key")).unwrap()).unwrap()
}

fn is_monte_carlo(case: &Case) -> bool {
    match case.text("testType") {
        "AFT" => false,
        "MCT" => true,
        other => panic!("{}: a test of type {other}", case.source),
    }
}

fn is_encryption(case: &Case) -> bool {
    match case.text("direction") {
        "encrypt" => true,
        "decrypt" => false,
        other => panic!("{}: direction {other}", case.source),
    }
}

fn block(case: &Case, name: &str) -> [u8; 16] {
    case.bytes(name).try_into().unwrap()
}

/// Runs the known answers of a file on every engine, a part of them where a call takes a while.
fn check(engines: &[Engine], file: &str, run: impl Fn(&Engine, &Case, &str)) {
    for engine in engines {
        let step = if is_slow(engine) { all_or(1, FEW) } else { 1 };
        for case in cases(file).into_iter().filter(|case| !is_monte_carlo(case)).step_by(step) {
            run(engine, &case, &format!("{}, {}", name(engine), case.source));
        }
    }
}

fn ecb(engines: &'static [Engine]) {
    check(engines, "ACVP-AES-ECB", |engine, case, source| {
        let (cipher, plain, secret) = (cipher(engine, case), case.bytes("pt"), case.bytes("ct"));
        let mut data = plain.clone();
        cipher.ecb_encrypt(&mut data).unwrap();
        assert_eq!(data, secret, "{source}");
        cipher.ecb_decrypt(&mut data).unwrap();
        assert_eq!(data, plain, "{source}");
    });
}

fn cbc(engines: &'static [Engine]) {
    check(engines, "ACVP-AES-CBC", |engine, case, source| {
        let (cipher, iv) = (cipher(engine, case), block(case, "iv"));
        let (plain, secret) = (case.bytes("pt"), case.bytes("ct"));
        let mut data = plain.clone();
        cipher.cbc_encrypt(&iv, &mut data).unwrap();
        assert_eq!(data, secret, "{source}");
        if has_mode(engine, CbcDecrypt) {
            cipher.cbc_decrypt(&iv, &mut data).unwrap();
            assert_eq!(data, plain, "{source}");
        }
    });
}

/// In the last byte, only the bits of the message are compared.
fn ctr(engines: &'static [Engine]) {
    check(engines, "ACVP-AES-CTR", |engine, case, source| {
        let bits = case.number("payloadLen");
        let masked = |mut data: Vec<u8>| {
            assert_eq!(data.len(), bits.div_ceil(8), "{source}");
            if let (Some(last), rest @ 1..) = (data.last_mut(), bits % 8) {
                *last &= !(0xff >> rest);
            }
            data
        };
        let counter = Counter::new(CounterMode::Ctr32BE, block(case, "iv"));
        for (input, output) in [("pt", "ct"), ("ct", "pt")] {
            let mut data = case.bytes(input);
            cipher(engine, case).ctr_apply(&counter, 0, &mut data).unwrap();
            assert_eq!(masked(data), masked(case.bytes(output)), "{source}");
        }
    });
}

/// A round of a Monte Carlo test: its input, and after 1,000 calls the last two outputs.
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

/// Rounds of a Monte Carlo test that run, of 100.
fn rounds(engine: &Engine) -> usize {
    all_or(100, if is_slow(engine) { 1 } else { 10 })
}

fn monte_carlo(engines: &[Engine], file: &str, run: impl Fn(Round, &Cipher, bool) -> (Round, [u8; 16])) {
    for engine in engines {
        for case in cases(file).into_iter().filter(is_monte_carlo) {
            let is_encryption = is_encryption(&case);
            if !is_encryption && file == "ACVP-AES-CBC" && !has_mode(engine, CbcDecrypt) {
                continue;
            }
            let (input, output) = if is_encryption { ("pt", "ct") } else { ("ct", "pt") };
            let iv_of = |case: &Case| if file == "ACVP-AES-CBC" { block(case, "iv") } else { [0; 16] };
            let mut round = Round { key: case.bytes("key"), iv: iv_of(&case), input: block(&case, input) };
            let published = case.list("resultsArray");
            assert_eq!(published.len(), 100, "{}", case.source);
            for published in &published[..rounds(engine)] {
                let source = format!("{}, {}", name(engine), published.source);
                assert_eq!(round.key, published.bytes("key"), "{source}");
                assert_eq!((round.iv, round.input), (iv_of(published), block(published, input)), "{source}");
                let cipher = cipher(engine, published);
                let last;
                (round, last) = run(round, &cipher, is_encryption);
                assert_eq!(last, block(published, output), "{source}");
            }
        }
    }
}

fn ecb_monte_carlo(engines: &'static [Engine]) {
    monte_carlo(engines, "ACVP-AES-ECB", Round::ecb);
}

fn cbc_monte_carlo(engines: &'static [Engine]) {
    monte_carlo(engines, "ACVP-AES-CBC", Round::cbc);
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
    check(engines, "ACVP-AES-GCM", |engine, case, source| {
        let (cipher, nonce) = (cipher(engine, case), Nonce::new(&case.bytes("iv")).unwrap());
        let (aad, tag) = (case.bytes("aad"), Tag::new(&case.bytes("tag")).unwrap());
        let found = opened(case.bytes("ct"), |data| cipher.run(GcmDecrypt::new(&nonce, &aad, &tag), data));
        assert_eq!(found, case.is_valid.then(|| case.bytes("pt")), "{source}");
        if case.is_valid {
            let mut data = case.bytes("pt");
            let found = cipher.run(GcmEncrypt::new(&nonce, &aad), &mut data).unwrap();
            assert_eq!(data, case.bytes("ct"), "{source}");
            assert_eq!(found.truncated(tag.as_bytes().len()).unwrap(), tag, "{source}");
        }
    });
}

fn gmac(engines: &'static [Engine]) {
    check(engines, "ACVP-AES-GMAC", |engine, case, source| {
        let (cipher, nonce) = (cipher(engine, case), Nonce::new(&case.bytes("iv")).unwrap());
        let (aad, tag) = (case.bytes("aad"), Tag::new(&case.bytes("tag")).unwrap());
        let found = cipher.run(Gmac::new(&nonce), &aad).unwrap();
        assert_eq!(found.truncated(tag.as_bytes().len()).unwrap() == tag, case.is_valid, "{source}");
        let found = opened(vec![], |data| cipher.run(GcmDecrypt::new(&nonce, &aad, &tag), data));
        assert_eq!(found.is_some(), case.is_valid, "{source}");
    });
}

/// The tag is after the ciphertext.
fn gcm_siv(engines: &'static [Engine]) {
    check(engines, "ACVP-AES-GCM-SIV", |engine, case, source| {
        let (cipher, nonce) = (cipher(engine, case), Nonce::new(&case.bytes("iv")).unwrap());
        let (aad, mut secret) = (case.bytes("aad"), case.bytes("ct"));
        let tag = Tag::new(&secret.split_off(secret.len() - 16)).unwrap();
        let found = opened(secret.clone(), |data| cipher.run(GcmSivDecrypt::new(&nonce, &aad, &tag), data));
        assert_eq!(found, case.is_valid.then(|| case.bytes("pt")), "{source}");
        if case.is_valid {
            let mut data = case.bytes("pt");
            let found = cipher.run(GcmSivEncrypt::new(&nonce, &aad), &mut data).unwrap();
            assert_eq!((data, found), (secret, tag), "{source}");
        }
    });
}

/// This engine does not support units that are not whole bytes: 2 in each of 14 groups.
fn xts(engines: &'static [Engine]) {
    let is_in_bits = |case: &Case| !case.number("payloadLen").is_multiple_of(8);
    assert_eq!(cases("ACVP-AES-XTS").iter().filter(|case| is_in_bits(case)).count(), 28);
    check(engines, "ACVP-AES-XTS", |engine, case, source| {
        if is_in_bits(case) {
            return;
        }
        let cipher = engine.cipher(&Key::xts(&case.bytes("key")).unwrap()).unwrap();
        let tweak = u128::from_le_bytes(block(case, "tweakValue"));
        if case.text("tweakMode") == "number" {
            assert_eq!(tweak, case.number("sequenceNumber") as u128, "{source}");
        }
        let (plain, secret) = (case.bytes("pt"), case.bytes("ct"));
        let unit = plain.len() as u64;
        assert_eq!(plain.len(), case.number("payloadLen") / 8, "{source}");
        let mut data = plain.clone();
        cipher.run(Xts::encrypt(unit, tweak).unwrap(), &mut data).unwrap();
        assert_eq!(data, secret, "{source}");
        cipher.run(Xts::decrypt(unit, tweak).unwrap(), &mut data).unwrap();
        assert_eq!(data, plain, "{source}");
    });
}

fn cmac(engines: &'static [Engine]) {
    check(engines, "CMAC-AES", |engine, case, source| {
        let (cipher, message, mac) = (cipher(engine, case), case.bytes("message"), case.bytes("mac"));
        assert_eq!((8 * message.len(), 8 * mac.len()), (case.number("msgLen"), case.number("macLen")), "{source}");
        let found = cipher.run(Cmac::new(), &message).unwrap();
        assert_eq!(found.as_bytes()[..mac.len()] == mac, case.is_valid, "{source}");
        // This engine does not support tags of 11 bytes.
        if let Ok(tag) = Tag::new(&mac) {
            let verify = CmacVerifyBatch::new(std::slice::from_ref(&(0..message.len() as u64)), &[tag]).unwrap();
            assert_eq!(cipher.run(verify, &message).unwrap().failed().is_empty(), case.is_valid, "{source}");
        } else {
            assert_eq!(mac.len(), 11, "{source}");
        }
    });
}
