//! However writing a file ends: nothing unfinished under its name, an existing file untouched, the right exit code, and no temporary file
//! left.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use common::{
    Folder, IV, KEYS, PROGRAM, bytes, folder_in_memory, install, is_ignored, is_root, message, names, pipe, program,
    said, send, shell, skipped, strace, wait_for, wait_to_end,
};

const OLD: &[u8] = b"what was here before";

/// The ways to write a file.
const MAP: &str = "--write-by map";
const WRITE: &str = "--write-by write";

/// A folder with a file `in` of `length` bytes and a file `out/file`, which will be replaced.
fn folder(length: usize) -> Folder {
    laid_out(Folder::new(), length)
}

/// Both ways to write a file, each with such a folder; one of these is in memory.
fn ways(length: usize) -> impl Iterator<Item = (&'static str, Folder)> {
    let mapped = folder_in_memory().map(|folder| (MAP, laid_out(folder, length)));
    mapped.into_iter().chain([(WRITE, folder(length))])
}

fn laid_out(folder: Folder, length: usize) -> Folder {
    folder.write("in", message(length));
    fs::create_dir(folder.join("out")).unwrap();
    folder.write("out/file", OLD);
    folder
}

/// Encrypts `in` to `out/file`.
fn encrypt(folder: &Path, options: &str) -> Command {
    encrypt_from_to(folder, &format!("{options} -o out/file in"))
}

fn encrypt_from_to(folder: &Path, options: &str) -> Command {
    let mut command = program(&format!("encrypt --mode ctr --iv {IV} --backend cpu --key-env KEY --force {options}"));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Seals `in` to `out/file`.
fn seal(folder: &Path, options: &str) -> Command {
    let mut command = program(&format!("seal --key-env KEY --force {options}"));
    command.env("KEY", SEAL_KEY).current_dir(folder).stdin(Stdio::null());
    command
}

/// A key of 256 bits, which `seal` takes.
const SEAL_KEY: &str = KEYS[2];

/// Bytes of more segments than `seal` and `open` process at a time.
fn more_than_a_batch() -> usize {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    ((4 * threads).min(64) + 2) << 20
}

/// The only message, after a check that nothing else happened.
fn failure(folder: &Path, output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert_eq!(fs::read(folder.join("out/file")).unwrap(), OLD);
    assert_eq!(names(folder.join("out")), ["file"]);
    let text = said(output);
    let message = text.strip_prefix("aes-bitslice: error: ").and_then(|text| text.strip_suffix('\n'));
    message.filter(|message| !message.contains('\n')).unwrap_or_else(|| panic!("not one line: {text}")).to_string()
}

/// Encrypts standard input to `out/file`, of which a part is written, and waits for more.
fn begun(folder: &Path) -> (Child, ChildStdin) {
    let mut command = encrypt_from_to(folder, "--chunk-bytes 16 -o out/file");
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&[1; 160]).unwrap();
    let is_written = || {
        let entries = fs::read_dir(folder.join("out")).unwrap().filter_map(|entry| entry.ok());
        let temporary = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".aes-bitslice-");
        entries.filter(temporary).any(|entry| entry.metadata().is_ok_and(|metadata| metadata.len() > 0))
    };
    wait_for(&mut child, is_written);
    (child, stdin)
}

#[test]
fn killed() {
    let folder = folder(0);
    let out = folder.join("out");
    let (mut child, _stdin) = begun(&folder);
    send("KILL", &child);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert_eq!(fs::read(out.join("file")).unwrap(), OLD);
    // Nothing could remove it.
    let names = names(&out);
    assert!(names.len() == 2 && names[0].starts_with(".aes-bitslice-"), "{names:?}");
}

#[test]
fn interrupted() {
    for (name, signal) in [("INT", 2), ("TERM", 15)] {
        if is_ignored(signal) {
            continue;
        }
        let folder = folder(0);
        let out = folder.join("out");
        let (child, stdin) = begun(&folder);
        send(name, &child);
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        assert_eq!((output.status.signal(), output.stderr.as_slice()), (Some(signal), &[][..]), "{output:?}");
        assert_eq!((names(&out), fs::read(out.join("file")).unwrap()), (vec!["file".to_string()], OLD.to_vec()));
    }
}

