//! Many GCM messages in one call, each under a key of its own: each against another implementation, in host memory and in GPU memory; the
//! bytes between them; changed messages; invalid calls.

use aes_bitslice_runtime::{
    Aads, Backend, Engine, Error, GcmDecryptBatch, GcmDecryptJobs, GcmEncryptJobs, GcmJob, GcmJobs, GcmMessage,
    JobKeys, Kernels, KeyBits, Nonces, Ranges, Tag,
};
use aes_bitslice_tests::arrays::{Arrays, after_gaps};
use aes_bitslice_tests::engines::Device;
use aes_bitslice_tests::environment::{all_or, random};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::memory::Memory;
use aes_bitslice_tests::messages::{Messages, side_by_side};
use aes_bitslice_tests::reference::noise;
use aes_bitslice_tests::vectors::any_tag;
use aes_bitslice_tests::{refused, tests, tests_of_engines};
use proptest::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Tests::default()
        .on_each(
            &[Device::Cpu, Device::Cuda(Kernels::Auto), Device::OpenCl],
            &[],
            tests_of_engines![
                messages_are_as_another_has_them,
                arrays_are_as_lists,
                what_was_changed_is_cleared_alone,
                nothing_to_do
            ],
        )
        .on_each(
            &[Device::Cuda(Kernels::Auto)],
            &[],
            tests_of_engines![from_one_buffer_to_another, few_keys, many_messages],
        )
        .with(&[], tests![what_cannot_be_is_refused, keys_are_not_printed])
        .run()
}

/// Messages, each under a key of its own.
fn messages(seed: u64, bits: KeyBits, lengths: &[(usize, usize, usize)]) -> Messages {
    let keys = (0..lengths.len()).map(|n| noise(seed + 1 + n as u64, bits.bytes())).collect();
    Messages::new(seed, keys, lengths)
}

fn nonces(messages: &Messages) -> Vec<[u8; 12]> {
    messages.nonces.iter().map(|nonce| nonce[..].try_into().unwrap()).collect()
}

fn list(messages: &Messages) -> Vec<GcmJob<'_>> {
    let job = |(n, nonce): (usize, _)| GcmJob {
        key: &messages.keys[n],
        nonce,
        aad: &messages.aad[n],
        range: messages.ranges[n].clone(),
    };
    nonces(messages).into_iter().enumerate().map(job).collect()
}

/// Encrypts and decrypts them on each engine, and one with a forged tag.
fn check(engines: &[Engine], messages: &Messages) {
    let (known, list) = (messages.gcm(), list(messages));
    let encrypt = GcmEncryptJobs::new(&list).unwrap();
    for engine in engines {
        let decrypt = |tags: &[Tag]| GcmDecryptJobs::new(&list, tags).unwrap();
        known.check(&engine.under_own_keys(), &encrypt, decrypt, &messages.one(7));
    }
}

/// Lengths around blocks, runs and steps, then random ones.
fn messages_are_as_another_has_them(engines: &'static [Engine]) {
    let fixed: [&[(usize, usize, usize)]; 5] = [
        &[(1500, 13, 0), (0, 0, 0), (16, 0, 3), (4096, 20, 4), (1, 1, 0), (0, 17, 0), (511, 16, 1), (513, 15, 0)],
        &[(100, 0, 0)],
        &[(512, 0, 0); 40],
        &[(70_001, 3, 5), (33, 40_000, 2)],
        &[(64, 64, 0); 700],
    ];
    for (n, (lengths, bits)) in fixed.into_iter().zip(KeyBits::ALL.into_iter().cycle()).enumerate() {
        check(engines, &messages(n as u64, bits, lengths));
    }
    let lengths = || prop::collection::vec((0..3000_usize, 0..60_usize, 0..20_usize), 1..60);
    proptest!(random(all_or(64, 8)), |(seed: u32, bits in 0..3_usize, lengths in lengths())| {
        check(engines, &messages(seed.into(), KeyBits::ALL[bits], &lengths));
    });
}

fn arrays_are_as_lists(engines: &'static [Engine]) {
    let lengths = [(512, 9, 0), (16, 9, 3), (0, 9, 0), (4097, 9, 1), (16, 9, 0)];
    KeyBits::ALL.iter().for_each(|bits| check_arrays(engines, *bits, &lengths, &[1, 0, 1, 2, 0]));
}

