//! How a new file gets its name: it is on the disk before it has the name, and the name is on the disk, too. The command line, the Python
//! package and the library for C name their files here.
//!
//! Some file systems, such as those of networks and of programs (FUSE), lack operations that this takes elsewhere. They do without.

use aes_bitslice_core::sync::{is_missing, sync};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{self, Path, PathBuf};
use tempfile::NamedTempFile;

/// A complete file, on the disk, under a temporary name that it is deleted with.
pub struct OnDisk(NamedTempFile);

impl OnDisk {
    /// Writes all of it to the disk, also its mode.
    ///
    /// # Errors
    /// Those of the system, for instance of a disk that is full.
    pub fn new(file: NamedTempFile) -> io::Result<Self> {
        sync(file.as_file())?;
        Ok(Self(file))
    }

    /// Gives it the name `path`, whose folder is to be [synced](sync_folder_of) then.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) for a name that is taken, unless `replace`; and those of the system.
    pub fn name(self, path: &Path, replace: bool) -> io::Result<()> {
        if replace { self.0.persist(path).map(drop).map_err(|error| error.error) } else { name_new(self.0, path) }
    }
}

/// Gives a file a name that no other has.
fn name_new(file: NamedTempFile, path: &Path) -> io::Result<()> {
    // Linux says of missing links that they are not permitted; and of renaming, in a folder whose names stay.
    let cannot = |error: &io::Error| is_missing(error) || error.kind() == ErrorKind::PermissionDenied;
    let file = match file.persist_noclobber(path) {
        Err(error) if cannot(&error.error) => error.file,
        named => return named.map(drop).map_err(|error| error.error),
    };
    match fs::hard_link(file.path(), path) {
        Err(error) if cannot(&error) => {}
        linked => return linked,
    }
    // Without links and without a rename that replaces nothing: of several processes, the one that creates the empty file may replace it.
    File::create_new(path)?;
    let named = file.persist(path).inspect_err(|_| _ = fs::remove_file(path));
    named.map(drop).map_err(|error| error.error)
}

/// The path from the root. A program may change its working folder before the file gets its name; this still leads to the folder that
/// `path` leads to now.
///
/// # Errors
/// For an empty path, and where the system does not tell the working folder.
pub fn from_root(path: &Path) -> io::Result<PathBuf> {
    path::absolute(path)
}

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs the folder of a file that was named: a name is in its folder, not in the file.
///
/// # Errors
/// Of the system. The file is complete even then.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    // Elsewhere a folder cannot be opened to be synced.
    if cfg!(unix) { sync(&File::open(folder_of(path))?) } else { Ok(()) }
}

/// A file that is open already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbered {
    /// In this process, by its number.
    Here(usize),
    /// In another process.
    Elsewhere,
}

impl Numbered {
    /// The open file that `path` names by its number, as do `/dev/stdout`, `/dev/fd/3`, `/proc/self/fd/3`, and links to them. It is used
    /// as it is: a new file in its place would not be what is open.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let mut path = path.to_path_buf();
        // Linux follows no more links.
        for _ in 0..40 {
            let folder = fs::canonicalize(folder_of(&path)).ok()?;
            // Each has one name: there is no `01` and no `+1`.
            let is_its_name = |number: &usize| path.file_name().is_some_and(|name| *name == *number.to_string());
            let number = || path.file_name()?.to_str()?.parse().ok().filter(is_its_name);
            let is_ours = |own: PathBuf| folder.starts_with(own);
            let is_list = folder.ends_with("fd") && (folder.starts_with("/proc") || folder == Path::new("/dev/fd"));
            if is_list && let Some(number) = number() {
                let here = folder.starts_with("/dev") || fs::canonicalize("/proc/self").is_ok_and(is_ours);
                return Some(if here { Self::Here(number) } else { Self::Elsewhere });
            }
            path = folder.join(fs::read_link(&path).ok()?);
        }
        None
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process;

    #[test]
    fn names_of_open_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("/dev/stdout", at("link")).unwrap();
        symlink("link", at("link to it")).unwrap();
        symlink("/dev/fd", at("list")).unwrap();
        let own = format!("/proc/{}/fd/1", process::id());
        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", &own] {
            assert_eq!(Numbered::of(Path::new(name)), Some(Numbered::Here(1)), "{name}");
        }
        for name in ["link", "link to it", "list/1"] {
            assert_eq!(Numbered::of(&at(name)), Some(Numbered::Here(1)), "{name}");
        }
        assert_eq!(Numbered::of(Path::new("/dev/stderr")), Some(Numbered::Here(2)));
        // Processes of other users may hide theirs.
        let mut other = process::Command::new("cat").stdin(process::Stdio::piped()).spawn().unwrap();
        let name = format!("/proc/{}/fd/0", other.id());
        assert_eq!(Numbered::of(Path::new(&name)), Some(Numbered::Elsewhere));
        drop(other.stdin.take());
        other.wait().unwrap();
        // Of the same names, elsewhere.
        fs::create_dir(at("fd")).unwrap();
        fs::write(at("fd/1"), "").unwrap();
        symlink("loop", at("loop")).unwrap();
        for name in ["fd/1", "1", "nothing/1", "loop"] {
            assert_eq!(Numbered::of(&at(name)), None, "{name}");
        }
        for name in ["/dev/null", "/dev/fd/01", "/dev/fd/+1", "/proc/self/fd/00"] {
            assert_eq!(Numbered::of(Path::new(name)), None, "{name}");
        }
    }
}
