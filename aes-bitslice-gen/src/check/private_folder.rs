//! Temporary folders for keys. Each has a file that its process keeps locked: a killed process cannot delete its folder, but the system
//! releases the lock, and the next process finds the folder and deletes it.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempDir};

/// The locked file. A folder without it may be one that is just being made, or not one of these.
const LOCK: &str = "in-use";

/// A temporary folder that only its owner can enter, deleted on drop.
pub struct PrivateFolder {
    folder: TempDir,
    /// `None` on a file system without locks: then [`remove_leftovers`] does not delete the folder.
    lock: Option<File>,
}

impl PrivateFolder {
    /// Makes one in `parent`, whose name begins with `prefix`.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        let mut builder = Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = builder.prefix(prefix).tempdir_in(parent)?;
        let lock = lock(folder.path()).ok();
        Ok(Self { folder, lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Deletes it, with its contents.
    pub fn delete(mut self) -> io::Result<()> {
        self.delete_now()
    }

    fn delete_now(&mut self) -> io::Result<()> {
        delete(self.folder.path(), self.lock.take())
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // If it fails, the `TempDir` tries again.
        let _ = self.delete_now();
    }
}

/// Deletes the folders in `parent` whose name begins with `prefix` and whose process is gone. Errors are ignored.
pub fn remove_leftovers(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let (folder, name) = (entry.path(), entry.file_name());
        if name.as_encoded_bytes().starts_with(prefix.as_bytes())
            && fs::symlink_metadata(&folder).is_ok_and(|metadata| is_private(&metadata))
        {
            let _ = remove_leftover(folder);
        }
    }
}

/// Deletes a folder if its process is gone.
fn remove_leftover(mut folder: PathBuf) -> io::Result<()> {
    let lock = File::options().write(true).open(folder.join(LOCK))?;
    lock.try_lock()?;
    // Under another name first: a killed process's compiler may still write to this one. The prefix stays, so that the next process
    // continues if this one is killed, too.
    let mut gone = folder.as_os_str().to_owned();
    gone.push("-gone");
    if fs::rename(&folder, &gone).is_ok() {
        folder = gone.into();
    }
    delete(&folder, Some(lock))
}

/// Whether this is a folder of this user that no one else can enter. Others may put folders and links of this name into a shared folder.
#[cfg(unix)]
fn is_private(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o077 == 0
}

/// Elsewhere temporary folders are not shared between users.
#[cfg(not(unix))]
fn is_private(metadata: &Metadata) -> bool {
    metadata.is_dir()
}

/// Makes the locked file.
fn lock(folder: &Path) -> io::Result<File> {
    // Locked before it has its name, so that no other process finds it unlocked.
    let unnamed = folder.join("new");
    let file = File::create_new(&unnamed)?;
    file.lock()?;
    fs::rename(unnamed, folder.join(LOCK))?;
    Ok(file)
}

/// Deletes a folder, its locked file last: if this is interrupted, the next process finds what remains.
fn delete(folder: &Path, lock: Option<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.file_name() != LOCK) {
        let path = entry.path();
        // What cannot be deleted yet is reported below.
        let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        };
    }
    // Closed first: NFS keeps open files in their folder.
    drop(lock);
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    const PREFIX: &str = "aes-bitslice-test-";

    fn names(parent: &Path) -> usize {
        fs::read_dir(parent).unwrap().count()
    }

    /// A folder with a key, as a killed process leaves it.
    fn leftover(parent: &Path) -> PathBuf {
        let mut folder = PrivateFolder::create(parent, PREFIX).unwrap();
        fs::write(folder.path().join("key"), "secret").unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        folder.lock = None;
        let path = folder.path().to_path_buf();
        std::mem::forget(folder);
        path
    }

    #[test]
    fn the_folder_of_a_process_that_is_gone_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let (one, other) = (leftover(parent.path()), leftover(parent.path()));
        remove_leftovers(parent.path(), "another-prefix-");
        assert!(one.join("key").exists() && other.join("key").exists());
        remove_leftovers(parent.path(), PREFIX);
        assert_eq!(names(parent.path()), 0);
    }

    #[test]
    fn the_folder_of_a_living_process_is_not_removed() {
        let parent = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::create(parent.path(), PREFIX).unwrap();
        fs::write(folder.path().join("key"), "secret").unwrap();
        remove_leftovers(parent.path(), PREFIX);
        assert!(folder.path().join("key").exists());
        folder.delete().unwrap();
        assert_eq!(names(parent.path()), 0);
        drop(PrivateFolder::create(parent.path(), PREFIX).unwrap());
        assert_eq!(names(parent.path()), 0);
    }

    #[test]
    fn a_folder_without_a_lock_is_not_removed() {
        let parent = tempfile::tempdir().unwrap();
        let folder = leftover(parent.path());
        fs::remove_file(folder.join(LOCK)).unwrap();
        remove_leftovers(parent.path(), PREFIX);
        assert!(folder.join("key").exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_folders_that_others_can_enter_are_not_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (parent, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = leftover(elsewhere.path());
        symlink(&target, parent.path().join(format!("{PREFIX}link"))).unwrap();
        // A link within is deleted, and what it names is not.
        symlink(&target, leftover(parent.path()).join("link")).unwrap();
        let open = leftover(parent.path());
        fs::set_permissions(&open, fs::Permissions::from_mode(0o750)).unwrap();
        remove_leftovers(parent.path(), PREFIX);
        assert!(target.join("key").exists() && open.join("key").exists());
        assert_eq!(names(parent.path()), 2);
    }

    /// As the compiler of a killed process does.
    #[test]
    fn a_folder_that_is_written_to_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        for _ in 0..50 {
            let (folder, done) = (leftover(parent.path()), AtomicBool::new(false));
            thread::scope(|scope| {
                for writer in 0..4 {
                    let (folder, done) = (&folder, &done);
                    scope.spawn(move || {
                        while !done.load(Ordering::Relaxed) {
                            let _ = File::create(folder.join(format!("written-{writer}")));
                        }
                    });
                }
                while !folder.join("written-0").exists() {
                    thread::yield_now();
                }
                remove_leftovers(parent.path(), PREFIX);
                done.store(true, Ordering::Relaxed);
            });
            remove_leftovers(parent.path(), PREFIX);
            assert_eq!(names(parent.path()), 0);
        }
    }

    #[test]
    fn folders_are_not_removed_while_they_are_made() {
        let parent = tempfile::tempdir().unwrap();
        let made = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !made.load(Ordering::Relaxed) {
                        remove_leftovers(parent.path(), PREFIX);
                    }
                });
            }
            let all_stay = (0..200).all(|_| {
                let folder = PrivateFolder::create(parent.path(), PREFIX).unwrap();
                let key = folder.path().join("key");
                folder.lock.is_some() && fs::write(&key, "secret").is_ok() && key.exists()
            });
            made.store(true, Ordering::Relaxed);
            assert!(all_stay);
        });
        assert_eq!(names(parent.path()), 0);
    }
}
