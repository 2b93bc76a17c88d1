//! Reading into a buffer of a given length, through interruptions and however little each read yields.

use std::io::{self, Read};

/// Reads until `data` is full, there is no more, or `is_end` says so of what was read. Returns how many bytes were read.
pub fn read_to(source: &mut impl Read, data: &mut [u8], is_end: impl Fn(&[u8]) -> bool) -> io::Result<usize> {
    let mut length = 0;
    while length < data.len() && !is_end(&data[..length]) {
        match source.read(&mut data[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Reads until `data` is full or there is no more.
pub fn read_up_to(source: &mut impl Read, data: &mut [u8]) -> io::Result<usize> {
    read_to(source, data, |_| false)
}
