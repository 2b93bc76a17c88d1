//! A call on host memory, without the interpreter's lock, that Ctrl-C ends; or, if it takes less time than to give up the lock, with it.

use crate::error::{caught, of_runtime, panicked};
use crate::memory::Call;
use crate::opened::Opened;
use crate::signals;
use aes_bitslice_runtime::{Buffers, Error as Runtime, Stop, own_thread};
use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;

/// Bytes of data from which on a call is watched for signals while it works. A shorter one is done before anybody waits for it.
pub const LONG: usize = 16 << 20;

/// Bytes of data and additional data that a core encrypts in less time than it takes to give up the interpreter's lock and to get it back.
pub const SHORT: u64 = 4 << 10;

/// Does `work`, one call of the runtime on all bytes, and returns its result. If a signal ends it, also after the last byte, or a panic, which
/// makes the engine unusable and becomes an exception, `clear` clears the output; if `work` fails, it has done that itself.
///
/// It keeps the interpreter's lock if `keep_lock`, for which `work` must wait for nothing.
pub fn on_host<T: Send>(
    call: &Call<'_>,
    opened: &Opened,
    keep_lock: bool,
    clear: impl Fn(&mut [u8]) + Sync,
    work: impl FnOnce(Buffers<'_>) -> Result<T, Runtime> + Send,
) -> PyResult<T> {
    let (py, host) = (call.py(), call.host());
    let (mut all, mut written) = (host, host);
    let work = || caught(|| work(all.buffers()));
    let mut looked = Ok(());
    let outcome = match host.len {
        _ if keep_lock => work(),
        ..=LONG => py.detach(work),
        _ => {
            let stop = Stop::new();
            watched(py, &mut looked, || stop.now(), || stop.during(work))?
        }
    };
    let mut clear = |error| {
        py.detach(|| clear(written.output()));
        error
    };
    match outcome {
        Err(panic) => {
            opened.poison(&panic);
            Err(clear(panicked(&panic)))
        }
        Ok(Err(error)) => looked.and(Err(of_runtime(error))),
        Ok(Ok(done)) => looked.and_then(|()| signals::check(py)).map(|()| done).map_err(clear),
    }
}

/// Does `work` on another thread, and looks for signals meanwhile: what is raised goes to `looked`, and `stop` stops the work then.
pub fn watched<T: Send>(
    py: Python<'_>,
    looked: &mut PyResult<()>,
    stop: impl Fn(),
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (sender, receiver) = sync_channel(1);
    let receiver = Mutex::new(receiver);
    thread::scope(|scope| {
        let work = || drop(sender.send(work()));
        let started = own_thread("aes-bitslice-call").spawn_scoped(scope, work);
        started.map_err(|error| of_runtime(Runtime::NoThread { why: error.to_string() }))?;
        loop {
            let next = || receiver.lock().expect("nobody else has it").recv_timeout(signals::until_next());
            match py.detach(next) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) if looked.is_ok() => {
                    *looked = signals::check(py).inspect_err(|_| stop());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("work neither panics nor is lost"),
            }
        }
    })
}
