//! Neither the key nor a round key is on the stacks of the program while it encrypts. Its heap has both for as long as it works; a stack
//! has no owner, and is not wiped when the program ends.
//!
//! The program reads a pipe that stays open. When the output for its input so far has come out, and all its threads wait, their stacks are
//! searched: for the key as bytes and as digits, and for every round key of both directions as bytes, as words and as planes.
//!
//! And it makes no core dump, which would hold them.
#![cfg(target_os = "linux")]

mod common;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

use aes_bitslice_core::aes::{Direction, KeySchedule};
use aes_bitslice_core::layout::key_planes;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use common::{IV, KEYS, KEYS_OF_XTS, message, program, skipped, unhex, wait_for, wait_to_end};

/// Bytes of a chunk, which is kept back until it is known whether it is the last, and bytes of the program's input.
const CHUNK: usize = 64 << 10;
const GIVEN: usize = 16 * CHUNK;

#[test]
fn no_key_is_on_a_stack() {
    let commands = ["encrypt --mode ctr", "encrypt --mode ecb", "encrypt --mode cbc", "decrypt --mode cbc --iv IV"];
    for backend in ["cpu", "cpu-bitsliced"] {
        for command in commands {
            for (key, format) in KEYS.into_iter().zip(["hex", "raw", "hex"]) {
                let heap = search(&format!("{} --backend {backend}", command.replace("IV", IV)), key, format);
                // The search would find the needles.
                let is_bitsliced = backend == "cpu-bitsliced" && command != "encrypt --mode cbc";
                let form = if is_bitsliced { "as planes" } else { "as bytes" };
                assert!(heap.iter().any(|name| name.starts_with("round key 1 ") && name.contains(form)), "{command}");
            }
        }
        for (key, format) in KEYS_OF_XTS.into_iter().zip(["hex", "raw"]) {
            search(&format!("encrypt --mode xts --first-sector 0 --backend {backend}"), key, format);
        }
    }
}

/// Whatever the limit was when it was started.
#[test]
fn there_is_no_core_dump() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, hard) = getrlimit(Resource::RLIMIT_CORE).unwrap();
    if hard == 0 {
        return skipped("core dumps, which this system allows nobody");
    }
    let mut command = program(&format!("encrypt --mode ctr --quiet --chunk-bytes {CHUNK} --key-format hex"));
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(KEYS[0].as_bytes()).unwrap();
    command.arg("--key-file").arg(file.path()).stdin(Stdio::piped()).stdout(Stdio::null());
    setrlimit(Resource::RLIMIT_CORE, hard, hard).unwrap();
    let mut child = Ended(command.spawn().unwrap());
    // Open until it has ended: `wait` would close it, and the program could end by itself.
    let _stdin = child.0.stdin.take();
    let limits = format!("/proc/{}/limits", child.0.id());
    wait_for(&mut child.0, || {
        let limits = fs::read_to_string(&limits).unwrap();
        let core = limits.lines().find_map(|line| line.strip_prefix("Max core file size")).unwrap();
        core.split_whitespace().next() == Some("1")
    });
    // The default action of this signal is a core dump. SIGQUIT would dump core too, but a shell's background processes ignore it.
    kill(Pid::from_raw(child.0.id() as i32), Signal::SIGABRT).unwrap();
    wait_to_end(&mut child.0);
    let status = child.0.wait().unwrap();
    assert_eq!((status.signal(), status.core_dumped()), (Some(Signal::SIGABRT as i32), false));
}

/// Runs the program with a key in a file, and finds nothing on its stacks; returns what it finds elsewhere.
fn search(arguments: &str, digits: &str, format: &str) -> Vec<String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&if format == "hex" { digits.into() } else { unhex(digits) }).unwrap();
    let mut command = program(&format!("{arguments} --quiet --chunk-bytes {CHUNK} --key-format {format}"));
    // The environment of a program is on its stack.
    command.env_remove("KEY").arg("--key-file").arg(file.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = Ended(command.spawn().unwrap());
    let (mut stdin, mut stdout) = (child.0.stdin.take().unwrap(), child.0.stdout.take().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| stdin.write_all(&message(GIVEN)).unwrap());
        stdout.read_exact(&mut vec![0; GIVEN - CHUNK]).unwrap();
    });
    let id = child.0.id();
    wait_for(&mut child.0, || waiting(id).is_some());
    let (on_stacks, elsewhere) = found(id, &needles(digits));
    assert!(on_stacks.is_empty(), "{command:?}: {on_stacks:#?}");
    elsewhere
}

