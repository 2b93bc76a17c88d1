//! A passphrase that is asked for on a terminal: what is accepted as one, and that the terminal shows again what is typed, however the
//! process ends or stops.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Folder, LONG, names, program, said, skipped, wait_for, wait_to_end};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{OpenptyResult, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
use nix::unistd::Pid;

/// The program, which asks on its own terminal.
struct Asking {
    child: Child,
    terminal: OpenptyResult,
}

impl Asking {
    /// Started by a shell that runs `before` first; it asks when this returns.
    fn start(folder: &Path, before: &str, arguments: &str) -> Self {
        Self::start_by(folder, &format!("{before}exec setsid -c \"$0\" {arguments}"))
    }

    /// Started by a shell as `$0` of a script.
    fn start_by(folder: &Path, script: &str) -> Self {
        let terminal = openpty(None, None).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script, common::PROGRAM]).current_dir(folder);
        command.stdin(terminal.slave.try_clone().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
        assert!(tcgetattr(&terminal.slave).unwrap().local_flags.contains(LocalFlags::ECHO), "a new one shows it");
        let mut asking = Asking { child: command.spawn().unwrap(), terminal };
        asking.asks();
        asking
    }

    /// Waits until it asks, and the terminal does not show what is typed.
    fn asks(&mut self) {
        self.wait_for_prompt("Passphrase: ");
        assert!(!self.shows());
    }

    /// Types the passphrase, and once more when it is asked for that, and waits until it has ended.
    fn told(mut self, passphrase: &[u8], again: &[u8]) -> Output {
        self.type_in(passphrase);
        let shown = self.wait_for_prompt("The same again: ");
        assert_eq!(shown, b"\r\nThe same again: ", "Enter is shown, and nothing else");
        self.type_in(again);
        self.end()
    }

    /// Whether the terminal shows what is typed.
    fn shows(&self) -> bool {
        tcgetattr(&self.terminal.slave).unwrap().local_flags.contains(LocalFlags::ECHO)
    }

    /// Returns what is shown up to its end.
    fn wait_for_prompt(&mut self, prompt: &str) -> Vec<u8> {
        let mut terminal = File::from(self.terminal.master.try_clone().unwrap());
        let mut shown = Vec::new();
        while !shown.ends_with(prompt.as_bytes()) {
            wait_for(&mut self.child, || {
                poll(&mut [PollFd::new(self.terminal.master.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO).unwrap()
                    > 0
            });
            let mut byte = [0];
            terminal.read_exact(&mut byte).unwrap();
            shown.push(byte[0]);
        }
        shown
    }

    fn type_in(&self, keys: &[u8]) {
        File::from(self.terminal.master.try_clone().unwrap()).write_all(keys).unwrap();
    }

    fn id(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// What its process started.
    fn started(&self) -> Vec<String> {
        let id = self.id();
        let started = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        started.split_whitespace().map(String::from).collect()
    }

    /// Whether all that its process started is stopped.
    fn has_stopped(&self) -> bool {
        self.started().iter().all(|process| state(process) == Some('T'))
    }

    /// Waits until it has ended, after which the terminal shows what is typed, and has no earlier input left for the shell.
    fn end(mut self) -> Output {
        wait_to_end(&mut self.child);
        assert!(self.shows());
        let slave = &self.terminal.slave;
        let mut settings = tcgetattr(slave).unwrap();
        // Without this, half a line cannot be read.
        settings.local_flags.remove(LocalFlags::ICANON);
        tcsetattr(slave, SetArg::TCSANOW, &settings).unwrap();
        let mut to_read = [PollFd::new(slave.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut to_read, PollTimeout::ZERO).unwrap(), 0, "the shell gets what was typed");
        self.child.wait_with_output().unwrap()
    }
}

/// The state of the process with this number, in the system's letters: `T` is stopped, `Z` has ended.
fn state(process: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat[stat.rfind(')')? + 2..].chars().next()
}

fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "it took too long");
        sleep(Duration::from_millis(5));
    }
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("data", common::message(100));
    folder
}

/// The message about a passphrase that was typed like this, in place of a file.
fn refused(keys: &[u8]) -> String {
    let folder = folder();
    let asking = Asking::start(&folder, "", "seal --passphrase -o sealed data");
    asking.type_in(keys);
    let output = asking.end();
    assert_eq!((output.status.code(), names(&folder)), (Some(3), vec!["data".to_string()]), "{output:?}");
    said(&output).into()
}

