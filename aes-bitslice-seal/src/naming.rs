//! How a new file gets its name: it is on the disk before it has the name, and the name is on the disk, too. The command line, the Python
//! package and the library for C name their files here.

use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// A complete file, on the disk, under a temporary name that it is deleted with.
pub struct OnDisk(NamedTempFile);

impl OnDisk {
    /// Writes all of it to the disk, also its mode.
    ///
    /// # Errors
    /// Those of the system, for instance of a disk that is full.
    pub fn new(file: NamedTempFile) -> io::Result<Self> {
        file.as_file().sync_all()?;
        Ok(Self(file))
    }

    /// Gives it the name `path`, whose folder is to be [synced](sync_folder_of) then.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) for a name that is taken, unless `replace`; and those of the system.
    pub fn name(self, path: &Path, replace: bool) -> io::Result<()> {
        let named = if replace { self.0.persist(path) } else { self.0.persist_noclobber(path) };
        named.map(drop).map_err(|error| error.error)
    }
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
    sync(folder_of(path))
}

#[cfg(unix)]
fn sync(folder: &Path) -> io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

/// Elsewhere a folder cannot be opened to be synced.
#[cfg(not(unix))]
fn sync(_folder: &Path) -> io::Result<()> {
    Ok(())
}
