//! Forked processes, such as those of Python's `multiprocessing` and of data loaders: they do not have the parent's threads, and CUDA does
//! not work in them. A new thread pool works on host memory; engines of a device refuse.

use crate::driver::keeping_context;
use crate::error::Error;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The number of forks between the process that loaded this module and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The threads of a forked process, and its generation.
static POOL: Mutex<Option<(u64, Arc<ThreadPool>)>> = Mutex::new(None);

/// Must be called in a child right after a fork.
#[pyfunction(name = "_forked")]
pub fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// The number of this process in its line of forks, which shows what was opened before a fork.
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Does `work` where there are threads for it.
pub fn with_threads<T: Send>(work: impl FnOnce() -> T + Send) -> PyResult<T> {
    match generation() {
        0 => Ok(work()),
        generation => Ok(pool(generation)?.install(work)),
    }
}

fn pool(generation: u64) -> PyResult<Arc<ThreadPool>> {
    let mut pool = POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match &*pool {
        Some((of, pool)) if *of == generation => Ok(pool.clone()),
        _ => {
            let new = ThreadPoolBuilder::new().build();
            let new =
                Arc::new(new.map_err(|e| Error::new_err(format!("no threads can be started ({e}): end others")))?);
            // The parent's pool must not be dropped: it would wait for threads that do not exist here.
            std::mem::forget(pool.replace((generation, new.clone())));
            Ok(new)
        }
    }
}

/// A value that may belong to a device: it is then dropped only in the process that made it, because the device does not answer in another.
pub struct ForkedNot<T> {
    value: Option<T>,
    is_device: bool,
    generation: u64,
}

impl<T> ForkedNot<T> {
    /// A value, and whether it is a device's.
    pub fn new(value: T, is_device: bool) -> Self {
        Self { value: Some(value), is_device, generation: generation() }
    }

    /// The value.
    pub fn into_inner(mut self) -> T {
        self.value.take().expect("there until it is dropped")
    }

    /// Whether it is a device's.
    pub fn is_device(&self) -> bool {
        self.is_device
    }
}

impl<T> Deref for ForkedNot<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("there until it is dropped")
    }
}

impl<T> Drop for ForkedNot<T> {
    fn drop(&mut self) {
        match self.value.take() {
            Some(value) if self.is_device && self.generation != generation() => std::mem::forget(value),
            Some(value) if self.is_device => keeping_context(|| drop(value)),
            _ => {}
        }
    }
}
