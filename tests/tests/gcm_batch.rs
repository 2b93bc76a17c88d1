//! Many GCM messages in one call: each against another implementation, in host memory and in GPU memory; the bytes between them; changed
//! messages; invalid calls.

use aes_bitslice_runtime::{
    Aads, Backend, Engine, Error, GcmBatch, GcmDecryptBatch, GcmEncryptBatch, GcmMessage, Kernels, Nonces, Ranges, Tag,
};
use aes_bitslice_tests::arrays::{Arrays, after_gaps};
use aes_bitslice_tests::engines::{Device, cipher};
use aes_bitslice_tests::environment::{all_or, random};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::memory::Memory;
use aes_bitslice_tests::messages::{Known, Messages, side_by_side};
use aes_bitslice_tests::reference::{key_bytes, noise};
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
                rules_are_as_lists,
                what_was_changed_is_cleared_alone,
                nonces_of_any_length,
                nothing_to_do,
            ],
        )
        .on_each(
            &[Device::Cuda(Kernels::Auto)],
            &[],
            tests_of_engines![calls_in_flight, one_long_message_among_short_ones, any_number_of_messages],
        )
        .on_each(&[Device::Cuda(Kernels::Auto)], &[], tests_of_engines![other_memory_is_refused])
        .with(&[], tests![what_cannot_be_is_refused, arrays_that_do_not_fit_are_refused])
        .run()
}

fn encrypt(messages: &Messages) -> GcmEncryptBatch {
    GcmEncryptBatch::new(&messages.list()).unwrap()
}

fn decrypt(messages: &Messages, tags: &[Tag]) -> GcmDecryptBatch {
    GcmDecryptBatch::new(&messages.list(), tags).unwrap()
}

/// Encrypts and decrypts them on each engine, and these with forged tags.
fn check(engines: &[Engine], messages: &Messages, forged: &[usize]) {
    let (known, encrypt) = (messages.gcm(), encrypt(messages));
    for engine in engines {
        known.check(&cipher(engine, &messages.keys[0]), &encrypt, |tags| decrypt(messages, tags), forged);
    }
}

/// Short ones, and 16 bytes or fewer between them; whole blocks, words and bytes.
fn lengths() -> impl Strategy<Value = Vec<(usize, usize, usize)>> {
    let one = prop_oneof![
        (0..20_usize << 10, 0..300_usize, 0..17_usize),
        (0..600_usize, 0..20_usize, 0..5_usize),
        ((0..1280_usize).prop_map(|n| 16 * n), 0..40_usize, prop_oneof![Just(0_usize), Just(16)]),
        ((0..500_usize).prop_map(|n| 4 * n), Just(13_usize), prop_oneof![Just(0_usize), Just(4)]),
    ];
    prop_oneof![
        2 => prop::collection::vec(one, 0..=300),
        1 => ((0..5000_usize, 0..40_usize), 1..100_usize).prop_map(|((bytes, aad), n)| vec![(bytes, aad, 0); n]),
    ]
}

/// Ranges, nonces and additional data in every form, tags as one array; and the parts of such a batch.
fn arrays_are_as_lists(engines: &'static [Engine]) {
    proptest!(random(all_or(40, 5)), |(key in key_bytes(), lengths in lengths(), seed: u32)| {
        let messages = Messages::new(seed.into(), vec![key], &lengths);
        let nonces: Vec<[u8; 12]> = messages.nonces.iter().map(|nonce| nonce[..].try_into().unwrap()).collect();
        let list: Vec<&[u8]> = messages.nonces.iter().map(|nonce| &nonce[..]).collect();
        let (of_aad, _) = after_gaps(messages.aad.iter().map(|aad| (aad.len(), 0)));
        let (aad, arrays, of_aad) = (messages.aad.concat(), Arrays::of(&messages.ranges), Arrays::of(&of_aad));
        let (known, wrong, tag_bytes) = (messages.gcm(), messages.one(seed), [4, 8, 12, 13, 16][seed as usize % 5]);
        let tags = known.tags_with(&wrong, tag_bytes);
        for engine in engines {
            let (cipher, memories) = (cipher(engine, &messages.keys[0]), Memory::all_of(engine));
            for (n, (ranges, of_aad)) in arrays.forms().into_iter().zip(of_aad.forms()).enumerate() {
                let nonces = if n % 2 == 0 { Nonces::from(&*nonces) } else { Nonces::from(&*list) };
                let (aads, memory) = (Aads::each(&aad, of_aad), &memories[n % memories.len()]);
                let encrypt = GcmEncryptBatch::from_arrays(&ranges, &nonces, &aads).unwrap();
                let of_long = GcmDecryptBatch::from_arrays(&ranges, &nonces, &aads, &tags, tag_bytes);
                let of_short = GcmDecryptBatch::from_arrays_with_short_tags(&ranges, &nonces, &aads, &tags, tag_bytes);
                prop_assert_eq!((of_long.is_ok(), of_short.is_ok()), (tag_bytes >= 12, tag_bytes < 12));
                known.seals(memory, &cipher, &encrypt);
                known.opens(memory, &cipher, &of_long.or(of_short).unwrap(), &wrong);
            }
        }
    });
}

