//! Files that were sealed once and are kept: they must open, to the byte, in every later version. `tests/vectors/SOURCES.md` says what is in
//! them.
//!
//! None of them is ever changed or made again: a file that no longer opens is somebody's data. A new version of the format adds files.

use aes_bitslice_runtime::{Backend, Engine, Key};
use aes_bitslice_seal::tink::{self, Keyset};
use aes_bitslice_seal::{Error, Opening, PassphraseCost, Sealing, Secret, message_bytes, open, open_range, seal};
use base64ct::{Base64, Encoding};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

/// The messages that have a file for each version: none, a byte, one segment, three segments, three and a half.
const SEALED: [&str; 7] =
    ["key-0", "key-1", "key-1048520", "key-3669920", "passphrase-0", "passphrase-1", "passphrase-3145640"];

/// In the same order, for segments of 4 KiB, and with segments of 1 MiB under a key.
const TINK: [&str; 12] = [
    "aes128-4kb-0",
    "aes128-4kb-1",
    "aes128-4kb-4056",
    "aes128-4kb-12216",
    "aes128-4kb-14256",
    "aes256-4kb-0",
    "aes256-4kb-1",
    "aes256-4kb-4040",
    "aes256-4kb-12200",
    "aes256-4kb-14240",
    "key-0",
    "key-1",
];

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../tests/vectors/sealed", name].iter().collect()
}

fn file(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn key() -> Key {
    Key::new(&std::array::from_fn::<u8, 32, _>(|i| i as u8)).unwrap()
}

fn engine() -> Engine {
    Engine::open(Backend::Cpu).unwrap()
}

fn message(len: u32) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect()
}

/// The version that this build writes.
fn version() -> u8 {
    let mut sealed = vec![];
    seal(&engine(), Secret::Key(&key()), &b""[..], &mut sealed).unwrap();
    sealed[8]
}

/// The names of all files that must be there.
fn names() -> Vec<String> {
    let sealed = (1..=version()).flat_map(|version| SEALED.map(|name| format!("v{version}-{name}.sealed")));
    let keysets = ["aes128-4kb.json", "aes256-4kb.json"].map(String::from);
    sealed.chain(TINK.map(|name| format!("{name}.tink"))).chain(keysets).collect()
}

