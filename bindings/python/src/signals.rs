//! Signals, such as Ctrl-C, which long calls look for between their parts.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How many looks from now a test's interruption comes; 0 for none.
static UNTIL: AtomicU32 = AtomicU32::new(0);

/// Runs the handlers of signals that have come; what they raise, such as `KeyboardInterrupt`, ends the call.
pub fn check(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    match UNTIL.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |looks| looks.checked_sub(1)) {
        Ok(1) => Err(PyKeyboardInterrupt::new_err("by _interrupt_at")),
        _ => Ok(()),
    }
}

/// How often a call that goes on in many short steps, or waits, looks for signals.
pub const EVERY: Duration = Duration::from_millis(50);

/// How long until the next look: a test that counts looks does not wait for them.
pub fn until_next() -> Duration {
    if UNTIL.load(Ordering::Relaxed) > 0 { Duration::ZERO } else { EVERY }
}

/// Looks for signals in many short steps.
pub struct Looks(Instant);

impl Default for Looks {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Looks {
    /// Looks if it is time; not attached to the interpreter.
    pub fn look(&mut self) -> PyResult<()> {
        if self.0.elapsed() > EVERY || UNTIL.load(Ordering::Relaxed) > 0 {
            Python::attach(check)?;
            self.0 = Instant::now();
        }
        Ok(())
    }
}

/// For tests: the look for signals with this number, from 1, raises `KeyboardInterrupt`; 0 for none.
#[pyfunction(name = "_interrupt_at")]
pub fn interrupt_at(look: u32) {
    UNTIL.store(look, Ordering::Relaxed);
}