/// Equal lengths and distances, nonces that count up and shared additional data: as the list that says the same.
fn rules_are_as_lists(engines: &'static [Engine]) {
    for (n, (count, bytes, gap, aad)) in
        [(0, 9, 0, 0), (1, 0, 3, 5), (1000, 64, 0, 13), (70, 1500, 0, 0), (300, 33, 7, 40), (9000, 0, 0, 3)]
            .into_iter()
            .enumerate()
    {
        let aad = noise(n as u64 + 9, aad);
        let mut first: [u8; 12] = noise(n as u64 + 999, 12).try_into().unwrap();
        let bits = [32, 64][n % 2];
        // It carries as far as it may.
        first[12 - bits as usize / 8..].fill(0xff);
        first[12 - bits as usize / 8] = 0xfe;
        let number = |nonce: &[u8; 12]| nonce.iter().fold(0, |number, &byte| number << 8 | u128::from(byte));
        let start = |i: usize| (i * (bytes + gap)) as u64;
        let messages = Messages {
            keys: vec![noise(n as u64, 16)],
            nonces: (0..count as u128).map(|i| (number(&first) + i).to_be_bytes()[4..].to_vec()).collect(),
            aad: vec![aad.clone(); count],
            ranges: (0..count).map(|i| start(i)..start(i) + bytes as u64).collect(),
            plain: noise(n as u64 + 99, count * (bytes + gap) + 5),
        };
        let ranges = Ranges::spaced(count, bytes as u64, (bytes + gap) as u64);
        let (nonces, aads, known) = (Nonces::counted(first, bits), Aads::shared(&aad), messages.gcm());
        let encrypt = GcmEncryptBatch::from_arrays(&ranges, &nonces, &aads).unwrap();
        for engine in engines {
            let decrypt = |tags: &[Tag]| {
                GcmDecryptBatch::from_arrays(&ranges, &nonces, &aads, &side_by_side(tags, 16), 16).unwrap()
            };
            known.check(&cipher(engine, &messages.keys[0]), &encrypt, decrypt, &messages.one(7));
        }
    }
}

