//! Who may read and write a file: an output is never more open than the file that it replaces or is made from.
//!
//! This covers owner, group, mode, and on Linux the POSIX access list. Except on Unix, a file is as the system makes it. The command line
//! and the Python package make all their files for data by this rule. The library for C makes them their owner's alone, and replaces others by
//! this rule.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// The mode of a new file that anybody may use whom the umask allows.
pub const ANYBODY: u32 = 0o666;

/// The mode of a new file that its owner alone may use.
pub const OWNER: u32 = 0o600;

/// Who may read and write a file.
#[cfg_attr(not(unix), allow(dead_code, reason = "nothing is known there"))]
pub struct Access {
    mode: u32,
    owner: u32,
    group: u32,
    list: List,
}

/// A POSIX access list.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "none is known elsewhere"))]
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

    /// Makes a file. Nobody but its owner may use it who may not use a file with this access. `make` makes a file of this mode, as the
    /// umask restricts it, and may be called twice; `file` is the open file of what it made.
    ///
    /// # Errors
    /// Those of `make`, and of the system if it does not tell the new file's owner.
    pub fn create<T>(&self, mut make: impl FnMut(u32) -> io::Result<T>, file: impl Fn(&T) -> &File) -> io::Result<T> {
        let narrow = ANYBODY & self.mode_if(false, false);
        let made = make(narrow)?;
        // Only now is its owner known. Changing the mode would bypass the umask.
        match ANYBODY & self.mode_for(file(&made))? {
            mode if mode == narrow => Ok(made),
            // The folder gave it a list, whose users may do what the mode allows the group: what this mode allows everybody.
            _ if !matches!(list::read_open(file(&made)), List::None) => Ok(made),
            mode => make(mode),
        }
    }

    /// The mode with which `file`, with its owner and group, admits no one who may not use this one, except its owner.
    fn mode_for(&self, file: &File) -> io::Result<u32> {
        use std::os::unix::fs::MetadataExt;
        let metadata = file.metadata()?;
        Ok(self.mode_if(metadata.uid() == self.owner, metadata.gid() == self.group))
    }

    /// A user belongs to the owner, the group or the others of the old file, and perhaps to another of these of the new one. So if the
    /// group differs, group and others get only what both had; and if the owner differs, only what the old owner had.
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

    /// Gives this access to `file`, which only its owner may use until then.
    ///
    /// # Errors
    /// Of the system if it does not tell the file's owner, or leaves it a mode that is too open.
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
        let set = file.set_permissions(std::fs::Permissions::from_mode(mode));
        // A file system that cannot change it may have made the file no more open than this.
        let found = file.metadata()?.mode() & 0o777;
        set.or_else(|error| if found & !mode == 0 { Ok(()) } else { Err(error) })?;
        Ok(if is_owned && has_list && found == mode { Given::All } else { Given::Less })
    }
}

#[cfg(not(unix))]
impl Access {
    /// The access of an existing file.
    pub fn of(_path: &Path, _metadata: &Metadata) -> Self {
        Access { mode: 0o777, owner: 0, group: 0, list: List::None }
    }

    /// The access of an open file.
    pub fn of_open(_file: &File, metadata: &Metadata) -> Self {
        Self::of(Path::new(""), metadata)
    }

    /// Makes a file, with `make`.
    pub fn create<T>(&self, mut make: impl FnMut(u32) -> io::Result<T>, _file: impl Fn(&T) -> &File) -> io::Result<T> {
        make(ANYBODY)
    }

    /// Does nothing.
    pub fn give(&self, _file: &File) -> io::Result<Given> {
        Ok(Given::All)
    }
}

/// Access lists, an extended attribute of files.
#[cfg(target_os = "linux")]
mod list {
    use super::List;
    use aes_bitslice_core::memory::filled;
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
        let Ok(mut entries) = filled(0, LARGEST) else { return List::Unknown };
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
#[must_use]
pub fn is_block_device(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_block_device()
}

/// Elsewhere disks are not opened like files.
#[cfg(not(unix))]
#[must_use]
pub fn is_block_device(_metadata: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use tempfile::NamedTempFile;

    /// An access list in Linux's form: tag, permissions and number of each entry. The owner reads and writes, one other user reads.
    #[cfg(target_os = "linux")]
    fn reader() -> Vec<u8> {
        const NOBODY: u32 = u32::MAX;
        let entry = |(tag, may, who): (u32, u32, u32)| [(tag | may << 16).to_le_bytes(), who.to_le_bytes()].concat();
        let entries = [(0x01, 6, NOBODY), (0x02, 4, 7), (0x04, 0, NOBODY), (0x10, 4, NOBODY), (0x20, 0, NOBODY)];
        [2_u32.to_le_bytes().to_vec(), entries.into_iter().flat_map(entry).collect()].concat()
    }

    /// Creates a file in `folder` that the users may access whom the permission bits `mode` name, the owner and group being those of
    /// `folder`. Returns the file, and the permission bits of each attempt to create it.
    fn made(folder: &Path, mode: u32) -> (NamedTempFile, Vec<u32>) {
        let own = folder.metadata().unwrap();
        let (access, mut modes) = (Access { mode, owner: own.uid(), group: own.gid(), list: List::None }, vec![]);
        let make = |mode| {
            modes.push(mode);
            NamedTempFile::new_in(folder)
        };
        (access.create(make, NamedTempFile::as_file).unwrap(), modes)
    }

    #[test]
    fn a_file_is_made_again_only_if_more_may_use_it() {
        let folder = tempfile::tempdir().unwrap();
        let once: [(u32, &[u32]); 3] = [(0o600, &[0o600]), (0o644, &[0o644]), (0o755, &[0o644])];
        let twice: [(u32, &[u32]); 2] = [(0o640, &[0o600, 0o640]), (0o464, &[0o444, 0o464])];
        for (mode, modes) in once.into_iter().chain(twice) {
            assert_eq!(made(folder.path(), mode).1, modes, "{mode:o}");
        }
    }

    /// What the list lets its users do, the mode says of the group.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_its_folder_gave_a_list_stays_as_it_was_made() {
        use rustix::fs::{XattrFlags, setxattr};
        let folder = tempfile::tempdir().unwrap();
        if setxattr(folder.path(), "system.posix_acl_default", &reader(), XattrFlags::empty()).is_err() {
            eprintln!("not tested: the file system has no access lists");
            return;
        }
        let (file, modes) = made(folder.path(), 0o640);
        assert_eq!(modes, [0o600]);
        assert!(matches!(list::read_open(file.as_file()), List::Entries(list) if list.len() == reader().len()));
    }

    /// It is no list; or the file cannot be given to its owner, who is no user.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_whose_list_cannot_be_given_is_its_owners_alone() {
        let file = NamedTempFile::new().unwrap();
        let own = file.as_file().metadata().unwrap();
        for (owner, entries) in [(own.uid(), vec![1]), (u32::MAX, reader())] {
            let access = Access { mode: 0o640, owner, group: own.gid(), list: List::Entries(entries) };
            assert_eq!(access.give(file.as_file()).unwrap(), Given::Less);
            assert_eq!(file.as_file().metadata().unwrap().mode() & 0o777, 0o600, "of {owner}");
            assert!(matches!(list::read_open(file.as_file()), List::None), "of {owner}");
        }
    }

    /// There is no such file.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_list_that_cannot_be_read_is_not_taken_for_none() {
        assert!(matches!(list::read(Path::new("")), List::Unknown));
    }

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
            assert_eq!((access.mode_if(true, true), access.mode_if(false, false)), (0o600, 0o600));
        }
    }
}