/// What was sealed so far goes away, too.
#[test]
fn interrupted_while_sealing() {
    if is_ignored(15) {
        return;
    }
    let folder = folder(0);
    let out = folder.join("out");
    let mut child = seal(&folder, "-o out/file").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    wait_for(&mut child, || names(&out).len() == 2);
    send("TERM", &child);
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!((output.status.signal(), output.stderr.as_slice()), (Some(15), &[][..]), "{output:?}");
    assert_eq!((names(&out), fs::read(out.join("file")).unwrap()), (vec!["file".to_string()], OLD.to_vec()));
}

/// The reader of the output of `seal` goes away, or a segment is damaged, while the input is a pipe that sends nothing more and is not
/// closed.
#[test]
fn a_failure_of_sealing_or_opening_does_not_wait_for_the_next_byte() {
    let folder = folder(more_than_a_batch());
    let data = folder.read("in");
    let mut damaged = bytes(seal(&folder, "in"), b"");
    damaged[1000] ^= 1;
    let run = |mut command: Command, input: &[u8], reads: bool| {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if !reads {
            drop(child.stdout.take());
        }
        let mut stdin = child.stdin.take().unwrap();
        // It may end before it has read everything.
        let _ = stdin.write_all(input);
        wait_to_end(&mut child);
        drop(stdin);
        child.wait_with_output().unwrap()
    };
    let mut open = program("open --key-env KEY --force -o out/file");
    open.env("KEY", SEAL_KEY).current_dir(&folder);
    let output = run(open, &damaged, true);
    assert!(failure(&folder, &output, 1).contains("segment 0 is damaged"));
    // A closed pipe is not reported.
    let output = run(seal(&folder, ""), &data, false);
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(4), &[][..]));
}

#[test]
fn the_folder_of_the_output_goes_away() {
    let folder = folder(0);
    let (child, stdin) = begun(&folder);
    fs::remove_dir_all(folder.join("out")).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let error = "aes-bitslice: error: cannot write `out/file`: its folder, or the temporary file in it, has been moved or removed\n";
    assert_eq!((output.status.code(), said(&output)), (Some(4), error));
    assert_eq!(names(&folder), ["in"]);
}

/// Encrypts `in` to a pipe, and applies `change` to that file when the first byte has come out. The rest has not been read by then: what
/// does not fit into the pipe and two workers' chunks cannot have been read from the file.
fn changed_midway(folder: &Path, change: impl FnOnce(File)) -> Output {
    let mut command = encrypt_from_to(folder, "--chunk-bytes 4096 --workers 2 in");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    change(OpenOptions::new().append(true).open(folder.join("in")).unwrap());
    let mut output = child.wait_with_output().unwrap();
    output.stdout.insert(0, first[0]);
    output
}

/// More than fits into any pipe.
const LONG: usize = 8 << 20;

#[test]
fn an_input_that_becomes_shorter() {
    let folder = folder(LONG);
    let output = changed_midway(&folder, |input| input.set_len(64).unwrap());
    let message = failure(&folder, &output, 4);
    assert_eq!(
        message,
        "cannot read `in`: it became shorter while it was read; try again when no program is writing to it"
    );
}

#[test]
fn an_input_that_becomes_longer() {
    let folder = folder(LONG);
    let expected = bytes(encrypt_from_to(&folder, "--workers 1 in"), b"");
    let output = changed_midway(&folder, |mut input| input.write_all(&[1; 100]).unwrap());
    let warning = "aes-bitslice: warning: `in` has grown since it was opened: only what it held then was read\n";
    assert_eq!((output.status.code(), said(&output)), (Some(0), warning));
    assert!(output.stdout == expected);
}

