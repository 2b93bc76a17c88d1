//! Temporary folders for keys. Each has a file that its process keeps locked: a killed process cannot delete its folder, but the system
//! releases the lock, and the next process finds the folder and deletes it.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::Builder;

/// The locked file. A folder without it may be one that is just being made, or not one of these.
const LOCK: &str = ".aes-bitslice-in-use";
/// How many random letters and digits follow the prefix of a folder's name.
const RANDOM: usize = 6;
/// Ends the name of a folder that is being deleted.
const GONE: &str = "-gone";

/// A temporary folder that only its owner can enter, deleted on drop.
pub struct PrivateFolder {
    path: PathBuf,
    /// `None` on a file system without locks: then the next process does not delete the folder.
    lock: Option<File>,
}

impl PrivateFolder {
    /// Makes one in `parent`, whose name begins with `prefix`, and first deletes those whose process is gone.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        remove_leftovers(parent, prefix);
        Self::create_only(parent, prefix)
    }

    /// Creates the folder and deletes no other.
    pub(super) fn create_only(parent: &Path, prefix: &str) -> io::Result<Self> {
        let mut builder = Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        // Kept: on drop it would be deleted in another order.
        let path = builder.prefix(prefix).rand_bytes(RANDOM).tempdir_in(parent)?.keep();
        let lock = lock(&path).ok();
        Ok(Self { path, lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes it, with its contents.
    pub fn delete(mut self) -> io::Result<()> {
        self.delete_by(remove)
    }

    /// Deletes the contents with `remove`, and then the locked file and the folder. While anything else remains, the locked file does, too,
    /// so that the next process finds it.
    fn delete_by(&mut self, remove: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
        // Under another name first: a compiler may still write to this one.
        if !self.path.as_os_str().as_encoded_bytes().ends_with(GONE.as_bytes()) {
            let mut gone = self.path.clone().into_os_string();
            gone.push(GONE);
            if fs::rename(&self.path, &gone).is_ok() {
                self.path = gone.into();
            }
        }
        let entries = match fs::read_dir(&self.path) {
            // It is deleted already.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut emptied = Ok(());
        for entry in entries {
            let entry = entry?;
            if entry.file_name() != LOCK
                && let Err(error) = remove(&entry.path())
                && error.kind() != io::ErrorKind::NotFound
            {
                emptied = Err(error);
            }
        }
        emptied?;
        // Closed first: NFS keeps open files in their folder.
        drop(self.lock.take());
        let _ = fs::remove_file(self.path.join(LOCK));
        match fs::remove_dir(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                // Something was written there just now.
                let _ = File::create(self.path.join(LOCK));
                Err(error)
            }
            _ => Ok(()),
        }
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // Twice, because of what is written meanwhile. If both fail, the next process tries.
        let _ = self.delete_by(remove).or_else(|_| self.delete_by(remove));
    }
}

/// Deletes a file, or a folder with its contents.
fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// Deletes the folders in `parent` whose name begins with `prefix` and whose process is gone. Errors are ignored.
pub(super) fn remove_leftovers(parent: &Path, prefix: &str) {
    for entry in
        fs::read_dir(parent).into_iter().flatten().flatten().filter(|entry| is_name(&entry.file_name(), prefix))
    {
        let path = entry.path();
        if fs::symlink_metadata(&path).is_ok_and(|metadata| is_private(&metadata))
            && let Ok(lock) = lock_leftover(&path)
        {
            drop(PrivateFolder { path, lock: Some(lock) });
        }
    }
}

/// Whether a folder with this prefix can have this name.
fn is_name(name: &OsStr, prefix: &str) -> bool {
    let rest = name.to_str().and_then(|name| name.strip_prefix(prefix));
    let random = rest.map(|rest| rest.strip_suffix(GONE).unwrap_or(rest));
    random.is_some_and(|random| random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
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
    // Never waits: nobody else knows the file.
    file.try_lock()?;
    fs::rename(unnamed, folder.join(LOCK))?;
    Ok(file)
}

/// Locks the file of a folder whose process is gone.
fn lock_leftover(folder: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true);
    // A link is not followed, and a pipe not waited for.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32,
    );
    let file = options.open(folder.join(LOCK))?;
    file.try_lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    const PREFIX: &str = "aes-bitslice-test-";
    /// Longer than anything here takes.
    const LONG: Duration = Duration::from_secs(60);

    fn names(parent: &Path) -> usize {
        fs::read_dir(parent).unwrap().count()
    }

    fn with_key(parent: &Path) -> PrivateFolder {
        let folder = PrivateFolder::create_only(parent, PREFIX).unwrap();
        fs::write(folder.path().join("key"), "secret").unwrap();
        folder
    }

    /// A folder with a key, as a killed process leaves it.
    fn leftover(parent: &Path) -> PathBuf {
        let mut folder = with_key(parent);
        fs::create_dir(folder.path().join("folder")).unwrap();
        // Closing it would not do: a child that another test has just forked has it open, too.
        folder.lock.take().unwrap().unlock().unwrap();
        let path = folder.path().to_path_buf();
        std::mem::forget(folder);
        path
    }

    #[test]
    fn the_folder_of_a_process_that_is_gone_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let (one, other) = (leftover(parent.path()), leftover(parent.path()));
        drop(PrivateFolder::create(parent.path(), "another-prefix-").unwrap());
        assert!(one.join("key").exists() && other.join("key").exists());
        drop(PrivateFolder::create(parent.path(), PREFIX).unwrap());
        assert_eq!(names(parent.path()), 0);
    }

    #[test]
    fn the_folder_of_a_living_process_is_not_removed() {
        let parent = tempfile::tempdir().unwrap();
        let folder = with_key(parent.path());
        remove_leftovers(parent.path(), PREFIX);
        assert!(folder.path().join("key").exists());
        folder.delete().unwrap();
        assert_eq!(names(parent.path()), 0);
        drop(with_key(parent.path()));
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

    #[test]
    fn a_folder_of_another_name_is_not_removed() {
        let parent = tempfile::tempdir().unwrap();
        for (name, is_ours) in [
            ("abcd12", true),
            ("abcd12-gone", true),
            ("abcd1", false),
            ("abcd123", false),
            ("abc-12", false),
            ("abcd12-gone-", false),
            ("-gone", false),
        ] {
            let path = parent.path().join(format!("{PREFIX}{name}"));
            fs::rename(leftover(parent.path()), &path).unwrap();
            remove_leftovers(parent.path(), PREFIX);
            assert_eq!(path.join("key").exists(), !is_ours, "{name}");
        }
    }

    #[test]
    fn the_locked_file_stays_while_anything_else_does() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = with_key(parent.path());
        fs::write(folder.path().join("another"), "").unwrap();
        let error = folder.delete_by(|path| {
            assert!(path.with_file_name(LOCK).exists());
            if path.ends_with("key") { Err(io::ErrorKind::PermissionDenied.into()) } else { remove(path) }
        });
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(folder.path().join(LOCK).exists() && !folder.path().join("another").exists());
        // Its process may still delete it.
        remove_leftovers(parent.path(), PREFIX);
        assert!(folder.path().join("key").exists());
        // As if it were written after the deletion.
        assert!(folder.delete_by(|_| Ok(())).is_err());
        assert!(folder.path().join(LOCK).exists() && folder.path().join("key").exists());
        remove_leftovers(parent.path(), PREFIX);
        assert_eq!(names(parent.path()), 0);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_folders_that_others_can_enter_are_not_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (parent, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = leftover(elsewhere.path());
        symlink(&target, parent.path().join(format!("{PREFIX}abcdef"))).unwrap();
        // A link within is deleted, and what it names is not.
        symlink(&target, leftover(parent.path()).join("link")).unwrap();
        let open = leftover(parent.path());
        fs::set_permissions(&open, fs::Permissions::from_mode(0o750)).unwrap();
        let linked = leftover(parent.path());
        fs::remove_file(linked.join(LOCK)).unwrap();
        symlink(target.join(LOCK), linked.join(LOCK)).unwrap();
        remove_leftovers(parent.path(), PREFIX);
        assert!([target, open, linked].iter().all(|folder| folder.join("key").exists()));
        assert_eq!(names(parent.path()), 3);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_not_waited_for() {
        let parent = tempfile::tempdir().unwrap();
        let lock = leftover(parent.path()).join(LOCK);
        fs::remove_file(&lock).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(lock).status().unwrap().success());
        let (folder, start) = (parent.path().to_path_buf(), Instant::now());
        let waiting = thread::spawn(move || remove_leftovers(&folder, PREFIX));
        while !waiting.is_finished() && start.elapsed() < LONG {
            thread::yield_now();
        }
        assert!(waiting.is_finished());
    }

    /// As the compiler of a killed process does.
    #[test]
    fn a_folder_that_is_written_to_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        for _ in 0..50 {
            let (folder, done, start) = (leftover(parent.path()), AtomicBool::new(false), Instant::now());
            let is_removed = thread::scope(|scope| {
                for writer in 0..4 {
                    let (folder, done) = (&folder, &done);
                    scope.spawn(move || {
                        while !done.load(Ordering::Relaxed) {
                            let _ = File::create(folder.join(format!("written-{writer}")));
                        }
                    });
                }
                while !folder.join("written-0").exists() && start.elapsed() < LONG {
                    thread::yield_now();
                }
                let is_written = folder.join("written-0").exists();
                remove_leftovers(parent.path(), PREFIX);
                let is_gone = !folder.exists();
                done.store(true, Ordering::Relaxed);
                is_written && is_gone
            });
            assert!(is_removed);
            // What was just being created.
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
            // Nothing here panics: the threads would go on.
            let is_kept = |folder: PrivateFolder| {
                let key = folder.path().join("key");
                folder.lock.is_some() && fs::write(&key, "secret").is_ok() && key.exists()
            };
            let all_stay = (0..200).all(|_| PrivateFolder::create(parent.path(), PREFIX).is_ok_and(is_kept));
            made.store(true, Ordering::Relaxed);
            assert!(all_stay);
        });
        assert_eq!(names(parent.path()), 0);
    }
}
