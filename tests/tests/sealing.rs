//! Sealing and opening on every engine: chunks of segments in one call, from one thread and from many, against the CPU's, to every
//! byte. Whatever the CPU opens is what it would have written: ciphertext and tags follow from key, nonce and message.

use aes_bitslice_runtime::{Backend, Engine, Kernels, Key};
use aes_bitslice_seal::tink::{self, Keyset};
use aes_bitslice_seal::{Error, Opening, PassphraseCost, Places, Sealing, Secret, open, open_range, seal};
use aes_bitslice_tests::engines::{Device, name};
use aes_bitslice_tests::harness::Tests;
use aes_bitslice_tests::reference::noise;
use aes_bitslice_tests::refused;
use aes_bitslice_tests::tests_of_engines;
use std::io::Cursor;
use std::process::ExitCode;
use std::thread;

const DEVICES: [Device; 5] =
    [Device::Cpu, Device::Cuda(Kernels::Auto), Device::OneGpu, Device::SeveralGpus, Device::OpenCl];

fn main() -> ExitCode {
    Tests::default()
        .on_each(
            &DEVICES,
            &[],
            tests_of_engines![
                chunks_of_any_number_of_segments,
                what_was_changed_is_told_by_its_number,
                chunks_by_many_threads,
                whole_files_and_ranges,
            ],
        )
        .run()
}

const TAG: usize = 16;

/// Two keysets: one with segments of 100 bytes, few of which begin at multiples of 16, and one with segments of 4 KiB.
fn keysets() -> [Keyset; 2] {
    let small = r#"{"primaryKeyId": 7, "key": [{"keyData": {
        "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
        "value": "EgYIZBAgGAMaIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
        "keyMaterialType": "SYMMETRIC"}, "status": "ENABLED", "keyId": 7, "outputPrefixType": "RAW"}]}"#;
    let of_tink = include_str!("../../aes-bitslice-seal/tests/tink/aes256-4kb.json");
    [small, of_tink].map(|text| Keyset::from_json(text).unwrap())
}

fn cpu() -> Engine {
    Engine::open(Backend::Cpu).unwrap()
}

/// A message in chunks of some segments: the number of the first segment, the bytes, and whether it is the last.
fn chunks(places: Places, message: &[u8], segments: u64) -> Vec<(u64, &[u8], bool)> {
    let (mut rest, mut first, mut chunks) = (message, 0, vec![]);
    loop {
        let most = (places.first_byte(first + segments) - places.first_byte(first)) as usize;
        let (chunk, after) = rest.split_at(most.min(rest.len()));
        chunks.push((first, chunk, after.is_empty()));
        (rest, first) = (after, first + segments);
        if rest.is_empty() {
            return chunks;
        }
    }
}

/// A file whose chunks are each sealed separately.
fn sealed_in_chunks(sealing: &Sealing, message: &[u8], segments: u64) -> Vec<u8> {
    let mut file = sealing.header().to_vec();
    for (first, chunk, is_last) in chunks(sealing.places(), message, segments) {
        assert_eq!(sealing.places().place(first), file.len() as u64);
        let mut memory = [chunk, &vec![0xee; TAG * segments as usize]].concat();
        let bytes = sealing.seal(first, is_last, &mut memory, chunk.len()).unwrap();
        file.extend_from_slice(&memory[..bytes]);
    }
    assert_eq!(file.len() as u64, sealing.places().file_bytes(message.len() as u64));
    file
}

/// The message of a file whose chunks are each opened separately.
fn opened_in_chunks(opening: &Opening, file: &[u8], segments: u64) -> Vec<u8> {
    let (places, mut first, mut message) = (opening.places(), 0, vec![]);
    loop {
        let [start, end] = [first, first + segments].map(|index| (places.place(index) as usize).min(file.len()));
        let (mut memory, is_last) = (file[start..end].to_vec(), end == file.len());
        let bytes = opening.open(first, is_last, &mut memory, end - start).unwrap();
        message.extend_from_slice(&memory[..bytes]);
        first += segments;
        if is_last {
            return message;
        }
    }
}

/// Of every length around the ends of segments and chunks; each engine opens what the other seals.
fn chunks_of_any_number_of_segments(engines: &'static [Engine]) {
    for engine in engines {
        for (keyset, whole) in keysets().iter().zip([84, 4080]) {
            for segments in [1, 2, 9, 40] {
                let ends = [0, 1, 2, segments, 2 * segments].map(|n| (n * whole) as i64 - 40);
                let around = ends.iter().flat_map(|end| [-1, 0, 1, 17].map(|more| end + more));
                for len in around.filter_map(|len| usize::try_from(len).ok()).chain([0]) {
                    let message = noise(len as u64, len);
                    for (to, from) in [(engine, &cpu()), (&cpu(), engine)] {
                        let sealing = tink::sealing(to, keyset, b"about").unwrap();
                        let file = sealed_in_chunks(&sealing, &message, segments as u64);
                        let opening = tink::opening(from, keyset, b"about", &file).unwrap();
                        let opened = opened_in_chunks(&opening, &file, segments as u64);
                        assert!(opened == message, "{}, {len} bytes by {segments} segments", name(engine));
                    }
                }
            }
        }
    }
}