fn arrays_that_do_not_fit_are_refused() {
    let (nonces, none) = ([[1; 12], [2; 12]], Aads::NONE);
    let says = |outcome: Result<(), Error>, what: &str| {
        let error = outcome.err().unwrap_or_else(|| panic!("{what}: not refused")).to_string();
        assert!(error.contains(what), "{error}: not {what}");
    };
    let make = |ranges: &Ranges<'_>, nonces: Nonces<'_>, aads: &Aads<'_>| {
        GcmEncryptBatch::from_arrays(ranges, &nonces, aads).map(drop)
    };
    let (two, of_two) = (Ranges::equal(2, 9), || Nonces::from(&nonces[..]));
    make(&two, of_two(), &none).unwrap();
    says(make(&Ranges::equal(3, 9), of_two(), &none), "2 nonces for 3 messages: give one for each");
    says(make(&Ranges::pairs(&[0_i64, 9, 8, 17][..]), of_two(), &none), "message 1 begins at byte 8");
    says(
        make(&Ranges::pairs(&[-9_i32, 0, 8, 17][..]), of_two(), &none),
        "message 0 has a number that is not a position",
    );
    says(make(&Ranges::pairs(&[0_u32, 9, 9][..]), of_two(), &none), "3 integers for pairs");
    says(make(&Ranges::spaced(2, 9, 8), of_two(), &none), "message 1 begins at byte 8");
    says(make(&Ranges::equal(2, 1 << 36), of_two(), &none), "message 0 has 68719476736 bytes");
    says(make(&Ranges::equal(usize::MAX, 0), Nonces::counted([0; 12], 64), &none), "a batch has room for");
    says(make(&Ranges::equal(1 << 31, 2 << 10), Nonces::counted([0; 12], 64), &none), "2 TiB of messages");
    says(make(&two, Nonces::from(&[[7; 12]; 2][..]), &none), "messages 0 and 1 have the same nonce");
    says(make(&two, Nonces::from(&[&b"one"[..], b""][..]), &none), "any other number from 1 on");
    says(make(&two, Nonces::counted([0xff; 12], 32), &none), "nonces would start again");
    says(make(&two, Nonces::counted([0; 12], 16), &none), "it has 32 or 64");
    let of_one = Aads::each(b"header", Ranges::equal(1, 6));
    says(make(&two, of_two(), &of_one), "1 range of additional data for 2 messages");
    let outside = Aads::each(b"header", Ranges::equal(2, 4));
    says(
        make(&two, of_two(), &outside),
        "additional data of message 1 ends at byte 8, and all additional data has 6 bytes",
    );
    let backwards = Aads::each(b"header", Ranges::pairs(&[0_u64, 2, 4, 3][..]));
    says(make(&two, of_two(), &backwards), "additional data of message 1 ends at byte 3");
    let open = |tags: &[u8], bytes| GcmDecryptBatch::from_arrays(&two, &of_two(), &none, tags, bytes).map(drop);
    says(open(&[0; 31], 16), "31 bytes of tags for 2 messages: give 16 for each");
    for bytes in [0, 3, 11, 17, 1 << 40] {
        says(open(&[0; 32], bytes), "tag");
    }
    // Decrypting one message twice gives nothing away.
    let twice = Nonces::from(&[[7; 12]; 2][..]);
    assert!(GcmDecryptBatch::from_arrays(&two, &twice, &none, &[0; 32], 16).is_ok());
    let cipher = cipher(&Engine::open(Backend::Cpu).unwrap(), &[1; 16]);
    let mut data = [7; 17];
    let batch = GcmEncryptBatch::from_arrays(&two, &of_two(), &none).unwrap();
    says(cipher.run(batch, &mut data).map(drop), "message 1 ends at byte 18, and the data has 17 bytes");
    assert_eq!(data, [7; 17]);
}

fn messages_are_as_another_has_them(engines: &'static [Engine]) {
    proptest!(random(all_or(100, 10)), |(key in key_bytes(), lengths in lengths(), seed: u32)| {
        let messages = Messages::new(seed.into(), vec![key], &lengths);
        check(engines, &messages, &messages.one(seed));
    });
}

/// Data, additional data, nonce, tag; with tags of any length.
fn what_was_changed_is_cleared_alone(engines: &'static [Engine]) {
    let lengths: Vec<_> = (0..40).map(|n| (1 + n * 67 % 2500, 1 + n % 30, n % 3)).collect();
    let messages = Messages::new(9, vec![noise(3, 24)], &lengths);
    let (mut known, mut changed, mut failed) = (messages.gcm(), messages.clone(), vec![]);
    for n in 0..lengths.len() {
        let mut tag = known.tags[n].as_bytes()[..[16, 15, 14, 13, 12, 8, 4][n % 7]].to_vec();
        let range = messages.range(n);
        match n % 5 {
            0 => known.secret[range.start + n * 31 % range.len()] ^= 1 << (n % 8),
            1 => changed.aad[n][0] ^= 2,
            2 => changed.nonces[n][11] ^= 0x80,
            3 => *tag.last_mut().unwrap() ^= 1,
            _ => {}
        }
        known.tags[n] = any_tag(&tag).unwrap();
        failed.extend((n % 5 < 4).then_some(n));
    }
    let decrypt = decrypt(&changed, &known.tags);
    for engine in engines {
        let cipher = cipher(engine, &messages.keys[0]);
        Memory::all_of(engine).iter().for_each(|memory| known.opens(memory, &cipher, &decrypt, &failed));
    }
}

