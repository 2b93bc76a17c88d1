//! Wycheproof: every engine that has the mode computes and accepts valid cases, and refuses invalid ones.

use aes_bitslice_runtime::{
    Cipher, Cmac, Engine, GcmDecrypt, GcmEncrypt, GcmSivDecrypt, GcmSivEncrypt, Gmac, Kernels, Key, Nonce, Tag, Xts,
};
use aes_bitslice_tests::engines::{Device, has_mode, is_slow, name};
use aes_bitslice_tests::environment::{all_or, sample};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::tests_of_engines;
use aes_bitslice_tests::vectors::{Case, any_tag, cases};
use std::process::ExitCode;

/// One in this many cases is checked where a call takes a while, except in exhaustive runs.
const FEW: usize = 7;

fn main() -> ExitCode {
    let gpu = Device::Cuda(Kernels::Auto);
    Tests::default()
        .on_each(&Device::ALL, &[], tests_of_engines![cbc])
        .on_each(&[Device::Cpu, gpu, Device::OpenCl], &[], tests_of_engines![gcm, gcm_siv, gmac, xts])
        .on_each(&[Device::Cpu], &[], tests_of_engines![cmac])
        .run()
}

/// Runs all cases of a file on every engine, a part of them where a call takes a while; `run` says whether one was accepted. Returns how
/// many keys of other lengths were refused.
fn check(
    engines: &[Engine],
    file: &str,
    key: impl Fn(&[u8]) -> Option<Key>,
    run: impl Fn(&Cipher, &Case) -> bool,
) -> usize {
    let (mut with_keys, mut refused) = (vec![], 0);
    for case in cases(file) {
        match key(&case.key) {
            Some(key) => with_keys.push((key, case)),
            None => {
                // XTS is for keys of twice 128 and twice 256 bits (IEEE 1619).
                let is_no_key_of_xts = file == "xts-wycheproof" && case.key.len() == 48;
                assert!(!case.valid || is_no_key_of_xts, "{}: the key was refused", case.source);
                refused += 1;
            }
        }
    }
    for engine in engines {
        let step = if is_slow(engine) { all_or(1, FEW) } else { 1 };
        for (key, case) in sample(0, step, &with_keys) {
            let accepted = run(&engine.cipher(key).unwrap(), case);
            assert_eq!(accepted, case.valid, "{}, {}", name(engine), case.source);
        }
    }
    refused
}

fn gcm(engines: &'static [Engine]) {
    check(
        engines,
        "gcm-wycheproof",
        |key| Key::new(key).ok(),
        |cipher, case| {
            let Ok(nonce) = Nonce::new(&case.iv) else { return false };
            let Ok(tag) = any_tag(&case.tag) else { return false };
            let mut data = case.plaintext.clone();
            let found = cipher.run(GcmEncrypt::new(&nonce, &case.aad), &mut data).unwrap();
            assert_eq!((data == case.ciphertext && found == tag), case.valid, "{}", case.source);
            let mut data = case.ciphertext.clone();
            let accepted = cipher.run(GcmDecrypt::new(&nonce, &case.aad, &tag), &mut data).is_ok();
            assert!(
                if accepted { data == case.plaintext } else { data.iter().all(|byte| *byte == 0) },
                "{}",
                case.source
            );
            accepted
        },
    );
}

/// The vectors of RFC 8452, appendix C, are among them.
fn gcm_siv(engines: &'static [Engine]) {
    let refused = check(
        engines,
        "gcm-siv-wycheproof",
        |key| Key::new(key).ok(),
        |cipher, case| {
            let (nonce, tag) = (Nonce::new(&case.iv).unwrap(), Tag::new(&case.tag).unwrap());
            let mut data = case.plaintext.clone();
            let found = cipher.run(GcmSivEncrypt::new(&nonce, &case.aad), &mut data).unwrap();
            assert_eq!((data == case.ciphertext && found == tag), case.valid, "{}", case.source);
            let mut data = case.ciphertext.clone();
            let accepted = cipher.run(GcmSivDecrypt::new(&nonce, &case.aad, &tag), &mut data).is_ok();
            assert!(
                if accepted { data == case.plaintext } else { data.iter().all(|byte| *byte == 0) },
                "{}",
                case.source
            );
            accepted
        },
    );
    assert_eq!(refused, 0);
}

fn gmac(engines: &'static [Engine]) {
    check(
        engines,
        "gmac-wycheproof",
        |key| Key::new(key).ok(),
        |cipher, case| {
            let Ok(nonce) = Nonce::new(&case.iv) else { return false };
            cipher.run(Gmac::new(&nonce), &case.aad).unwrap().as_bytes() == case.tag
        },
    );
}

fn cmac(engines: &'static [Engine]) {
    let refused = check(
        engines,
        "cmac-wycheproof",
        |key| Key::new(key).ok(),
        |cipher, case| cipher.run(Cmac::new(), &case.plaintext).unwrap().as_bytes() == case.tag,
    );
    assert_eq!(refused, 5);
}

fn xts(engines: &'static [Engine]) {
    check(
        engines,
        "xts-wycheproof",
        |key| Key::xts(key).ok(),
        |cipher, case| {
            let unit = case.plaintext.len() as u64;
            let number = u128::from_le_bytes(case.iv.as_slice().try_into().unwrap());
            let run = |operation, data: &[u8]| {
                let mut data = data.to_vec();
                cipher.run(operation, &mut data).unwrap();
                data
            };
            run(Xts::encrypt(unit, number).unwrap(), &case.plaintext) == case.ciphertext
                && run(Xts::decrypt(unit, number).unwrap(), &case.ciphertext) == case.plaintext
        },
    );
}

/// The message with PKCS #5 padding, which the engine neither adds nor checks.
fn padded(message: &[u8]) -> Vec<u8> {
    let n = 16 - message.len() % 16;
    [message, &vec![n as u8; n]].concat()
}

fn is_padded(data: &[u8]) -> bool {
    data.last()
        .is_some_and(|&n| (1..=16).contains(&n) && data[data.len() - usize::from(n)..].iter().all(|byte| *byte == n))
}

fn cbc(engines: &'static [Engine]) {
    check(
        engines,
        "cbc-pkcs5-wycheproof",
        |key| Key::new(key).ok(),
        |cipher, case| {
            let iv: [u8; 16] = case.iv.as_slice().try_into().unwrap();
            let (message, secret) = (padded(&case.plaintext), &case.ciphertext);
            if case.valid {
                let mut data = message.clone();
                cipher.cbc_encrypt(&iv, &mut data).unwrap();
                assert_eq!(&data, secret, "{}", case.source);
            }
            if !has_mode(cipher.engine(), aes_bitslice_runtime::Mode::CbcDecrypt) {
                return case.valid;
            }
            let mut data = secret.clone();
            cipher.cbc_decrypt(&iv, &mut data).is_ok() && is_padded(&data) && data == message
        },
    );
}
