//! Who may use a file that is made: nobody who may not use what it is made of, or what it replaces.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// Made by opening a file, before the umask takes away from it what it does.
#[cfg(unix)]
const ANYBODY: u32 = 0o666;

/// Makes a file in a folder, no more open than the file `like`, and than the umask allows; its owner's alone, if it is to replace `old`.
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
    // Its group may do what others may, until it shows which group it is.
    let others = like.mode() & 0o007;
    let narrow = ANYBODY & (like.mode() & 0o700 | (others << 3) & like.mode() | others);
    let file = make(narrow)?;
    match file.as_file().metadata()?.gid() == like.gid() && like.mode() & ANYBODY != narrow {
        true => make(ANYBODY & like.mode()),
        false => Ok(file),
    }
}

/// Elsewhere as the system makes files.
#[cfg(not(unix))]
pub fn new_file(folder: &Path, _like: Option<&Metadata>, _old: Option<&Metadata>) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".aes-bitslice-").tempfile_in(folder)
}

/// Gives a file the owner, group and mode of one that it is to replace. Where the system does not allow that, it stays its owner's alone.
#[cfg(unix)]
pub fn keep(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    match fchown(file, Some(old.uid()), Some(old.gid())) {
        Ok(()) => file.set_permissions(PermissionsExt::from_mode(old.mode() & 0o777)),
        Err(_) => Ok(()),
    }
}

/// Elsewhere nothing is to be done.
#[cfg(not(unix))]
pub fn keep(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}