/// Each key has its launch: eleven keys, more than launches beside each other, and one without a message.
fn few_keys(engines: &'static [Engine]) {
    let lengths: Vec<_> = (0..200).map(|n| (n * 7919 % 40_000, n % 40, n % 17)).collect();
    let numbers: Vec<_> = (0..200).map(|n| [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11][n * n % 11]).collect();
    let few: Vec<_> = (0..12).map(|n| noise(5 + n, 32)).collect();
    let keys = numbers.iter().map(|&n: &u32| few[n as usize].clone()).collect();
    let messages = Messages::new(3, keys, &lengths);
    let known = messages.gcm();
    let (tags, forged) = (known.tags_with(&[], 16), known.tags_with(&[3], 16));
    let aad: Vec<u8> = messages.aad.concat();
    let (aads, _) = after_gaps(messages.aad.iter().map(|aad| (aad.len(), 0)));
    let (few, nonces) = (few.concat(), nonces(&messages));
    let (keys, ranges) = (JobKeys::numbered(KeyBits::Aes256, &few, &numbers), Ranges::from(&*messages.ranges));
    let (nonces, aads) = (Nonces::from(&*nonces), Aads::each(&aad, &*aads));
    let encrypt = GcmEncryptJobs::from_arrays(&keys, &ranges, &nonces, &aads).unwrap().by_key_from(0);
    let partly = GcmDecryptJobs::from_arrays(&keys, &ranges, &nonces, &aads, &forged, 16).unwrap().by_key_from(0);
    let before = vec![0xa5; messages.plain.len()];
    for engine in engines {
        let none = engine.under_own_keys();
        let device = none.device().unwrap();
        let stream = engine.cuda_contexts().unwrap()[0].new_stream().unwrap();
        let input = stream.clone_htod(&messages.plain).unwrap();
        let [mut output, mut back] = [&before, &before].map(|bytes| stream.clone_htod(bytes).unwrap());
        let pending = device.run_with_output(&stream, encrypt.clone(), (&input, &mut output)).unwrap();
        let opened = device.run_with_output(&stream, partly.clone(), (&output, &mut back)).unwrap();
        assert_eq!(pending.wait().unwrap().as_flattened(), tags);
        assert_eq!(opened.wait().unwrap().failed(), [3]);
        assert!(stream.clone_dtoh(&output).unwrap() == messages.between(&before, &known.secret));
        assert!(stream.clone_dtoh(&back).unwrap() == messages.between(&before, &known.opened(&[3])));
    }
}

/// In every form, also as a list beside the keys, with a key for each message and with numbers of keys; also with one wrong tag.
fn check_arrays(engines: &'static [Engine], bits: KeyBits, lengths: &[(usize, usize, usize)], numbers: &[u32]) {
    let few = [5, 6, 7, 8].map(|seed| noise(seed, bits.bytes()));
    let keys = numbers.iter().map(|&n| few[n as usize].clone()).collect();
    let messages = Messages { aad: vec![noise(9, 9); lengths.len()], ..Messages::new(3, keys, lengths) };
    let (known, few, each, nonces) = (messages.gcm(), few.concat(), messages.keys.concat(), nonces(&messages));
    let message = |n: usize| GcmMessage { nonce: &nonces[n], aad: &messages.aad[n], range: messages.ranges[n].clone() };
    let list: Vec<_> = (0..lengths.len()).map(message).collect();
    let (nonces, aads) = (Nonces::from(&*nonces), Aads::shared(&messages.aad[0]));
    for keys in [JobKeys::each(bits, &each), JobKeys::numbered(bits, &few, numbers)] {
        let encrypt = GcmEncryptJobs::from_messages(&keys, &list).unwrap();
        let decrypt = |tags: &[Tag]| GcmDecryptBatch::new(&list, tags).unwrap().under(&keys).unwrap();
        engines.iter().for_each(|engine| known.check(&engine.under_own_keys(), &encrypt, decrypt, &[3]));
        for ranges in Arrays::of(&messages.ranges).forms() {
            let encrypt = GcmEncryptJobs::from_arrays(&keys, &ranges, &nonces, &aads).unwrap();
            let decrypt = |tags: &[Tag]| {
                GcmDecryptJobs::from_arrays(&keys, &ranges, &nonces, &aads, &side_by_side(tags, 16), 16).unwrap()
            };
            engines.iter().for_each(|engine| known.check(&engine.under_own_keys(), &encrypt, decrypt, &[3]));
        }
    }
}