/// Batches of messages whose counters begin anywhere.
fn nonces_of_any_length(engines: &'static [Engine]) {
    let lengths: Vec<_> = (0..30).map(|n| (n * 131 % 3000, n % 20, n % 5)).collect();
    let mut messages = Messages::new(10, vec![noise(4, 32)], &lengths);
    for (n, nonce) in messages.nonces.iter_mut().enumerate() {
        *nonce = noise(n as u64, [12, 1, 8, 16, 60][n % 5]);
    }
    check(engines, &messages, &[17]);
}

/// No messages; none with data; none with anything, where there is data.
fn nothing_to_do(engines: &'static [Engine]) {
    for (lengths, bytes) in
        [(vec![], 0), (vec![], 50), (vec![(0, 5, 0), (0, 0, 0), (0, 40, 0)], 0), (vec![(0, 5, 20), (0, 0, 0)], 40)]
    {
        let plain = noise(6, bytes);
        let messages = Messages { plain, ..Messages::new(11, vec![noise(5, 16)], &lengths) };
        check(engines, &messages, &messages.one(1));
    }
    // No part is no message.
    let one = encrypt(&Messages::new(3, vec![], &[(1, 0, 0)]));
    for engine in engines {
        refused!(cipher(engine, &[2; 16]).combine(&one, vec![]), Error::PartsDoNotAdjoin { .. });
    }
}

fn what_cannot_be_is_refused() {
    let message = |nonce: &'static [u8], range: std::ops::Range<u64>| GcmMessage { nonce, aad: b"aad", range };
    let (one, two) = (b"nonce number".as_slice(), b"another one.".as_slice());
    let says = |outcome: Result<GcmEncryptBatch, Error>, what: &str| {
        let error = outcome.err().unwrap_or_else(|| panic!("{what}: not refused")).to_string();
        assert!(error.contains(what), "{error}: not {what}");
    };
    #[expect(clippy::reversed_empty_ranges, reason = "to be refused")]
    let backwards = 9..3;
    says(GcmEncryptBatch::new(&[message(one, 0..10), message(two, 9..20)]), "message 1 begins at byte 9");
    says(GcmEncryptBatch::new(&[message(one, 20..30), message(two, 0..10)]), "message 1 begins at byte 0");
    says(GcmEncryptBatch::new(&[message(one, backwards)]), "message 0 ends at byte 3");
    says(GcmEncryptBatch::new(&[message(one, 0..1 << 36)]), "message 0 has 68719476736 bytes");
    says(GcmEncryptBatch::new(&[message(b"", 0..9)]), "any other number from 1 on");
    says(
        GcmEncryptBatch::new(&[message(one, 0..1), message(two, 1..2), message(one, 2..3)]),
        "messages 0 and 2 have the same nonce",
    );
    let cipher = cipher(&Engine::open(Backend::Cpu).unwrap(), &[1; 16]);
    let messages = [message(one, 0..10), message(two, 10..20)];
    let mut data = [7; 19];
    let refused = cipher.run(GcmEncryptBatch::new(&messages).unwrap(), &mut data).unwrap_err();
    assert!(matches!(&refused, Error::Batch { what } if what.contains("message 1 ends at byte 20")), "{refused}");
    let tags = cipher.run(GcmEncryptBatch::new(&messages[..1]).unwrap(), &mut data).unwrap();
    assert_eq!((tags.len(), data[10..].to_vec()), (1, vec![7; 9]));
    let refused = GcmDecryptBatch::new(&messages, &tags).unwrap_err();
    assert!(refused.to_string().contains("1 tag for 2 messages"), "{refused}");
    // Decrypting one message twice gives nothing away.
    let twice = [message(one, 0..10), message(one, 10..20)];
    let batch: GcmBatch<_> = GcmDecryptBatch::new(&twice, &[tags[0], tags[0]]).unwrap();
    assert_eq!((batch.len(), batch.is_empty()), (2, false));
}

