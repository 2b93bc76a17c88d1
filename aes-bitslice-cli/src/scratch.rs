//! Temporary files and folders, removed when dropped and when a signal ends the process.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aes_bitslice_seal::naming::{OnDisk, sync_folder_of};
use tempfile::{Builder, NamedTempFile, TempDir};

/// How their names begin.
const PREFIX: &str = ".aes-bitslice-";

/// The existing ones, for the thread that waits for signals.
static PENDING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn pending() -> MutexGuard<'static, Vec<PathBuf>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes them all. From then on none can be made or renamed: the process will end.
pub fn remove_all() {
    let mut pending = pending();
    for path in pending.drain(..) {
        // A folder is tried again: another process may still be making files in it.
        let removed = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        let _ = removed.or_else(|_| fs::remove_dir_all(&path));
    }
    std::mem::forget(pending);
}

/// A path that [`remove_all`] knows, until it is dropped.
struct Pending(PathBuf);

impl Drop for Pending {
    fn drop(&mut self) {
        pending().retain(|path| *path != self.0);
    }
}

/// A temporary file.
pub struct Scratch {
    // Dropped before `_pending`.
    file: NamedTempFile,
    _pending: Pending,
}

impl Scratch {
    /// Makes one in `folder`, with `mode` as the umask restricts it.
    pub fn create(folder: &Path, mode: u32) -> io::Result<Self> {
        let mut builder = Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        #[cfg(not(unix))]
        let _ = mode;
        // Held from before the file exists, so that a signal finds either no file or its name.
        let mut pending = pending();
        let file = builder.tempfile_in(folder)?;
        let path = file.path().to_path_buf();
        pending.push(path.clone());
        drop(pending);
        Ok(Scratch { file, _pending: Pending(path) })
    }

    /// The file to write to.
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives it the name `target`; an existing file is replaced only if `replace`. Returns the error of its folder, if that could not be
    /// synced.
    pub fn publish(self, target: &Path, replace: bool) -> io::Result<Option<io::Error>> {
        let file = OnDisk::new(self.file)?;
        // Held until the file has its new name or none, so that a signal finds nothing half finished.
        let held = pending();
        file.name(target, replace)?;
        drop(held);
        Ok(sync_folder_of(target).err())
    }
}

/// A temporary folder and everything in it.
pub struct ScratchFolder {
    // Dropped before `_pending`.
    folder: TempDir,
    _pending: Pending,
}

impl ScratchFolder {
    /// Makes one in `parent`, which only its owner may read.
    pub fn create(parent: &Path) -> io::Result<Self> {
        let mut pending = pending();
        let folder = Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let path = folder.path().to_path_buf();
        pending.push(path.clone());
        Ok(ScratchFolder { folder, _pending: Pending(path) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Why one could not be made, in the system's words and without its name, which the user did not choose.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" at path ").map_or(text.as_str(), |(reason, _)| reason).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_is_no_longer_known_and_others_are() {
        let folder = tempfile::tempdir().unwrap();
        let [gone, other] = [(); 2].map(|()| Scratch::create(folder.path(), 0o600).unwrap());
        let paths = [&gone, &other].map(|scratch| scratch.file.path().to_path_buf());
        drop(gone);
        assert_eq!(paths.map(|path| pending().contains(&path)), [false, true]);
    }
}
