//! `keystream`: the bytes that `encrypt --mode ctr` makes of zeros, to any output, and what it refuses.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{
    Folder, IV, KEYS, PROGRAM, bytes, folder_in_memory, is_ignored, names, pipe, program, said, send, skipped, unhex,
    wait_for,
};

/// `keystream` with a key and, unless `options` has one, no IV.
fn keystream(key: &str, options: &str) -> Command {
    let mut command = program(&format!("keystream --key-env KEY {options}"));
    command.env("KEY", key).stdin(Stdio::null());
    command
}

/// The encryption of this many zeros by `encrypt` on the `cpu` engine.
fn of_zeros(key: &str, iv: &str, length: usize) -> Vec<u8> {
    let mut command = program(&format!("encrypt --mode ctr --backend cpu --key-env KEY --iv {iv}"));
    bytes(command.env("KEY", key), &vec![0; length])
}

#[test]
fn it_is_what_zeros_are_encrypted_to() {
    let folder = Folder::new();
    let out = folder.join("out");
    // The second wraps after a block.
    for (key, iv) in [(KEYS[0], IV), (KEYS[2], "ffffffffffffffffffffffffffffffff")] {
        for length in [0, 1, 17, (1 << 20) + 5] {
            let expected = of_zeros(key, iv, length);
            assert_eq!(expected.len(), length);
            for backend in ["cpu", "cpu-bitsliced"] {
                for chunks in ["", "--chunk-bytes 4096 --workers 3"] {
                    let options = format!("--bytes {length} --iv {iv} --backend {backend} {chunks}");
                    assert!(bytes(keystream(key, &options), b"") == expected, "{options}");
                    let to_file = format!("{options} --force -o {}", out.display());
                    assert!(bytes(keystream(key, &to_file), b"").is_empty());
                    assert!(fs::read(&out).unwrap() == expected, "{to_file}");
                }
            }
        }
    }
    assert_eq!(names(&folder), ["out"]);
}

/// SP 800-38A, appendix F.5.1: the output blocks.
#[test]
fn it_is_that_of_the_standard() {
    let blocks = "ec8cdf7398607cb0f2d21675ea9ea1e4 362b7c3c6773516318a077d7fc5073ae \
                  6a2cc3787889374fbeb4c81b17ba6c44 e89c399ff0f198c6d40a31db156cabfe";
    let made = bytes(keystream(KEYS[0], &format!("--bytes 64 --iv {IV} --backend cpu")), b"");
    assert_eq!(made, unhex(blocks));
}

#[test]
fn from_an_offset_it_is_the_rest() {
    let whole = of_zeros(KEYS[1], IV, 3 << 12);
    for (offset, length) in [(0, 5), (1, 1), (5, 4096), (15, 2), (16, 33), (4095, 8193), (1 << 12, 2 << 12)] {
        for backend in ["cpu", "cpu-bitsliced"] {
            let options =
                format!("--bytes {length} --offset {offset} --iv {IV} --backend {backend} --chunk-bytes 1024");
            let made = bytes(keystream(KEYS[1], &options), b"");
            assert!(made == whole[offset..][..length], "{options}");
        }
    }
    let options = format!("--bytes 4KiB --offset 8KiB --iv {IV} --backend cpu");
    assert!(bytes(keystream(KEYS[1], &options), b"") == whole[8 << 10..]);
}

#[test]
fn a_mapped_file_has_the_same_bytes() {
    let Some(folder) = folder_in_memory() else { return };
    let out = folder.join("out");
    let expected = of_zeros(KEYS[0], IV, (1 << 20) + 5);
    let options = format!("--bytes {} --iv {IV} --backend cpu --chunk-bytes 65536 --write-by map", (1 << 20) + 5);
    bytes(keystream(KEYS[0], &options).arg("-o").arg(&out), b"");
    assert!(fs::read(&out).unwrap() == expected);
}

#[test]
fn a_random_iv_is_printed_and_new() {
    let run = |iv: &str| {
        let output = pipe(keystream(KEYS[0], &format!("--bytes 40 {iv} --backend cpu")), b"");
        assert!(output.status.success(), "{output:?}");
        let text = said(&output);
        let iv = text.strip_prefix("aes-bitslice: note: the IV is ").and_then(|text| text.strip_suffix('\n'));
        let iv = iv.unwrap_or_else(|| panic!("{text}")).to_string();
        assert!(iv.len() == 32 && output.stdout == of_zeros(KEYS[0], &iv, 40), "{text}");
        iv
    };
    assert_ne!(run("--iv random"), run("--iv random"));
    assert_ne!(run(""), run(""));
    let quiet = bytes(keystream(KEYS[0], "--bytes 40 --iv random --backend cpu --quiet"), b"");
    assert_eq!(quiet.len(), 40);
}

