//! Files that are to be on the disk, also on a file system that cannot promise it, such as those of networks and of programs (FUSE).

#![expect(clippy::disallowed_methods, reason = "they are called here, and nowhere else")]

use std::fs::File;
use std::io::{self, ErrorKind};

/// Writes an open file or folder to the disk, where the file system can.
///
/// # Errors
/// Those of the system, for instance of a disk that is full.
pub fn sync(file: &File) -> io::Result<()> {
    if_there(file.sync_all())
}

/// Writes the data of an open file to the disk, where the file system can, without its times.
///
/// # Errors
/// Those of the system, for instance of a disk that is full.
pub fn sync_data(file: &File) -> io::Result<()> {
    if_there(file.sync_data())
}

/// The outcome of an operation that some file systems lack, and that nothing can take the place of.
///
/// # Errors
/// Any other than that the operation is missing.
fn if_there(outcome: io::Result<()>) -> io::Result<()> {
    outcome.or_else(|error| if is_missing(&error) { Ok(()) } else { Err(error) })
}

/// Whether the file system lacks the operation. Linux says of a missing `fsync` that the argument is invalid.
pub fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_no_error_and_what_fails_is() {
        let outcome = |kind: ErrorKind| if_there(Err(kind.into()));
        assert!([ErrorKind::Unsupported, ErrorKind::InvalidInput].into_iter().all(|kind| outcome(kind).is_ok()));
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::PermissionDenied, ErrorKind::Other] {
            assert_eq!(outcome(kind).unwrap_err().kind(), kind);
        }
    }
}
