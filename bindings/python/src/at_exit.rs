//! When Python ends: calls of the objects that it drops then, and the temporary files that are left. These are those of daemon threads,
//! which are neither waited for nor ended.

use crate::fork::generation;
use pyo3::exceptions::PyRuntimeError;
use pyo3::{PyResult, Python, ffi};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether Python ends: only the thread that ends it still runs Python code, such as `__del__` of what is dropped.
pub fn is_ending() -> bool {
    // SAFETY: it may be called at any time.
    unsafe { ffi::Py_IsInitialized() == 0 }
}

/// Does `work` without the interpreter's lock. While Python ends, with it: what attaches again within `work` could not.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    if is_ending() { work() } else { py.detach(work) }
}

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