#[test]
fn what_was_typed_is_the_passphrase() {
    let folder = folder();
    let asking = Asking::start(&folder, "", "seal -q --passphrase -o sealed data");
    // The terminal's erase character deletes one.
    let output = asking.told("x\x7fcafé 1234\r".as_bytes(), "café 1234\n".as_bytes());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    folder.write("words", "café 1234");
    let mut open = program("open -q --passphrase-file words sealed");
    assert!(common::bytes(open.current_dir(&folder), b"") == common::message(100));

    // The beginning is examined before the passphrase is asked for, even of a pipe.
    for (before, file) in [("", "sealed"), ("mkfifo pipe; cat sealed > pipe & ", "pipe")] {
        let asking = Asking::start(&folder, before, &format!("open -q --passphrase {file}"));
        asking.type_in("café 1234\r".as_bytes());
        assert!(asking.end().stdout == common::message(100));
    }
    let asking = Asking::start(&folder, "", "open -q --passphrase sealed");
    asking.type_in("cafe 1234\r".as_bytes());
    assert_eq!(asking.end().status.code(), Some(3));
}

/// In Latin-1, where each byte above 127 would become the same character; the last would take Enter with it.
#[test]
fn what_is_no_text_is_refused() {
    for keys in [&b"caf\xe91234\r"[..], b"caf\xe9\r", b"\xff\r"] {
        let said = refused(keys);
        assert!(said.contains("what was typed is not text in UTF-8; use --passphrase-file"), "{said}");
    }
    assert!(refused(b"caf\x1b[D\r").contains("control character"));
    assert!(refused(&[&[b'a'; 3000][..], b"\r"].concat()).contains("too long"));
    assert!(refused(b"\x04").contains("the input ended before Enter"));
}

/// And errors in the files are reported before that.
#[test]
fn an_empty_passphrase_is_refused_at_once() {
    assert!(refused(b"\r").contains("the passphrase is empty"));
    let folder = folder();
    folder.write("key", "ab".repeat(32));
    assert!(program("seal -q -k key -o of-key data").current_dir(&folder).status().unwrap().success());
    for (arguments, code, words) in [
        ("seal --passphrase -o data data", 4, "it is the input"),
        ("seal --passphrase -o sealed none", 4, "No such file"),
        ("open --passphrase of-key", 3, "with a key"),
        ("open --passphrase data", 1, "not a sealed file"),
    ] {
        let mut command = program(arguments);
        let output = command.current_dir(&folder).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.code() == Some(code) && said(&output).contains(words), "{output:?}");
    }
}

#[test]
fn different_passphrases_are_refused() {
    let folder = folder();
    let asking = Asking::start(&folder, "", "seal --passphrase -o sealed data");
    assert!(said(&asking.told(b"one\r", b"another\r")).contains("not the same"));
}

#[test]
fn signals_end_it_and_the_terminal_shows_what_is_typed() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGINT, Signal::SIGUSR1] {
        if common::is_ignored(signal as i32) {
            skipped("a signal that is ignored here");
            continue;
        }
        let folder = folder();
        let asking = Asking::start(&folder, "", "seal --passphrase -o sealed data");
        asking.type_in(b"abc");
        kill(asking.id(), signal).unwrap();
        let output = asking.end();
        assert_eq!(output.status.signal(), Some(signal as i32), "{output:?}");
        assert_eq!((output.stderr, names(&folder)), (vec![], vec!["data".to_string()]));
    }
}

/// If the signal is ignored, nothing happens.
#[test]
fn keys_that_make_signals() {
    for (key, signal) in [(b"abc\x03", 2), (b"abc\x1c", 3)] {
        if common::is_ignored(signal) {
            skipped("a signal that is ignored here");
            continue;
        }
        let folder = folder();
        let asking = Asking::start(&folder, "", "seal --passphrase -o sealed data");
        asking.type_in(key);
        let output = asking.end();
        assert_eq!((output.status.signal(), output.stderr), (Some(signal), vec![]));
    }
    let folder = folder();
    let asking = Asking::start(&folder, "trap '' INT; ", "seal -q --passphrase -o sealed data");
    assert!(asking.told(b"x\x03abc\r", b"abc\r").status.success());
}

