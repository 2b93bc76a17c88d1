//! CMAC of many messages in one call: published vectors, each message against another implementation, in host memory and in GPU memory;
//! changed messages; invalid calls.

use aes_bitslice_runtime::{
    Backend, Cipher, Cmac, CmacBatch, CmacVerifyBatch, Counter, Ctr, Engine, Error, Kernels, Key, Operation, Ranges,
    Tag,
};
use aes_bitslice_tests::arrays::{Arrays, after_gaps};
use aes_bitslice_tests::engines::{Device, cipher, name};
use aes_bitslice_tests::environment::{all_or, all_or_every, random};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::memory::Memory;
use aes_bitslice_tests::reference::{key_bytes, noise};
use aes_bitslice_tests::vectors::{any_tag, cases};
use aes_bitslice_tests::{others, refused, tests, tests_of_engines};
use proptest::prelude::*;
use std::ops::Range;
use std::process::ExitCode;

fn main() -> ExitCode {
    Tests::default()
        .on_each(
            &[Device::Cpu, Device::Cuda(Kernels::Auto), Device::OpenCl],
            &[],
            tests_of_engines![
                published_vectors,
                messages_are_as_another_has_them,
                arrays_are_as_lists,
                every_length_in_every_lane,
                what_was_changed_is_told,
                nothing_to_do,
            ],
        )
        .on_each(
            &[Device::Cuda(Kernels::Auto)],
            &[],
            tests_of_engines![calls_in_flight, one_long_message_among_short_ones, other_memory_is_refused],
        )
        .with(&[], tests![what_cannot_be_is_refused])
        .run()
}

/// Makes a call that only reads data where it is.
fn run<O: Operation>(memory: &Memory, cipher: &Cipher, operation: O, data: &[u8]) -> Result<O::Output, Error> {
    let mut copy = data.to_vec();
    let pending =
        memory.on_gpu(&mut copy, |stream, data| cipher.device()?.run_with_output(stream, operation.clone(), data));
    let Some(pending) = pending else { return cipher.run(operation, data) };
    assert!(copy == data, "it only reads");
    pending?.wait()
}

/// Messages, with the bytes between them.
struct Messages {
    ranges: Vec<Range<u64>>,
    data: Vec<u8>,
}

impl Messages {
    /// Lengths in bytes: of a message, and of the gap before it.
    fn new(seed: u64, lengths: &[(usize, usize)]) -> Self {
        let (ranges, at) = after_gaps(lengths.iter().copied());
        Self { ranges, data: noise(seed, at + 7) }
    }

    fn message(&self, n: usize) -> &[u8] {
        &self.data[self.ranges[n].start as usize..self.ranges[n].end as usize]
    }

    /// By the `cmac` crate.
    fn by_another(&self, key: &[u8]) -> Vec<Tag> {
        (0..self.ranges.len()).map(|n| Tag::new(&others::cmac(key, self.message(n))).unwrap()).collect()
    }
}

fn make(messages: &Messages) -> CmacBatch {
    CmacBatch::new(&messages.ranges).unwrap()
}

fn verify(messages: &Messages, tags: &[Tag]) -> CmacVerifyBatch {
    CmacVerifyBatch::new(&messages.ranges, tags).unwrap()
}

/// NIST's: each message together with prefixes of it, some 20 of a long one, so that blocks of its tile begin at different times.
fn published_vectors(engines: &'static [Engine]) {
    for engine in engines {
        for case in all_or_every(3, cases("cmac-cavp")) {
            let data = case.plaintext;
            let ends = (0..data.len() as u64).step_by(1 + data.len() / 20).chain([data.len() as u64]);
            let ranges: Vec<Range<u64>> = ends.map(|end| 0..end).collect();
            let cipher = cipher(engine, &case.key);
            for memory in Memory::all_of(engine).into_iter().take(2).filter(|_| !data.is_empty()) {
                let tags = run(&memory, &cipher, CmacBatch::new(&ranges).unwrap(), &data).unwrap();
                let tag = &tags.last().unwrap().as_bytes()[..case.tag.len()];
                assert_eq!(tag, case.tag, "{}, {}", name(engine), case.source);
            }
            let tag = cipher.run(CmacBatch::new(&ranges[ranges.len() - 1..]).unwrap(), &data).unwrap()[0];
            assert_eq!(tag.as_bytes()[..case.tag.len()], case.tag, "{}", case.source);
        }
    }
}