/// Anywhere in a segment, including its tag; nothing of the chunk is left.
fn what_was_changed_is_told_by_its_number(engines: &'static [Engine]) {
    for engine in engines {
        for (keyset, segment) in keysets().iter().zip([100, 4096]) {
            let message = noise(1, 11 * (segment - TAG) + 5);
            let file = sealed_in_chunks(&tink::sealing(&cpu(), keyset, b"").unwrap(), &message, 1);
            let opening = tink::opening(engine, keyset, b"", &file).unwrap();
            let segments = &file[opening.places().header_bytes()..];
            for index in 0..12_u64 {
                let start = opening.places().place(index) as usize - opening.places().header_bytes();
                let end =
                    (opening.places().place(index + 1) as usize).min(file.len()) - opening.places().header_bytes();
                for at in [start, (start + end) / 2, end - TAG, end - 1] {
                    let mut memory = segments.to_vec();
                    memory[at] ^= 0x20;
                    let outcome = opening.open(0, true, &mut memory, segments.len());
                    let is_told = matches!(outcome, Err(Error::Damaged { index: told }) if told == index);
                    assert!(is_told && memory.iter().all(|&byte| byte == 0), "{}, {at}: {outcome:?}", name(engine));
                }
            }
            // Of two, the first.
            let mut memory = segments.to_vec();
            memory[segments.len() - 1] ^= 1;
            memory[5 * segment] ^= 1;
            let outcome = opening.open(0, true, &mut memory, segments.len());
            assert!(matches!(outcome, Err(Error::Damaged { index: 5 })), "{}: {outcome:?}", name(engine));
        }
    }
}

/// Threads that take the next chunk, as the command line's do, with memory that is fast for the engine.
fn chunks_by_many_threads(engines: &'static [Engine]) {
    const THREADS: usize = 6;
    for engine in engines {
        let keyset = &keysets()[1];
        let message = noise(2, 3_000_001);
        let sealing = tink::sealing(engine, keyset, b"").unwrap();
        let places = sealing.places();
        let chunks = chunks(places, &message, 16);
        let mut file = sealing.header().to_vec();
        file.resize(places.file_bytes(message.len() as u64) as usize, 0);
        let done: Vec<(u64, Vec<u8>)> = thread::scope(|scope| {
            let work = |of: usize| {
                let (sealing, chunks) = (&sealing, &chunks);
                scope.spawn(move || {
                    let mut memory = engine.host_buffer(16 * places.segment_bytes()).unwrap();
                    let mut one = |(first, chunk, is_last): &(u64, &[u8], bool)| {
                        memory[..chunk.len()].copy_from_slice(chunk);
                        let bytes = sealing.seal(*first, *is_last, &mut memory, chunk.len()).unwrap();
                        (*first, memory[..bytes].to_vec())
                    };
                    chunks.iter().skip(of).step_by(THREADS).map(&mut one).collect::<Vec<_>>()
                })
            };
            let threads: Vec<_> = (0..THREADS).map(work).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        for (first, chunk) in done {
            file[places.place(first) as usize..][..chunk.len()].copy_from_slice(&chunk);
        }
        let mut opened = vec![];
        tink::decrypt(&cpu(), keyset, b"", &file[..], &mut opened).unwrap();
        assert!(opened == message, "{}", name(engine));
    }
}

/// From a reader to a writer, with segments of 1 MiB: more than a chunk, and than the chunks in flight.
fn whole_files_and_ranges(engines: &'static [Engine]) {
    let key = Key::new(&noise(3, 32)).unwrap();
    let secret = Secret::Key(&key);
    for engine in engines {
        for len in [0, 1, (1 << 20) - 56, (1 << 20) - 55, (19 << 20) + 12345] {
            let message = noise(4, len);
            let (mut file, mut of_cpu, mut opened) = (vec![], vec![], vec![]);
            assert_eq!(seal(engine, secret, &message[..], &mut file).unwrap(), len as u64);
            open(&cpu(), secret, &file[..], &mut opened).unwrap();
            assert!(opened == message, "{}, {len} bytes", name(engine));
            seal(&cpu(), secret, &message[..], &mut of_cpu).unwrap();
            opened.clear();
            assert_eq!(open(engine, secret, &of_cpu[..], &mut opened).unwrap(), len as u64);
            assert!(opened == message, "{}, {len} bytes", name(engine));
            if let Some(end) = len.checked_sub(100) {
                opened.clear();
                open_range(engine, secret, Cursor::new(&of_cpu), 50..end as u64, &mut opened).unwrap();
                assert!(opened == message[50..end], "{}, {len} bytes", name(engine));
                of_cpu[end] ^= 1;
                refused!(open(engine, secret, &of_cpu[..], vec![]), Error::Damaged { .. });
            }
        }
        let sealing = Sealing::new(engine, secret, PassphraseCost::default()).unwrap();
        assert!(sealing.chunk_segments() >= 1 && sealing.places().segment_bytes() == 1 << 20);
    }
}
