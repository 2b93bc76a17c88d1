//! Who may use a new file: only those who may use the file it is made from, or the file it replaces.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// The mode for a new file, before the umask restricts it.
#[cfg(unix)]
const ANYBODY: u32 = 0o666;

/// Makes a file in a folder, no more open than the file `like` and than the umask allows; private to its owner if it will replace `old`.
#[cfg(unix)]
pub fn new_file(folder: &Path, like: Option<&Metadata>, old: Option<&Metadata>) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let make = |mode| {
        let mut file = tempfile::Builder::new();
        file.prefix(".aes-bitslice-").permissions(PermissionsExt::from_mode(mode)).tempfile_in(folder)
    };
    let Some(like) = like.filter(|_| old.is_none()) else {
        return make(if old.is_some() { 0o600 } else { ANYBODY });
    };
    // The group gets the rights of others until it is known which group it is.
    let others = like.mode() & 0o007;
    let narrow = ANYBODY & (like.mode() & 0o700 | (others << 3) & like.mode() | others);
    let file = make(narrow)?;
    match file.as_file().metadata()?.gid() == like.gid() && like.mode() & ANYBODY != narrow {
        true => make(ANYBODY & like.mode()),
        false => Ok(file),
    }
}

/// Elsewhere, makes a file as the system does.
#[cfg(not(unix))]
pub fn new_file(folder: &Path, _like: Option<&Metadata>, _old: Option<&Metadata>) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".aes-bitslice-").tempfile_in(folder)
}

/// Gives a file the owner, group and mode of the one that it will replace. If the system does not allow that, it stays private to its
/// owner.
#[cfg(unix)]
pub fn keep(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    match fchown(file, Some(old.uid()), Some(old.gid())) {
        Ok(()) => file.set_permissions(PermissionsExt::from_mode(old.mode() & 0o777)),
        Err(_) => Ok(()),
    }
}

/// Elsewhere, does nothing.
#[cfg(not(unix))]
pub fn keep(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}
