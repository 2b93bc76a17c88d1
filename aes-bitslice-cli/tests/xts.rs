//! `--mode xts`: published vectors, and what the definition makes of sectors of every kind, however the stream is cut.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::process::{Command, Stdio};

use aes_bitslice_core::aes::{Direction, KeySchedule};
use aes_bitslice_core::reference::{self, Units};
use common::{Folder, KEYS, KEYS_OF_XTS, bytes, folder_in_memory, message, names, pipe, program, said, unhex};

fn xts(direction: &str, key: &str, options: &str) -> Command {
    let mut command = program(&format!("{direction} --mode xts --key-env KEY {options}"));
    command.env("KEY", key);
    command
}

/// XTS of every sector by its definition, in a crate that shares nothing with the engines.
fn by_definition(direction: Direction, key: &str, sector: usize, first: u128, data: &[u8]) -> Vec<u8> {
    let key = unhex(key);
    let (data_key, tweak_key) = key.split_at(key.len() / 2);
    let data_key = KeySchedule::new(data_key, direction).unwrap();
    let tweak_key = KeySchedule::new(tweak_key, Direction::Encrypt).unwrap();
    let sectors = data.chunks(sector).zip(first..).flat_map(|(data, first)| {
        let units = Units { bytes: 16 << 20, first, before: 0 };
        reference::xts(direction, &data_key, &tweak_key, units, data)
    });
    sectors.collect()
}

/// IEEE 1619-2007, annex B, vectors 2 and 3, and 15 to 18, in which the last block takes bytes of the previous one.
#[test]
fn published_vectors() {
    let stealing = "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0 bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0";
    let counted = |n: u8| (0..n).collect::<Vec<u8>>();
    let fours = vec![0x44; 32];
    for (key, sector, plain, cipher) in [
        (
            "11111111111111111111111111111111 22222222222222222222222222222222",
            0x33_3333_3333_u64,
            fours.clone(),
            "c454185e6a16936e39334038acef838b fb186fff7480adc4289382ecd6d394f0",
        ),
        (
            "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0 22222222222222222222222222222222",
            0x33_3333_3333,
            fours,
            "af85336b597afc1a900b2eb21ec949d2 92df4c047e0b21532186a5971a227a89",
        ),
        (stealing, 0x12_3456_789a, counted(17), "6c1625db4671522d3d7599601de7ca09 ed"),
        (stealing, 0x12_3456_789a, counted(18), "d069444b7a7e0cab09e24447d24deb1f edbf"),
        (stealing, 0x12_3456_789a, counted(19), "e5df1351c0544ba1350b3363cd8ef4be edbf9d"),
        (stealing, 0x12_3456_789a, counted(20), "9d84c813f719aa2c7be3f66171c7c5c2 edbf9dac"),
    ] {
        let key: String = key.split_whitespace().collect();
        for backend in ["auto", "cpu", "cpu-bitsliced"] {
            // As sectors of their own length, and as the short end of a longer one.
            for size in [plain.len(), 4096] {
                let options = format!("--backend {backend} --sector-size {size} --first-sector {sector}");
                assert_eq!(bytes(xts("encrypt", &key, &options), &plain), unhex(cipher), "{options}");
                assert_eq!(bytes(xts("decrypt", &key, &options), &unhex(cipher)), plain, "{options}");
            }
        }
    }
}

/// Chunk sizes that are less than a sector, or not a multiple of it, become a multiple.
#[test]
fn sectors_of_every_kind() {
    let in_memory = folder_in_memory();
    let last = (u128::MAX - (1 << 64)).to_string();
    for (number, (sector, length)) in [
        (512, 0),
        (512, 16),
        (512, 512),
        (512, 1024 + 17),
        (512, 40_000),
        (16, 1000 - 8),
        (17, 17 * 300),
        (520, 520 * 50 + 31),
        (4096, 100_001),
        (1 << 24, 200_003),
    ]
    .into_iter()
    .enumerate()
    {
        let plain = message(length);
        let key = KEYS_OF_XTS[number % 2];
        for (first, chunks) in [("0", "--chunk-bytes 16"), ("18446744073709551615", "--chunk-bytes 1040"), (&last, "")]
        {
            let expected = by_definition(Direction::Encrypt, key, sector, first.parse().unwrap(), &plain);
            let backend = ["cpu", "cpu-bitsliced"][number / 2 % 2];
            let options = format!("--sector-size {sector} --first-sector {first} --backend {backend} {chunks}");
            assert!(bytes(xts("encrypt", key, &options), &plain) == expected, "{options}, {length} bytes");
            assert!(bytes(xts("decrypt", key, &options), &expected) == plain, "{options}, {length} bytes");
            let on_disk = (Folder::new(), "write");
            let mapped = in_memory.as_ref().map(|folder| (Folder::new_in(folder), "map"));
            for (folder, way) in [on_disk].into_iter().chain(mapped) {
                folder.write("plain", &plain);
                let options = format!("{options} --workers 4 --write-by {way} -o out plain");
                bytes(xts("encrypt", key, &options).current_dir(&folder), b"");
                assert!(folder.read("out") == expected, "{options}, {length} bytes");
            }
        }
    }
}

#[test]
fn sectors_of_512_bytes_from_0_on_where_nothing_is_said() {
    let plain = message(2000);
    let expected = by_definition(Direction::Encrypt, KEYS_OF_XTS[1], 512, 0, &plain);
    assert!(bytes(xts("encrypt", KEYS_OF_XTS[1], "--backend cpu"), &plain) == expected);
}

