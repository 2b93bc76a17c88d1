//! Forked processes, such as those of Python's `multiprocessing` and of data loaders: CUDA does not work in them, so engines of a device
//! refuse.

use crate::driver::keeping_context;
use pyo3::prelude::*;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of forks between the process that loaded this module and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Must be called in a child right after a fork.
#[pyfunction(name = "_forked")]
pub fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// The number of this process in its line of forks, which shows what was opened before a fork.
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
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
