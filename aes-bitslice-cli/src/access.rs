//! Who may read and write a file: an output is never more open than the file that it replaces or is made from.
//!
//! This covers owner, group, mode, and on Linux the POSIX access list. Except on Unix, a file is as the system makes it.

#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Who may read and write a file.
pub struct Access {
    mode: u32,
    owner: u32,
    group: u32,
    list: List,
}

/// A POSIX access list.
enum List {
    None,
    /// As the file system stores it.
    Entries(Vec<u8>),
    /// It cannot be read.
    Unknown,
}

/// The outcome of giving an access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// All of it.
    All,
    /// Less: the system does not let this user give all of it.
    Less,
}

#[cfg(unix)]
impl Access {
    /// The access of an existing file.
    pub fn of(path: &Path, metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let list = list::read(path);
        Access { mode: metadata.mode() & 0o777, owner: metadata.uid(), group: metadata.gid(), list }
    }

    /// The access of an open file.
    pub fn of_open(file: &File, metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let list = list::read_open(file);
        Access { mode: metadata.mode() & 0o777, owner: metadata.uid(), group: metadata.gid(), list }
    }

    /// The mode with which a file of any owner and group admits no one who may not use this one, except its owner.
    pub fn mode_for_any(&self) -> u32 {
        self.mode_if(false, false)
    }

    /// The same for `file`, with its owner and group.
    pub fn mode_for(&self, file: &File) -> io::Result<u32> {
        use std::os::unix::fs::MetadataExt;
        let metadata = file.metadata()?;
        Ok(self.mode_if(metadata.uid() == self.owner, metadata.gid() == self.group))
    }

    /// If the group differs, members of the old one are among the others, and the other way round; the old owner may be in either.
    fn mode_if(&self, same_owner: bool, same_group: bool) -> u32 {
        if !matches!(self.list, List::None) {
            // A mode cannot express entries for users and groups.
            return self.mode & 0o700;
        }
        let [owner, group, others] = [6, 3, 0].map(|shift| self.mode >> shift & 7);
        let of_owner = if same_owner { 7 } else { owner };
        let (group, others) = if same_group { (group, others) } else { (group & others, group & others) };
        owner << 6 | (group & of_owner) << 3 | others & of_owner
    }

    /// Gives it to `file`, which only its owner may use until then.
    pub fn give(&self, file: &File) -> io::Result<Given> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let owned = |metadata: Metadata| (metadata.uid(), metadata.gid()) == (self.owner, self.group);
        if !owned(file.metadata()?) {
            // A user can give a file to groups, if not to other users.
            let _ = fchown(file, Some(self.owner), Some(self.group)).or_else(|_| fchown(file, None, Some(self.group)));
        }
        let is_owned = owned(file.metadata()?);
        // The list comes before the mode, which would open the file to users whom the list keeps out.
        let (mode, has_list) = match &self.list {
            // The folder may have given it one.
            List::None => (self.mode_for(file)?, list::remove(file).is_ok()),
            List::Entries(entries) if is_owned => (self.mode, list::write(file, entries).is_ok()),
            List::Entries(_) | List::Unknown => (self.mode_for(file)?, false),
        };
        let mode = if has_list { mode } else { mode & 0o700 };
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        Ok(if is_owned && has_list { Given::All } else { Given::Less })
    }
}

#[cfg(not(unix))]
impl Access {
    pub fn of(_path: &Path, _metadata: &Metadata) -> Self {
        Access { mode: 0o777, owner: 0, group: 0, list: List::None }
    }

    pub fn of_open(_file: &File, metadata: &Metadata) -> Self {
        Self::of(Path::new(""), metadata)
    }

    pub fn mode_for_any(&self) -> u32 {
        self.mode
    }

    pub fn mode_for(&self, _file: &File) -> io::Result<u32> {
        Ok(self.mode)
    }

    pub fn give(&self, _file: &File) -> io::Result<Given> {
        Ok(Given::All)
    }
}