#[test]
fn a_file_larger_than_allowed() {
    for (way, folder) in ways(1 << 20) {
        // Half of it, in the shell's units of 512 bytes or of 1024.
        let command = format!("ulimit -f 512; exec {PROGRAM} \"$@\"");
        let encrypt = encrypt(&folder, &format!("{way} --chunk-bytes 4096"));
        let output = shell(&command).args(encrypt.get_args()).current_dir(&folder).output().unwrap();
        assert_eq!(failure(&folder, &output, 4), "cannot write `out/file`: File too large (os error 27)", "{way}");
    }
}

/// Runs the program with these arguments where `out` is a disk of 1 MiB that holds the old file. Returns the messages, and the exit code
/// with what is left; `None` if no disk can be mounted.
fn on_a_small_disk(folder: &Path, command: &Command, key: &str) -> Option<(String, String)> {
    // Its own disk, in a namespace that ends with the shell; then what is left on it.
    let script = format!(
        "mount -t tmpfs -o size=1m none out || exit 77
         printf %s '{}' >out/file
         {PROGRAM} \"$@\"
         echo \"exit code $?\"; ls -A out; cat out/file",
        std::str::from_utf8(OLD).unwrap(),
    );
    let mut shell = Command::new("unshare");
    shell.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]).args(command.get_args());
    let output = shell.env("KEY", key).current_dir(folder).output().ok().filter(|output| output.status.success());
    if output.is_none() {
        skipped("no small disk can be mounted here to be filled");
    }
    output.map(|output| (said(&output).into(), String::from_utf8(output.stdout).unwrap()))
}

#[test]
fn a_full_disk_while_sealing() {
    let folder = folder(2 << 20);
    let Some((told, left)) = on_a_small_disk(&folder, &seal(&folder, "-o out/file in"), SEAL_KEY) else {
        return;
    };
    assert_eq!(told, "aes-bitslice: error: cannot write `out/file`: No space left on device (os error 28)\n");
    assert_eq!(left, format!("exit code 4\nfile\n{}", std::str::from_utf8(OLD).unwrap()));
}

#[test]
fn a_full_disk() {
    // If a file is mapped, no byte is written before there is space for all of this file. So two workers do not get past the first two
    // chunks, and never reach the one that would fail in another way.
    let ways = [MAP, WRITE, "--write-by map --workers 2 --fail-at 500000"];
    for way in ways {
        let folder = folder(2 << 20);
        let command = encrypt(&folder, &format!("{way} --chunk-bytes 65536"));
        let Some((told, left)) = on_a_small_disk(&folder, &command, KEYS[0]) else { return };
        assert_eq!(
            told, "aes-bitslice: error: cannot write `out/file`: No space left on device (os error 28)\n",
            "{way}"
        );
        assert_eq!(left, format!("exit code 4\nfile\n{}", std::str::from_utf8(OLD).unwrap()), "{way}");
    }
}

/// The message about a lost GPU.
const LOST: &str = "CUDA: a call made to fail by --fail-at failed with CUDA_ERROR_DEVICE_UNAVAILABLE";

#[test]
fn an_engine_that_fails_midway() {
    for (way, folder) in ways(1 << 20) {
        for at in [0, 500_000, (1 << 20) - 1] {
            let options = format!("{way} --chunk-bytes 4096 --fail-at {at}");
            let output = encrypt(&folder, &options).output().unwrap();
            assert_eq!(failure(&folder, &output, 1), LOST, "{options}");
        }
    }
    let folder = folder(1 << 20);
    let output = encrypt(&folder, &format!("--fail-at {}", 1 << 20)).output().unwrap();
    assert!(output.status.success(), "there is no such byte: {output:?}");
}

/// The input is a pipe that sends nothing more and is not closed.
#[test]
fn a_failure_does_not_wait_for_the_next_byte() {
    let folder = folder(0);
    let mut command = encrypt_from_to(&folder, "--chunk-bytes 16 --fail-at 16 -o out/file");
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&[1; 40]).unwrap();
    wait_to_end(&mut child);
    assert_eq!(failure(&folder, &child.wait_with_output().unwrap(), 1), LOST);
    drop(stdin);
}

