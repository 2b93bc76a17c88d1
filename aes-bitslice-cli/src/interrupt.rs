//! Reading that ends when nobody wants the bytes any more, though the other end of a pipe says nothing and stays open.

use std::fs::File;
use std::io;

/// What a reader asks before each read.
pub struct Asker {
    #[cfg(unix)]
    end: io::PipeReader,
}

/// As long as it exists, the bytes are wanted.
pub struct Wanted {
    #[cfg(unix)]
    _end: io::PipeWriter,
}

/// Both, of one reader.
#[cfg(unix)]
pub fn pair() -> io::Result<(Asker, Wanted)> {
    let (end, other) = io::pipe()?;
    Ok((Asker { end }, Wanted { _end: other }))
}

/// Elsewhere a read cannot be waited for in this way, and the reader finds out with its next byte.
#[cfg(not(unix))]
pub fn pair() -> io::Result<(Asker, Wanted)> {
    Ok((Asker {}, Wanted {}))
}

impl Asker {
    /// Waits until `file` has something to read, or has ended.
    ///
    /// # Errors
    /// If the bytes are not wanted any more, or the system does not let it wait.
    #[cfg(unix)]
    pub fn wait(&self, file: &File) -> io::Result<()> {
        use nix::errno::Errno;
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        use std::os::fd::AsFd;
        let mut ends = [file.as_fd(), self.end.as_fd()].map(|end| PollFd::new(end, PollFlags::POLLIN));
        while let Err(error) = poll(&mut ends, PollTimeout::NONE) {
            if error != Errno::EINTR {
                return Err(error.into());
            }
        }
        // Nobody writes into the pipe: it tells of its other end alone.
        match ends[1].any() {
            Some(false) => Ok(()),
            _ => Err(io::Error::other("nobody wants what is read any more")),
        }
    }

    /// Elsewhere it does not wait.
    #[cfg(not(unix))]
    pub fn wait(&self, _file: &File) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn an_idle_pipe_is_waited_for_until_nobody_wants_it() {
        let (asker, wanted) = pair().unwrap();
        asker.wait(&File::open("Cargo.toml").unwrap()).unwrap();
        let (idle, _open) = io::pipe().unwrap();
        let idle = File::from(OwnedFd::from(idle));
        thread::scope(|scope| {
            let reader = scope.spawn(|| asker.wait(&idle));
            thread::sleep(Duration::from_millis(50));
            assert!(!reader.is_finished());
            drop(wanted);
            assert!(reader.join().unwrap().is_err());
        });
    }
}