fn lengths() -> impl Strategy<Value = Vec<(usize, usize)>> {
    let one = prop_oneof![
        (0..3000_usize, 0..17_usize),
        (0..70_usize, 0..5_usize),
        ((0..100_usize).prop_map(|n| 16 * n), prop_oneof![Just(0_usize), Just(16)]),
        ((0..500_usize).prop_map(|n| 4 * n), prop_oneof![Just(0_usize), Just(4)]),
    ];
    prop_oneof![
        2 => prop::collection::vec(one, 0..=600),
        1 => (0..2000_usize, 1..600_usize).prop_map(|(bytes, n)| vec![(bytes, 0); n]),
    ]
}

fn messages_are_as_another_has_them(engines: &'static [Engine]) {
    proptest!(random(all_or(100, 10)), |(key in key_bytes(), lengths in lengths(), seed: u32)| {
        let messages = Messages::new(seed.into(), &lengths);
        let tags = messages.by_another(&key);
        for engine in engines {
            let cipher = cipher(engine, &key);
            for memory in Memory::all_of(engine) {
                let found = run(&memory, &cipher, make(&messages), &messages.data).unwrap();
                prop_assert!(found == tags, "{}", name(engine));
                let verified = run(&memory, &cipher, verify(&messages, &tags), &messages.data).unwrap();
                prop_assert!(verified.failed().is_empty() && verified.all().is_ok(), "{}", name(engine));
                if !tags.is_empty() {
                    let which = seed as usize % tags.len();
                    let mut wrong = tags.clone();
                    let mut bytes = tags[which].as_bytes().to_vec();
                    bytes[seed as usize % 16] ^= 1 << (seed % 8);
                    wrong[which] = Tag::new(&bytes).unwrap();
                    let verified = run(&memory, &cipher, verify(&messages, &wrong), &messages.data).unwrap();
                    prop_assert_eq!(verified.failed(), &[which][..], "{}", name(engine));
                    prop_assert!(verified.all().is_err() && !verified.is_authentic(which));
                }
            }
        }
    });
}

/// In every form, in any order and overlapping, of equal lengths and of others; tags as one array.
fn arrays_are_as_lists(engines: &'static [Engine]) {
    let each = prop_oneof![
        2 => prop::collection::vec((0..3000_u64, 0..2000_u64), 0..=600),
        1 => (0..60_u64, 1..600_u64).prop_map(|(bytes, n)| (0..n).map(|i| (i * 7, bytes)).collect()),
    ];
    proptest!(random(all_or(40, 5)), |(key in key_bytes(), each in each, seed: u32)| {
        let data = noise(seed.into(), 5000);
        let ranges: Vec<Range<u64>> = each.into_iter().map(|(start, bytes)| start..start + bytes).collect();
        let arrays = Arrays::of(&ranges);
        for engine in engines {
            let cipher = cipher(engine, &key);
            let expected = cipher.run(CmacBatch::new(&ranges).unwrap(), &data).unwrap();
            let tag_bytes = [4, 8, 14, 16][seed as usize % 4];
            let mut tags: Vec<u8> = expected.iter().flat_map(|tag| &tag.as_bytes()[..tag_bytes]).copied().collect();
            let wrong = if tags.is_empty() { vec![] } else { vec![seed as usize % expected.len()] };
            wrong.iter().for_each(|n| tags[n * tag_bytes + seed as usize % tag_bytes] ^= 1 << (seed % 8));
            for (n, form) in arrays.forms().iter().enumerate() {
                let memories = Memory::all_of(engine);
                let memory = &memories[n % memories.len()];
                let found = run(memory, &cipher, CmacBatch::from_arrays(form).unwrap(), &data).unwrap();
                prop_assert_eq!(found.len(), expected.len());
                prop_assert!(found.iter().zip(&expected).all(|(tag, other)| tag[..] == *other.as_bytes()));
                let verify = CmacVerifyBatch::from_arrays(form, &tags, tag_bytes).unwrap();
                let verified = run(memory, &cipher, verify, &data).unwrap();
                prop_assert_eq!(verified.failed(), &*wrong, "{}", name(engine));
            }
        }
    });
}

/// Every number of bytes of the last block in every lane of a tile, because equal numbers of blocks keep their order; and lengths that
/// are sorted, overlapping.
fn every_length_in_every_lane(engines: &'static [Engine]) {
    let (key, data) = (noise(2, 24), noise(3, 5000));
    let each = |n: u64| 7 * n % 4001..7 * n % 4001 + 17 + (n + n / 256) % 16;
    let sorted = |step: u64| (0..67 * 33).map(move |n| 13 * n % 4001..13 * n % 4001 + n * step % 67).collect();
    for ranges in [(0..4096).map(each).collect(), sorted(1), sorted(37), sorted(251)] {
        let messages = Messages { ranges, data: data.clone() };
        let tags = messages.by_another(&key);
        for engine in engines {
            let cipher = cipher(engine, &key);
            for memory in Memory::all_of(engine) {
                assert!(run(&memory, &cipher, make(&messages), &data).unwrap() == tags, "{}", name(engine));
            }
        }
    }
}