#[test]
fn none_was_changed_and_none_is_missing() {
    let list = String::from_utf8(file("SHA256SUMS")).unwrap();
    let mut listed: Vec<_> = list.lines().map(|line| line.split_once("  ").unwrap()).collect();
    for (digest, name) in &listed {
        assert_eq!(hex::encode(Sha256::digest(file(name))), *digest, "{name} was changed: restore it");
    }
    listed.sort_by_key(|(_, name)| *name);
    let mut needed = names();
    needed.sort();
    assert_eq!(listed.iter().map(|(_, name)| *name).collect::<Vec<_>>(), needed);
    let found = fs::read_dir(path("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<_> = found.filter(|name| name != "SHA256SUMS").collect();
    found.sort();
    assert_eq!(found, needed);
}

#[test]
fn each_opens_to_the_byte() {
    let key = key();
    for backend in [Backend::Cpu, Backend::CpuBitsliced] {
        let engine = Engine::open(backend).unwrap();
        for name in names().iter().filter(|name| !name.ends_with(".json")) {
            let (stem, format) = name.split_once('.').unwrap();
            let (secret, len) = stem.rsplit_once('-').unwrap();
            let (sealed, expected) = (file(name), message(len.parse().unwrap()));
            let middle = expected.len() as u64 / 2;
            let (mut whole, mut half) = (vec![], vec![]);
            let (opened, told) = if format == "sealed" {
                let secret = match secret.split_once('-').unwrap().1 {
                    "key" => Secret::Key(&key),
                    _ => Secret::Passphrase(b"correct horse battery staple"),
                };
                open_range(&engine, secret, Cursor::new(&sealed), middle.., &mut half).unwrap();
                (open(&engine, secret, &sealed[..], &mut whole), message_bytes(&engine, secret, Cursor::new(&sealed)))
            } else {
                let keyset = match secret {
                    "key" => Keyset::of_key(&key).unwrap(),
                    _ => Keyset::from_json(&fs::read_to_string(path(&format!("{secret}.json"))).unwrap()).unwrap(),
                };
                let about = b"associated";
                tink::decrypt_range(&engine, &keyset, about, Cursor::new(&sealed), middle.., &mut half).unwrap();
                let opened = tink::decrypt(&engine, &keyset, about, &sealed[..], &mut whole);
                (opened, tink::message_bytes(&engine, &keyset, about, Cursor::new(&sealed)))
            };
            assert_eq!((opened.unwrap(), told.unwrap()), (expected.len() as u64, expected.len() as u64), "{name}");
            assert!(whole == expected && half == expected[middle as usize..], "{name}");
        }
    }
}

/// A header whose commitment differs in one bit, wherever it is, and whose checksum was corrected.
#[test]
fn every_bit_of_the_commitment_is_compared_before_anything_is_opened() {
    let sealed = file("v1-key-1.sealed");
    for bit in 0..256 {
        let mut changed = sealed.clone();
        changed[56 + bit / 8] ^= 1 << (bit % 8);
        let checksum = Sha256::digest(&changed[..88]);
        changed[88..96].copy_from_slice(&checksum[..8]);
        let mut out = vec![];
        let outcome = open(&engine(), Secret::Key(&key()), &changed[..], &mut out);
        assert!(matches!(outcome, Err(Error::WrongKey)) && out.is_empty(), "bit {bit}: {outcome:?}");
        // Even if there is nothing more to open.
        let outcome = Opening::new(&engine(), Secret::Key(&key()), &changed[..96]).map(drop);
        assert!(matches!(outcome, Err(Error::WrongKey)), "bit {bit}: {outcome:?}");
    }
}

/// The salts and prefixes of nonces of both formats, and the key of a new keyset. A byte that is zero in all of 64 was not drawn.
#[test]
fn every_byte_of_what_is_new_is_random() {
    let (engine, key) = (engine(), key());
    let new = || {
        let (keyset, cost) = (Keyset::generate().unwrap(), PassphraseCost::default());
        let sealed = Sealing::new(&engine, Secret::Key(&key), cost).unwrap();
        let stream = tink::sealing(&engine, &keyset, b"").unwrap();
        let json: serde_json::Value = serde_json::from_str(&keyset.to_json(1)).unwrap();
        // The last field of the message is the key.
        let value = Base64::decode_vec(json["key"][0]["keyData"]["value"].as_str().unwrap()).unwrap();
        [&sealed.header()[24..56], &sealed.header()[97..136], &stream.header()[1..40], &value[value.len() - 32..]]
            .concat()
    };
    let mut any = new();
    for _ in 1..64 {
        any.iter_mut().zip(new()).for_each(|(any, byte)| *any |= byte);
    }
    assert!(!any.contains(&0), "{any:?}");
}

/// What is sealed now begins as the files that are kept, except for what is random; and that is new each time.
#[test]
fn a_new_file_has_the_same_fields_and_other_random_bytes() {
    let key = key();
    for (name, secret) in [("key", Secret::Key(&key)), ("passphrase", Secret::Passphrase(b"correct horse"))] {
        let kept = file(&format!("v{}-{name}-0.sealed", version()));
        let [one, two] = [(); 2].map(|()| {
            let mut sealed = vec![];
            seal(&engine(), secret, &b""[..], &mut sealed).unwrap();
            sealed
        });
        assert_eq!(Opening::needs_passphrase(&kept).unwrap(), name == "passphrase");
        for new in [&one, &two] {
            assert!(new.len() == kept.len() && new[..24] == kept[..24] && new[96] == kept[96], "{name}");
        }
        // The two salts, the commitment, the prefix of nonces, the tag. No part of eight bytes is anything like another's.
        for part in [24..32, 32..40, 48..56, 56..64, 97..105, 121..129, 129..136, 136..152] {
            assert!(one[part.clone()] != two[part.clone()] && one[part.clone()] != kept[part.clone()], "{part:?}");
        }
    }
    // One format is told from the other, and both from what OpenSSL makes of a password.
    let sealed = file("v1-key-1.sealed");
    let keyset = Keyset::of_key(&key).unwrap();
    let as_tink = tink::decrypt(&engine(), &keyset, b"", &sealed[..], vec![]);
    assert!(matches!(as_tink, Err(Error::Sealed)), "{as_tink:?}");
    let as_sealed = open(&engine(), Secret::Key(&key), &file("key-1.tink")[..], vec![]);
    assert!(matches!(as_sealed, Err(Error::LikeTink)), "{as_sealed:?}");
    let salted = [&b"Salted__"[..], &[7; 40]].concat();
    let as_tink = tink::decrypt(&engine(), &keyset, b"", &salted[..], vec![]);
    assert!(matches!(as_tink, Err(Error::OfOpenssl(_))), "{as_tink:?}");
    let as_sealed = open(&engine(), Secret::Key(&key), &salted[..], vec![]);
    assert!(matches!(as_sealed, Err(Error::OfOpenssl(_))), "{as_sealed:?}");
}
