//! Temporary files and folders, with a key in some of them: removed when dropped, and when a signal ends the process. Folders of a killed
//! process are removed by the next one.

use aes_bitslice_gen::check::PrivateFolder;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{Builder, NamedTempFile};

/// The existing ones.
pub struct Existing {
    files: Vec<PathBuf>,
    folders: Vec<PrivateFolder>,
}

/// For the thread that waits for signals.
static EXISTING: Mutex<Existing> = Mutex::new(Existing { files: Vec::new(), folders: Vec::new() });

/// While this is held, signals remove nothing and do not end the process.
pub fn hold() -> MutexGuard<'static, Existing> {
    EXISTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all of them. From then on none can be made or renamed: the process is about to end.
pub fn remove_all() {
    let mut existing = hold();
    for file in existing.files.drain(..) {
        let _ = fs::remove_file(file);
    }
    // Deletes them.
    existing.folders.clear();
    std::mem::forget(existing);
}

/// The path of a file that [`remove_all`] knows, until this is dropped.
pub struct Pending(PathBuf);

impl Drop for Pending {
    fn drop(&mut self) {
        hold().files.retain(|path| *path != self.0);
    }
}

/// Makes a temporary file in `folder`.
pub fn file(builder: &Builder, folder: &Path) -> io::Result<(NamedTempFile, Pending)> {
    // Held from before it exists, so that a signal finds either no file or its name.
    let mut existing = hold();
    let file = builder.tempfile_in(folder)?;
    let path = file.path().to_path_buf();
    existing.files.push(path.clone());
    drop(existing);
    Ok((file, Pending(path)))
}

/// A folder that only its owner can enter.
pub struct Folder {
    pub path: PathBuf,
}

impl Folder {
    /// Makes one in `parent`, whose name begins with `prefix`, and first removes those of killed processes.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        let mut existing = hold();
        let folder = PrivateFolder::create(parent, prefix)?;
        let path = folder.path().to_path_buf();
        existing.folders.push(folder);
        Ok(Self { path })
    }

    /// Deletes it, with its contents.
    pub fn delete(self) -> io::Result<()> {
        self.remove()
    }

    fn remove(&self) -> io::Result<()> {
        // Held until it is deleted, so that no signal ends the process halfway.
        let mut existing = hold();
        let at = existing.folders.iter().position(|folder| folder.path() == self.path);
        at.map_or(Ok(()), |at| existing.folders.swap_remove(at).delete())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_folder() {
        let parent = tempfile::tempdir().unwrap();
        let made = || {
            let folder = Folder::create(parent.path(), "made-").unwrap();
            fs::write(folder.path.join("key"), "secret").unwrap();
            folder
        };
        let (one, other) = (made(), made());
        drop(one);
        let left: Vec<_> = parent.path().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, std::slice::from_ref(&other.path), "the one that was not dropped");
        other.delete().unwrap();
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
    }
}