/// Of IVs and keys. A byte that is zero in all of 16 was not drawn: by chance that happens once in 2^120.
#[test]
fn every_byte_of_what_is_new_is_random() {
    let encrypted = |mode: &str| {
        let command = format!("encrypt --mode {mode} --iv random --backend cpu --key-env KEY");
        bytes(program(&command), &[7; 16])[..16].to_vec()
    };
    let of_stream = || {
        let output = pipe(keystream(KEYS[0], "--bytes 0 --iv random --backend cpu"), b"");
        unhex(said(&output).rsplit(' ').next().unwrap().trim())
    };
    let new: [(&str, &dyn Fn() -> Vec<u8>); 4] = [
        ("ctr", &|| encrypted("ctr")),
        ("cbc", &|| encrypted("cbc")),
        ("keystream", &of_stream),
        ("keygen", &|| unhex(std::str::from_utf8(&bytes(program("keygen --bits 256 -o -"), b"")).unwrap())),
    ];
    for (name, new) in new {
        let mut any = new();
        for _ in 1..16 {
            any.iter_mut().zip(new()).for_each(|(any, byte)| *any |= byte);
        }
        assert!(any.len() >= 16 && !any.contains(&0), "{name}: {any:?}");
    }
}

/// The message of a command that fails with this exit code, and makes nothing.
fn refusal(folder: &Path, options: &str, code: i32) -> String {
    let before = names(folder);
    let output = pipe(keystream(KEYS[0], options).current_dir(folder), b"");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{options}: {output:?}");
    assert_eq!(names(folder), before, "{options}");
    said(&output).into()
}

#[test]
fn what_is_refused() {
    let folder = Folder::new();
    folder.write("old", "what was here before");
    for (options, code, why) in [
        (format!("--iv {IV} -o new"), 2, "--bytes <SIZE>"),
        (format!("--bytes 1GB --iv {IV} -o new"), 2, "a number of bytes is needed"),
        ("--bytes 16 --iv stored -o new".to_string(), 2, "or `random`; see --help"),
        (format!("--bytes 2 --offset {} --iv {IV} -o new", u64::MAX), 2, "less than 2^64 bytes"),
        (format!("--bytes 16 --iv {IV} --backend cpu -o old"), 4, "it exists already; use --force"),
        // The IV of an output that was not made is not printed.
        ("--bytes 16 --iv random --backend cpu -o old".to_string(), 4, "it exists already; use --force"),
    ] {
        let message = refusal(&folder, &options, code);
        assert!(message.starts_with("aes-bitslice: error: ") && message.contains(why), "{options}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    assert_eq!(folder.read("old"), b"what was here before");
}

#[test]
fn a_terminal_is_refused() {
    let line = format!("{PROGRAM} keystream --bytes 16 --iv {IV} --backend cpu --key-env KEY");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env("KEY", KEYS[0]).env("TERM", "xterm").env("SHELL", "/bin/sh");
    let Ok(output) = script.stdin(Stdio::null()).output() else {
        skipped("there is no `script` here to make a terminal");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(4) && text.contains("standard output is a terminal"), "{text}");
}

#[test]
fn a_signal_leaves_nothing_behind() {
    if is_ignored(15) {
        return;
    }
    let folder = Folder::new();
    // More than is ever written before the signal: a hole, except for what the workers wrote.
    let options = format!("--bytes 1TiB --iv {IV} --backend cpu --workers 1 --chunk-bytes 16 -o out");
    let mut child = keystream(KEYS[0], &options).current_dir(&folder).spawn().unwrap();
    wait_for(&mut child, || names(&folder).iter().any(|name| name.starts_with(".aes-bitslice-")));
    send("TERM", &child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
}

/// Offsets beyond 32 bits, and the largest.
#[test]
fn an_offset_counts_in_64_bits() {
    // The offset in whole blocks is added to the counter; the rest is bytes of the block.
    let counter = u128::from_str_radix(IV, 16).unwrap();
    for offset in [(1_u64 << 32) - 1, 1 << 32, (1 << 32) + 21, (1 << 36) + 5, (1 << 63) + 7, u64::MAX - 20] {
        let start = counter.wrapping_add(u128::from(offset / 16));
        let expected = of_zeros(KEYS[0], &format!("{start:032x}"), 16 + 20)[(offset % 16) as usize..][..20].to_vec();
        let options = format!("--bytes 20 --offset {offset} --iv {IV} --backend cpu");
        assert_eq!(bytes(keystream(KEYS[0], &options), b""), expected, "{offset}");
    }
    let past = format!("--bytes 20 --offset {} --iv {IV} --backend cpu", u64::MAX - 19);
    assert_eq!(pipe(keystream(KEYS[0], &past), b"").status.code(), Some(2));
}