/// The warning about a file that should be its owner's alone; `None` if it is.
#[cfg(unix)]
pub fn exposure(metadata: &Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let may = |bits: u32| metadata.is_file() && metadata.mode() & bits != 0;
    let what = match (may(0o044), may(0o022)) {
        (false, false) => return None,
        (true, false) => "read",
        (false, true) => "written",
        (true, true) => "read and written",
    };
    Some(format!("can be {what} by other users; run `chmod 600` on it"))
}

/// Elsewhere it is not known.
#[cfg(not(unix))]
pub fn exposure(_metadata: &Metadata) -> Option<String> {
    None
}

/// Access lists, an extended attribute of files.
#[cfg(target_os = "linux")]
mod list {
    use super::List;
    use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr, getxattr};
    use rustix::io::{Errno, Result};
    use std::fs::File;
    use std::path::Path;

    const NAME: &str = "system.posix_acl_access";

    /// No attribute is larger.
    const LARGEST: usize = 64 << 10;

    pub fn read(path: &Path) -> List {
        read_by(|entries| getxattr(path, NAME, entries))
    }

    pub fn read_open(file: &File) -> List {
        read_by(|entries| fgetxattr(file, NAME, entries))
    }

    fn read_by(get: impl FnOnce(&mut [u8]) -> Result<usize>) -> List {
        let mut entries = vec![0; LARGEST];
        match get(&mut entries) {
            Ok(length) => {
                entries.truncate(length);
                List::Entries(entries)
            }
            Err(error) if is_none(error) => List::None,
            Err(_) => List::Unknown,
        }
    }

    pub fn write(file: &File, entries: &[u8]) -> Result<()> {
        fsetxattr(file, NAME, entries, XattrFlags::empty())
    }

    pub fn remove(file: &File) -> Result<()> {
        fremovexattr(file, NAME).or_else(|error| if is_none(error) { Ok(()) } else { Err(error) })
    }

    /// Whether there is no list, or no such thing on this file system.
    fn is_none(error: Errno) -> bool {
        matches!(error, Errno::NODATA | Errno::NOTSUP | Errno::NOSYS)
    }
}

/// Elsewhere they are not known.
#[cfg(all(unix, not(target_os = "linux")))]
mod list {
    use super::List;
    use std::fs::File;
    use std::io::Result;
    use std::path::Path;

    pub fn read(_path: &Path) -> List {
        List::None
    }

    pub fn read_open(_file: &File) -> List {
        List::None
    }

    pub fn write(_file: &File, _entries: &[u8]) -> Result<()> {
        Ok(())
    }

    pub fn remove(_file: &File) -> Result<()> {
        Ok(())
    }
}

/// Whether it is a disk or a part of one, which holds data as a file does.
#[cfg(unix)]
pub fn is_block_device(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_block_device()
}

/// Elsewhere disks are not opened like files.
#[cfg(not(unix))]
pub fn is_block_device(_metadata: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_mode_for_another_owner_or_group_lets_nobody_in() {
        let mode = |mode, same_owner, same_group| {
            Access { mode, owner: 1, group: 1, list: List::None }.mode_if(same_owner, same_group)
        };
        assert_eq!(mode(0o640, true, true), 0o640);
        // The new group was among the others.
        assert_eq!(mode(0o640, true, false), 0o600);
        assert_eq!(mode(0o644, true, false), 0o644);
        // Members of the old group are among the others now.
        assert_eq!(mode(0o604, true, false), 0o600);
        // The old owner is in the group, or among the others.
        assert_eq!(mode(0o066, false, true), 0o000);
        assert_eq!(mode(0o466, false, true), 0o444);
        assert_eq!(mode(0o664, false, false), 0o644);
        for list in [List::Unknown, List::Entries(Vec::new())] {
            let access = Access { mode: 0o664, owner: 1, group: 1, list };
            assert_eq!((access.mode_if(true, true), access.mode_for_any()), (0o600, 0o600));
        }
    }
}