#[test]
fn many_files_each_from_the_first_sector_on() {
    let folder = Folder::new();
    for name in ["in", "out", "back"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    let key = KEYS_OF_XTS[0];
    // The short one comes with chunks that the long one needs.
    for (name, length) in [("long", 30_000), ("short", 700), ("none", 0)] {
        fs::write(folder.join("in").join(name), message(length)).unwrap();
    }
    let options = "--backend cpu --sector-size 520 --first-sector 5 --chunk-bytes 2080";
    let all = |of: &str| format!("{of}/long {of}/none {of}/short");
    bytes(xts("encrypt", key, &format!("{options} -d out {}", all("in"))).current_dir(&folder), b"");
    bytes(xts("decrypt", key, &format!("{options} -d back {}", all("out"))).current_dir(&folder), b"");
    for name in ["long", "none", "short"] {
        let [plain, cipher, again] = ["in", "out", "back"].map(|of| fs::read(folder.join(of).join(name)).unwrap());
        assert!(cipher == by_definition(Direction::Encrypt, key, 520, 5, &plain), "{name}");
        assert!(again == plain, "{name}");
    }
}

#[test]
fn a_part_is_decrypted_by_itself() {
    let (key, plain) = (KEYS_OF_XTS[1], message(10 * 4096));
    let cipher = bytes(xts("encrypt", key, "--backend cpu --sector-size 4KiB --first-sector 100"), &plain);
    let part = bytes(xts("decrypt", key, "--backend cpu --sector-size 4KiB --first-sector 103"), &cipher[3 * 4096..]);
    assert!(part == plain[3 * 4096..]);
}

/// The end of a pipe is known late: nothing that was written to a file is left.
#[test]
fn a_last_sector_that_is_too_short() {
    let folder = Folder::new();
    for (sector, length) in [(512, 15), (512, 51_201), (520, 5207)] {
        folder.write("in", message(length));
        for direction in ["encrypt", "decrypt"] {
            let options = format!("--backend cpu --sector-size {sector} --chunk-bytes 1040");
            let mut to_pipe = xts(direction, KEYS_OF_XTS[0], &format!("{options} in"));
            let mut from_pipe = xts(direction, KEYS_OF_XTS[0], &format!("{options} -o out"));
            for (command, input) in [(&mut to_pipe, vec![]), (&mut from_pipe, message(length))] {
                let output = pipe(command.current_dir(&folder), &input);
                let told = said(&output);
                assert_eq!((output.status.code(), &output.stdout[..]), (Some(4), &b""[..]), "{told}");
                assert!(told.contains("in its last sector") && told.lines().count() == 1, "{told}");
                assert_eq!(names(&folder), ["in"]);
            }
        }
    }
}

#[test]
fn keys_of_xts() {
    let folder = Folder::new();
    let keygen = |arguments: &str| {
        let output = program(&format!("keygen {arguments}")).current_dir(&folder).output().unwrap();
        (output.status.code(), said(&output).to_string())
    };
    let plain = message(100);
    for (bits, digits) in [(128, 64), (256, 128)] {
        let name = format!("key-{bits}");
        assert_eq!(keygen(&format!("--xts --bits {bits} -o {name}")), (Some(0), String::new()));
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        let key = text.strip_suffix('\n').unwrap();
        assert_eq!(key.len(), digits);
        folder.write("raw", unhex(key));
        let expected = by_definition(Direction::Encrypt, key, 512, 0, &plain);
        for options in [format!("--key-file {name}"), "--key-file raw --key-format raw --quiet".into()] {
            let arguments = format!("encrypt --mode AES-{bits}-XTS --backend cpu {options}");
            assert!(bytes(program(&arguments).current_dir(&folder), &plain) == expected, "{arguments}");
        }
        let other = program(&format!("encrypt --mode aes-{}-xts --key-file {name}", 384 - bits))
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output();
        assert_eq!(other.unwrap().status.code(), Some(3));
    }
    let (code, told) = keygen("--xts --bits 192 -o key");
    assert_eq!(code, Some(2));
    assert!(told.contains("no XTS with keys of 192 bits"), "{told}");
    assert!(!folder.join("key").exists());
}

#[test]
fn keys_of_another_kind_are_refused() {
    let both = |half: &str| half.repeat(2);
    for (key, told) in [
        (KEYS[0].to_string(), "has 64 or 128 hexadecimal digits, not 32"),
        (both(KEYS[1]), "has 64 or 128 hexadecimal digits, not 96"),
        (both(KEYS[0]), "the two halves of the key are equal"),
        (both(KEYS[2]), "the two halves of the key are equal"),
    ] {
        let output = pipe(xts("encrypt", &key, "--backend cpu"), &[0; 16]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0), "{output:?}");
        assert!(said(&output).contains(told), "{output:?}");
    }
    let output = pipe(program("encrypt --mode ctr --backend cpu --key-env KEY").env("KEY", KEYS_OF_XTS[1]), b"data");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

/// One AES key twice encrypts nothing, but what was encrypted with it before is not lost. The ciphertext is that of IEEE 1619, vector 1.
#[test]
fn a_key_with_equal_halves_decrypts() {
    let ciphertext = unhex("917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e");
    for backend in ["cpu", "cpu-bitsliced"] {
        let options = format!("--sector-size 32 --backend {backend}");
        let plaintext = bytes(xts("decrypt", &"0".repeat(64), &options), &ciphertext);
        assert_eq!(plaintext, [0; 32]);
        let output = pipe(xts("encrypt", &"0".repeat(64), &options), &plaintext);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0), "{output:?}");
    }
}
