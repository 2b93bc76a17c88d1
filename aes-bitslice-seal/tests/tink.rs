//! Streams that the Python package `tink` 1.16.1 wrote, with their keysets: `tink/NAME.json`, and `tink/NAME-BYTES.bin` of a message
//! of this length, with the associated data `associated`.

use aes_bitslice_runtime::{Backend, Engine};
use aes_bitslice_seal::Error;
use aes_bitslice_seal::tink::{Keyset, decrypt, decrypt_range, encrypt, message_bytes};
use base64ct::{Base64, Encoding};
use std::fs;
use std::io::{Cursor, Read, Result, Seek, SeekFrom};
use std::path::Path;

fn message(len: u32) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 13) as u8).collect()
}

#[test]
fn what_tink_wrote_is_opened() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tink"));
    let engine = Engine::open(Backend::Cpu).unwrap();
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some((keyset, bytes)) = name.strip_suffix(".bin").and_then(|name| name.rsplit_once('-')) else { continue };
        let keyset = fs::read_to_string(folder.join(format!("{keyset}.json"))).unwrap();
        let keyset = Keyset::from_json(&keyset).unwrap();
        let expected = message(bytes.parse().unwrap());
        let (mut out, mut again) = (vec![], vec![]);
        decrypt(&engine, &keyset, b"associated", &fs::read(&path).unwrap()[..], &mut out).unwrap();
        assert!(out == expected, "{name}");
        // A stream of the same keyset has the same length, and needs its associated data.
        encrypt(&engine, &keyset, b"associated", &expected[..], &mut again).unwrap();
        assert_eq!(again.len() as u64, fs::metadata(&path).unwrap().len(), "{name}");
        assert!(decrypt(&engine, &keyset, b"", &again[..], vec![]).is_err(), "{name}");
        let mut message = vec![];
        decrypt(&engine, &keyset, b"associated", &again[..], &mut message).unwrap();
        assert!(message == expected, "{name}");
        count += 1;
    }
    assert_eq!(count, 8);
}

/// A keyset with a new primary key still opens what was written with the old one, in parts, too.
#[test]
fn a_rotated_keyset_opens_ranges() {
    let engine = Engine::open(Backend::Cpu).unwrap();
    let old = Keyset::generate().unwrap();
    let message = message(3 << 20);
    let mut stream = vec![];
    encrypt(&engine, &old, b"", &message[..], &mut stream).unwrap();
    let key_of = |keyset: &Keyset, id: u32| {
        let mut json: serde_json::Value = serde_json::from_str(&keyset.to_json(id)).unwrap();
        json["key"][0].take()
    };
    let new = Keyset::generate().unwrap();
    let json = serde_json::json!({ "primaryKeyId": 2, "key": [key_of(&old, 1), key_of(&new, 2)] });
    let rotated = Keyset::from_json(&json.to_string()).unwrap();
    for range in [0..10, 100..100, 1_048_500..1_048_600, 3_000_000..3 << 20] {
        let mut part = vec![];
        let (start, end) = (range.start as usize, range.end as usize);
        let opened = decrypt_range(&engine, &rotated, b"", Cursor::new(&stream), range, &mut part).unwrap();
        assert!(opened as usize == end - start && part == message[start..end], "{start}");
    }
    let of_another = Keyset::generate().unwrap();
    let json = serde_json::json!({ "primaryKeyId": 2, "key": [key_of(&of_another, 1), key_of(&new, 2)] });
    let others = Keyset::from_json(&json.to_string()).unwrap();
    let outcome = decrypt_range(&engine, &others, b"", Cursor::new(&stream), 0..10, vec![]);
    assert!(matches!(outcome, Err(Error::NoKeyOpens)), "{outcome:?}");
}

/// A keyset of these keys, each with the bytes of a segment and of the key that it derives; the first is primary.
fn keyset_of(keys: &[(u8, u8)]) -> Keyset {
    let key = |(id, &(segment, derived)): (usize, &(u8, u8))| {
        let parameters = [8, segment, 16, derived, 24, 3];
        let message = [&[18, 6], &parameters[..], &[26, 32], &[segment; 32]].concat();
        serde_json::json!({
            "keyData": {
                "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
                "value": Base64::encode_string(&message),
                "keyMaterialType": "SYMMETRIC",
            },
            "status": "ENABLED", "keyId": id, "outputPrefixType": "RAW",
        })
    };
    let keys: Vec<_> = keys.iter().enumerate().map(key).collect();
    Keyset::from_json(&serde_json::json!({ "primaryKeyId": 0, "key": keys }).to_string()).unwrap()
}

/// Keys with headers and segments of different lengths, and streams that are shorter than a header or a segment of another key, or end where
/// one does.
#[test]
fn whichever_key_it_is_is_found() {
    let engine = Engine::open(Backend::Cpu).unwrap();
    let mut keys = [(100, 32), (41, 16), (60, 32)];
    for _ in 0..keys.len() {
        let all = keyset_of(&keys);
        for key in keys {
            for len in 0..130 {
                let (message, mut stream, mut whole, mut part) = (message(len), vec![], vec![], vec![]);
                encrypt(&engine, &keyset_of(&[key]), b"", &message[..], &mut stream).unwrap();
                decrypt(&engine, &all, b"", &stream[..], &mut whole).unwrap();
                let half = u64::from(len / 2);
                decrypt_range(&engine, &all, b"", Cursor::new(&stream), half.., &mut part).unwrap();
                let told = message_bytes(&engine, &all, b"", Cursor::new(&stream)).unwrap();
                let is_right = whole == message && part == message[half as usize..] && told == u64::from(len);
                assert!(is_right, "{len} bytes under {key:?} of {keys:?}");
            }
        }
        keys.rotate_left(1);
    }
}

/// As the Python package `tink` 1.16.1 writes it with `KeysetHandle.write`, except for the bytes.
#[test]
fn keysets_that_cannot_be_read_are_told_what_they_are() {
    let encrypted = r#"{ "encryptedKeyset": "AQzODRhjjZ4ka6vR", "keysetInfo": { "primaryKeyId": 7, "keyInfo": [] } }"#;
    let clear = Keyset::generate().unwrap().to_json(7);
    for (json, says) in [
        (encrypted.to_string(), "it is encrypted: decrypt it first"),
        (format!("\u{feff}{}", *clear), "byte order mark"),
        ("{}".into(), "line 1, column 2"),
    ] {
        let error = Keyset::from_json(&json).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

/// A file that ends earlier than it said, at the end of a segment.
#[test]
fn a_range_of_a_file_that_becomes_shorter_is_refused() {
    struct Shrinking<'a>(Cursor<&'a [u8]>, u64);
    impl Read for Shrinking<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            let left = self.1.saturating_sub(self.0.position());
            self.0.by_ref().take(left).read(buffer)
        }
    }
    impl Seek for Shrinking<'_> {
        fn seek(&mut self, to: SeekFrom) -> Result<u64> {
            self.0.seek(to)
        }
    }
    let engine = Engine::open(Backend::Cpu).unwrap();
    let keyset = Keyset::generate().unwrap();
    let mut stream = vec![];
    encrypt(&engine, &keyset, b"", &message(3 << 20)[..], &mut stream).unwrap();
    let input = Shrinking(Cursor::new(&stream[..]), 2 << 20);
    let outcome = decrypt_range(&engine, &keyset, b"", input, 0..3 << 20, vec![]);
    assert!(matches!(outcome, Err(Error::CutOff(_))), "{outcome:?}");
}
