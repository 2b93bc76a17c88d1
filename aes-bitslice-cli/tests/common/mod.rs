//! Shared by the tests of the command line: running it, keys and messages, and the contents of a folder.
#![allow(dead_code, reason = "no test needs all of it")]

use std::borrow::BorrowMut;
use std::fs;
use std::io::Write;
use std::ops::Deref;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_aes-bitslice");

/// The keys of SP 800-38A, appendix F, shortest first.
pub const KEYS: [&str; 3] = [
    "2b7e151628aed2a6abf7158809cf4f3c",
    "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
    "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
];

/// Two keys of 128 bits for XTS, and two of 256 bits.
pub const KEYS_OF_XTS: [&str; 2] = [
    "2b7e151628aed2a6abf7158809cf4f3c000102030405060708090a0b0c0d0e0f",
    "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4\
     000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
];

/// The initial counter block of SP 800-38A, appendix F.
pub const IV: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

/// Longer than anything here takes.
pub const LONG: Duration = Duration::from_secs(600);

/// A new folder, which goes away with what is in it.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// In another.
    pub fn new_in(other: &Path) -> Self {
        Self(tempfile::tempdir_in(other).unwrap())
    }

    pub fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.join(name)).unwrap()
    }

    pub fn write(&self, name: impl AsRef<Path>, contents: impl AsRef<[u8]>) {
        fs::write(self.join(name), contents).unwrap();
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        self
    }
}

/// `aes-bitslice` with these arguments, given as one line, and the first key in the variable KEY.
pub fn program(arguments: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments.split_whitespace()).env("KEY", KEYS[0]);
    // What the caller may have set, and what changes what it does or prints.
    command.env_remove("AES_BITSLICE_THREADS").env_remove("COLUMNS").env_remove("CLICOLOR_FORCE");
    command
}

/// Runs `command` with `input` as standard input.
pub fn pipe(mut command: impl BorrowMut<Command>, input: &[u8]) -> Output {
    let command = command.borrow_mut();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // The program may end before it has read everything.
        scope.spawn(move || _ = stdin.write_all(input));
        child.wait_with_output().unwrap()
    })
}

/// The output of a `command` that succeeds silently.
pub fn bytes(mut command: impl BorrowMut<Command>, input: &[u8]) -> Vec<u8> {
    let command = command.borrow_mut();
    let output = pipe(&mut *command, input);
    assert!(output.status.success() && output.stderr.is_empty(), "{command:?}: {output:?}");
    output.stdout
}

/// A line of the shell, for which the arguments that are added are `$@`, with the first key in the variable KEY.
pub fn shell(line: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", line, "sh"]).env("KEY", KEYS[0]);
    shell
}

/// What a program said on standard error.
pub fn said(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

/// Sends a signal, by its name or its number.
pub fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap().success());
}

/// The bytes of hexadecimal digits between which there may be space.
pub fn unhex(digits: &str) -> Vec<u8> {
    let digits: String = digits.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// Bytes in which no two blocks are equal.
pub fn message(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at ^ (at / 16).wrapping_mul(0x9e37)) as u8).collect()
}

/// The names of the entries of `folder`, sorted.
pub fn names(folder: impl AsRef<Path>) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// `strace` with these `options`, for a program and its arguments; `None`, and a message, if there is none or it must not trace here.
#[cfg(target_os = "linux")]
pub fn strace(options: &str) -> Option<Command> {
    let strace = || Command::new("strace");
    if !strace().args(["-o", "/dev/null", "true"]).output().is_ok_and(|output| output.status.success()) {
        skipped("`strace` is not installed, or must not trace here");
        return None;
    }
    let mut command = strace();
    command.arg("-f").args(options.split_whitespace()).env("KEY", KEYS[0]);
    Some(command)
}

/// Reports what was not tested, past the test harness, which shows only what failed tests print.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// A new folder in tmpfs, the only place where files are written through mappings; `None`, and a message, if there is none.
pub fn folder_in_memory() -> Option<Folder> {
    const TMPFS: u32 = 0x0102_1994;
    let is_tmpfs = rustix::fs::statfs("/dev/shm").is_ok_and(|info| info.f_type as u32 == TMPFS);
    let folder = if is_tmpfs { tempfile::tempdir_in("/dev/shm").ok().map(Folder) } else { None };
    if folder.is_none() {
        skipped("no file is written through a mapping: there is no tmpfs at /dev/shm to make it in");
    }
    folder
}

/// Copies a program so that every user may run it. By another process: what this one writes cannot be run while a child that another test has
/// just forked holds it open.
pub fn install(program: &Path, copy: &Path) {
    assert!(Command::new("install").args(["-m", "755"]).args([program, copy]).status().unwrap().success());
}

/// Whether this process may do what only root may.
pub fn is_root() -> bool {
    let read = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
    // In a namespace there may be no other user.
    !read("uid_map").trim_end().ends_with(" 1")
        && read("status")
            .lines()
            .any(|line| line.strip_prefix("Uid:").is_some_and(|ids| ids.split_whitespace().nth(1) == Some("0")))
}

/// Whether this process was started to ignore a signal, as under `nohup`: the processes that it starts ignore it, too.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Waits until `condition` holds, which it must while `child` runs.
pub fn wait_for(child: &mut Child, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        assert!(start.elapsed() < LONG, "it took too long");
        sleep(Duration::from_millis(5));
    }
}

/// Waits until it has ended.
pub fn wait_to_end(child: &mut Child) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < LONG, "it took too long");
        sleep(Duration::from_millis(5));
    }
}
