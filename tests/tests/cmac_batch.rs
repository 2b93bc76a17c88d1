//! CMAC of many messages in one call: published vectors, each message against another implementation, in host memory and in GPU memory;
//! changed messages; invalid calls.

use aes_bitslice_runtime::{
    Backend, Cmac, CmacBatch, CmacVerifyBatch, Counter, Ctr, Engine, Error, Kernels, Key, Ranges, Tag,
};
use aes_bitslice_tests::arrays::Arrays;
use aes_bitslice_tests::engines::{Device, cipher, name};
use aes_bitslice_tests::environment::{all_or, all_or_every, random};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::memory::Memory;
use aes_bitslice_tests::messages::Messages;
use aes_bitslice_tests::reference::{key_bytes, noise};
use aes_bitslice_tests::vectors::{any_tag, cases};
use aes_bitslice_tests::{refused, tests, tests_of_engines};
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

fn make(messages: &Messages) -> CmacBatch {
    CmacBatch::new(&messages.ranges).unwrap()
}

fn verify(messages: &Messages, tags: &[Tag]) -> CmacVerifyBatch {
    CmacVerifyBatch::new(&messages.ranges, tags).unwrap()
}

/// Makes and verifies their tags on each engine, and these forged ones.
fn check(engines: &[Engine], messages: &Messages, forged: &[usize]) {
    let (known, make) = (messages.cmac(), make(messages));
    for engine in engines {
        known.check(&cipher(engine, &messages.keys[0]), &make, |tags| verify(messages, tags), forged);
    }
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
                let mut read = data.clone();
                let tags = memory.run(&cipher, &CmacBatch::new(&ranges).unwrap(), &mut read).unwrap();
                assert!(read == data, "it only reads");
                let tag = &tags.last().unwrap().as_bytes()[..case.tag.len()];
                assert_eq!(tag, case.tag, "{}, {}", name(engine), case.source);
            }
            let tag = cipher.run(CmacBatch::new(&ranges[ranges.len() - 1..]).unwrap(), &data).unwrap()[0];
            assert_eq!(tag.as_bytes()[..case.tag.len()], case.tag, "{}", case.source);
        }
    }
}

/// Of messages and the gaps before them; there is no additional data.
fn lengths() -> impl Strategy<Value = Vec<(usize, usize, usize)>> {
    let one = prop_oneof![
        (0..3000_usize, Just(0), 0..17_usize),
        (0..70_usize, Just(0), 0..5_usize),
        ((0..100_usize).prop_map(|n| 16 * n), Just(0), prop_oneof![Just(0_usize), Just(16)]),
        ((0..500_usize).prop_map(|n| 4 * n), Just(0), prop_oneof![Just(0_usize), Just(4)]),
    ];
    prop_oneof![
        2 => prop::collection::vec(one, 0..=600),
        1 => (0..2000_usize, 1..600_usize).prop_map(|(bytes, n)| vec![(bytes, 0, 0); n]),
    ]
}

fn messages_are_as_another_has_them(engines: &'static [Engine]) {
    proptest!(random(all_or(100, 10)), |(key in key_bytes(), lengths in lengths(), seed: u32)| {
        let messages = Messages::new(seed.into(), vec![key], &lengths);
        check(engines, &messages, &messages.one(seed));
    });
}

/// In every form, in any order and overlapping, of equal lengths and of others; tags as one array.
fn arrays_are_as_lists(engines: &'static [Engine]) {
    let each = prop_oneof![
        2 => prop::collection::vec((0..3000_u64, 0..2000_u64), 0..=600),
        1 => (0..60_u64, 1..600_u64).prop_map(|(bytes, n)| (0..n).map(|i| (i * 7, bytes)).collect()),
    ];
    proptest!(random(all_or(40, 5)), |(key in key_bytes(), each in each, seed: u32)| {
        let ranges: Vec<Range<u64>> = each.into_iter().map(|(start, bytes)| start..start + bytes).collect();
        let messages = of_ranges(seed.into(), key, ranges, 5000);
        let (known, wrong, tag_bytes) = (messages.cmac(), messages.one(seed), [4, 8, 14, 16][seed as usize % 4]);
        let (arrays, tags) = (Arrays::of(&messages.ranges), known.tags_with(&wrong, tag_bytes));
        for engine in engines {
            let (cipher, memories) = (cipher(engine, &messages.keys[0]), Memory::all_of(engine));
            for (n, form) in arrays.forms().iter().enumerate() {
                let memory = &memories[n % memories.len()];
                known.seals(memory, &cipher, &CmacBatch::from_arrays(form).unwrap());
                let verify = CmacVerifyBatch::from_arrays(form, &tags, tag_bytes).unwrap();
                known.opens(memory, &cipher, &verify, &wrong);
            }
        }
    });
}

/// Messages at these ranges of data, in any order.
fn of_ranges(seed: u64, key: Vec<u8>, ranges: Vec<Range<u64>>, bytes: usize) -> Messages {
    Messages { ranges, plain: noise(seed, bytes), ..Messages::new(seed, vec![key], &[]) }
}

