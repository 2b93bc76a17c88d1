//! Signals that end the process: compilers are ended, and temporary files are removed first.
//!
//! Handled are HUP, INT, QUIT, TERM, USR1, USR2, ALRM, VTALRM, PROF and XCPU. All others that end a process do so at once, and temporary
//! files stay: KILL, which no program can handle; ABRT, BUS, FPE, ILL, SEGV, SYS and TRAP, which indicate a fault in the program; and, on
//! Linux, IO, PWR, STKFLT and the real-time signals, which are not sent to programs like a compiler. PIPE and XFSZ are errors of a write.
//! The next run deletes the folders among what stays: see [`crate::scratch`] and `check` of the generator.

use std::io;

/// From now on signals are handled this way, except those that were ignored when the process was started, as under `nohup`.
#[cfg(unix)]
pub fn watch() -> io::Result<()> {
    use signal_hook::consts::{
        SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
    };
    let ignored = ignored();
    let ending = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU];
    let ending = ending.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = signal_hook::iterator::Signals::new(ending)?;
    let wait = move || {
        for signal in signals.forever() {
            aes_bitslice_gen::check::abandon();
            crate::scratch::remove_all();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
}

/// The ignored signals, signal `n` in bit `n - 1`; none where the system does not tell.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
}

/// Elsewhere an interrupted process leaves its temporary files behind.
#[cfg(not(unix))]
pub fn watch() -> io::Result<()> {
    Ok(())
}
