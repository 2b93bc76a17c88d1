//! The other commands of `cargo xtask`, as processes.

#[cfg(unix)]
mod common;

use std::io::Write;
#[cfg(unix)]
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Child;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn xtask(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn circuits_are_a_table() {
    let (code, table, _) = xtask(&["circuits"]);
    assert_eq!(code, Some(0));
    let row = |name: &str| -> Vec<usize> {
        let line = table.lines().find_map(|line| line.strip_prefix(&format!("{name:36}"))).expect(name);
        line.split_whitespace().map(|number| number.parse().expect(name)).collect()
    };
    // Gates, of three inputs, depth, alive; LUT3s, depth, alive.
    assert_eq!(row("boyar-peralta")[..3], [113, 0, 27]);
    for (name, most) in [
        ("lut3", 60),
        ("lut3, inverse", 62),
        ("lut3, Q to Q", 55),
        ("lut3, inverse, Q to Q", 56),
        ("MixColumns, AddRoundKey", 72),
        ("InvMixColumns, AddRoundKey in Q", 81),
    ] {
        assert!(row(name)[4] <= most, "{name}: {:?}", row(name));
    }
    assert!(row("canright")[4] < row("canright")[0]);
}

#[test]
fn costs_are_reported_where_there_is_a_compiler() {
    let (code, report, error) = xtask(&["ptx", "--report", "--arch", "sm_90"]);
    let missing = ["NVRTC, the CUDA run-time compiler, was not found", "nvdisasm, which disassembles"];
    if code == Some(1) && missing.iter().any(|message| error.contains(message)) {
        // Past the test harness, which shows only the output of failed tests.
        let _ = writeln!(std::io::stderr(), "SKIPPED: NVRTC or nvdisasm is not here; only the message was tested");
        assert_eq!((error.lines().count(), report.as_str()), (1, ""));
        return;
    }
    assert_eq!(code, Some(0), "{error}");
    assert!(report.contains("Registers") && report.contains("Instructions (SASS, sm_90)"), "{report}");
    assert_eq!(report.matches("aes_ctr_planes_bytes ").count(), 2, "{report}");
}

#[test]
fn an_architecture_is_a_number() {
    let (code, _, error) = xtask(&["ptx", "--report", "--arch", "hopper"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("an architecture is written as sm_90") && error.lines().count() == 1, "{error}");
}

#[test]
fn a_file_that_cannot_be_encrypted_is_refused_at_once() {
    for (file, says) in [("/nonexistent", "cannot read `/nonexistent`"), ("/", "no ordinary file")] {
        let (code, said, error) = xtask(&["demo", file]);
        assert_eq!((code, said.as_str(), error.lines().count()), (Some(1), "", 1), "{error}");
        assert!(error.contains(says), "{error}");
    }
}

/// A demo in the middle of its first step, when the key exists already, and its folder.
#[cfg(unix)]
fn begun_demo(target: &Path) -> (Child, PathBuf) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let before: Vec<PathBuf> = paths(target);
    command.arg("demo").env("CARGO_TARGET_DIR", target).stdout(Stdio::null());
    let mut process = command.spawn().unwrap();
    let start = Instant::now();
    loop {
        let new = paths(target).into_iter().find(|path| !before.contains(path) && path.join("key").exists());
        if let Some(folder) = new {
            return (process, folder);
        }
        assert!(process.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(600));
        sleep(Duration::from_millis(1));
    }
}

#[cfg(unix)]
fn paths(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[cfg(unix)]
#[test]
fn an_interrupted_demo_leaves_no_key_behind() {
    use std::os::unix::process::ExitStatusExt;
    for (name, signal) in [("INT", 2), ("TERM", 15)] {
        if common::is_ignored(signal) {
            continue;
        }
        let target = tempfile::tempdir().unwrap();
        let (mut process, _) = begun_demo(target.path());
        common::send(name, &process);
        assert_eq!(process.wait().unwrap().signal(), Some(signal));
        assert!(paths(target.path()).is_empty());
    }
}

#[cfg(unix)]
#[test]
fn the_key_of_a_killed_demo_is_removed_by_the_next() {
    let target = tempfile::tempdir().unwrap();
    let (mut living, its_folder) = begun_demo(target.path());
    // So that it does not get any further.
    common::send("STOP", &living);
    let (mut killed, leftover) = begun_demo(target.path());
    common::send("KILL", &killed);
    killed.wait().unwrap();
    assert!(leftover.join("key").exists());
    let (mut next, _) = begun_demo(target.path());
    assert!(!leftover.exists() && its_folder.join("key").exists());
    for process in [&mut living, &mut next] {
        process.kill().unwrap();
        process.wait().unwrap();
    }
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let mut process = command.arg("circuits").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(process.stdout.take());
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
