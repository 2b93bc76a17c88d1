//! Every message, as a user at a shell sees it: `messages.txt` holds the commands and what they print.
//!
//! Each command runs in a fresh folder of the same files. A command that fails must have changed nothing in it.
//! `SNAPSHOTS=overwrite cargo test -p aes-bitslice-cli --test messages` rewrites the file.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use snapbox::{assert_data_eq, file};

const MESSAGES: &str = include_str!("messages.txt");

/// The manifest of a CUDA kernel for CTR with its key baked in.
const CTR: &[u8] = include_bytes!("../../kernels-generated/src/published/aes-128-ctr-hajihassani-2019.json");

/// Digits that no message may show.
const KEY: &str = "8badf00d8badf00d8badf00d8badf00d";

#[test]
fn messages() {
    let mut transcript = String::new();
    for line in MESSAGES.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => transcript += &run(command),
            // Comments, and the empty lines between cases, stay; output is printed anew.
            None if line.is_empty() || line.starts_with('#') => _ = writeln!(transcript, "{line}"),
            None => {}
        }
    }
    assert!(transcript.lines().all(|line| line.starts_with('$') || !line.contains(&KEY[..8])), "a key was printed");
    assert_data_eq!(transcript, file!["messages.txt"]);
}

fn run(command: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    lay_out(folder.path());
    let before = contents(folder.path());

    let program = Path::new(env!("CARGO_BIN_EXE_aes-bitslice"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; umask 022; {command}")])
        .current_dir(folder.path())
        .env("PATH", path)
        // If there is a GPU, these tests must not use it: requests that should fail must not find one.
        .env("CUDA_VISIBLE_DEVICES", "")
        .env("KEY", KEY)
        .env("EMPTY", "")
        .env_remove("COLUMNS")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("AES_BITSLICE_THREADS")
        .env("SHORT", "8badf00d")
        .env("LATIN", OsStr::from_bytes(b"caf\xe9"))
        .stdin(Stdio::null())
        .output()
        .unwrap();

    let code = output.status.code().unwrap();
    if code != 0 {
        assert_eq!(contents(folder.path()), before, "changed by `{command}`");
    }
    let mut transcript = format!("$ {command}\n{}", String::from_utf8(output.stdout).unwrap());
    if code != 0 {
        let _ = writeln!(transcript, "[{code}]");
    }
    transcript
}

/// The files that the commands name.
fn lay_out(folder: &Path) {
    let write = |name: &str, contents: &[u8]| {
        fs::write(folder.join(name), contents).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    };
    write("key", format!("{KEY}\n").as_bytes());
    // For XTS: one key as both, one and a half, and two.
    write("twice", KEY.repeat(2).as_bytes());
    write("three", KEY.repeat(3).as_bytes());
    write("both", [KEY, "00112233445566778899aabbccddeeff"].concat().as_bytes());
    write("short", b"8badf00d8b\n");
    write("odd", &KEY.as_bytes()[1..]);
    write("letters", KEY.replace('b', "g").as_bytes());
    write("prefixed", format!("0x{KEY}").as_bytes());
    write("lines", format!("{KEY}\n\n").as_bytes());
    write("spaced", format!("8badf00d {}\n", &KEY[8..]).as_bytes());
    write("marked", format!("\u{feff}{KEY}\n").as_bytes());
    let utf_16: Vec<u8> = format!("\u{feff}{KEY}{KEY}\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    write("wide", &utf_16);
    write("version-0", b"AESBSEAL\0");
    write("version-2", b"AESBSEAL\x02");
    write("ctr.json", CTR);
    write("marked.json", "\u{feff}{}".as_bytes());
    write("encrypted.json", br#"{"encryptedKeyset":"AAAA","keysetInfo":{"primaryKeyId":7,"keyInfo":[]}}"#);
    write("seventeen", &[0xba; 17]);
    write("huge", &[b'8'; 1 << 20]);
    write("empty", b"");
    write("message", &[7; 33]);
    write("blocks", &[7; 32]);
    write("old", b"what was here before");
    fs::create_dir(folder.join("folder")).unwrap();
    symlink("blocks", folder.join("link")).unwrap();
    symlink("nowhere", folder.join("broken")).unwrap();
    fs::hard_link(folder.join("blocks"), folder.join("hard")).unwrap();
}

/// Everything below `folder`: names, inodes, modes and bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, (u64, u32, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let describe = |path: PathBuf| {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let bytes = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        (path, (metadata.ino(), metadata.mode(), bytes))
    };
    entries.map(describe).collect()
}
