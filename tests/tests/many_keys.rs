//! Many keys in one call: each job against another implementation, in host memory and in GPU memory; the bytes between jobs; invalid
//! calls.

use aes_bitslice_runtime::{
    Backend, EachKey, Ecb, Engine, Error, GcmSivEncrypt, Ghash, Job, Jobs, Kernels, Key, KeyBits, Mode, Nonce, Ranges,
};
use aes_bitslice_tests::arrays::{Arrays, after_gaps};
use aes_bitslice_tests::engines::{Device, name};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::memory::Memory;
use aes_bitslice_tests::operation::AnyOperation;
use aes_bitslice_tests::reference::{Reference, noise};
use aes_bitslice_tests::{refused, tests, tests_of_engines};
use std::ops::Range;
use std::process::ExitCode;

const MODES: [Mode; 4] = [Mode::EcbEncrypt, Mode::Ctr, Mode::Keystream, Mode::EcbDecrypt];

fn main() -> ExitCode {
    Tests::default()
        .on_each(
            &[Device::Cpu, Device::Cuda(Kernels::Auto), Device::OpenCl],
            &[],
            tests_of_engines![
                jobs_are_as_another_has_them,
                arrays_are_as_lists,
                each_key_as_another_has_it,
                nothing_to_do,
                a_cipher_without_a_key_and_one_with_another
            ],
        )
        .on_each(
            &[Device::Cuda(Kernels::Auto)],
            &[],
            tests_of_engines![keys_in_device_memory, from_one_buffer_to_another, calls_in_flight],
        )
        .with(&[], tests![what_cannot_be_is_refused, keys_are_not_printed])
        .alone(&[], &[("AES_BITSLICE_THREADS", "9")], tests![nine_threads_do_all_jobs])
        .alone(&[], &[("AES_BITSLICE_THREADS", "200")], tests![two_hundred_threads_do_all_jobs])
        .run()
}

/// By the reference.
fn expected(mode: Mode, key: &[u8], counter: [u8; 16], data: &mut [u8]) {
    let by_another = AnyOperation::of(mode, u128::from_be_bytes(counter), 0).expected(&Reference::new(key), data);
    data.copy_from_slice(&by_another);
}

/// Jobs, and their data.
struct Work {
    keys: Vec<Vec<u8>>,
    counters: Vec<[u8; 16]>,
    ranges: Vec<Range<u64>>,
    plain: Vec<u8>,
}

impl Work {
    /// Lengths in bytes: of data, and of the gap before a job. Some counters wrap in 32 bits, some in 128.
    fn new(seed: u64, bits: KeyBits, lengths: &[(usize, usize)]) -> Self {
        let (ranges, at) = after_gaps(lengths.iter().copied());
        let counter = |n: usize| match n % 3 {
            0 => (u128::MAX - n as u128).to_be_bytes(),
            1 => (7u128 << 64 | u128::from(u32::MAX - n as u32)).to_be_bytes(),
            _ => noise(seed ^ n as u64, 16).try_into().unwrap(),
        };
        Self {
            keys: (0..lengths.len()).map(|n| noise(seed + 1 + n as u64, bits.bytes())).collect(),
            counters: (0..lengths.len()).map(counter).collect(),
            ranges,
            plain: noise(!seed, at + 7),
        }
    }

    fn list(&self) -> Vec<Job<'_>> {
        let job = |n: usize| Job { key: &self.keys[n], counter: self.counters[n], range: self.ranges[n].clone() };
        (0..self.keys.len()).map(job).collect()
    }

    fn expected(&self, mode: Mode) -> Vec<u8> {
        let mut data = self.plain.clone();
        for job in self.list() {
            expected(mode, job.key, job.counter, &mut data[job.range.start as usize..job.range.end as usize]);
        }
        data
    }

    /// Runs jobs on the data, wherever it can be.
    fn check(&self, engines: &[Engine], mode: Mode, jobs: &Jobs) {
        let expected = self.expected(mode);
        for (engine, memory) in engines.iter().flat_map(|e| Memory::all_of(e).into_iter().map(move |m| (e, m))) {
            let mut data = self.plain.clone();
            memory.run(&engine.under_own_keys(), jobs, &mut data).unwrap();
            assert!(data == expected, "{mode}, {} jobs, {}", jobs.len(), name(engine));
        }
    }
}

