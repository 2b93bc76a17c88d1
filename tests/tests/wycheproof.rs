//! Wycheproof: every engine that has the mode computes and accepts valid cases, and refuses invalid ones.

use aes_bitslice_runtime::{
    Cipher, Cmac, Engine, GcmDecrypt, GcmEncrypt, GcmSivDecrypt, GcmSivEncrypt, Gmac, Kernels, Key, Nonce, Tag, Xts,
};
use aes_bitslice_tests::engines::{Device, has_mode, is_slow, name};
use aes_bitslice_tests::environment::all_or;
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::json::Case;
use aes_bitslice_tests::tests_of_engines;
use aes_bitslice_tests::wycheproof::cases;
use std::process::ExitCode;

/// One in this many cases is checked where a call takes a while, except in exhaustive runs.
const FEW: usize = 7;

fn main() -> ExitCode {
    let gpu = Device::Cuda(Kernels::Auto);
    Tests::default()
        .on_each(&Device::ALL, &[], tests_of_engines![cbc])
        .on_each(&[Device::Cpu, gpu, Device::OpenCl], &[], tests_of_engines![gcm, gcm_siv, gmac])
        .on_each(&[Device::Cpu, gpu], &[], tests_of_engines![xts])
        // Compilers for processors take minutes over these kernels, before they cache them.
        .on_each(&[Device::OpenCl], &[Need::Exhaustive], tests_of_engines![xts])
        .on_each(&[Device::Cpu], &[], tests_of_engines![cmac])
        .run()
}

/// Runs all cases of a file on every engine, a part of them where a call takes a while; `run` says whether one was accepted. Returns how
/// many keys of other lengths were refused, on each engine.
fn check(
    engines: &[Engine],
    file: &str,
    key: impl Fn(&[u8]) -> Option<Key>,
    run: impl Fn(&Cipher, &Case) -> bool,
) -> usize {
    let mut refused = 0;
    for engine in engines {
        let step = if is_slow(engine) { all_or(1, FEW) } else { 1 };
        for case in cases(file).into_iter().step_by(step) {
            let source = format!("{}, {}", name(engine), case.source);
            let bytes = case.bytes("key");
            let Some(key) = key(&bytes) else {
                // XTS is for keys of twice 128 and twice 256 bits (IEEE 1619).
                let is_no_key_of_xts = file == "aes_xts" && bytes.len() == 48;
                assert!(!case.is_valid || is_no_key_of_xts, "{source}: the key was refused");
                refused += 1;
                continue;
            };
            let accepted = run(&engine.cipher(&key).unwrap(), &case);
            assert_eq!(accepted, case.is_valid, "{source}");
        }
    }
    refused
}

fn gcm(engines: &'static [Engine]) {
    check(
        engines,
        "aes_gcm",
        |key| Key::new(key).ok(),
        |cipher, case| {
            let Ok(nonce) = Nonce::new(&case.bytes("iv")) else { return false };
            let Ok(tag) = Tag::new(&case.bytes("tag")) else { return false };
            let (aad, plain, secret) = (case.bytes("aad"), case.bytes("msg"), case.bytes("ct"));
            let mut data = plain.clone();
            let found = cipher.run(GcmEncrypt::new(&nonce, &aad), &mut data).unwrap();
            assert_eq!((data == secret && found == tag), case.is_valid, "{}", case.source);
            let mut data = secret.clone();
            let accepted = cipher.run(GcmDecrypt::new(&nonce, &aad, &tag), &mut data).is_ok();
            assert!(if accepted { data == plain } else { data.iter().all(|byte| *byte == 0) }, "{}", case.source);
            accepted
        },
    );
}

/// The vectors of RFC 8452, appendix C, are among them.
fn gcm_siv(engines: &'static [Engine]) {
    let refused = check(
        engines,
        "aes_gcm_siv",
        |key| Key::new(key).ok(),
        |cipher, case| {
            let (nonce, tag) = (Nonce::new(&case.bytes("iv")).unwrap(), Tag::new(&case.bytes("tag")).unwrap());
            let (aad, plain, secret) = (case.bytes("aad"), case.bytes("msg"), case.bytes("ct"));
            let mut data = plain.clone();
            let found = cipher.run(GcmSivEncrypt::new(&nonce, &aad), &mut data).unwrap();
            assert_eq!((data == secret && found == tag), case.is_valid, "{}", case.source);
            let mut data = secret.clone();
            let accepted = cipher.run(GcmSivDecrypt::new(&nonce, &aad, &tag), &mut data).is_ok();
            assert!(if accepted { data == plain } else { data.iter().all(|byte| *byte == 0) }, "{}", case.source);
            accepted
        },
    );
    assert_eq!(refused, 0);
}

fn gmac(engines: &'static [Engine]) {
    check(
        engines,
        "aes_gmac",
        |key| Key::new(key).ok(),
        |cipher, case| {
            let Ok(nonce) = Nonce::new(&case.bytes("iv")) else { return false };
            cipher.run(Gmac::new(&nonce), &case.bytes("msg")).unwrap().as_bytes() == case.bytes("tag")
        },
    );
}

fn cmac(engines: &'static [Engine]) {
    let refused = check(
        engines,
        "aes_cmac",
        |key| Key::new(key).ok(),
        |cipher, case| cipher.run(Cmac::new(), &case.bytes("msg")).unwrap().as_bytes() == case.bytes("tag"),
    );
    assert_eq!(refused, 5 * engines.len());
}

fn xts(engines: &'static [Engine]) {
    check(
        engines,
        "aes_xts",
        |key| Key::xts(key).ok(),
        |cipher, case| {
            let (iv, plain, secret) = (case.bytes("iv"), case.bytes("msg"), case.bytes("ct"));
            let mut tweak = [0; 16];
            tweak[..iv.len()].copy_from_slice(&iv);
            let (unit, number) = (plain.len() as u64, u128::from_le_bytes(tweak));
            let run = |operation, data: &[u8]| {
                let mut data = data.to_vec();
                cipher.run(operation, &mut data).unwrap();
                data
            };
            run(Xts::encrypt(unit, number).unwrap(), &plain) == secret
                && run(Xts::decrypt(unit, number).unwrap(), &secret) == plain
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
        "aes_cbc_pkcs5",
        |key| Key::new(key).ok(),
        |cipher, case| {
            let iv: [u8; 16] = case.bytes("iv").try_into().unwrap();
            let (message, secret) = (padded(&case.bytes("msg")), case.bytes("ct"));
            if case.is_valid {
                let mut data = message.clone();
                cipher.cbc_encrypt(&iv, &mut data).unwrap();
                assert_eq!(data, secret, "{}", case.source);
            }
            if !has_mode(cipher.engine(), aes_bitslice_runtime::Mode::CbcDecrypt) {
                return case.is_valid;
            }
            let mut data = secret.clone();
            cipher.cbc_decrypt(&iv, &mut data).is_ok() && is_padded(&data) && data == message
        },
    );
}
