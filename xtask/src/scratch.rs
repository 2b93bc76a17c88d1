//! Temporary files and folders, with a key in some of them: removed when dropped, and when a signal ends the process. Folders of a killed
//! process are removed by the next one.

use aes_bitslice_gen::check::{PrivateFolder, remove_leftovers};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{Builder, NamedTempFile};

/// The existing ones, for the thread that waits for signals.
static PENDING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// While this is held, signals remove nothing and do not end the process.
pub fn hold() -> MutexGuard<'static, Vec<PathBuf>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all of them. From then on none can be made or renamed: the process is about to end.
pub fn remove_all() {
    let mut pending = hold();
    for path in pending.drain(..) {
        // A file that another process is creating keeps its folder from being removed.
        for _ in 0..100 {
            match path.symlink_metadata().map(|metadata| metadata.is_dir()) {
                Ok(true) => _ = fs::remove_dir_all(&path),
                Ok(false) => _ = fs::remove_file(&path),
                Err(_) => break,
            }
        }
    }
    std::mem::forget(pending);
}

/// A path that [`remove_all`] knows, until it is dropped.
pub struct Pending(PathBuf);

impl Drop for Pending {
    fn drop(&mut self) {
        hold().retain(|path| *path != self.0);
    }
}

/// Makes a temporary file in `folder`.
pub fn file(builder: &Builder, folder: &Path) -> io::Result<(NamedTempFile, Pending)> {
    // Held from before it exists, so that a signal finds either no file or its name.
    let mut pending = hold();
    let file = builder.tempfile_in(folder)?;
    let path = file.path().to_path_buf();
    pending.push(path.clone());
    drop(pending);
    Ok((file, Pending(path)))
}

/// A folder that only its owner can enter.
pub struct Folder {
    pub path: PathBuf,
    // Dropped before `_pending`.
    folder: PrivateFolder,
    _pending: Pending,
}

impl Folder {
    /// Makes one in `parent`, whose name begins with `prefix`, and removes those of killed processes.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        remove_leftovers(parent, prefix);
        let mut pending = hold();
        let folder = PrivateFolder::create(parent, prefix)?;
        let path = folder.path().to_path_buf();
        pending.push(path.clone());
        drop(pending);
        Ok(Self { folder, _pending: Pending(path.clone()), path })
    }

    /// Deletes it, with its contents.
    pub fn delete(self) -> io::Result<()> {
        self.folder.delete()
    }
}
