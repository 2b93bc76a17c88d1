//! Where the bytes come from: a file or standard input.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use aes_bitslice_seal::access::{Access, is_block_device};
use same_file::Handle;

use crate::error::{Error, Exit, Result};
use crate::{keys, standard, text};

/// An open input.
pub struct Input {
    /// What to read from.
    pub file: File,
    /// How messages name it.
    pub name: String,
    /// Where in the file the data to read begins, if the file has positions.
    pub start: u64,
    /// How many bytes there are to read from there on, if known beforehand: for a regular file, and after [`measure`](Self::measure).
    pub length: Option<u64>,
    /// How many bytes come after these, which must not be read.
    pub rest: u64,
    /// Bytes already read from an input that is not a regular file; those from the cursor's position on are still to be read.
    pub ahead: Cursor<Vec<u8>>,
}

impl Input {
    /// Opens `path`, or standard input for `None` and `-`.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let (name, opened) = match path {
            Some(path) if path != Path::new("-") => (format!("`{}`", path.display()), standard::open(path)),
            _ => ("standard input".to_string(), Ok(standard::input()?)),
        };
        let opened = opened.and_then(|file| file.metadata().map(|metadata| (file, metadata)));
        let (mut file, metadata) = opened.map_err(|error| match path {
            // Some users will put the key itself there. A file may be named so: by a hash of its contents.
            Some(path) if error.kind() == io::ErrorKind::NotFound && keys::looks_like_a_key(path) => {
                Error::io("cannot read the input (its name looks like a key and is not shown)", &error)
            }
            Some(path) if error.kind() == io::ErrorKind::NotFound => {
                let advice = text::not_replaced(path).map_or(String::new(), |why| format!("; {why}"));
                Error::new(Exit::InputOutput, format!("cannot read {name}: {error}{advice}"))
            }
            _ => Error::io(format!("cannot read {name}"), &error),
        })?;
        if metadata.is_dir() {
            let what =
                format!("cannot read {name}: it is a folder, not a file; make a file of it first, as `tar` does");
            return Err(Error::new(Exit::InputOutput, what));
        }
        // Standard input may be in the middle of a file.
        let length = length(&metadata).filter(|&length| is_true_length(&file, &metadata, length));
        let known = length.and_then(|length| Some((file.stream_position().ok()?, length)));
        let (start, length) = known.map_or((0, None), |(start, length)| (start, Some(length.saturating_sub(start))));
        let mut input = Input { file, name, start, length, rest: 0, ahead: Cursor::default() };
        if is_block_device(&metadata) {
            input.measure();
        }
        Ok(input)
    }

    /// Takes off the first 16 bytes, the IV that encryption stored.
    pub fn take_iv(&mut self) -> Result<[u8; 16]> {
        let Some(&iv) = self.peek(16)?.first_chunk() else {
            let why = "is shorter than the 16 bytes of an IV; if it does not begin with one, give it with --iv";
            return Err(Error::new(Exit::InputOutput, format!("{} {why}", self.name)));
        };
        self.skip(iv.len());
        Ok(iv)
    }

    /// Returns the first `bytes` bytes, or all if there are fewer; they are still to be read.
    pub fn peek(&mut self, bytes: usize) -> Result<Cow<'_, [u8]>> {
        let length = self.length.map_or(usize::MAX, |length| usize::try_from(length).unwrap_or(usize::MAX));
        let bytes = bytes.min(length);
        // What was peeked at before is read again only from a file.
        let mut start = std::mem::take(&mut self.ahead).into_inner();
        let more = bytes.saturating_sub(start.len());
        start.try_reserve_exact(more).map_err(|_| {
            let why = format!("its first {bytes} bytes are read at a time, and there is too little memory for them");
            Error::new(Exit::Failure, format!("cannot read {}: {why}", self.name))
        })?;
        let to_start =
            || if self.length.is_some() { (&self.file).seek(SeekFrom::Start(self.start)).map(drop) } else { Ok(()) };
        let read = to_start().and_then(|()| (&self.file).take(more as u64).read_to_end(&mut start));
        read.and_then(|_| to_start()).map_err(|error| Error::io(format!("cannot read {}", self.name), &error))?;
        if self.length.is_some() {
            return Ok(start.into());
        }
        self.ahead = Cursor::new(start);
        Ok(self.ahead.get_ref().into())
    }

    /// Skips the first `bytes` bytes, which were peeked at.
    pub fn skip(&mut self, bytes: usize) {
        match &mut self.length {
            Some(length) => (self.start, *length) = (self.start + bytes as u64, length.saturating_sub(bytes as u64)),
            None => self.ahead.set_position(bytes as u64),
        }
    }

    /// Finds the length of a disk, or of a file that says that it has none. Returns the length, if it is known then.
    pub fn measure(&mut self) -> Option<u64> {
        let has_end = |metadata: Metadata| metadata.is_file() || is_block_device(&metadata);
        if self.length.is_none() && self.file.metadata().is_ok_and(has_end) {
            let start = self.file.stream_position().ok()?;
            let end = self.file.seek(SeekFrom::End(0)).ok()?;
            self.start = self.file.seek(SeekFrom::Start(start)).ok()?;
            self.length = end.checked_sub(start);
        }
        self.length
    }

    /// Fills `bytes` with the input's bytes from `place` on, after [`measure`](Self::measure).
    pub fn read_at(&self, place: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.start.saturating_add(place)))?;
        file.read_exact(bytes)
    }

    /// Leaves only `range` of its `length` bytes to read.
    pub fn narrow(&mut self, range: Range<u64>, length: u64) {
        (self.start, self.length, self.rest) =
            (self.start + range.start, Some(range.end - range.start), self.rest + (length - range.end));
    }

    /// Leaves only its first `bytes` bytes to read, if a number is given.
    pub fn limit(&mut self, bytes: Option<u64>) -> Result<()> {
        let Some(bytes) = bytes else { return Ok(()) };
        let refuse = |why: String| Err(Error::new(Exit::InputOutput, why));
        match self.measure() {
            None => refuse(format!(
                "--length needs a file or a disk, and {} is neither: put `head -c {bytes}` in front instead",
                self.name
            )),
            Some(length) if bytes > length => {
                refuse(format!("{} has only {length} bytes, and --length says {bytes}", self.name))
            }
            Some(length) => {
                self.narrow(0..bytes, length);
                Ok(())
            }
        }
    }

    /// What to know if it is a disk that is read to its end: what was written there may be shorter, and nothing marks where it ends.
    pub fn if_longer(&self) -> Option<String> {
        let is_whole_disk = self.rest == 0 && self.file.metadata().is_ok_and(|metadata| is_block_device(&metadata));
        let bytes = self.length.filter(|_| is_whole_disk)?;
        Some(format!(
            "all {bytes} bytes of the disk {} are read: if fewer were written there, give their number with --length",
            self.name
        ))
    }

    /// Who may use it; `None` if it is neither a file nor a disk.
    pub fn access(&self) -> Option<Access> {
        let metadata = self.file.metadata().ok()?;
        (metadata.is_file() || is_block_device(&metadata)).then(|| Access::of_open(&self.file, &metadata))
    }

    /// Whether `other` is the same disk, even under another name.
    #[cfg(unix)]
    pub fn is_same_device(&self, other: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        let metadata = self.file.metadata();
        let is_same = |ours: Metadata| is_block_device(&ours) && is_block_device(other) && ours.rdev() == other.rdev();
        metadata.is_ok_and(is_same)
    }

    /// Elsewhere disks are not opened like files.
    #[cfg(not(unix))]
    pub fn is_same_device(&self, _other: &Metadata) -> bool {
        false
    }

    /// Whether `other` is the very same regular file, even under another name.
    pub fn is_same_file(&self, other: &File) -> bool {
        let handle = |file: &File| -> io::Result<Option<Handle>> {
            if file.metadata()?.is_file() { Handle::from_file(file.try_clone()?).map(Some) } else { Ok(None) }
        };
        match (handle(&self.file), handle(other)) {
            (Ok(Some(ours)), Ok(Some(theirs))) => ours == theirs,
            _ => false,
        }
    }
}