/// With tags of every length that there is.
fn what_was_changed_is_cleared_alone(engines: &'static [Engine]) {
    let lengths = [(1500, 13, 0), (33, 0, 3), (0, 5, 0), (4096, 20, 4), (100, 1, 0), (17, 0, 0), (64, 0, 1)];
    let messages = messages(11, KeyBits::Aes256, &lengths);
    for wrong in 0..lengths.len() {
        // Its key, its tag, its additional data or its bytes.
        let (mut list, mut known) = (list(&messages), messages.gcm());
        let tags = known.tags.iter().zip([16, 12, 4, 15, 8, 13, 14]);
        let mut tags: Vec<_> = tags.map(|(tag, bytes)| tag.as_bytes()[..bytes].to_vec()).collect();
        match wrong % 4 {
            0 => list[wrong].key = &messages.keys[(wrong + 1) % lengths.len()],
            1 => *tags[wrong].last_mut().unwrap() ^= 1,
            2 => list[wrong].aad = b"another",
            _ => known.secret[messages.range(wrong).end - 1] ^= 0x80,
        }
        let tags: Vec<Tag> = tags.iter().map(|tag| any_tag(tag).unwrap()).collect();
        let decrypt = GcmDecryptJobs::new(&list, &tags).unwrap();
        for engine in engines {
            let cipher = engine.under_own_keys();
            Memory::all_of(engine).iter().for_each(|memory| known.opens(memory, &cipher, &decrypt, &[wrong]));
        }
    }
}

fn nothing_to_do(engines: &'static [Engine]) {
    check(engines, &messages(1, KeyBits::Aes128, &[]));
    check(engines, &messages(2, KeyBits::Aes192, &[(0, 5, 0), (0, 0, 2), (0, 40, 0)]));
    // No part is no message.
    let encrypt = GcmEncryptJobs::new(&list(&messages(3, KeyBits::Aes128, &[(1, 0, 0)]))).unwrap();
    for engine in engines {
        refused!(engine.under_own_keys().combine(&encrypt, vec![]), Error::PartsDoNotAdjoin { .. });
    }
}

fn from_one_buffer_to_another(engines: &'static [Engine]) {
    let messages = messages(21, KeyBits::Aes128, &[(1500, 13, 0), (0, 1, 3), (4099, 20, 4)]);
    let (known, list) = (messages.gcm(), list(&messages));
    let (secret, tags) = (&known.secret, &known.tags);
    let encrypt = GcmEncryptJobs::new(&list).unwrap();
    let decrypt = GcmDecryptJobs::new(&list, tags).unwrap();
    for engine in engines {
        let none = engine.under_own_keys();
        let device = none.device().unwrap();
        let stream = engine.cuda_contexts().unwrap()[0].new_stream().unwrap();
        let input = stream.clone_htod(&messages.plain).unwrap();
        let before = vec![0xa5; secret.len()];
        let [mut output, mut back] = [&before, &before].map(|bytes| stream.clone_htod(bytes).unwrap());
        // Two calls at a time.
        let pending = device.run_with_output(&stream, encrypt.clone(), (&input, &mut output)).unwrap();
        let opened = device.run_with_output(&stream, decrypt.clone(), (&output, &mut back)).unwrap();
        assert_eq!(pending.wait().unwrap(), *tags);
        opened.wait().unwrap().all().unwrap();
        let host = |memory: &_| stream.clone_dtoh(memory).unwrap();
        assert!(host(&input) == messages.plain);
        assert!(host(&output) == messages.between(&before, secret));
        assert!(host(&back) == messages.between(&before, &messages.plain));
        // A forged one leaves nothing of it.
        let mut forged = tags.clone();
        forged[2] = tags[0];
        let decrypt = GcmDecryptJobs::new(&list, &forged).unwrap();
        let opened = device.run_with_output(&stream, decrypt.clone(), (&output, &mut back)).unwrap().wait().unwrap();
        assert_eq!(opened.failed(), [2]);
        assert!(host(&back) == messages.between(&before, &known.opened(&[2])));
        let shorter = &mut stream.alloc_zeros::<u8>(100).unwrap();
        refused!(device.run_with_output(&stream, encrypt.clone(), &mut *shorter), Error::Batch { .. });
        refused!(
            device.run_with_output(&stream, encrypt.clone(), (&input, &mut *shorter)),
            Error::LengthMismatch { .. }
        );
    }
}

/// Numbers of messages for which an H200 has 32 threads, 4 and 1 hash each; and one long message among short ones.
fn many_messages(engines: &'static [Engine]) {
    for (n, count) in [3000, 20_000, 80_000].into_iter().enumerate() {
        let lengths: Vec<_> = (0..count).map(|n| (n * 7 % 90, n % 3, n % 2)).collect();
        check(engines, &messages(n as u64, KeyBits::ALL[n], &lengths));
    }
    let lengths: Vec<_> = (0..70_000).map(|n| (if n == 999 { 1 << 20 } else { 16 }, 0, 0)).collect();
    check(engines, &messages(9, KeyBits::Aes128, &lengths));
}

