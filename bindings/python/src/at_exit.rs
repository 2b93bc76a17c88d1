//! Temporary files that are left when Python ends: those of daemon threads, which are neither waited for nor ended.

use crate::fork::generation;
use pyo3::exceptions::PyRuntimeError;
use pyo3::{PyResult, ffi};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The files that there are, each with the process that made it: a forked child has a copy of this, and leaves them to its parent.
static FILES: Mutex<BTreeMap<PathBuf, u64>> = Mutex::new(BTreeMap::new());

fn files() -> MutexGuard<'static, BTreeMap<PathBuf, u64>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file at this path, which is absolute, will be removed.
pub fn add(path: &Path) {
    files().insert(path.to_owned(), generation());
}

/// The file at this path will be left there.
pub fn forget(path: &Path) {
    files().remove(path);
}

/// Must be called once, when the module is loaded.
pub fn register() -> PyResult<()> {
    // SAFETY: the interpreter runs, and the function, which calls nothing of Python, is never unloaded.
    match unsafe { ffi::Py_AtExit(Some(remove)) } {
        0 => Ok(()),
        _ => Err(PyRuntimeError::new_err("Python has no room for one more function to call when it ends")),
    }
}

/// Python calls it at the very end, after the functions of `atexit`, which may complete a file.
extern "C" fn remove() {
    let now = generation();
    for (path, _) in std::mem::take(&mut *files()).into_iter().filter(|(_, made)| *made == now) {
        let _ = fs::remove_file(path);
    }
}