/// Data and tag, with tags of any length.
fn what_was_changed_is_told(engines: &'static [Engine]) {
    let lengths: Vec<_> = (0..700).map(|n| (1 + n * 67 % 900, n % 3)).collect();
    let key = noise(3, 32);
    let mut messages = Messages::new(9, &lengths);
    let mut tags = messages.by_another(&key);
    let mut failed = Vec::new();
    for n in 0..lengths.len() {
        tags[n] = any_tag(&tags[n].as_bytes()[..[16, 15, 14, 13, 12, 8, 4][n % 7]]).unwrap();
        match n % 11 {
            0 => {
                let at = messages.ranges[n].start as usize + n * 31 % messages.message(n).len();
                messages.data[at] ^= 1 << (n % 8);
            }
            3 => {
                let mut bytes = tags[n].as_bytes().to_vec();
                *bytes.last_mut().unwrap() ^= 1;
                tags[n] = any_tag(&bytes).unwrap();
            }
            // Another length.
            5 => messages.ranges[n].end -= 1,
            _ => continue,
        }
        failed.push(n);
    }
    for engine in engines {
        let cipher = cipher(engine, &key);
        for memory in Memory::all_of(engine) {
            let verified = run(&memory, &cipher, verify(&messages, &tags), &messages.data).unwrap();
            assert_eq!(verified.failed(), failed, "{}", name(engine));
        }
    }
}

/// No messages; none with data; none with anything, where there is data.
fn nothing_to_do(engines: &'static [Engine]) {
    let key = noise(5, 16);
    for (lengths, bytes) in [(vec![], 0), (vec![], 50), (vec![(0, 0); 3], 0), (vec![(0, 20), (0, 0)], 40)] {
        let messages = Messages { data: noise(6, bytes), ..Messages::new(11, &lengths) };
        let tags = messages.by_another(&key);
        for engine in engines {
            let cipher = cipher(engine, &key);
            // No part is no message.
            refused!(cipher.combine(&make(&Messages::new(3, &[(1, 0)])), vec![]), Error::PartsDoNotAdjoin { .. });
            for memory in Memory::all_of(engine) {
                if matches!(memory, Memory::Gpu(..)) && bytes == 0 {
                    continue; // No slice of GPU memory is empty.
                }
                assert_eq!(run(&memory, &cipher, make(&messages), &messages.data).unwrap(), tags, "{}", name(engine));
                let mut wrong = tags.clone();
                let failed: &[usize] = if wrong.is_empty() { &[] } else { &[1] };
                failed.iter().for_each(|&n| wrong[n] = Tag::new(&[7; 12]).unwrap());
                let verified = run(&memory, &cipher, verify(&messages, &wrong), &messages.data).unwrap();
                assert_eq!(verified.failed(), failed, "{}", name(engine));
            }
        }
    }
}

