//! Standard input and output as files without a buffer: chunks are large already. And files that are open already, which paths such as
//! `/dev/stdout` and `/dev/fd/3` name by their numbers: they are streams like these, used from where they stand.

use std::fs::File;
use std::io;
use std::path::Path;

use aes_bitslice_seal::naming::Numbered;

#[cfg(unix)]
use crate::descriptors;
use crate::error::{Error, Exit, Result};

/// Standard input; an error if it is closed.
pub fn input() -> Result<File> {
    stdin().map_err(|error| {
        Error::new(Exit::InputOutput, format!("cannot read standard input: {error}; name a file, or use a pipe"))
    })
}

/// Standard output; an error if it is closed.
pub fn output() -> Result<File> {
    stdout().map_err(|error| {
        let what = format!("cannot write standard output: {error}; redirect it to a file, or use a pipe");
        Error::new(Exit::InputOutput, what)
    })
}

/// Opens a file to read: the one that is open already, if `path` names it by its number.
pub fn open(path: &Path) -> io::Result<File> {
    match Numbered::of(path) {
        Some(Numbered::Here(number)) => duplicate(number),
        _ => File::open(path),
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

#[cfg(unix)]
fn stdin() -> io::Result<File> {
    opened(0)
}

#[cfg(unix)]
fn stdout() -> io::Result<File> {
    opened(1)
}

#[cfg(unix)]
fn opened(number: usize) -> io::Result<File> {
    if descriptors::was_open(number) { descriptors::duplicate(number) } else { Err(io::Error::other("it is closed")) }
}

/// A second handle to the file that is open under this number.
#[cfg(unix)]
pub fn duplicate(number: usize) -> io::Result<File> {
    descriptors::duplicate(number)
}

/// Elsewhere files have no numbers.
#[cfg(not(unix))]
pub fn duplicate(_number: usize) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(windows)]
fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}
