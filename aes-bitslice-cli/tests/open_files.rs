//! Files that are open already, which paths name by their numbers: each is that stream, and no such path replaces a file.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Output, Stdio};

use common::{Folder, IV, KEYS, PROGRAM, bytes, message, pipe, program, said};

/// Runs a `line` of the shell in `folder`, where `$P` is the program.
fn shell(folder: &Path, line: &str) -> Output {
    pipe(common::shell(line).current_dir(folder).env("P", PROGRAM).env("IV", IV), b"")
}

fn folder() -> Folder {
    let folder = Folder::new();
    symlink("/dev/stdout", folder.join("link")).unwrap();
    symlink("link", folder.join("link to a link")).unwrap();
    folder.write("in", message(100));
    folder
}

fn key_stream(length: usize) -> Vec<u8> {
    let arguments = format!("encrypt --mode ctr --backend cpu --key-env KEY --iv {IV}");
    bytes(program(&arguments), &vec![0; length])
}

#[test]
fn an_output_is_the_stream_that_it_names() {
    let folder = folder();
    let file = folder.join("file");
    for name in [
        "/dev/stdout",
        "/dev/fd/1",
        "/proc/self/fd/1",
        "/proc/thread-self/fd/1",
        "/proc/self/task/../fd/1",
        "link",
        "'link to a link'",
        "./link",
        "/proc/$$/fd/1",
        "/dev/fd/3",
        "/dev/stderr",
    ] {
        for force in ["", "--force"] {
            fs::write(&file, "").unwrap();
            let inode = fs::metadata(&file).unwrap().ino();
            let line = format!(
                "exec >file 3>&1; printf before; exec \"$P\" keystream -q --bytes 20 --key-env KEY --iv $IV --backend cpu {force} -o {name} 2>&1"
            );
            let output = shell(&folder, &line);
            let written = fs::read(&file).unwrap();
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&written));
            assert_eq!(written, [&b"before"[..], &key_stream(20)].concat(), "{name} {force}");
            assert_eq!(fs::metadata(&file).unwrap().ino(), inode, "{name} {force}: the file was replaced");
        }
    }
}

/// A new key, too, and it does not count as an existing file.
#[test]
fn a_key_goes_to_the_stream_that_it_names() {
    let folder = folder();
    let output = shell(&folder, "\"$P\" keygen -b 128 -o /dev/stdout");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout.len(), 33);
}

#[test]
fn what_is_not_open_or_open_elsewhere_is_refused() {
    let folder = folder();
    let file = folder.join("file");
    for force in ["", "--force"] {
        let run = |line: &str| {
            let arguments = format!("keystream -q --bytes 20 --key-env KEY --iv $IV --backend cpu {force}");
            let output = shell(&folder, &line.replace("RUN", &format!("\"$P\" {arguments}")));
            (output.status.code(), said(&output).to_string())
        };
        let (code, told) = run("RUN -o /dev/fd/999");
        assert_eq!(code, Some(4));
        assert!(told.contains("no file is open as number 999"), "{told}");
        let (code, told) = run("RUN -o /dev/fd/1024");
        assert_eq!(code, Some(4));
        assert!(told.contains("only open files with numbers below 1024 can be named so"), "{told}");
        // The file that is open is the shell's.
        let (code, told) = run("exec >file; printf before; RUN -o /proc/$$/fd/1; exit $?");
        assert_eq!(code, Some(4));
        assert!(told.contains("an open file of another process; give the name of the file itself"), "{told}");
        assert_eq!(fs::read(&file).unwrap(), b"before");
    }
    for input in ["/dev/fd/999", "/dev/stdin <&-"] {
        let line = format!("\"$P\" encrypt -m ctr --key-env KEY --iv $IV --backend cpu -o out {input}");
        let output = shell(&folder, &line);
        assert_eq!(output.status.code(), Some(4), "{input}: {output:?}");
        assert!(!folder.join("out").exists());
    }
}

/// An input is read from where it stands, as standard input is.
#[test]
fn inputs_and_secrets_are_the_streams_that_they_name() {
    let folder = folder();
    let rest = message(100)[16..].to_vec();
    let arguments = format!("encrypt --mode ctr --backend cpu --key-env KEY --iv {IV}");
    let expected = bytes(program(&arguments), &rest);
    for name in ["", "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev/fd/3"] {
        let line = format!("exec <in 3<&0; dd bs=16 count=1 2>/dev/null >/dev/null; \"$P\" {arguments} {name}");
        assert_eq!(shell(&folder, &line).stdout, expected, "{name}");
    }
    folder.write("lines", format!("a line\n{}\n", KEYS[0]));
    let line =
        format!("exec 3<lines; read line <&3; \"$P\" {} in", arguments.replace("--key-env KEY", "-q -k /dev/fd/3"));
    let output = shell(&folder, &line);
    assert_eq!(output.stdout, bytes(program(&format!("{arguments} {}", folder.join("in").display())), b""));
    let line = "exec 3<lines; read line <&3; \"$P\" seal -q --passphrase-file /dev/fd/3 -o sealed in; \
                tail -n 1 lines >words; \"$P\" open -q --passphrase-file words sealed";
    assert_eq!(shell(&folder, line).stdout, message(100));
}

/// As Python's `subprocess.DEVNULL` passes it on: it is not a closed stream.
#[test]
fn null_for_reading_and_writing_is_what_it_is() {
    let null = || OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
    for arguments in
        [format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY"), "info --json".into(), "--help".into()]
    {
        let mut command = program(&arguments);
        let output = command.stdin(null()).stdout(null()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments}: {output:?}");
    }
    let folder = folder();
    let sealed =
        shell(&folder, "\"$P\" keygen -b 256 -o k && \"$P\" seal -k k <>/dev/null | \"$P\" open -k k 1<>/dev/null");
    assert!(sealed.status.success() && sealed.stderr.is_empty(), "{sealed:?}");
}

/// The system calls it unavailable, which does not say what to do.
#[test]
fn a_stream_that_would_have_to_be_waited_for_is_told() {
    let non_blocking = || {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        (ours, Stdio::from(OwnedFd::from(theirs)))
    };
    for mode in ["ctr", "cbc --padding pkcs7"] {
        let arguments = format!("encrypt --mode {mode} --backend cpu --key-env KEY --iv {IV}");
        let command = || program(&arguments);
        // No end is closed before the program ends: nothing comes, and nothing is taken.
        let (_input, theirs) = non_blocking();
        let read = command().stdin(theirs).output().unwrap();
        let (_output, theirs) = non_blocking();
        let written = command().arg(PROGRAM).stdout(theirs).output().unwrap();
        for (output, what) in [(read, "cannot read standard input"), (written, "cannot write standard output")] {
            let said = said(&output);
            assert_eq!(output.status.code(), Some(4), "{mode}: {said}");
            assert!(said.contains(&format!("{what}: it is non-blocking")) && !said.contains("os error"), "{said}");
        }
    }
}
