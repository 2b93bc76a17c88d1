//! Streams that the Python package `tink` 1.16.1 wrote, with their keysets: `tink/NAME.json`, and `tink/NAME-BYTES.bin` of a message
//! of that many bytes, with the associated data `associated`.

use aes_bitslice_runtime::{Backend, Engine};
use aes_bitslice_seal::tink::{Keyset, decrypt, encrypt};
use std::fs;
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
        // A stream of the same keyset has the same length, and comes back.
        encrypt(&engine, &keyset, b"associated", &expected[..], &mut again).unwrap();
        assert_eq!(again.len() as u64, fs::metadata(&path).unwrap().len(), "{name}");
        assert!(decrypt(&engine, &keyset, b"", &again[..], vec![]).is_err(), "{name}");
        count += 1;
    }
    assert_eq!(count, 8);
}