/// In every form, and in two parts.
fn arrays_are_as_lists(engines: &'static [Engine]) {
    let lengths: [&[(usize, usize)]; 4] = [&[], &[(16, 0); 300], &[(512, 0), (16, 3), (0, 0), (4096, 1)], &[(32, 9)]];
    for (n, (lengths, bits)) in lengths.into_iter().zip(KeyBits::ALL.into_iter().cycle()).enumerate() {
        let work = Work::new(n as u64, bits, lengths);
        let (keys, arrays) = (work.keys.concat(), Arrays::of(&work.ranges));
        for mode in MODES {
            let counters = if matches!(mode, Mode::Ctr | Mode::Keystream) { &*work.counters } else { &[] };
            for form in arrays.forms() {
                work.check(engines, mode, &Jobs::from_arrays(mode, bits, &keys, counters, &form).unwrap());
            }
        }
    }
}

fn jobs_are_as_another_has_them(engines: &'static [Engine]) {
    let lengths: [&[(usize, usize)]; 8] = [
        &[(512, 0), (16, 0), (0, 3), (4096, 1), (10_000, 32), (528, 0), (32, 5), (4112, 0)],
        &[(65_536, 0), (65_536, 0), (65_536, 0)],
        &[(16, 0); 700],
        &[(48, 0); 301],
        &[(1 << 20, 8), (100, 0), (31, 1), (513, 0), (1, 2), (4095, 4)],
        &[(16, 16)],
        // Equal ones, one run and a part of one in each; with gaps.
        &[(1041, 0); 70],
        &[(5000, 12); 9],
    ];
    for (n, lengths) in lengths.into_iter().enumerate() {
        for bits in KeyBits::ALL {
            for mode in MODES {
                let whole: Vec<(usize, usize)> = lengths.iter().map(|&(bytes, gap)| (bytes / 16 * 16, gap)).collect();
                let is_ecb = matches!(mode, Mode::EcbEncrypt | Mode::EcbDecrypt);
                let lengths = if is_ecb { &whole } else { lengths };
                let mut work = Work::new(n as u64 + 100, bits, lengths);
                if n == 3 {
                    // Equal shares with equal counters.
                    work.counters.fill([0xff; 16]);
                }
                let jobs = Jobs::new(mode, &work.list()).unwrap();
                assert_eq!(jobs.len(), lengths.len());
                work.check(engines, mode, &jobs);
            }
        }
    }
}

fn each_key_as_another_has_it(engines: &'static [Engine]) {
    for (each, count) in [(16, 1000), (32, 77), (48, 300), (512, 9), (4096 + 16, 5), (16, 1)] {
        for bits in KeyBits::ALL {
            for mode in MODES {
                let keys = noise(each as u64, count * bits.bytes());
                let counter = (u128::MAX - 1).to_be_bytes();
                let operation = EachKey::new(mode, bits, counter, each as u64).unwrap();
                let plain = noise(5, each * count);
                let mut by_another = plain.clone();
                for (key, data) in keys.chunks(bits.bytes()).zip(by_another.chunks_mut(each)) {
                    expected(mode, key, counter, data);
                }
                for engine in engines {
                    let mut data = plain.clone();
                    engine.run_each_key(&operation, &keys, &mut data).unwrap();
                    assert!(data == by_another, "{}, {mode}, {each} bytes, {} bits", name(engine), bits.bits());
                    let mut data = vec![0x11; plain.len()];
                    let separate = match mode {
                        Mode::Keystream => engine.run_each_key(&operation, &keys, &mut data),
                        _ => engine.run_each_key(&operation, &keys, (&plain, &mut data)),
                    };
                    assert!(separate.is_ok() && data == by_another);
                }
            }
        }
    }
}

fn nothing_to_do(engines: &'static [Engine]) {
    let empty = Jobs::new(Mode::Ctr, &[]).unwrap();
    let key = [7; 16];
    let of_nothing = Jobs::new(Mode::Ctr, &[Job { key: &key, counter: [0; 16], range: 3..3 }]).unwrap();
    assert!(empty.is_empty() && !of_nothing.is_empty());
    for engine in engines {
        for jobs in [&empty, &of_nothing] {
            for memory in Memory::all_of(engine) {
                let mut data = *b"data";
                memory.run(&engine.under_own_keys(), jobs, &mut data).unwrap();
                assert_eq!(&data, b"data");
            }
        }
        let each = EachKey::new(Mode::Ctr, KeyBits::Aes128, [0; 16], 16).unwrap();
        engine.run_each_key(&each, &[], &mut []).unwrap();
    }
}