/// Every number of bytes of the last block in every lane of a tile, because equal numbers of blocks keep their order; and lengths that
/// are sorted, overlapping.
fn every_length_in_every_lane(engines: &'static [Engine]) {
    let each = |n: u64| 7 * n % 4001..7 * n % 4001 + 17 + (n + n / 256) % 16;
    let sorted = |step: u64| (0..67 * 33).map(move |n| 13 * n % 4001..13 * n % 4001 + n * step % 67).collect();
    for ranges in [(0..4096).map(each).collect(), sorted(1), sorted(37), sorted(251)] {
        let messages = of_ranges(3, noise(2, 24), ranges, 5000);
        check(engines, &messages, &messages.one(1234));
    }
}

/// Data and tag, with tags of any length.
fn what_was_changed_is_told(engines: &'static [Engine]) {
    let lengths: Vec<_> = (0..700).map(|n| (1 + n * 67 % 900, 0, n % 3)).collect();
    let messages = Messages::new(9, vec![noise(3, 32)], &lengths);
    let (mut known, mut changed, mut failed) = (messages.cmac(), messages.clone(), vec![]);
    for n in 0..lengths.len() {
        let mut tag = known.tags[n].as_bytes()[..[16, 15, 14, 13, 12, 8, 4][n % 7]].to_vec();
        let range = messages.range(n);
        match n % 11 {
            0 => known.secret[range.start + n * 31 % range.len()] ^= 1 << (n % 8),
            3 => *tag.last_mut().unwrap() ^= 1,
            // Another length.
            5 => changed.ranges[n].end -= 1,
            _ => {}
        }
        known.tags[n] = any_tag(&tag).unwrap();
        failed.extend([0, 3, 5].contains(&(n % 11)).then_some(n));
    }
    let verify = verify(&changed, &known.tags);
    for engine in engines {
        let cipher = cipher(engine, &messages.keys[0]);
        Memory::all_of(engine).iter().for_each(|memory| known.opens(memory, &cipher, &verify, &failed));
    }
}

/// No messages; none with data; none with anything, where there is data.
fn nothing_to_do(engines: &'static [Engine]) {
    for (lengths, bytes) in [(vec![], 0), (vec![], 50), (vec![(0, 0, 0); 3], 0), (vec![(0, 0, 20), (0, 0, 0)], 40)] {
        let plain = noise(6, bytes);
        let messages = Messages { plain, ..Messages::new(11, vec![noise(5, 16)], &lengths) };
        check(engines, &messages, &messages.one(1));
    }
    // No part is no message.
    for engine in engines {
        let one = make(&Messages::new(3, vec![], &[(1, 0, 0)]));
        refused!(cipher(engine, &[2; 16]).combine(&one, vec![]), Error::PartsDoNotAdjoin { .. });
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
    let refused =
        Engine::open(Backend::Cpu).unwrap().cipher(&xts).unwrap().run(make(&Messages::new(1, vec![], &[])), &[0; 9]);
    assert!(matches!(refused, Err(Error::WrongKeys { operation: "a CMAC batch", .. })), "{refused:?}");
}

/// Several at a time on one stream and on two, and one that is never waited for.
fn calls_in_flight(engines: &'static [Engine]) {
    let engine = &engines[0];
    let messages = Messages::new(12, vec![noise(8, 16)], &[(1500, 0, 0); 500]);
    let tags = messages.cmac().tags;
    let cipher = cipher(engine, &messages.keys[0]);
    let device = cipher.device().unwrap();
    device.prepare_for(&make(&messages)).unwrap();
    let streams = [0, 1].map(|_| engine.cuda_context().unwrap().new_stream().unwrap());
    let mut data: Vec<_> = (0..24).map(|n| streams[n % 2].clone_htod(&messages.plain).unwrap()).collect();
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
    let mut plain = messages.plain.clone();
    cipher.run(ctr, &mut plain).unwrap();
    device.run(&streams[0], ctr, &mut data[0]).unwrap();
    let found = device.run_with_output(&streams[0], make(&messages), &mut data[0]).unwrap().wait().unwrap();
    assert!(found == Messages { plain, ..messages }.cmac().tags);
}

fn one_long_message_among_short_ones(engines: &'static [Engine]) {
    let mut lengths = vec![(100, 0, 0); 1000];
    lengths[500] = ((1 << 20) + 3, 0, 4);
    lengths[900] = (300 << 10, 0, 0);
    check(engines, &Messages::new(13, vec![noise(9, 32)], &lengths), &[900]);
}

fn other_memory_is_refused(engines: &'static [Engine]) {
    let messages = Messages::new(14, vec![], &[(100, 0, 0)]);
    for engine in engines {
        let cipher = cipher(engine, &[2; 16]);
        let mut data = engine.sharded(1000).unwrap();
        let refused = cipher.sharded().unwrap().run(make(&messages), &mut data).map(drop);
        assert!(matches!(refused, Err(Error::Unsupported { operation: "a CMAC batch", .. })), "{refused:?}");
    }
}
