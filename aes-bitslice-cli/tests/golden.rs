//! `open` opens the files that were sealed once and are kept, to the byte. `tests/vectors/SOURCES.md` says what is in them.
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use common::{Folder, program};

#[test]
fn every_kept_file_opens() {
    let vectors = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/sealed"));
    let folder = Folder::new();
    folder.write("words", "correct horse battery staple\n");
    let list = fs::read_to_string(vectors.join("SHA256SUMS")).unwrap();
    let mut opened = 0;
    for name in list.lines().map(|line| line.split_once("  ").unwrap().1).filter(|name| !name.ends_with(".json")) {
        let (stem, format) = name.split_once('.').unwrap();
        let (secret, len) = stem.rsplit_once('-').unwrap();
        let mut command = program("open --quiet");
        match if format == "sealed" { secret.split_once('-').unwrap().1 } else { secret } {
            "key" => command.args(["--key-env", "KEY"]),
            "passphrase" => command.args(["--passphrase-file", "words"]),
            keyset => command.arg("--keyset").arg(vectors.join(format!("{keyset}.json"))),
        };
        if format == "tink" {
            command.args(["--format", "tink", "--associated-data", "associated"]);
        }
        command.env("KEY", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
        let output = command.arg(vectors.join(name)).current_dir(&folder).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let message = (0..len.parse().unwrap()).map(|i: u32| (i.wrapping_mul(0x9e37_79b1) >> 13) as u8);
        assert!(output.stdout == message.collect::<Vec<_>>(), "{name}");
        opened += 1;
    }
    assert!(opened >= 19, "{opened} files");
}
