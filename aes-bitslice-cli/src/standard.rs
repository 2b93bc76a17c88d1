//! Standard input and output as files without a buffer: chunks are large already.
//!
//! If a process starts with one of them closed, Rust's standard library opens `/dev/null` in its place, for reading and writing. Output
//! there is lost and input is empty, so it is refused. A shell opens `/dev/null` for one of the two, and is believed. Some programs open it
//! for both and mean it: they can use `-o /dev/null`.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{Error, Exit, Result};

/// Standard input; an error if it is closed.
pub fn input() -> Result<File> {
    let file = stdin().map_err(|error| Error::io("cannot read standard input", &error))?;
    match was_closed(&file) {
        true => {
            let what = format!("cannot read standard input: {CLOSED}; name a file, or use a pipe");
            Err(Error::new(Exit::InputOutput, what))
        }
        false => Ok(file),
    }
}

/// Whether `path` is standard input: as `-`, or as the same file under another name, such as `/dev/stdin`.
pub fn is_input(path: &Path) -> bool {
    path == Path::new("-") || is_same_file(path)
}

/// Opens nothing, because that might wait for the other end of a pipe.
#[cfg(unix)]
fn is_same_file(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let input = stdin().and_then(|input| input.metadata()).map(place);
    matches!((input, std::fs::metadata(path).map(place)), (Ok(input), Ok(other)) if input == other)
}

/// Elsewhere standard input has no such names.
#[cfg(not(unix))]
fn is_same_file(_path: &Path) -> bool {
    false
}

/// Standard output; an error if it is closed.
pub fn output() -> Result<File> {
    let file = stdout().map_err(|error| Error::io("cannot write standard output", &error))?;
    match was_closed(&file) {
        true => {
            let what = format!("cannot write standard output: {CLOSED}; redirect it to a file, or use a pipe");
            Err(Error::new(Exit::InputOutput, what))
        }
        false => Ok(file),
    }
}

const CLOSED: &str = "it is closed, or `/dev/null` opened for reading and writing";

/// Whether this file stands in for a closed one.
#[cfg(target_os = "linux")]
fn was_closed(file: &File) -> bool {
    use rustix::fs::{OFlags, fcntl_getfl};
    use std::os::unix::fs::MetadataExt;
    let is_null = |file: &File| {
        let null = std::fs::metadata("/dev/null").ok()?;
        Some(file.metadata().ok()?.rdev() == null.rdev())
    };
    let is_for_both = fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::RDWR));
    is_for_both && is_null(file) == Some(true)
}

/// Elsewhere it is not known.
#[cfg(not(target_os = "linux"))]
fn was_closed(_file: &File) -> bool {
    false
}

#[cfg(unix)]
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

#[cfg(unix)]
fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}
