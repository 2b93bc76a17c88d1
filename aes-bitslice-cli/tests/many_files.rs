//! `--out-dir`: every file as it would be alone, even if others fail, and an exit code that reports this.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{Folder, IV, KEYS, bytes, folder_in_memory, message, names, program, said, send, wait_for};

/// Lengths of no chunk, one, several, and less than one, in chunks of 4 KiB.
const LENGTHS: [usize; 12] = [0, 1, 15, 16, 17, 4095, 4096, 4097, 8192, 100_000, 1 << 20, 12];

/// A folder with files of these lengths in `in`, and empty folders `out` and `back`.
fn folder(lengths: &[usize]) -> Folder {
    laid_out(Folder::new(), lengths)
}

fn laid_out(folder: Folder, lengths: &[usize]) -> Folder {
    for name in ["in", "out", "back"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    for (index, &length) in lengths.iter().enumerate() {
        folder.write(format!("in/{index}"), message(length + index));
    }
    folder
}

/// `arguments`, and then all files of `inputs` by name.
fn command(folder: &Path, arguments: &str, inputs: &str) -> Command {
    let mut command = program(&format!("{arguments} --backend cpu --key-env KEY"));
    command.args(names(folder.join(inputs)).iter().map(|name| format!("{inputs}/{name}")));
    command.env("KEY", KEYS[1]).current_dir(folder).stdin(Stdio::null());
    command
}

#[test]
fn there_and_back_each_with_an_iv_of_its_own() {
    for mode in ["ctr", "cbc --padding pkcs7", "ecb --padding pkcs7"] {
        let on_disk = ["", "--workers 1"].map(|workers| (workers, folder(&LENGTHS)));
        let mapped = folder_in_memory().map(|folder| ("--workers 16 --write-by map", laid_out(folder, &LENGTHS)));
        for (workers, folder) in on_disk.into_iter().chain(mapped) {
            let run = |direction: &str, from: &str, to: &str| {
                let iv = if direction == "decrypt" && !mode.starts_with("ecb") { "--iv stored" } else { "" };
                let arguments = format!("{direction} --mode {mode} {iv} {workers} --chunk-bytes 4096 --out-dir {to}");
                assert_eq!(bytes(command(&folder, &arguments, from), b""), b"");
                assert_eq!(names(folder.join(from)), names(folder.join(to)));
            };
            run("encrypt", "in", "out");
            run("decrypt", "out", "back");
            let mut ivs = BTreeSet::new();
            for name in names(folder.join("in")) {
                let [plain, cipher, again] =
                    ["in", "out", "back"].map(|inside| folder.read(Path::new(inside).join(&name)));
                assert!(plain == again, "{mode} {workers}: {name}");
                // As it would be alone, with the IV that is in front.
                let (iv, body) = if mode.starts_with("ecb") { (&[][..], &cipher[..]) } else { cipher.split_at(16) };
                let digits: String = iv.iter().map(|byte| format!("{byte:02x}")).collect();
                let given = if iv.is_empty() { String::new() } else { format!("--iv {digits}") };
                let alone = format!("encrypt --mode {mode} {given} --backend cpu --key-env KEY");
                assert!(bytes(program(&alone).env("KEY", KEYS[1]), &plain) == body, "{mode} {workers}: {name}");
                assert!(iv.is_empty() || ivs.insert(iv.to_vec()), "an IV came twice");
            }
        }
    }
}

/// The lines of errors, sorted, because failures come in any order.
fn errors(output: &Output) -> Vec<String> {
    let mut lines: Vec<_> =
        said(output).lines().map(|line| line.strip_prefix("aes-bitslice: error: ").unwrap().to_string()).collect();
    let last = lines.pop();
    lines.sort();
    lines.extend(last);
    lines
}

#[test]
fn what_fails_does_not_keep_the_others() {
    let folder = folder(&[100_000, 16, 31]);
    fs::create_dir(folder.join("in/folder")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("in/fifo")).status().unwrap().success());
    let run = |arguments: &str| {
        let output = command(&folder, arguments, "in").arg("in/missing").output().unwrap();
        (output.status.code(), errors(&output))
    };
    let mut expected = vec![
        "cannot read `in/fifo`: it is not a regular file; do it without --out-dir".to_string(),
        "cannot read `in/folder`: it is a folder, not a file; make a file of it first, as `tar` does".into(),
        "cannot read `in/missing`: No such file or directory (os error 2)".into(),
    ];
    // The files of 17 bytes and of 33 are not whole blocks.
    let rest = "is not a multiple of 16 bytes long (1 over), as ECB needs; use --padding pkcs7, or --mode ctr";
    expected.extend(["1", "2"].map(|name| format!("`in/{name}` {rest}")));
    expected.sort();
    expected.push("5 of 6 files failed".into());
    assert_eq!(run("encrypt --mode ecb --out-dir out"), (Some(4), expected));
    assert_eq!(names(folder.join("out")), ["0"]);

    // Failures of several kinds: code 1.
    let (code, told) = run("decrypt --mode ecb --padding pkcs7 --force --out-dir back");
    assert_eq!(told.len(), 7, "{told:?}");
    let bad = "`in/0`: bad padding: the wrong key, or the data is damaged or was never padded";
    assert!(told.contains(&bad.to_string()), "{told:?}");
    assert_eq!((code, told[6].as_str()), (Some(1), "6 of 6 files failed"));
    assert!(names(folder.join("back")).is_empty());
}

