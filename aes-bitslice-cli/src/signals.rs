//! Signals that end or stop the process: temporary files are removed first, and the terminal is restored.
//!
//! This module handles HUP, INT, QUIT, TERM, USR1, USR2, ALRM, VTALRM, PROF and XCPU, on Linux also IO, PWR, STKFLT and the real-time
//! signals: all whose default is to end a process, except for these:
//!
//! - KILL, which no program can handle;
//! - ABRT, BUS, FPE, ILL, SEGV, SYS and TRAP, which report a fault in the program or its libraries;
//! - PIPE and XFSZ, which are errors of a write instead.
//!
//! TSTP, which stops a process, and CONT, which continues it, show and hide what is typed at a [`terminal`] with an open question.
//!
//! A signal that was ignored when the process started, as under `nohup`, stays ignored; one that was already handled, by a library loaded
//! before the program, is left to it.

use std::io;

#[cfg(unix)]
use nix::sys::signal::{SigSet, Signal};

#[cfg(unix)]
use crate::{scratch, terminal};

/// Handles signals this way from now on.
///
/// A thread waits for them, and all others block them, including those that libraries start later, because this is called before there are
/// any. A handler would not do, because OpenCL compilers have their own, which end the process. Only real-time signals have a handler,
/// because libraries may use them between their threads.
#[cfg(unix)]
pub fn watch() -> io::Result<()> {
    use Signal::*;
    let taken = taken();
    let is_free = |signal: i32| taken >> (signal - 1) & 1 == 0;
    #[cfg_attr(not(target_os = "linux"), allow(unused_mut))]
    let mut ending: SigSet = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU]
        .into_iter()
        .collect();
    #[cfg(target_os = "linux")]
    ending.extend([SIGIO, SIGPWR]);
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    ending.add(SIGSTKFLT);
    let ending: SigSet = ending.iter().filter(|&signal| is_free(signal as i32)).collect();
    let stopping: SigSet = [SIGTSTP, SIGCONT].into_iter().filter(|&signal| is_free(signal as i32)).collect();
    let waited_for: SigSet = ending.iter().chain(stopping.iter()).collect();
    let mut blocked = waited_for;
    blocked.add(SIGXFSZ);
    blocked.thread_block()?;
    let wait = move || {
        loop {
            match waited_for.wait() {
                Ok(SIGTSTP) => stop(),
                Ok(SIGCONT) => terminal::hide(),
                Ok(signal) => end_by(signal),
                Err(_) => {}
            }
        }
    };
    let started = std::thread::Builder::new().name("signals".into()).spawn(wait);
    // Without it they do what they always do.
    started.inspect_err(|_| _ = blocked.thread_unblock())?;
    // Without a thread for them, they do what they always do.
    #[cfg(target_os = "linux")]
    let _ = watch_real_time(is_free);
    Ok(())
}

/// Stops the process as TSTP does, until it is continued.
#[cfg(unix)]
fn stop() {
    terminal::show();
    let stop = SigSet::from(Signal::SIGTSTP);
    let _ = nix::sys::signal::raise(Signal::SIGTSTP);
    let _ = stop.thread_unblock();
    let _ = stop.thread_block();
    // The system stops no process that no shell would wake.
    terminal::hide();
}

/// Undoes what must not outlive the process.
#[cfg(unix)]
fn clean_up() {
    terminal::show_for_good();
    scratch::remove_all();
}

/// Ends the process as this signal does.
#[cfg(unix)]
fn end_by(signal: Signal) -> ! {
    clean_up();
    let _ = signal_hook::low_level::emulate_default_handler(signal as i32);
    // It does not know some signals.
    let _ = SigSet::from(signal).thread_unblock();
    let _ = nix::sys::signal::raise(signal);
    std::process::exit(128 + signal as i32)
}

/// Ends the process on a real-time signal, with the exit code that a shell shows for it.
#[cfg(target_os = "linux")]
fn watch_real_time(is_free: impl Fn(i32) -> bool) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new::<[i32; 0], i32>([])?;
    let handle = signals.handle();
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            clean_up();
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new().name("real-time".into()).spawn(wait)?;
    for signal in (32..=64).filter(|&signal| is_free(signal)) {
        // The C library keeps the first few for itself.
        let _ = handle.add_signal(signal);
    }
    Ok(())
}

/// The signals that are ignored or handled, signal `n` in bit `n - 1`; none if the system does not tell.
#[cfg(unix)]
fn taken() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = |name: &str| {
        let digits = status.lines().find_map(|line| line.strip_prefix(name));
        digits.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
    };
    mask("SigIgn:") | mask("SigCgt:")
}

/// Elsewhere an interrupted process leaves its temporary files behind.
#[cfg(not(unix))]
pub fn watch() -> io::Result<()> {
    Ok(())
}
