//! Reading and writing at a position of a file, by many threads at once.

use std::fs::File;
use std::io;

/// Fills `data` from `position` on; `UnexpectedEof` if the file ends first.
#[cfg(unix)]
pub fn read_exact_at(file: &File, data: &mut [u8], position: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, data, position)
}

/// Writes `data` from `position` on.
#[cfg(unix)]
pub fn write_all_at(file: &File, data: &[u8], position: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, data, position)
}

/// Fills `data` from `position` on; `UnexpectedEof` if the file ends first.
#[cfg(windows)]
pub fn read_exact_at(file: &File, mut data: &mut [u8], mut position: u64) -> io::Result<()> {
    while !data.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, data, position) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => (data, position) = (&mut data[read..], position + read as u64),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes `data` from `position` on.
#[cfg(windows)]
pub fn write_all_at(file: &File, mut data: &[u8], mut position: u64) -> io::Result<()> {
    while !data.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, data, position) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => (data, position) = (&data[written..], position + written as u64),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