/// A shell with job control, to which the terminal goes back.
#[test]
fn ctrl_z_stops_it_and_it_asks_again() {
    let folder = folder();
    let jobs = "exec setsid -c sh -mc '\"$0\" seal -q --passphrase -o sealed data; read line; fg >/dev/null' \"$0\"";
    let mut asking = Asking::start_by(&folder, jobs);
    asking.type_in(b"abc\x1a");
    // What is typed before it has stopped is cleared with the rest of the passphrase.
    until(|| asking.shows() && asking.has_stopped());
    asking.type_in(b"line\r");
    asking.asks();
    let output = asking.told(b"abc\r", b"abc\r");
    assert!(output.status.success(), "{output:?}");
    folder.write("words", "abc");
    let mut open = program("open -q --passphrase-file words sealed");
    assert!(common::bytes(open.current_dir(&folder), b"") == common::message(100));
}

/// It leaves the terminal to the shell, which has it: the system would stop it if it did not.
#[test]
fn in_the_background_a_signal_ends_it() {
    if common::is_ignored(Signal::SIGTERM as i32) {
        skipped("a signal that is ignored here");
        return;
    }
    let folder = folder();
    let jobs = "exec setsid -c sh -mc '\"$0\" seal -q --passphrase -o sealed data; read line' \"$0\"";
    let asking = Asking::start_by(&folder, jobs);
    asking.type_in(b"abc\x1a");
    until(|| asking.shows() && asking.has_stopped());
    let [process] = &asking.started()[..] else { panic!("one process is stopped") };
    let send = |signal| kill(Pid::from_raw(process.parse().unwrap()), signal);
    send(Signal::SIGTERM).unwrap();
    // It is stopped again if it reads before it sees the other signal. The shell may have seen its end before this test does.
    until(|| {
        let _ = send(Signal::SIGCONT);
        matches!(state(process), None | Some('Z'))
    });
    asking.type_in(b"line\r");
    assert_eq!((asking.end().status.success(), names(&folder)), (true, vec!["data".to_string()]));
}

/// The system stops no process that no shell would wake.
#[test]
fn ctrl_z_without_a_shell_shows_nothing() {
    let folder = folder();
    let mut asking = Asking::start(&folder, "", "seal -q --passphrase -o sealed data");
    asking.type_in(b"abc\x1a");
    asking.asks();
    assert!(asking.told(b"abc\r", b"abc\r").status.success());
}

/// By the signal that nothing can block.
#[test]
fn a_process_that_was_stopped_asks_again() {
    let folder = folder();
    let mut asking = Asking::start(&folder, "", "seal -q --passphrase -o sealed data");
    kill(asking.id(), Signal::SIGSTOP).unwrap();
    until(|| state(&asking.id().to_string()) == Some('T'));
    // As some shells do with the terminal of a stopped process.
    let mut shown = tcgetattr(&asking.terminal.slave).unwrap();
    shown.local_flags.insert(LocalFlags::ECHO);
    tcsetattr(&asking.terminal.slave, SetArg::TCSANOW, &shown).unwrap();
    kill(asking.id(), Signal::SIGCONT).unwrap();
    asking.asks();
    assert!(asking.told(b"abc\r", b"abc\r").status.success());
}

/// A key, keyset or passphrase's file is refused on a terminal, whose screen would show it: exit code 3, and no output.
#[test]
fn no_secret_is_typed_where_it_shows() {
    let folder = folder();
    let terminal = openpty(None, None).unwrap();
    for option in ["-k", "--passphrase-file", "--keyset"] {
        let format = if option == "--keyset" { "--format tink" } else { "" };
        let mut seal = program(&format!("seal {option} - {format} -o sealed data"));
        seal.current_dir(&folder).stdin(terminal.slave.try_clone().unwrap()).stderr(Stdio::piped());
        let mut child = seal.spawn().unwrap();
        wait_to_end(&mut child);
        let output = child.wait_with_output().unwrap();
        assert!(said(&output).contains("it is a terminal, which would show the secret"), "{output:?}");
        assert_eq!((output.status.code(), names(&folder)), (Some(3), vec!["data".to_string()]));
    }
}

/// A key goes into a file or a pipe, and is never shown.
#[test]
fn a_key_is_not_written_to_a_terminal() {
    let terminal = openpty(None, None).unwrap();
    let mut keygen = program("keygen -b 256 -o -");
    let output = keygen.stdout(terminal.slave.try_clone().unwrap()).stderr(Stdio::piped()).output().unwrap();
    let why = "standard output is a terminal and the output is a key, which is never shown; use -o FILE or a pipe";
    assert!(output.status.code() == Some(4) && said(&output).contains(why), "{output:?}");
    let key = common::bytes(program("keygen -b 256 -o -"), b"");
    assert!(key.len() == 65 && key[..64].iter().all(u8::is_ascii_hexdigit));
}