/// The output is a pipe without a reader: one worker is blocked with the second chunk, which no longer fits into it.
#[test]
fn a_failure_does_not_wait_for_the_reader() {
    let folder = folder(1 << 20);
    let options = format!("--chunk-bytes 65536 --workers 3 --fail-at {} in", 2 * 65536);
    let mut command = encrypt_from_to(&folder, &options);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_to_end(&mut child);
    assert_eq!(failure(&folder, &child.wait_with_output().unwrap(), 1), LOST);
}

#[test]
fn an_iv_that_is_not_there() {
    let folder = folder(15);
    let arguments = "decrypt --mode ctr --iv stored --backend cpu --key-env KEY --force -o out/file";
    let run = |input: &str, bytes: &[u8]| pipe(program(&format!("{arguments} {input}")).current_dir(&folder), bytes);
    let too_short = "is shorter than the 16 bytes of an IV; if it does not begin with one, give it with --iv";
    assert_eq!(failure(&folder, &run("in", b""), 4), format!("`in` {too_short}"));
    assert_eq!(failure(&folder, &run("", &[1; 15]), 4), format!("standard input {too_short}"));
}

/// A disk in a file, on a small file system in memory: most of it does not exist.
#[test]
fn a_disk_that_does_not_take_the_data() {
    if !is_root() {
        skipped("only root can make a loop device");
        return;
    }
    let folder = folder(3 << 20);
    // In a namespace that ends with the shell.
    let script = format!(
        "mount -t tmpfs -o size=1m none out || exit 77
         truncate -s 4M out/disk && loop=$(losetup --find --show out/disk) || exit 77
         {PROGRAM} \"$@\" -o $loop in
         echo \"exit code $?\"; losetup --detach $loop",
    );
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-c", &script, "sh"]).args(encrypt_from_to(&folder, "").get_args());
    let output = match shell.env("KEY", KEYS[0]).current_dir(&folder).output() {
        Ok(output) if output.status.success() => output,
        _ => {
            skipped("no loop device can be made here");
            return;
        }
    };
    let told = said(&output);
    assert!(told.starts_with("aes-bitslice: error: cannot write `/dev/loop"), "{told}");
    // By how the driver writes to the file.
    assert!([5, 28].iter().any(|code| told.ends_with(&format!("(os error {code})\n"))), "{told}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "exit code 4\n");
}

/// Having nothing to sync is not a failure.
#[test]
fn devices_and_pipes_without_a_disk() {
    let folder = folder(100);
    for output in ["/dev/null", "/dev/stdout", "/dev/fd/1"] {
        let output = encrypt_from_to(&folder, &format!("-o {output} in")).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}

/// Files in /sys claim a page of bytes, and have fewer.
#[test]
fn a_file_that_is_shorter_than_it_says() {
    let file = "/sys/devices/system/cpu/online";
    let Some(content) = fs::read(file).ok().filter(|content| fs::metadata(file).unwrap().len() > content.len() as u64)
    else {
        skipped("there is no such file here");
        return;
    };
    let folder = folder(0);
    for options in ["--workers 1", "--chunk-bytes 16"] {
        let cipher = bytes(encrypt_from_to(&folder, &format!("{options} {file}")), b"");
        let from_pipe = pipe(encrypt_from_to(&folder, ""), &content);
        assert!(cipher == from_pipe.stdout && cipher.len() == content.len(), "{options}");
    }
    // A file of which nothing was written has all its bytes.
    let sparse = folder.join("sparse");
    File::create(&sparse).unwrap().set_len(100_000).unwrap();
    assert_eq!(bytes(encrypt_from_to(&folder, "sparse"), b"").len(), 100_000);
}

/// Closed standard output loses nothing silently, and closed standard input is not read as empty.
#[test]
fn closed_standard_streams() {
    let folder = folder(100);
    let closed = "it is closed";
    let encrypt_with = |redirection: &str, options: &str| {
        let mut shell = shell(&format!("exec {PROGRAM} \"$@\" {redirection}"));
        shell.args(encrypt_from_to(&folder, options).get_args()).current_dir(&folder).output().unwrap()
    };
    for (redirection, options, message) in [
        (">&-", "in", format!("cannot write standard output: {closed}; redirect it to a file, or use a pipe")),
        ("<&-", "", format!("cannot read standard input: {closed}; name a file, or use a pipe")),
        ("<&- >&-", "-", format!("cannot read standard input: {closed}; name a file, or use a pipe")),
    ] {
        let output = encrypt_with(redirection, options);
        assert_eq!(failure(&folder, &output, 4), message, "{redirection}");
    }
    for command in ["info", "info --json", "man", "completions bash", "--help", "encrypt -h", "--version"] {
        let output = shell(&format!("exec {PROGRAM} {command} >&-")).output().unwrap();
        let message = format!("cannot write standard output: {closed}; redirect it to a file, or use a pipe");
        assert_eq!(failure(&folder, &output, 4), message, "{command}");
    }
    // A shell's `/dev/null` is taken as such, and a stream that is not used may be closed.
    for (redirection, options) in [(">/dev/null", "in"), ("</dev/null", ""), ("<&- >&- 2>&-", "-o out/file in")] {
        let output = encrypt_with(redirection, options);
        assert!(output.status.success() && output.stderr.is_empty(), "{redirection}: {output:?}");
    }
}

/// A system whose random number generator fails: what needs a new key, IV, salt or nonce says so, and makes nothing.
#[test]
fn nothing_is_made_without_random_bytes() {
    let folder = folder(100);
    folder.write("key", KEYS[2]);
    fs::set_permissions(folder.join("key"), fs::Permissions::from_mode(0o600)).unwrap();
    let before = names(&folder);
    for command in [
        "keygen --bits 256 -o new",
        "keygen --bits 256 --xts -o new",
        "encrypt --mode ctr --backend cpu -k key -o new in",
        "encrypt --mode cbc --padding pkcs7 --backend cpu -k key -o new in",
        "keystream --bytes 16 --backend cpu -k key -o new",
        "seal -k key -o new in",
        "seal --format tink -k key -o new in",
    ] {
        let log = folder.join("out/log");
        let options = format!("-e trace=getrandom -e inject=getrandom:error=EIO -o {}", log.display());
        let Some(mut strace) = strace(&options) else { return };
        let output = strace.arg(PROGRAM).args(command.split_whitespace()).current_dir(&folder).output().unwrap();
        // Not for hash maps or the heap.
        let is_asked = |line: &str| line.contains(", 0) ") && line.contains("INJECTED") && !line.contains("(0x1, 0,");
        if !fs::read_to_string(&log).unwrap().lines().any(is_asked) {
            return skipped("a generator that fails: random bytes come without a system call here");
        }
        let told =
            "aes-bitslice: error: the system's random number generator failed: Input/output error (os error 5)\n";
        assert_eq!((output.status.code(), said(&output), names(&folder)), (Some(1), told, before.clone()), "{command}");
    }
}

/// Looking for devices loads libraries, and one of them ends the process: no file has been made by then.
#[test]
fn a_library_that_ends_the_process_leaves_no_file() {
    let folder = folder(2 << 20);
    fs::create_dir(folder.join("vendors")).unwrap();
    let code = "#include <stdlib.h>\n__attribute__((constructor)) static void end(void) { abort(); }\n";
    folder.write("end.c", code);
    folder.write("vendors/end.icd", folder.join("end.so").to_str().unwrap());
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o", "end.so", "end.c"]).current_dir(&folder).status();
    if !compiled.is_ok_and(|compiled| compiled.success()) {
        skipped("there is no C compiler here");
        return;
    }
    let run = |command: &mut Command| {
        command.env("OCL_ICD_VENDORS", folder.join("vendors")).env("OPENCL_VENDOR_PATH", folder.join("vendors"));
        let output = command.env("CUDA_VISIBLE_DEVICES", "").output().unwrap();
        assert_eq!(names(folder.join("out")), ["file"], "{command:?}");
        assert_eq!(folder.read("out/file"), OLD);
        output.status.signal() == Some(6)
    };
    let encrypt = |backend: &str, options: &str| {
        let mut command = program(&format!("encrypt --mode ctr --iv {IV} --key-env KEY --force {backend} {options}"));
        command.current_dir(&folder).stdin(Stdio::null());
        command
    };
    let bench = || {
        let mut command =
            program("bench --modes ctr --key-bits 128 --sizes 16 --runs 1 --json out/new --plot out/newer");
        command.current_dir(&folder);
        command
    };
    let ended = [run(&mut encrypt("--backend opencl", "-o out/file in")), run(bench().args(["--backends", "opencl"]))];
    if ended != [true; 2] {
        skipped(&format!("the loader of OpenCL is not here, or does not load this library: {ended:?}"));
    }
}

/// What a command does under a limit of its address space (`ulimit -v`).
fn with_address_space(folder: &Path, kilobytes: u32, arguments: &str) -> Output {
    let line = format!("ulimit -c 0; ulimit -v {kilobytes}; exec {PROGRAM} {arguments}");
    // Rust's runtime waits for itself for ever where there is no memory for the backtrace of a thread that cannot start.
    shell(&line).env("KEY", SEAL_KEY).env_remove("RUST_BACKTRACE").current_dir(folder).output().unwrap()
}

/// A limit, in multiples of 4 MiB, under which it starts.
fn least_address_space(folder: &Path) -> u32 {
    let starts = |&least: &u32| with_address_space(folder, least, "--version").status.success();
    (2..100).map(|n| 4096 * n).find(starts).expect("it starts with less than 400 MB")
}

/// Under any limit of its address space (`ulimit -v`) that it starts under, the program does its work or says what is missing, and the
/// output is whole or not there. Where the last few bytes are missing to the system's own libraries, these end the program.
#[test]
fn a_limit_of_the_address_space() {
    let folder = folder(3 << 20);
    let limited = |kilobytes, arguments: &str| with_address_space(&folder, kilobytes, arguments);
    let least = least_address_space(&folder);
    for command in ["seal", "encrypt --mode ctr --backend cpu"] {
        let mut ends = [0; 3];
        for (n, limit) in (0..64).map(|n| (n, least + 1024 * n)) {
            if n >= 20 && ends[0] > 0 {
                break;
            }
            let output = limited(limit, &format!("{command} --key-env KEY -o new in"));
            let told = String::from_utf8_lossy(&output.stderr);
            let is_there = folder.join("new").exists();
            let end = match output.status.code() {
                Some(0) => 0,
                Some(1) if told.lines().count() == 1 => 1,
                // Of the loader; and of a signal, which may come before any message.
                Some(127) => 2,
                None if told.is_empty() => 2,
                code => {
                    assert!(
                        matches!(code, None | Some(1)) && told.contains("memory"),
                        "{command} {limit}: {code:?} {told}"
                    );
                    2
                }
            };
            let words = ["not enough memory", "too little memory", "no memory for the stack of another"];
            let is_clear = words.iter().any(|words| told.contains(words));
            assert!(if end == 0 { told.is_empty() } else { end == 2 || is_clear }, "{command} {limit}: {told}");
            // What the system's libraries end may be a thread that begins when others have done the work.
            assert!(is_there == (end == 0) || end == 2, "{command} {limit}: {told}");
            if is_there {
                assert!(fs::metadata(folder.join("new")).unwrap().len() > 3 << 20, "{command} {limit}");
                fs::remove_file(folder.join("new")).unwrap();
            }
            ends[end] += 1;
        }
        // Of the last few bytes alone.
        assert!(ends[0] > 0 && ends[1] > 0 && ends[2] <= 10, "{command}: {ends:?}");
    }
}

/// A file of a secret is read into memory that is reserved for all that it may have. Where that is missing, or what a passphrase is
/// stretched in, the message says so, and nothing is made.
#[test]
fn a_file_of_a_secret_where_memory_is_short() {
    let folder = folder(64);
    folder.write("words", "correct horse battery staple\n");
    fs::set_permissions(folder.join("words"), fs::Permissions::from_mode(0o600)).unwrap();
    let least = least_address_space(&folder);
    let mut told = BTreeMap::new();
    for limit in (least - 4096..least + 8192).step_by(256) {
        for (secret, name) in
            [("--passphrase-file words", "`words`"), ("--format tink --keyset - <words", "standard input (--keyset)")]
        {
            let output = with_address_space(&folder, limit, &format!("seal {secret} -o new in"));
            let line = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_short = line.contains("memory") || line.contains("cannot start a thread");
            let is_read = output.status.code() == Some(3) && line.contains("not a usable Tink keyset");
            // Before it starts, the system's loader ends it.
            assert!(
                is_short || is_read || output.status.code() != Some(1),
                "{secret} {limit}: {:?} {line}",
                output.status
            );
            assert!(!line.contains("horse") && !folder.join("new").exists(), "{secret} {limit}: {line}");
            let is_of_file = line.contains(&format!("error: {name}: there is too little memory to read it"));
            *told.entry(secret).or_insert(0) += usize::from(is_of_file);
        }
    }
    assert!(told.values().all(|&times| times > 0), "a file for which memory is missing is not among them: {told:?}");
}

/// However many threads cannot be started: the existing ones do the work, or it is an error.
#[test]
fn threads_that_cannot_be_started() {
    if !is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        skipped("only root can become a user who has no process yet, with `setpriv`");
        return;
    }
    let folder = folder(3 << 20);
    let expected = bytes(encrypt_from_to(&folder, "in"), b"");
    // Where that user may run it.
    let (copies, copy) = (Folder::new(), "program");
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    install(Path::new(PROGRAM), &copies.join(copy));
    open(&copies);
    open(&folder);
    let limited = |limit: u32, arguments: &str, key: &str| {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nproc={limit}")).args(["setpriv", "--reuid=54329", "--regid=54329", "--clear-groups"]);
        command.arg(copies.join(copy)).args(arguments.split(' '));
        command.env("KEY", key).current_dir(&folder).output().unwrap()
    };
    let refused = |told: &str| {
        let is_named = told.starts_with("aes-bitslice: error: cannot start a thread: ") && told.lines().count() == 1;
        is_named && told.contains("raise a limit, such as `ulimit -u` or `ulimit -v`")
    };
    let mut seen = [false; 2];
    for (backend, limit) in
        ["cpu", "cpu-bitsliced"].iter().flat_map(|backend| (1..8).map(move |limit| (backend, limit)))
    {
        let arguments = format!("encrypt --mode ctr --iv {IV} --key-env KEY --backend {backend} in");
        let output = limited(limit, &arguments, KEYS[0]);
        let told = said(&output);
        match output.status.code() {
            Some(0) => assert!(told.is_empty() && output.stdout == expected, "{backend} {limit}: {told}"),
            code => {
                assert!(refused(told) && output.stdout.is_empty(), "{backend} {limit}: {code:?} {told}");
            }
        }
        seen[usize::from(output.status.success())] = true;
    }
    assert_eq!(seen, [true; 2], "both ends were met");
    let bench = "bench --backends cpu --modes ctr --key-bits 128 --sizes 4194304 --runs 1";
    for arguments in ["seal --key-env KEY in", bench] {
        let mut seen = [false; 2];
        for limit in 1..8 {
            let output = limited(limit, arguments, SEAL_KEY);
            let told = said(&output);
            assert!(output.status.success() || refused(told), "{arguments} {limit}: {:?} {told}", output.status);
            seen[usize::from(output.status.success())] = true;
        }
        assert_eq!(seen, [true; 2], "both ends were met: {arguments}");
    }
}
