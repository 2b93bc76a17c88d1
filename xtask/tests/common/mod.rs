//! Signals, for the tests of what an interrupted command leaves behind.

use std::fs;
use std::process::{Child, Command};

/// Sends a signal, by its name.
pub fn send(signal: &str, process: &Child) {
    assert!(Command::new("kill").args(["-s", signal, &process.id().to_string()]).status().unwrap().success());
}

/// Whether a signal is ignored here, as under `nohup` or in the background of a shell script: then it ends nothing.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let is_ignored = mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1);
    if is_ignored {
        eprintln!("SKIPPED: signal {signal} is ignored here");
    }
    is_ignored
}