fn what_cannot_be_is_refused() {
    let says = |outcome: Result<CmacBatch, Error>, what: &str| {
        let error = outcome.err().unwrap_or_else(|| panic!("{what}: not refused")).to_string();
        assert!(error.contains(what), "{error}: not {what}");
    };
    #[expect(clippy::reversed_empty_ranges, reason = "to be refused")]
    let backwards = 9..3;
    says(CmacBatch::new(&[0..4, backwards]), "message 1 ends at byte 3, before it begins at byte 9");
    says(CmacBatch::new(&[0..0, 0..1 << 36]), "message 1 has 68719476736 bytes");
    let refused = |ranges: Ranges<'_>| CmacBatch::from_arrays(&ranges).err().unwrap().to_string();
    assert!(refused(Ranges::pairs(&[0_i32, 4, 9, -3][..])).contains("message 1 has a number that is not a position"));
    assert!(refused(Ranges::pairs(&[9_u32, 3][..])).contains("message 0 ends at byte 3, before it begins at byte 9"));
    assert!(refused(Ranges::lengths(&[0_u64][..], &[4_u32, 5][..])).contains("1 offset and 2 lengths"));
    assert!(refused(Ranges::lengths(&[9, u64::MAX][..], &[1_u64, 1][..])).contains("message 1 has a number"));
    assert!(refused(Ranges::equal(2, 1 << 36)).contains("message 0 has 68719476736 bytes"));
    assert!(refused(Ranges::equal(1 << 32, 16)).contains("a batch has room for"));
    let tags = CmacVerifyBatch::from_arrays(&Ranges::equal(2, 4), &[0; 24], 8).err().unwrap().to_string();
    assert!(tags.contains("24 bytes of tags for 2 messages: give 8 for each"), "{tags}");
    let cipher = cipher(&Engine::open(Backend::Cpu).unwrap(), &[1; 16]);
    let messages = [10..20, 0..10];
    let refused = cipher.run(CmacBatch::new(&messages).unwrap(), &[7; 19]).unwrap_err();
    assert!(matches!(&refused, Error::Batch { what } if what.contains("message 0 ends at byte 20")), "{refused}");
    let batch = CmacBatch::new(&messages).unwrap();
    assert_eq!((batch.len(), batch.is_empty(), format!("{batch:?}")), (2, false, "CMAC of 2 messages".into()));
    let tags = cipher.run(batch, &[7; 20]).unwrap();
    assert_eq!(tags, [cipher.run(Cmac::new(), &[7; 10]).unwrap(); 2]);
    let refused = CmacVerifyBatch::new(&messages, &tags[..1]).unwrap_err();
    assert!(refused.to_string().contains("1 tag for 2 messages"), "{refused}");
    let xts = Key::xts(&noise(1, 32)).unwrap();
    let refused = Engine::open(Backend::Cpu).unwrap().cipher(&xts).unwrap().run(make(&Messages::new(1, &[])), &[0; 9]);
    assert!(matches!(refused, Err(Error::WrongKeys { operation: "a CMAC batch", .. })), "{refused:?}");
}

/// Several at a time on one stream and on two, and one that is never waited for.
fn calls_in_flight(engines: &'static [Engine]) {
    let engine = &engines[0];
    let (key, lengths) = (noise(8, 16), [(1500, 0); 500]);
    let messages = Messages::new(12, &lengths);
    let tags = messages.by_another(&key);
    let cipher = cipher(engine, &key);
    let device = cipher.device().unwrap();
    device.prepare_for(&make(&messages)).unwrap();
    let streams = [0, 1].map(|_| engine.cuda_context().unwrap().new_stream().unwrap());
    let mut data: Vec<_> = (0..24).map(|n| streams[n % 2].clone_htod(&messages.data).unwrap()).collect();
    let pending: Vec<_> = data
        .iter_mut()
        .enumerate()
        .map(|(n, data)| device.run_with_output(&streams[n % 2], make(&messages), data).unwrap())
        .collect();
    for (n, pending) in pending.into_iter().enumerate() {
        match n % 5 {
            3 => drop(pending),
            _ => assert!(pending.wait().unwrap() == tags, "{n}"),
        }
    }
    // After a write of the data on the same stream.
    let ctr = Ctr::new(&Counter::random().unwrap(), 0);
    let mut secret = messages.data.clone();
    cipher.run(ctr, &mut secret).unwrap();
    device.run(&streams[0], ctr, &mut data[0]).unwrap();
    let found = device.run_with_output(&streams[0], make(&messages), &mut data[0]).unwrap().wait().unwrap();
    assert!(found == Messages { data: secret, ..messages }.by_another(&key));
}

fn one_long_message_among_short_ones(engines: &'static [Engine]) {
    let mut lengths = vec![(100, 0); 1000];
    lengths[500] = ((1 << 20) + 3, 4);
    lengths[900] = (300 << 10, 0);
    let (messages, key) = (Messages::new(13, &lengths), noise(9, 32));
    let tags = messages.by_another(&key);
    for engine in engines {
        let cipher = cipher(engine, &key);
        for memory in Memory::all_of(engine) {
            assert!(run(&memory, &cipher, make(&messages), &messages.data).unwrap() == tags, "{}", name(engine));
        }
    }
}

fn other_memory_is_refused(engines: &'static [Engine]) {
    let messages = Messages::new(14, &[(100, 0)]);
    for engine in engines {
        let cipher = cipher(engine, &[2; 16]);
        let mut data = engine.sharded(1000).unwrap();
        let refused = cipher.sharded().unwrap().run(make(&messages), &mut data).map(drop);
        assert!(matches!(refused, Err(Error::Unsupported { operation: "a CMAC batch", .. })), "{refused:?}");
    }
}