fn what_cannot_be_is_refused() {
    let (key, other) = ([1; 16], [2; 32]);
    let job = |key, range| GcmJob { key, range, ..GcmJob::default() };
    let told = |outcome: Result<(), Error>, says: &str| {
        let error = outcome.expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    };
    let new = |jobs: &[GcmJob<'_>]| GcmEncryptJobs::new(jobs).map(drop);
    told(new(&[job(&key, 0..5), job(&other, 5..9)]), "the key of job 1 has 256 bits");
    told(new(&[job(&other[..17], 0..5)]), "17");
    told(new(&[job(&key, 0..5), job(&key, 4..9)]), "message 1 begins at byte 4");
    told(GcmDecryptJobs::new(&[job(&key, 0..5)], &[]).map(drop), "0 tags for 1 message");

    let arrays = |keys: JobKeys<'_>, nonces: &Nonces<'_>| {
        GcmEncryptJobs::from_arrays(&keys, &Ranges::equal(2, 5), nonces, &Aads::NONE).map(drop)
    };
    let (bits, of) = (KeyBits::Aes128, [0, 1]);
    let counted = Nonces::counted([0; 12], 32);
    assert!(arrays(JobKeys::each(bits, &other), &counted).is_ok());
    assert!(arrays(JobKeys::numbered(bits, &other, &of), &counted).is_ok());
    told(arrays(JobKeys::each(bits, &key), &counted), "1 key for 2 messages");
    told(arrays(JobKeys::each(bits, &other[..31]), &counted), "31 bytes of keys");
    told(
        arrays(JobKeys::numbered(bits, &key, &of), &counted),
        "message 1 has the key number 1, which is too high for 1 key",
    );
    told(arrays(JobKeys::numbered(bits, &key, &[0]), &counted), "1 key number for 2 messages");
    // Under one number of a key, but not under two, and for encryption only.
    let same = Nonces::from(&[[9; 12]; 2][..]);
    told(arrays(JobKeys::numbered(bits, &other, &[1, 1]), &same), "messages 0 and 1 have the same key number and");
    assert!(arrays(JobKeys::numbered(bits, &other, &of), &same).is_ok());
    assert!(arrays(JobKeys::each(bits, &other), &same).is_ok());
    let keys = JobKeys::numbered(bits, &other, &[1, 1]);
    assert!(GcmDecryptJobs::from_arrays(&keys, &Ranges::equal(2, 5), &same, &Aads::NONE, &[0; 32], 16).is_ok());
    let message = |range| GcmMessage { nonce: &[9; 12], range, ..GcmMessage::default() };
    let twice = [message(0..5), message(5..9)];
    told(GcmEncryptJobs::from_messages(&keys, &twice).map(drop), "messages 0 and 1 have the same key number and");
    assert!(GcmEncryptJobs::from_messages(&JobKeys::each(bits, &other), &twice).is_ok());
    let opened = GcmDecryptBatch::new(&twice, &[Tag::new(&[0; 16]).unwrap(); 2]).unwrap();
    assert!(opened.clone().under(&keys).is_ok());
    told(opened.under(&JobKeys::each(bits, &key)).map(drop), "1 key for 2 messages");
    let long: [&[u8]; 2] = [&[7; 16], &[8; 12]];
    told(arrays(JobKeys::each(bits, &other), &Nonces::from(&long[..])), "the nonce of message 0 has 16 bytes");

    let jobs = GcmEncryptJobs::new(&[job(&key, 0..5), job(&key, 6..9)]).unwrap();
    let mut data = [3; 8];
    let engine = Engine::open(Backend::Cpu).unwrap();
    told(engine.under_own_keys().run(jobs, &mut data).map(drop), "message 1 ends at byte 9");
    assert_eq!(data, [3; 8]);
}

fn keys_are_not_printed() {
    let job = GcmJob { key: &[0xb7; 16], range: 0..1, ..GcmJob::default() };
    let jobs: GcmJobs<_> = GcmEncryptJobs::new(std::slice::from_ref(&job)).unwrap();
    for printed in [format!("{job:?}"), format!("{jobs:?}")] {
        assert!(!printed.contains("b7") && !printed.contains("183"), "{printed}");
    }
}