/// Several at a time on one stream and on two, and one that is never waited for.
fn calls_in_flight(engines: &'static [Engine]) {
    let engine = &engines[0];
    let (key, lengths) = (noise(8, 16), [(1500, 13, 0); 500]);
    let messages = Messages::new(12, vec![key], &lengths);
    let Known { secret, tags, .. } = messages.gcm();
    let cipher = cipher(engine, &messages.keys[0]);
    let device = cipher.device().unwrap();
    device.prepare_for(&encrypt(&messages)).unwrap();
    let streams = [0, 1].map(|_| engine.cuda_context().unwrap().new_stream().unwrap());
    let mut data: Vec<_> = (0..24).map(|n| streams[n % 2].clone_htod(&messages.plain).unwrap()).collect();
    let pending: Vec<_> = data
        .iter_mut()
        .enumerate()
        .map(|(n, data)| device.run_with_output(&streams[n % 2], encrypt(&messages), data).unwrap())
        .collect();
    for (n, pending) in pending.into_iter().enumerate() {
        match n % 5 {
            3 => drop(pending),
            _ => assert_eq!(pending.wait().unwrap(), tags, "{n}"),
        }
    }
    for (n, data) in data.iter_mut().enumerate() {
        assert!(streams[n % 2].clone_dtoh(data).unwrap() == secret, "{n}");
        let opened = device.run_with_output(&streams[n % 2], decrypt(&messages, &tags), &mut *data).unwrap();
        assert!(opened.wait().unwrap().failed().is_empty());
        assert!(streams[n % 2].clone_dtoh(data).unwrap() == messages.plain, "{n}");
    }
    // Output of others is not touched.
    let stream = &streams[0];
    let input = stream.clone_htod(&messages.plain).unwrap();
    let output = stream.clone_htod(&vec![0x11; messages.plain.len()]).unwrap();
    let tags_found = {
        use aes_bitslice_runtime::cuda::cudarc::driver::DevicePtr;
        let ((from, _input), (to, _output)) = (input.device_ptr(stream), output.device_ptr(stream));
        // SAFETY: both are that long, and live until the call is waited for.
        let pending = unsafe {
            device.run_raw_with_output(stream.cu_stream(), encrypt(&messages), from, to, messages.plain.len() as u64)
        };
        pending.unwrap().wait().unwrap()
    };
    assert_eq!(tags_found, tags);
    let end = messages.ranges.last().unwrap().end as usize;
    let found = stream.clone_dtoh(&output).unwrap();
    assert!(found[..end] == secret[..end] && found[end..].iter().all(|&byte| byte == 0x11));
    assert!(stream.clone_dtoh(&input).unwrap() == messages.plain);
}

fn one_long_message_among_short_ones(engines: &'static [Engine]) {
    let mut lengths = vec![(100, 3, 0); 1000];
    lengths[500] = (40 << 20, 0, 4);
    lengths[900] = ((9 << 20) + 3, 77, 1);
    lengths.extend(vec![(0, 0, 0); 9000]);
    check(engines, &Messages::new(13, vec![noise(9, 32)], &lengths), &[501, 900, 5000]);
}

/// So few that many threads share each, and so many that each thread has its own; equal ones, and others, also in parts of words.
fn any_number_of_messages(engines: &'static [Engine]) {
    for (n, count) in [1, 3, 20, 150, 600, 2_500, 9_000, 30_000].into_iter().enumerate() {
        for most in [40, 2_000, 40_000].into_iter().filter(|most| most * count < 60 << 20) {
            let random = noise(15 + n as u64, 8 * count);
            let number = |i: usize| u32::from_le_bytes(random[4 * i..][..4].try_into().unwrap()) as usize;
            let equal = vec![(most, 13, 0); count];
            let others = (0..count).map(|i| (number(2 * i) % most, number(2 * i + 1) % 40, number(i) % 3)).collect();
            for lengths in [equal, others] {
                let messages = Messages::new(16, vec![noise(17, [16, 24, 32][n % 3])], &lengths);
                check(engines, &messages, &[count / 2]);
            }
        }
    }
}

fn other_memory_is_refused(engines: &'static [Engine]) {
    let messages = Messages::new(14, vec![], &[(100, 3, 0)]);
    for engine in engines {
        let cipher = cipher(engine, &[2; 16]);
        let mut data = engine.sharded(1000).unwrap();
        let refused = cipher.sharded().unwrap().run(encrypt(&messages), &mut data).map(drop);
        assert!(matches!(refused, Err(Error::Unsupported { operation: "a GCM batch", .. })), "{refused:?}");
    }
}
