//! The command line on real files, pipes and signals: the bytes that come out, and what is left behind.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::emit::opencl;
use aes_bitslice_gen::kernel::Preset;
use common::{
    Folder, IV, KEYS, PROGRAM, bytes, install, is_ignored, message, names, pipe, program, said, send, shell, skipped,
    unhex, wait_for, wait_to_end,
};

/// The initialization vector of CBC in SP 800-38A.
const CBC_IV: &str = "000102030405060708090a0b0c0d0e0f";

/// A counter block after which 128 bits wrap.
const LAST_IV: &str = "ffffffffffffffffffffffffffffffff";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A command in a folder, with the first key in the variable KEY, that reads what is written to its standard input.
fn started(command: &mut Command, folder: &Folder) -> (Child, ChildStdin) {
    command.current_dir(folder).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

#[test]
fn vectors_of_sp_800_38a() {
    let plain = unhex(
        "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
         30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710",
    );
    let ecb = [
        "3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf
         43b1cd7f598ece23881b00e3ed030688 7b0c785e27e8ad3f8223207104725dd4",
        "bd334f1d6e45f25ff712a214571fa5cc 974104846d0ad3ad7734ecb3ecee4eef
         ef7afd2270e2e60adce0ba2face6444e 9a4b41ba738d6c72fb16691603c18e0e",
        "f3eed1bdb5d2a03c064b5a7e3db181f8 591ccb10d410ed26dc5ba74a31362870
         b6ed21b99ca6f4f9f153e7b1beafed1d 23304b7a39f9f3ff067d8d8f9e24ecc7",
    ];
    let ctr = [
        "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
         5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
        "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
         1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050",
        "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
         2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
    ];
    let cbc = [
        "7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
         73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7",
        "4f021db243bc633d7178183a9fa071e8 b4d9ada9ad7dedf4e5e738763f69145a
         571b242012fb7ae07fa9baac3df102e0 08b0e27988598881d920a9e64f5615cd",
        "f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d
         39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b",
    ];
    for backend in ["auto", "cpu", "cpu-bitsliced"] {
        for (index, key) in KEYS.iter().enumerate() {
            for (mode, cipher) in [
                ("ecb".to_string(), ecb[index]),
                (format!("cbc --iv {CBC_IV}"), cbc[index]),
                (format!("ctr --iv {IV}"), ctr[index]),
            ] {
                let run = |direction: &str, input: &[u8]| {
                    let arguments = format!("{direction} --mode {mode} --backend {backend} --key-env KEY");
                    bytes(program(&arguments).env("KEY", key), input)
                };
                assert_eq!(run("encrypt", &plain), unhex(cipher), "{backend} {mode}");
                assert_eq!(run("decrypt", &unhex(cipher)), plain, "{backend} {mode}");
            }
        }
    }
}

/// Chunks of 64 bytes, so that few bytes cross many edges.
#[test]
fn the_same_bytes_as_openssl() {
    if Command::new("openssl").arg("version").output().is_err() {
        skipped("there is no `openssl` here to compare with");
        return;
    }
    let ctr = |iv| (format!("--mode ctr --iv {iv}"), "ctr", format!("-iv {iv}"));
    let modes = [
        ctr(IV),
        ctr(LAST_IV),
        ("--mode ecb".into(), "ecb", "-nopad".into()),
        ("--mode ecb --padding pkcs7".into(), "ecb", String::new()),
        (format!("--mode cbc --iv {IV}"), "cbc", format!("-nopad -iv {IV}")),
        (format!("--mode cbc --padding pkcs7 --iv {IV}"), "cbc", format!("-iv {IV}")),
    ];
    for key in KEYS {
        for (ours, mode, theirs) in &modes {
            for length in [0, 1, 15, 16, 17, 48, 63, 64, 65, 80, 127, 128, 129, 1000, 1024] {
                if theirs.starts_with("-nopad") && length % 16 != 0 {
                    continue;
                }
                let plain = message(length);
                let mut openssl = Command::new("openssl");
                openssl.arg("enc").arg(format!("-aes-{}-{mode}", 4 * key.len())).args(["-K", key]);
                let expected = bytes(openssl.args(theirs.split_whitespace()), &plain);
                let run = |direction: &str, input: &[u8]| {
                    let arguments = format!("{direction} {ours} --backend cpu --key-env KEY --chunk-bytes 64");
                    bytes(program(&arguments).env("KEY", key), input)
                };
                let cipher = run("encrypt", &plain);
                assert_eq!(cipher, expected, "{ours}, {length} bytes");
                assert_eq!(run("decrypt", &cipher), plain, "{ours}, {length} bytes");
            }
        }
    }
}

/// The default chunks: several, and a short one.
#[test]
fn the_size_of_chunks_makes_no_difference() {
    let folder = Folder::new();
    let plain = message((20 << 20) + 16);
    folder.write("plain", &plain);
    let cbc = format!("cbc --padding pkcs7 --iv {IV}");
    for mode in [format!("ctr --iv {LAST_IV}"), "ecb".into(), "ecb --padding pkcs7".into(), cbc] {
        let run = |direction: &str, chunk: &str, input: &str, output: &str| {
            let arguments =
                format!("{direction} --mode {mode} --backend cpu --key-env KEY --force -o {output} {chunk} {input}");
            bytes(program(&arguments).current_dir(&folder), b"");
            folder.read(output)
        };
        let whole = run("encrypt", "", "plain", "whole");
        assert!(whole == run("encrypt", "--chunk-bytes 65536", "plain", "chunks"), "{mode}");
        assert!(whole == run("encrypt", "--chunk-bytes 33554432", "plain", "one"), "{mode}");
        assert!(plain == run("decrypt", "", "whole", "again"), "{mode}");
    }
}

/// A writer that dribbles and stops in the middle of a block.
#[test]
fn a_slow_pipe() {
    let plain = message(100);
    let arguments = format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY --chunk-bytes 32");
    let expected = bytes(program(&arguments).env("KEY", KEYS[2]), &plain);
    let mut child =
        program(&arguments).env("KEY", KEYS[2]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for few in plain[..70].chunks(7) {
        stdin.write_all(few).unwrap();
        sleep(Duration::from_millis(1));
    }
    // Whole chunks come out before the input has ended.
    let mut first = [0; 64];
    stdout.read_exact(&mut first).unwrap();
    stdin.write_all(&plain[70..]).unwrap();
    drop(stdin);
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!([&first[..], &rest].concat(), expected);
}

#[test]
fn memory_does_not_grow_with_the_stream() {
    let mut child = program(&format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY --workers 2"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mebibyte = message(1 << 20);
    for _ in 0..128 {
        stdin.write_all(&mebibyte).unwrap();
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib < 64 << 10, "{kib} KiB resident after 128 MiB");
}

#[test]
fn every_form_of_a_key() {
    let folder = Folder::new();
    let plain = message(50);
    for key in KEYS {
        let run = |source: &str| {
            let arguments = format!("encrypt --mode ctr --iv {IV} --backend cpu --quiet {source}");
            bytes(program(&arguments).env("KEY", key).env("LINE", format!("{key}\n")).current_dir(&folder), &plain)
        };
        let expected = run("--key-env KEY");
        assert_eq!(run("--key-env LINE"), expected);
        for text in [key.to_string(), format!("{key}\n"), format!("{key}\r\n"), key.to_uppercase()] {
            folder.write("key", text);
            assert_eq!(run("--key-file key"), expected);
            assert_eq!(run("--key-file key --key-format hex"), expected);
        }
        folder.write("key", unhex(key));
        assert_eq!(run("--key-file key --key-format raw"), expected);
    }
}

#[test]
fn new_keys() {
    let folder = Folder::new();
    let mut seen = Vec::new();
    for bits in [128, 192, 256] {
        for run in 0..2 {
            let name = format!("key-{bits}-{run}");
            // The umask does not affect the mode.
            let line = format!("umask 0; {PROGRAM} keygen --bits {bits} -o {name}");
            bytes(shell(&line).current_dir(&folder), b"");
            let path = folder.join(&name);
            let text = fs::read_to_string(&path).unwrap();
            let digits = text.strip_suffix('\n').unwrap();
            assert_eq!(digits.len(), bits / 4);
            assert!(digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')));
            assert_eq!(mode(&path), 0o600);
            assert!(!seen.contains(&text));
            seen.push(text);
            // No warning: no one else can read it.
            let arguments = format!("encrypt --mode ecb --backend cpu --key-file {name}");
            bytes(program(&arguments).current_dir(&folder), &[0; 16]);
        }
    }
    assert_eq!(names(&folder).len(), 6);
}

#[test]
fn what_an_output_file_is_like() {
    let folder = Folder::new();
    let run = |arguments: &str, name: &str| {
        let line = format!("umask 027; {PROGRAM} encrypt --mode ecb --backend cpu --key-env KEY {arguments} -o {name}");
        bytes(shell(&line).current_dir(&folder), &[5; 32])
    };
    run("", "new");
    assert_eq!(mode(&folder.join("new")), 0o640, "a new file is what the umask leaves");
    let expected = folder.read("new");

    folder.write("old", "old");
    fs::set_permissions(folder.join("old"), fs::Permissions::from_mode(0o604)).unwrap();
    run("--force", "old");
    assert_eq!((folder.read("old"), mode(&folder.join("old"))), (expected.clone(), 0o604), "the mode stays");

    fs::create_dir(folder.join("elsewhere")).unwrap();
    folder.write("elsewhere/file", "old");
    symlink("elsewhere/file", folder.join("link")).unwrap();
    run("--force", "link");
    assert!(folder.join("link").is_symlink(), "a link is followed");
    assert_eq!(folder.read("elsewhere/file"), expected);

    run("", "/dev/null");
    assert_eq!(run("", "/dev/stdout"), expected, "a pipe is written as it is");
    assert_eq!(run("", "-"), expected);
    assert_eq!(names(&folder), ["elsewhere", "link", "new", "old"]);
    assert_eq!(names(folder.join("elsewhere")), ["file"]);
}

/// Neither is opened to see whether it is the other: that would wait for the program at the other end.
#[test]
fn a_pipe_with_a_name_can_be_the_output_or_the_key() {
    let folder = Folder::new();
    folder.write("key", KEYS[0]);
    folder.write("plain", message(100));
    let made = Command::new("mkfifo").arg("pipe").current_dir(&folder).status();
    if !made.is_ok_and(|made| made.success()) {
        skipped("there is no `mkfifo` here");
        return;
    }
    let expected = bytes(
        program(&format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY plain")).current_dir(&folder),
        b"",
    );
    let encrypt = format!("encrypt --quiet --mode ctr --iv {IV} --backend cpu --key-file");
    let run = |arguments: &str| program(arguments).current_dir(&folder).stdin(Stdio::null()).spawn().unwrap();
    let mut child = run(&format!("{encrypt} key -o pipe plain"));
    assert!(folder.read("pipe") == expected);
    assert!(child.wait().unwrap().success());
    // A key goes to new files alone: this ends although nothing writes to the pipe.
    let mut child = program("keygen --bits 256 -o pipe").current_dir(&folder).stderr(Stdio::piped()).spawn().unwrap();
    wait_to_end(&mut child);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.code() == Some(4) && said(&output).contains("a key is never overwritten"), "{output:?}");
    let mut child = run(&format!("{encrypt} pipe -o new plain"));
    folder.write("pipe", KEYS[0]);
    wait_to_end(&mut child);
    assert!(folder.read("new") == expected);
}

#[test]
fn standard_output_is_not_written_over_the_key() {
    let folder = Folder::new();
    let key = folder.join("key");
    fs::write(&key, KEYS[0]).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    for force in ["", "--force"] {
        let arguments = format!("encrypt --mode ctr --iv {IV} --backend cpu --key-file key {force}");
        let mut command = program(&arguments);
        let appended = OpenOptions::new().append(true).open(&key).unwrap();
        let output = command.current_dir(&folder).stdin(Stdio::null()).stdout(appended).output().unwrap();
        let message = "aes-bitslice: error: standard output is the file with the key; choose another output\n";
        assert_eq!((output.status.code(), said(&output)), (Some(4), message));
        assert_eq!(fs::read_to_string(&key).unwrap(), KEYS[0]);
    }
}

/// The set-user-ID and set-group-ID bits of a replaced file are dropped: the new contents, which others may choose, must not run with its
/// rights.
#[test]
fn a_replaced_file_runs_as_nobody_else() {
    let folder = Folder::new();
    let old = folder.join("old");
    fs::write(&old, "old").unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o6755)).unwrap();
    let arguments = format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY --force -o old");
    bytes(program(&arguments).current_dir(&folder), b"new");
    assert_eq!(mode(&old), 0o755);
}

/// No device has this number, so nothing can be lost.
#[test]
fn a_block_device_is_written_only_by_force() {
    let folder = Folder::new();
    let made = Command::new("mknod").args(["disk", "b", "0", "0"]).current_dir(&folder).output();
    if !made.is_ok_and(|made| made.status.success()) {
        skipped("no block device can be made here");
        return;
    }
    let run = |force: &str| {
        let arguments = format!("encrypt --mode ecb --backend cpu --key-env KEY -o disk {force}");
        let output = pipe(program(&arguments).current_dir(&folder), &[5; 32]);
        assert_eq!((output.status.code(), names(&folder)), (Some(4), vec!["disk".to_string()]));
        said(&output).to_string()
    };
    let refusal = "aes-bitslice: error: cannot write `disk`: ";
    assert_eq!(run(""), format!("{refusal}it is a block device; use --force to write over what it holds\n"));
    // The kernel chooses its error for a device that does not exist.
    let error = run("--force");
    assert!(error.starts_with(refusal) && error.contains("os error"), "{error}");
}

/// A GPU never does CBC encryption.
#[test]
fn a_kernel_that_cannot_be_used_is_told() {
    let encrypt = "encrypt --mode cbc --iv 000102030405060708090a0b0c0d0e0f --key-env KEY --kernel co-resident";
    let run = |options: &str| pipe(program(&format!("{encrypt} {options}")), &[5; 32]);
    let output = run("");
    assert!(output.status.success() && output.stdout.len() == 32, "{output:?}");
    assert!(said(&output).contains("warning: --kernel has no effect"));
    assert!(run("--quiet").stderr.is_empty());
}

/// Signals in the middle of a stream: all that end a process and report no fault in it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn signals_leave_nothing_behind() {
    let ending = [1, 2, 3, 10, 12, 14, 15, 16, 24, 26, 27, 29, 30];
    // A real-time signal is not raised again: the exit code is the one that a shell shows.
    for signal in ending.into_iter().chain([34, 50, 64]) {
        if is_ignored(signal) {
            continue;
        }
        let folder = Folder::new();
        folder.write("old", "old");
        let (mut child, mut stdin) = started(
            &mut program("encrypt --mode ecb --backend cpu --key-env KEY --chunk-bytes 16 --force -o old"),
            &folder,
        );
        stdin.write_all(&[1; 160]).unwrap();
        wait_for(&mut child, || names(&folder).len() == 2);
        send(&signal.to_string(), &child);
        let output = child.wait_with_output().unwrap();
        let (ended_by, code) = if signal < 32 { (Some(signal), None) } else { (None, Some(128 + signal)) };
        assert_eq!((output.status.signal(), output.status.code()), (ended_by, code), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        assert_eq!(names(&folder), ["old"], "signal {signal}");
        assert_eq!(folder.read("old"), b"old");
        drop(stdin);
    }
}

/// Two unfinished files, and a run that would take for ever.
#[cfg(unix)]
#[test]
fn a_signal_removes_every_unfinished_file() {
    let folder = Folder::new();
    let endless = "bench --backends cpu --modes ctr --sizes 1MiB --runs 4000000000 --json rates.json --plot rates.svg";
    let mut child = program(endless).current_dir(&folder).stdout(Stdio::null()).spawn().unwrap();
    wait_for(&mut child, || names(&folder).len() == 2);
    send("TERM", &child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(names(&folder).is_empty());
}

/// A program that was started to ignore a signal, as under `nohup`, continues to ignore it.
#[test]
fn ignored_signals_stay_ignored() {
    let folder = Folder::new();
    let line = format!("trap '' HUP; exec '{PROGRAM}' encrypt --mode ecb --backend cpu --key-env KEY -o new");
    let (mut child, mut stdin) = started(&mut shell(&line), &folder);
    stdin.write_all(&[1; 160]).unwrap();
    wait_for(&mut child, || !names(&folder).is_empty());
    send("HUP", &child);
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(names(&folder), ["new"]);
}

/// A file that did not exist when the work began, but exists when it ends.
#[test]
fn a_file_made_meanwhile_stays() {
    let folder = Folder::new();
    let (mut child, stdin) = started(&mut program("encrypt --mode ecb --backend cpu --key-env KEY -o new"), &folder);
    wait_for(&mut child, || !names(&folder).is_empty());
    folder.write("new", "somebody else's");
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let message = "aes-bitslice: error: cannot write `new`: a file with this name was created in the meantime\n";
    assert_eq!((output.status.code(), said(&output)), (Some(4), message));
    assert_eq!(names(&folder), ["new"]);
    assert_eq!(folder.read("new"), b"somebody else's");
}

/// The reader of a pipe goes away while the writer still has much to write.
#[test]
fn a_closed_pipe_is_met_quietly() {
    let mut child = program("encrypt --mode ecb --backend cpu --key-env KEY --chunk-bytes 4096")
        .stdin(OpenOptions::new().read(true).open("/dev/zero").unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 4096]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(output.stderr.is_empty(), "{output:?}");
}

/// What only shows at a terminal: the refusal to write binary to it, and the progress bar.
#[test]
fn at_a_terminal() {
    let folder = Folder::new();
    let script = |arguments: &str| {
        let line = format!("{PROGRAM} {arguments}");
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env("KEY", KEYS[0]).env("TERM", "xterm").env("SHELL", "/bin/sh");
        let output = script.current_dir(&folder).stdin(Stdio::null()).output().ok()?;
        Some((output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    folder.write("plain", message(32));
    let encrypt = "encrypt --mode ecb --backend cpu --key-env KEY";
    let Some((code, text)) = script(&format!("{encrypt} plain")) else {
        skipped("there is no `script` here to make a terminal");
        return;
    };
    assert_eq!(code, 4);
    let refusal = "standard output is a terminal and the output is binary; use -o FILE, a pipe, or --force";
    assert_eq!(text.trim_end(), format!("aes-bitslice: error: {refusal}"));
    let (code, text) = script(&format!("{encrypt} -o /dev/tty plain")).unwrap();
    assert!(code == 4 && text.contains("`/dev/tty` is a terminal"), "{code} {text}");

    let (code, text) = script(&format!("{encrypt} -o cipher plain")).unwrap();
    assert!(code == 0 && text.contains("32 B in "), "{code} {text}");
    let (code, text) = script(&format!("{encrypt} --quiet --force -o cipher plain")).unwrap();
    assert_eq!((code, text.as_str()), (0, ""));
}

#[test]
fn help_and_version() {
    for arguments in [
        "--help",
        "encrypt --help",
        "decrypt -h",
        "keystream --help",
        "keygen --help",
        "info --help",
        "tune --help",
        "bench --help",
    ] {
        let text = String::from_utf8(bytes(program(arguments), b"")).unwrap();
        assert!(text.contains("Usage: aes-bitslice"), "{text}");
        // It is hidden in `encrypt` and `decrypt`.
        assert_eq!(text.contains("chunk-bytes"), arguments.starts_with("bench"), "{text}");
    }
    let text = String::from_utf8(bytes(program("--help"), b"")).unwrap();
    for code in 0..=5 {
        assert!(text.contains(&format!("\n  {code}  ")), "{text}");
    }
    let version = bytes(program("--version"), b"");
    assert_eq!(version, format!("aes-bitslice {}\n", env!("CARGO_PKG_VERSION")).into_bytes());
}

#[test]
fn info_as_text_and_as_json() {
    let text = String::from_utf8(bytes(program("info"), b"")).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // As if it were not wrapped.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let json: serde_json::Value = serde_json::from_slice(&bytes(program("info --json"), b"")).unwrap();
    assert!(text.contains(json["auto"]["description"].as_str().unwrap()), "{text}");
    assert_eq!(json["auto"]["available"], true);
    let engines = json["engines"].as_array().unwrap();
    for engine in engines {
        assert!(text.contains(engine["description"].as_str().unwrap()), "{text}");
    }
    let kernels = json["kernels"].as_array().unwrap();
    assert!(kernels.iter().all(|kernel| text.contains(kernel.as_str().unwrap())), "{text}");
    for mode in ["ecb-encrypt", "ecb-decrypt", "cbc-decrypt", "ctr"] {
        let kernel = kernels.iter().filter_map(|name| name.as_str()).find(|name| name.contains(mode));
        assert!(text.contains(kernel.unwrap_or_else(|| panic!("no {mode} in {json}"))), "{text}");
    }
    // Only a GPU has a tuning.
    assert_eq!(json.get("tuning").is_some(), json["auto"]["backend"] == "cuda", "{json}");
    for crossover in json["tuning"]["host_data"].as_array().into_iter().flatten() {
        assert!(text.contains(crossover["mode"].as_str().unwrap()), "{text}");
    }
    // Its version, or why there is none, never both.
    let nvrtc = json["nvrtc"].as_str().xor(json["nvrtc_error"].as_str()).unwrap();
    assert!(text.contains(nvrtc), "{text}");
    for backend in ["cpu", "cpu-bitsliced"] {
        assert!(engines.iter().any(|engine| engine["backend"] == backend && engine["available"] == true), "{json}");
    }
    // OpenCL devices, each with its engine, or why there are none.
    let devices = json["opencl_devices"].as_array().unwrap();
    assert_eq!(devices.is_empty(), json.get("opencl_error").is_some(), "{json}");
    for device in devices {
        let backend = format!("opencl:{}.{}", device["platform"], device["device"]);
        assert!(engines.iter().any(|engine| engine["backend"] == backend), "{json}");
        assert!(text.contains(device["name"].as_str().unwrap()), "{text}");
    }
}

/// Whether there is an OpenCL device; if there is none, says so, or fails.
fn has_opencl() -> bool {
    let json: serde_json::Value = serde_json::from_slice(&bytes(program("info --json"), b"")).unwrap();
    let Some(why) = json.get("opencl_error") else { return true };
    let is_required =
        std::env::var("AES_BITSLICE_REQUIRE_OPENCL").is_ok_and(|value| !["", "0"].contains(&value.as_str()));
    assert!(!is_required, "an OpenCL device is required: {why}");
    let _ = writeln!(std::io::stderr(), "\nNO OPENCL DEVICE: ITS COMMAND LINE WAS NOT TESTED ({why})");
    false
}

/// OpenCL compilers handle signals, too, and would end the process before it has removed its file.
#[test]
fn a_signal_removes_the_file_of_an_opencl_device() {
    if !has_opencl() {
        return;
    }
    let folder = Folder::new();
    let (mut child, mut stdin) = started(
        &mut program(&format!("encrypt --mode ctr --iv {IV} --backend opencl --key-env KEY --chunk-bytes 4096 -o new")),
        &folder,
    );
    stdin.write_all(&[1; 40_960]).unwrap();
    let written = || names(&folder).iter().any(|name| fs::metadata(folder.join(name)).is_ok_and(|m| m.len() > 0));
    wait_for(&mut child, written);
    send("TERM", &child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
}

/// A kernel that takes its key at launch, from its two files: what `cargo xtask gen --preset hajihassani-2019-fetched` writes.
#[test]
fn a_generated_kernel_gets_the_key() {
    if !has_opencl() {
        return;
    }
    let folder = Folder::new();
    let manifest = folder.join("kernel.json");
    for (mode, args) in [(Mode::Ctr, format!("ctr --iv {IV}")), (Mode::EcbEncrypt, "ecb".into())] {
        let spec = Preset::Hajihassani2019Fetched.spec(mode, &[0; 16]).unwrap();
        let mut printed = opencl::print(&spec.into(), "a test").unwrap();
        printed.manifest.source = "kernel.cl".into();
        folder.write("kernel.cl", &*printed.source);
        fs::write(&manifest, printed.manifest.to_json()).unwrap();
        // More than one thread block, which is 64 threads of 32 blocks.
        let plain = message(16 * 2048 * 2 + 160);
        for key in KEYS {
            let run = |options: &str, input: &[u8]| {
                bytes(program(&format!("{options} --key-env KEY")).env("KEY", key), input)
            };
            let generated = format!("encrypt --mode {args} --generated {}", manifest.display());
            assert!(run(&generated, &plain) == run(&format!("encrypt --mode {args} --backend cpu"), &plain), "{args}");
        }
    }
    // The mode is read before a device is opened.
    let other = pipe(program(&format!("encrypt --mode ctr --generated {} --key-env KEY", manifest.display())), b"");
    assert!(said(&other).contains("the kernel of --generated is for ecb-encrypt only"), "{other:?}");
    // It is the key's own kernel that runs: one whose source was changed is refused.
    let source = fs::read_to_string(folder.join("kernel.cl")).unwrap();
    folder.write("kernel.cl", source + "\n");
    let changed =
        pipe(program(&format!("encrypt --mode ecb --generated {} --key-env KEY", manifest.display())), &[0; 16]);
    assert!(!changed.status.success() && changed.stdout.is_empty(), "{changed:?}");
    assert!(said(&changed).contains("; --generated takes"), "{changed:?}");
}

/// A note says whether its design is the fastest there.
#[test]
fn a_kernel_with_its_key_has_a_note_but_with_quiet() {
    if !has_opencl() {
        return;
    }
    let folder = Folder::new();
    let key: Vec<u8> = (0..16).collect();
    let mut printed =
        opencl::print(&Preset::Hajihassani2019.spec(Mode::EcbEncrypt, &key).unwrap().into(), "a test").unwrap();
    printed.manifest.source = "kernel.cl".into();
    folder.write("kernel.cl", &*printed.source);
    folder.write("kernel.json", printed.manifest.to_json());
    for (quiet, has_note) in [("", true), ("--quiet", false)] {
        let mut command = program(&format!("encrypt --mode ecb --baked kernel.json {quiet}"));
        // The kernel is the key: each known compiler is told to keep nothing.
        for (switch, value) in [
            ("AES_BITSLICE_OPENCL_NO_CACHE", "1"),
            ("AMD_COMGR_CACHE", "0"),
            ("CUDA_CACHE_DISABLE", "1"),
            ("NEO_CACHE_PERSISTENT", "0"),
            ("POCL_KERNEL_CACHE", "0"),
        ] {
            command.env(switch, value);
        }
        command.env("POCL_CACHE_DIR", folder.join("cache")).current_dir(&folder);
        let output = pipe(&mut command, &message(160));
        assert!(output.status.success() && said(&output).contains("aes-bitslice: note: ") == has_note, "{output:?}");
    }
}

/// The OpenCL device computes what the CPU does, from a file to a file.
#[test]
fn an_opencl_device_encrypts_files() {
    if !has_opencl() {
        return;
    }
    let plain: Vec<u8> = (0..3_000_005u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
    let run = |direction, backend, input: &[u8]| {
        let arguments = format!("{direction} --mode ctr --iv {IV} --backend {backend} --key-env KEY");
        bytes(program(&arguments).env("KEY", "000102030405060708090a0b0c0d0e0f1011121314151617"), input)
    };
    let cipher = run("encrypt", "opencl", &plain);
    assert!(cipher == run("encrypt", "cpu", &plain));
    assert!(run("decrypt", "opencl", &cipher) == plain);
}

#[test]
fn bench_as_table_and_as_json() {
    let folder = Folder::new();
    let arguments =
        "bench --backends cpu,cpu-bitsliced --key-bits 128,192 --sizes 16,64KiB --sector-size 48 --runs 2 --workers 3";
    let table = bytes(program(&format!("{arguments} --json rates.json")).current_dir(&folder), b"");
    let json = folder.read("rates.json");
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["transfers"], serde_json::json!({ "chunk_bytes": null, "streams": null, "workers": 3 }));
    let results = json["results"].as_array().unwrap();
    // Modes, key lengths (XTS has none of 192 bits), sizes, engines.
    assert_eq!(results.len(), (6 * 2 + 2) * 2 * 2);
    for mode in ["xts-encrypt", "xts-decrypt"] {
        assert!(json["skipped"].to_string().contains(&format!("{mode} with keys of 192 bits")), "{json}");
    }
    for result in results {
        let is_xts = result["mode"].as_str().unwrap().starts_with("xts");
        assert_eq!(result["sector_bytes"].as_u64(), is_xts.then_some(48), "{result}");
        let number = |name: &str| result[name].as_f64().unwrap();
        assert!(number("min_seconds") > 0.0 && number("min_seconds") <= number("median_seconds"), "{result}");
        let rate = number("bytes") / number("median_seconds") / 1e9;
        assert!((number("median_gbytes_per_second") / rate - 1.0).abs() < 1e-9, "{result}");
    }
    let rows = String::from_utf8(table).unwrap();
    assert!(rows.contains("xts: sectors of 48 bytes\n"), "{rows}");
    assert_eq!(rows.lines().filter(|row| row.contains(" host ")).count(), results.len(), "{rows}");

    let json = bytes(program(&format!("{arguments} --json -")), b"");
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["results"].as_array().unwrap().len(), results.len());
}

#[test]
fn bench_of_modes_with_a_tag_takes_any_size() {
    let arguments = "bench --backends cpu,cpu-bitsliced --modes gcm,AES-GCM-SIV,cmac,cbc,cmac,gmac --key-bits 128,192 --sizes 1,1500 --runs 1 --json -";
    let json: serde_json::Value = serde_json::from_slice(&bytes(program(arguments), b"")).unwrap();
    let results = json["results"].as_array().unwrap();
    for (mode, count) in [
        ("gcm-encrypt", 8),
        ("gcm-decrypt", 8),
        ("gcm-siv-encrypt", 4),
        ("gcm-siv-decrypt", 4),
        ("cmac", 8),
        ("gmac", 8),
    ] {
        assert_eq!(results.iter().filter(|result| result["mode"] == mode).count(), count, "{mode}");
    }
    assert!(results.len() == 40 && results.iter().all(|result| result["strategy"].is_null()), "{json}");
    for skipped in ["gcm-siv-encrypt with keys of 192 bits", "cbc-decrypt of 1 B: whole blocks"] {
        assert!(json["skipped"].to_string().contains(skipped), "{skipped}: {json}");
    }
}

/// Under one key, and under keys of their own; whatever the order of the sizes.
#[test]
fn bench_of_many_messages() {
    let bench = |modes: &str| {
        let arguments =
            "bench --backends cpu,cpu-bitsliced --key-bits 256 --sizes 64,300x1500,3x64,64x3 --runs 1 --json -";
        let output = bytes(program(&format!("{arguments} --modes {modes}")), b"");
        let json: serde_json::Value = serde_json::from_slice(&output).unwrap();
        let (rows, skipped) = (json["results"].as_array().unwrap().clone(), json["skipped"].to_string());
        let of = |row: &serde_json::Value| ["bytes", "messages", "keys"].map(|field| row[field].as_u64().unwrap_or(0));
        (rows.iter().map(of).collect::<Vec<_>>(), skipped)
    };
    let both = |sizes: &[[u64; 3]]| sizes.iter().flat_map(|&size| [size; 2]).collect::<Vec<_>>();
    for mode in ["gcm-encrypt", "gcm-decrypt", "cmac"] {
        let (rows, skipped) = bench(mode);
        assert_eq!(rows, both(&[[64, 0, 0], [192, 3, 0], [192, 64, 0], [450_000, 300, 0]]), "{skipped}");
        assert_eq!(skipped, "[]");
    }
    let (rows, skipped) = bench("cmac --keys 2");
    assert!(rows.len() == 2 && skipped.contains("of 3 x 64 B: its messages have one key"), "{skipped}");
    // Messages have one key, unless keys are asked for.
    for mode in ["gcm-encrypt", "gcm-decrypt"] {
        assert_eq!(
            bench(&format!("{mode} --keys 7")).0,
            both(&[[64, 0, 0], [192, 3, 3], [192, 64, 7], [450_000, 300, 7]])
        );
    }
    for mode in ["ctr", "keystream"] {
        assert_eq!(bench(mode).0, both(&[[64, 0, 0], [192, 3, 3], [192, 64, 64], [450_000, 300, 300]]));
        let (rows, _) = bench(&format!("{mode} --keys 7"));
        assert_eq!(rows, both(&[[64, 0, 0], [192, 3, 3], [192, 64, 7], [450_000, 300, 7]]));
    }
    for mode in ["ecb-encrypt", "ecb-decrypt"] {
        let (rows, skipped) = bench(mode);
        assert_eq!(rows, both(&[[64, 0, 0], [192, 3, 3]]));
        assert!(skipped.contains("of 300 x 1500 B: whole blocks"), "{skipped}");
    }
    for mode in ["gcm-siv", "cbc", "xts", "prg", "gmac"] {
        let (rows, skipped) = bench(mode);
        assert!(rows.iter().all(|row| *row == [64, 0, 0]), "{rows:?}");
        assert!(skipped.contains("of 300 x 1500 B: it has no calls on many messages"), "{skipped}");
    }
}

#[test]
fn bench_refuses_sizes_that_nothing_has() {
    for (arguments, told) in [
        ("--sizes 0", "a size is a positive number of bytes"),
        ("--sizes 16x0", "many messages are their number"),
        ("--sizes 0x16", "many messages are their number"),
        ("--sizes 4096x16KB", "many messages are their number"),
        ("--keys 0", "1 to 4294967295 are possible"),
        ("--files . --sizes 16KiB,2x16KiB", "--files has one message in a file, and --sizes has 2 x 16 KiB"),
        ("--backends cpu --modes xts --sizes 2x512", "nothing was measured: xts-encrypt of 2 x 512 B: it has no calls"),
    ] {
        let output = pipe(program(&format!("bench {arguments}")), b"");
        let message = said(&output);
        assert!(!output.status.success() && message.contains(told), "{arguments}: {message}");
        assert_eq!(message.lines().filter(|line| line.contains("error:")).count(), 1, "{message}");
    }
}

#[test]
fn bench_of_files_compares_programs_and_leaves_nothing_behind() {
    let folder = Folder::new();
    let arguments =
        "bench --files . --backends cpu,cpu-bitsliced --sizes 4KiB,48 --sector-size 64 --key-bits 256 --runs 2";
    let json = bytes(program(&format!("{arguments} --json -")).current_dir(&folder), b"");
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let rows = json["files"].as_array().unwrap();
    let others = if Command::new("openssl").arg("version").output().is_ok() { 2 } else { 1 };
    // Programs, modes (`openssl enc` has no XTS), sizes and numbers of files: 48 bytes are not split.
    assert_eq!(rows.len(), ((2 + others) * 4 + 3 * 2) * 3);
    for row in rows {
        let number = |name: &str| row[name].as_f64().unwrap();
        assert!(number("min_seconds") > 0.0 && number("median_gbytes_per_second") > 0.0, "{row}");
    }
    assert_eq!(rows.iter().filter(|row| row["files"] == 16).count(), rows.len() / 3);
    for skipped in ["48 bytes in 16 files", "gcm-encrypt: no mode of `encrypt` and `decrypt`"] {
        assert!(json["skipped"].to_string().contains(skipped), "{json}");
    }
}

/// What another program writes is compared, too, to the last byte of the last file.
#[test]
fn bench_of_files_finds_what_is_wrong() {
    for (script, wrong) in [
        (r#"cat "$1" > "$2"/00; [ $# -eq 2 ] || exit 9"#, "`cp` failed (exit status: 9)"),
        (
            r#"for last; do :; done; /bin/cp "$@"; [ $# -eq 2 ] || printf x | dd of="$last/15" bs=1 seek=255 conv=notrunc"#,
            "cp does ctr with a key of 128 bits wrongly: byte 255 of a file",
        ),
        (r#"/bin/cp "$@"; for last; do :; done; printf x >> "$last/00""#, "byte 4096 of a file"),
        (r#"for last; do :; done; : > "$last/00""#, "byte 0 of a file"),
    ] {
        let (folder, path) = (Folder::new(), Folder::new());
        let cp = path.join("cp");
        let text = path.join("text");
        fs::write(&text, format!("#!/bin/sh\n[ \"$1\" != --help ] || exit 0\n{script}\n")).unwrap();
        install(&text, &cp);
        let mut command = program("bench --files . --backends cpu --modes ctr --key-bits 128 --sizes 4KiB --runs 1");
        let search = format!("{}:{}", path.display(), std::env::var("PATH").unwrap());
        let output = pipe(command.current_dir(&folder).env("PATH", search), b"");
        let message = said(&output);
        assert!(output.status.code() == Some(1) && message.contains(wrong), "{script}: {message}");
        assert!(names(&folder).is_empty());
    }
}

#[test]
fn a_signal_removes_the_files_of_bench() {
    let folder = Folder::new();
    let endless = "bench --files . --backends cpu --modes ctr --sizes 1MiB --runs 4000000000";
    let mut child = program(endless).current_dir(&folder).stdout(Stdio::null()).spawn().unwrap();
    let is_at_work = || names(&folder).iter().any(|name| folder.join(name).join("in/00").exists());
    wait_for(&mut child, is_at_work);
    send("TERM", &child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
}

#[test]
fn bench_of_everything_draws_what_it_writes() {
    let folder = Folder::new();
    let run = |arguments: &str| bytes(program(arguments).current_dir(&folder), b"");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let all = "bench --all --backends cpu,cpu-bitsliced --sizes 4KiB,64KiB --runs 2";
    let table = String::from_utf8(run(&format!("{all} --json rates.json --plot rates.svg"))).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("rates.json")).unwrap();
    // Modes with all key lengths and with two, engines.
    let cases = (11 * 3 + 4 * 2) * 2;
    // Sizes, in place and not.
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), cases * 2 * 2);
    assert_eq!(results.iter().filter(|result| result["timing"] == "host-in-place").count(), results.len() / 2);
    assert!(json["copies"].as_array().unwrap().is_empty() && !table.contains("pinned"), "no GPU, no link to it");
    // Key lengths, engines.
    let new_keys = json["new_keys"].as_array().unwrap();
    assert_eq!(new_keys.len(), 3 * 2);
    assert!(new_keys.iter().all(|key| key["median_seconds_to_end"].as_f64().unwrap() > 0.0), "{json}");
    assert_eq!(table.lines().filter(|line| line.starts_with("new key, ")).count(), new_keys.len(), "{table}");

    let svg = read("rates.svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    // A plot for each engine, a line for each mode and key length in it, a point for each size on that.
    assert_eq!(svg.matches("<g ").count(), 2);
    assert_eq!(svg.matches("<circle ").count(), cases * 2);
    assert_eq!(String::from_utf8(run("bench --plot-from rates.json --plot -")).unwrap(), svg);
}

/// In every mode, and in base64: key and IV of such a file come from a password and the salt in it.
#[test]
fn files_of_openssl_with_a_password() {
    let file = [&b"Salted__"[..], &[7; 40]].concat();
    for command in [
        "decrypt -m ctr",
        "decrypt -m cbc --iv stored",
        "decrypt -m ecb",
        "decrypt -m ctr -i f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
    ] {
        for input in [&file[..], b"U2FsdGVkX18HBwcHBwcHBw=="] {
            let mut command = program(&format!("{command} -b cpu --key-env KEY"));
            let output = pipe(command.env("KEY", KEYS[2]), input);
            let told = said(&output);
            assert_eq!((output.status.code(), output.stdout.len()), (Some(4), 0), "{told}");
            assert!(told.contains("begins with `Salted__`") && told.contains("`openssl enc -d"), "{told}");
        }
    }
    for format in ["sealed", "tink"] {
        let output = pipe(program(&format!("open --format {format} -b cpu --key-env KEY")).env("KEY", KEYS[2]), &file);
        assert!(output.status.code() == Some(1) && said(&output).contains("begins with `Salted__`"), "{output:?}");
    }
    // Encryption takes any bytes.
    let mut command = program("encrypt -m ecb -b cpu --key-env KEY");
    assert_eq!(pipe(command.env("KEY", KEYS[2]), &file).stdout.len(), 48);
}