/// Without a key nothing else is done. A key that there is changes nothing.
fn a_cipher_without_a_key_and_one_with_another(engines: &'static [Engine]) {
    let work = Work::new(7, KeyBits::Aes192, &[(100, 0), (32, 3)]);
    let jobs = || Jobs::new(Mode::Ctr, &work.list()).unwrap();
    for engine in engines {
        let none = engine.under_own_keys();
        let mut data = work.plain.clone();
        for data in [&mut data[..16], &mut []] {
            refused!(none.run(Ecb::encrypt(), data), Error::NeedsKey { .. });
        }
        refused!(none.run(Ghash::new(), &data[..16]), Error::NeedsKey { .. });
        refused!(none.run(GcmSivEncrypt::new(&Nonce::from([1; 12]), b""), &mut data), Error::NeedsKey { .. });
        assert!(data == work.plain);
        let other = engine.cipher(&Key::new(&[9; 16]).unwrap()).unwrap();
        other.run(jobs(), &mut data).unwrap();
        assert!(data == work.expected(Mode::Ctr));
        let submitted = none.submit(jobs(), work.plain.clone()).unwrap().wait().unwrap();
        assert!(submitted == data, "{}", name(engine));
        if let Ok(device) = none.device() {
            let stream = engine.cuda_context().unwrap().new_stream().unwrap();
            let mut on_device = stream.clone_htod(&work.plain).unwrap();
            refused!(device.prepare(Mode::Ctr), Error::NeedsKey { .. });
            refused!(device.run(&stream, Ecb::encrypt(), &mut on_device.slice_mut(..16)), Error::NeedsKey { .. });
            refused!(
                device.run_with_output(&stream, Ghash::new(), &mut on_device.slice_mut(..16)),
                Error::NeedsKey { .. }
            );
            device.prepare_for(&jobs()).unwrap();
            other.device().unwrap().run_with_output(&stream, jobs(), &mut on_device).unwrap().wait().unwrap();
            assert!(stream.clone_dtoh(&on_device).unwrap() == data);
        }
        refused!(none.sharded(), Error::NeedsKey { .. } | Error::NotCuda { .. });
        refused!(none.opencl(), Error::NeedsKey { .. } | Error::NotOpenCl { .. });
    }
}

fn keys_in_device_memory(engines: &'static [Engine]) {
    let engine = &engines[0];
    let stream = engine.cuda_context().unwrap().new_stream().unwrap();
    let none = engine.under_own_keys();
    let device = none.device().unwrap();
    for (each, count) in [(16, 5000), (32, 257), (4096, 3), (80, 100)] {
        for bits in KeyBits::ALL {
            for (offset, mode) in MODES.into_iter().enumerate() {
                let keys = noise(each as u64 + 3, count * bits.bytes());
                let operation = EachKey::new(mode, bits, [0xff; 16], each as u64).unwrap();
                let plain = noise(5, each * count);
                let mut by_another = plain.clone();
                engine.run_each_key(&operation, &keys, &mut by_another).unwrap();
                let on_device = stream.clone_htod(&keys).unwrap();
                let mut data = stream.clone_htod(&[&vec![1; offset], &plain[..], &[2; 5]].concat()).unwrap();
                let mut part = data.slice_mut(offset..offset + plain.len());
                device.run_each_key(&stream, &operation, &on_device, &mut part).unwrap();
                let found = stream.clone_dtoh(&data).unwrap();
                assert!(found == [&vec![1; offset], &by_another[..], &[2; 5]].concat(), "{mode}, {each} bytes");
                assert!(stream.clone_dtoh(&on_device).unwrap() == keys);
            }
        }
    }
    let operation = EachKey::new(Mode::Ctr, KeyBits::Aes128, [0; 16], 16).unwrap();
    let keys = stream.alloc_zeros::<u8>(33).unwrap();
    let mut data = stream.alloc_zeros::<u8>(32).unwrap();
    refused(device.run_each_key(&stream, &operation, &keys, &mut data), "whole keys");
    refused(device.run_each_key(&stream, &operation, &keys.slice(1..33), &mut data), "multiple of four");
    refused(device.run_each_key(&stream, &operation, &keys.slice(0..16), &mut data), "the data has 32");
}

fn refused(outcome: Result<(), Error>, says: &str) {
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::Jobs { .. }) && error.to_string().contains(says), "{error}");
}