/// A child that is ended on drop.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The stack pointers of all threads of a process; `None` while one of them runs.
fn waiting(id: u32) -> Option<Vec<u64>> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).unwrap();
    let pointer = |thread: fs::DirEntry| {
        // "running"; or a system call, its six arguments, the stack pointer and the program counter.
        let call = fs::read_to_string(thread.path().join("syscall")).ok()?;
        let pointer = call.split_whitespace().nth(7)?.strip_prefix("0x")?;
        u64::from_str_radix(pointer, 16).ok()
    };
    threads.map(|thread| pointer(thread.unwrap())).collect()
}

/// What to look for, each with its name.
fn needles(digits: &str) -> Vec<(String, Vec<u8>)> {
    let key = unhex(digits);
    let mut needles = vec![("the key's first digits".into(), digits[..32].into())];
    let keys = if KEYS.contains(&digits) { vec![&key[..]] } else { key.chunks(key.len() / 2).collect() };
    for (number, key) in keys.into_iter().enumerate() {
        needles.push((format!("key {number}"), key.into()));
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            for (round, round_key) in KeySchedule::new(key, direction).unwrap().round_keys().iter().enumerate() {
                let name = |form: &str| format!("round key {round} of {direction:?} as {form}, key {number}");
                let words = round_key.chunks(4).flat_map(|word| word.iter().rev().copied());
                let planes: Vec<u8> = key_planes(round_key).into_iter().flat_map(u32::to_ne_bytes).collect();
                needles.push((name("bytes"), round_key.to_vec()));
                needles.push((name("words, the other way round"), words.collect()));
                // Half of them is enough to be sure.
                needles.push((name("planes"), planes[..256].into()));
                needles.push((name("planes, second half"), planes[256..].into()));
            }
        }
    }
    needles
}

/// The needles found in memory that the process can write to: on stacks, and elsewhere.
fn found(id: u32, needles: &[(String, Vec<u8>)]) -> (Vec<String>, Vec<String>) {
    let pointers = waiting(id).expect("no thread runs");
    let memory = File::open(format!("/proc/{id}/mem")).unwrap();
    let maps = fs::read_to_string(format!("/proc/{id}/maps")).unwrap();
    let mut by_start = HashMap::<[u8; 8], Vec<&(String, Vec<u8>)>>::new();
    for needle in needles {
        by_start.entry(*needle.1.first_chunk().unwrap()).or_default().push(needle);
    }
    let (mut on_stacks, mut elsewhere, mut stacks) = (vec![], vec![], 0);
    for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|flags| flags.starts_with("rw"))) {
        let range = range(line);
        let mut bytes = vec![0; (range.end - range.start) as usize];
        if memory.read_exact_at(&mut bytes, range.start).is_err() {
            continue;
        }
        let threads = pointers.iter().filter(|pointer| range.contains(pointer)).count();
        stacks += threads;
        let found = if threads > 0 { &mut on_stacks } else { &mut elsewhere };
        for (page, start) in bytes.chunks(4096).zip((0..).step_by(4096)) {
            if page.iter().all(|&byte| byte == 0) {
                continue;
            }
            for at in start..start + page.len() {
                let Some(first) = bytes[at..].first_chunk::<8>() else { break };
                for (name, needle) in by_start.get(first).into_iter().flatten() {
                    if bytes[at..].starts_with(needle) {
                        found.push(format!("{name} at {at:#x} in {line}"));
                    }
                }
            }
        }
    }
    assert_eq!(stacks, pointers.len(), "every thread has a stack that can be read");
    (on_stacks, elsewhere)
}

/// The addresses of a line of `maps`.
fn range(line: &str) -> Range<u64> {
    let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
    let [from, to] = [from, to].map(|address| u64::from_str_radix(address, 16).unwrap());
    from..to
}
