//! Runs that are not timed.

/// Runs before the timed ones: clocks rise, caches fill.
pub const WARM_UP: u32 = 3;

/// Runs right before each timed one: while the device runs them, the host submits that one and both its events, so that no time passes
/// between the first event and the kernel.
pub const LEAD: u32 = 2;

/// Bytes that are cleared in place of each such run where that would not take long enough: some 200 µs.
pub const AHEAD: usize = 512 << 20;