fn from_one_buffer_to_another(engines: &'static [Engine]) {
    use aes_bitslice_runtime::cuda::cudarc::driver::DevicePtr;
    let engine = &engines[0];
    let stream = engine.cuda_context().unwrap().new_stream().unwrap();
    let lengths: [(Mode, &[(usize, usize)]); 2] = [
        (Mode::Ctr, &[(1000, 0), (16, 8), (9000, 1), (5, 0)]),
        (Mode::EcbDecrypt, &[(1008, 0), (16, 8), (9008, 1), (48, 0)]),
    ];
    for (mode, lengths) in lengths {
        let work = Work::new(9, KeyBits::Aes256, lengths);
        let jobs = Jobs::new(mode, &work.list()).unwrap();
        let input = stream.clone_htod(&work.plain).unwrap();
        let mut output = stream.clone_htod(&vec![0x33; work.plain.len()]).unwrap();
        let (none, len) = (engine.under_own_keys(), work.plain.len());
        let device = none.device().unwrap();
        {
            let (from, _read) = input.device_ptr(&stream);
            // SAFETY: it is refused, and the memory is that long.
            let overlaps =
                unsafe { device.run_raw_with_output(stream.cu_stream(), jobs.clone(), from, from + 1, len as u64 - 1) };
            assert!(matches!(overlaps.map(|_| ()), Err(Error::Jobs { .. } | Error::Overlap)));
        }
        let short = device.run_with_output(&stream, jobs.clone(), (&input.slice(1..), &mut output));
        refused!(short, Error::LengthMismatch { .. });
        let pending = device.run_with_output(&stream, jobs, (&input, &mut output)).unwrap();
        let found = stream.clone_dtoh(&output).unwrap();
        pending.wait().unwrap();
        let (mut expected, by_another) = (vec![0x33; work.plain.len()], work.expected(mode));
        for range in work.ranges.iter().map(|range| range.start as usize..range.end as usize) {
            expected[range.clone()].copy_from_slice(&by_another[range]);
        }
        assert!(found == expected);
        assert!(stream.clone_dtoh(&input).unwrap() == work.plain);
    }
}

/// More calls than there is cached memory for, on two streams, waited for in another order.
fn calls_in_flight(engines: &'static [Engine]) {
    let engine = &engines[0];
    let context = engine.cuda_context().unwrap();
    let streams = [context.new_stream().unwrap(), context.new_stream().unwrap()];
    let works: Vec<Work> = (0..20).map(|n| Work::new(n, KeyBits::Aes128, &[(5000, 0), (16, 3), (70_000, 0)])).collect();
    let mut calls = Vec::new();
    for (n, work) in works.iter().enumerate() {
        let stream = &streams[n % 2];
        let jobs = Jobs::new(Mode::Ctr, &work.list()).unwrap();
        let mut data = stream.clone_htod(&work.plain).unwrap();
        let pending = engine.under_own_keys().device().unwrap().run_with_output(stream, jobs, &mut data).unwrap();
        calls.push((work, data, pending));
    }
    for (n, (work, data, pending)) in calls.into_iter().enumerate().rev() {
        if n % 3 == 0 {
            drop(pending);
        } else {
            pending.wait().unwrap();
        }
        assert!(streams[n % 2].clone_dtoh(&data).unwrap() == work.expected(Mode::Ctr), "call {n}");
    }
}