/// How many bytes a file has, if known beforehand: files in /proc have some, but their length is 0.
pub fn length(metadata: &Metadata) -> Option<u64> {
    (metadata.is_file() && metadata.len() > 0).then_some(metadata.len())
}

/// Whether a file has its last byte: files in /sys have fewer bytes than they say. They occupy no space, but neither does a part of a file
/// that was never written.
#[cfg(unix)]
fn is_true_length(file: &File, metadata: &Metadata, length: u64) -> bool {
    use std::os::unix::fs::{FileExt, MetadataExt};
    metadata.blocks().saturating_mul(512) >= length || file.read_at(&mut [0], length - 1).is_ok_and(|read| read == 1)
}

/// Elsewhere all files have it.
#[cfg(not(unix))]
fn is_true_length(_file: &File, _metadata: &Metadata, _length: u64) -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_length() {
        let length_of = |path: &str| length(&std::fs::metadata(path).unwrap());
        assert!(length_of("Cargo.toml").is_some_and(|length| length > 0));
        for unknown in ["/proc/version", "/dev/null", "."] {
            assert_eq!(length_of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_part_of_a_file_that_was_never_written_has_a_length() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(100).unwrap();
        let mut input = Input::open(Some(file.path())).unwrap();
        assert_eq!(input.length, Some(100));
        for (range, length, left) in [(10..70, 100, (10, Some(60), 30)), (5..6, 60, (15, Some(1), 84))] {
            input.narrow(range, length);
            assert_eq!((input.start, input.length, input.rest), left);
        }
    }
}