/// Nor does an output that must not be written.
#[test]
fn what_is_there_does_not_keep_the_others() {
    let folder = folder(&[100, 200, 300, 400]);
    folder.write("out/1", "old");
    fs::create_dir(folder.join("out/2")).unwrap();
    std::os::unix::fs::symlink("../in/0", folder.join("out/3")).unwrap();
    let run = |force: &str| {
        let output = command(&folder, &format!("encrypt --mode ctr {force} --out-dir out"), "in").output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        errors(&output)
    };
    let is_input = "`in/3`: `out/3` would replace the input `in/0`; use another folder".to_string();
    let exists =
        |name| format!("`in/{name}`: `out/{name}` exists already; use --force to replace it, or another folder");
    assert_eq!(run(""), [exists(1), exists(2), is_input.clone(), "3 of 4 files failed".into()]);
    assert_eq!(folder.read("out/1"), b"old");
    assert_eq!(fs::metadata(folder.join("out/0")).unwrap().len(), 16 + 100);
    let is_folder = "`in/2`: `out/2` is there and not a regular file; use another folder".to_string();
    assert_eq!(run("--force"), [is_folder, is_input, "2 of 4 files failed".into()]);
    assert_eq!(fs::metadata(folder.join("out/1")).unwrap().len(), 16 + 201);
    assert!(folder.read("in/0") == message(100), "the input was replaced");
}

/// Which is not replaced, and cannot be: it has no name of its own.
#[test]
fn a_file_that_is_open_already_is_no_output() {
    let output = command(&folder(&[100, 200]), "encrypt --mode ctr --force --out-dir /dev/fd", "in").output().unwrap();
    let open = |n| format!("`in/{n}`: `/dev/fd/{n}` is a file that is open already; use another folder");
    assert_eq!(
        (output.status.code(), errors(&output)),
        (Some(4), vec![open(0), open(1), "2 of 2 files failed".into()])
    );
}

/// A GPU that is lost at a byte that the short files do not have.
#[test]
fn an_engine_that_fails_in_one_file() {
    let folder = folder(&[10_000, 100, 20_000, 200]);
    folder.write("out/2", "old");
    let arguments = "encrypt --mode ctr --force --out-dir out --fail-at 15000";
    let output = command(&folder, arguments, "in").output().unwrap();
    let lost = "CUDA: a call made to fail by --fail-at failed with CUDA_ERROR_DEVICE_UNAVAILABLE";
    assert_eq!(errors(&output), [format!("`in/2`: {lost}"), "1 of 4 files failed".into()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(names(folder.join("out")), ["0", "1", "2", "3"]);
    assert_eq!(folder.read("out/2"), b"old");
}

#[test]
fn a_given_iv() {
    let folder = folder(&[100]);
    let encrypt = format!("encrypt --mode ctr --iv {IV} --out-dir out");
    bytes(command(&folder, &encrypt, "in"), b"");
    let alone = format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY");
    assert_eq!(folder.read("out/0"), bytes(program(&alone).env("KEY", KEYS[1]), &message(100)));
    // Decrypting several with one IV is possible, because such files may exist.
    fs::copy(folder.join("out/0"), folder.join("out/1")).unwrap();
    bytes(command(&folder, &format!("decrypt --mode ctr --iv {IV} --out-dir back"), "out"), b"");
    assert_eq!(folder.read("back/1"), message(100));
}

#[test]
fn a_signal_leaves_no_unfinished_file() {
    let folder = folder(&[0; 8]);
    let out = folder.join("out");
    // Holes of a size that takes minutes in such chunks, so that no file is finished when the signal comes.
    for name in names(folder.join("in")) {
        let file = File::options().write(true).open(folder.join("in").join(name)).unwrap();
        file.set_len(256 << 20).unwrap();
    }
    let arguments = "encrypt --mode ctr --workers 4 --write-by write --chunk-bytes 16 --out-dir out";
    let mut child = command(&folder, arguments, "in").stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&mut child, || names(&out).len() == 4);
    send("TERM", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(15), "{output:?}");
    assert!(names(&out).is_empty(), "{:?}", names(&out));
}

/// The output of one input exists when the next one's turn comes, under both names: through a link, or if the file system treats two names
/// as one.
#[test]
fn an_output_that_appears_meanwhile_is_not_replaced() {
    let folder = folder(&[100, 200]);
    std::os::unix::fs::symlink("0", folder.join("out/1")).unwrap();
    let arguments = "encrypt --mode ctr --iv random --force --workers 1 --out-dir out";
    let output = command(&folder, arguments, "in").output().unwrap();
    let told = said(&output);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("`out/1`") && told.contains("1 of 2 files failed"), "{told}");
    assert_eq!(fs::metadata(folder.join("out/0")).unwrap().len(), 16 + 100, "that of the first input");
}