fn what_cannot_be_is_refused() {
    let (key, long): (&[u8], &[u8]) = (&[7; 16], &[7; 32]);
    let job = |key: &'static [u8], range| Job { key, counter: [0; 16], range };
    let says = |mode, jobs: &[Job<'_>], text: &str| {
        let error = Jobs::new(mode, jobs).unwrap_err();
        assert!(matches!(error, Error::Jobs { .. }) && error.to_string().contains(text), "{error}");
    };
    says(Mode::CbcDecrypt, &[], "is not done under many keys");
    says(Mode::XtsDecrypt, &[], "is not done under many keys");
    says(Mode::Ctr, &[job(key, 0..1), job(long, 1..2)], "the key of job 1 has 256 bits");
    #[allow(clippy::reversed_empty_ranges)]
    says(Mode::Ctr, &[job(key, 3..2)], "before it begins");
    says(Mode::Ctr, &[job(key, 0..5), job(key, 4..9)], "ascend and do not overlap");
    says(Mode::EcbEncrypt, &[job(key, 0..15)], "whole blocks of 16");
    says(Mode::EcbDecrypt, &[job(key, 0..17)], "whole blocks of 16");
    says(Mode::Ctr, &[job(key, 0..u64::MAX)], "there is room for 68719476720: make several of it");
    let of = |mode, keys: &[u8], counters: &[[u8; 16]], ranges: Ranges<'_>| {
        Jobs::from_arrays(mode, KeyBits::Aes128, keys, counters, &ranges).unwrap_err().to_string()
    };
    let (keys, counters, two) = ([7; 32], [[0; 16]; 2], Ranges::equal(2, 16));
    assert!(of(Mode::Ctr, &keys[1..], &counters, two).contains("31 bytes of keys for 2 jobs: give 16 for each"));
    assert!(of(Mode::Ctr, &keys, &counters[1..], two).contains("1 counter for 2 jobs: ctr takes 2"));
    assert!(of(Mode::EcbEncrypt, &keys, &counters, two).contains("2 counters for 2 jobs: ecb-encrypt takes 0"));
    assert!(of(Mode::EcbEncrypt, &keys, &[], Ranges::equal(2, 17)).contains("job 0 has 17 bytes"));
    assert!(of(Mode::Ctr, &keys, &counters, Ranges::pairs(&[0_i64, 9, 9, -1][..])).contains("job 1 has a number"));
    assert!(of(Mode::Ctr, &keys, &counters, Ranges::spaced(2, 9, 8)).contains("job 1 begins at byte 8"));
    assert!(of(Mode::CbcDecrypt, &keys, &counters, two).contains("is not done under many keys"));
    refused!(Jobs::new(Mode::Ctr, &[job(&key[1..], 0..1)]), Error::KeyLength { bytes: 15 });
    for bytes in [0, 1, 17] {
        refused!(EachKey::new(Mode::Ctr, KeyBits::Aes128, [0; 16], bytes), Error::Jobs { .. });
    }
    let refused = EachKey::new(Mode::Ctr, KeyBits::Aes128, [0; 16], 1).unwrap_err().to_string();
    assert!(refused.contains("1 byte for each key"), "{refused}");
    assert!(EachKey::new(Mode::XtsEncrypt, KeyBits::Aes128, [0; 16], 16).is_err());

    let engine = Engine::open(Backend::Cpu).unwrap();
    let cipher = engine.under_own_keys();
    let jobs = Jobs::new(Mode::Ctr, &[job(key, 0..5), job(key, 5..10)]).unwrap();
    let mut data = [1; 9];
    let error = cipher.run(jobs.clone(), &mut data).unwrap_err();
    assert!(error.to_string().contains("job 1 ends at byte 10, and the data has 9 bytes"), "{error}");
    assert_eq!(data, [1; 9]);
    refused!(cipher.run(jobs.clone(), &[1; 10]), Error::WrongAccess { .. });
    refused!(cipher.run(jobs.clone(), (&[1; 10][..], &mut data[..])), Error::LengthMismatch { .. });
    let each = EachKey::new(Mode::EcbEncrypt, KeyBits::Aes128, [0; 16], 16).unwrap();
    refused!(engine.run_each_key(&each, &[0; 17], &mut [0; 16]), Error::Jobs { .. });
    let refused = engine.run_each_key(&each, &[0; 16], &mut [0; 32]).unwrap_err();
    assert!(refused.to_string().contains("1 key for 16 bytes each, and the data has 32"), "{refused}");
    refused!(cipher.device(), Error::NotCuda { .. });
}

fn nine_threads_do_all_jobs() {
    threads_do_all_of(20);
}

/// In pools of several threads each.
fn two_hundred_threads_do_all_jobs() {
    threads_do_all_of(2000);
}

/// Encrypts a block with each of `jobs` keys.
fn threads_do_all_of(jobs: usize) {
    let (keys, mut data) = (noise(1, 16 * jobs), noise(2, 16 * jobs));
    let mut encrypted = data.clone();
    let each = keys.chunks(16).zip(encrypted.chunks_mut(16));
    each.for_each(|(key, data)| expected(Mode::EcbEncrypt, key, [0; 16], data));
    let each = EachKey::new(Mode::EcbEncrypt, KeyBits::Aes128, [0; 16], 16).unwrap();
    Engine::open(Backend::Cpu).unwrap().run_each_key(&each, &keys, &mut data).unwrap();
    assert_eq!(data, encrypted);
}

fn keys_are_not_printed() {
    let key = [0xde; 16];
    let job = Job { key: &key, counter: [0; 16], range: 0..5 };
    let jobs = Jobs::new(Mode::Ctr, std::slice::from_ref(&job)).unwrap();
    let text = format!("{job:?} {jobs:?}");
    assert!(!text.contains("222") && !text.contains("de, de") && text.contains("128 bits"), "{text}");
}
