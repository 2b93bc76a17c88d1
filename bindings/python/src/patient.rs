//! Files that may stay silent, such as pipes: waiting for them looks for signals, and another thread never does it.

use crate::file_object::raised;
use crate::origin::holds_data;
use crate::signals::{self, EVERY};
use aes_bitslice_seal::access::is_block_device;
use pyo3::prelude::*;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A file to read.
pub struct Patient {
    file: File,
    may_wait: bool,
}

impl Patient {
    /// Opens a file; not attached to the interpreter.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true);
        if fs::metadata(path).is_ok_and(|metadata| !holds_data(&metadata)) {
            // Else opening a named pipe would wait for its writer.
            options.custom_flags(OFlags::NONBLOCK.bits() as i32);
        }
        let file = options.open(path)?;
        let may_wait = !holds_data(&file.metadata()?);
        Ok(Self { file, may_wait })
    }

    /// Whether reading may have to wait for as long as somebody else likes.
    pub fn may_wait(&self) -> bool {
        self.may_wait
    }

    pub fn is_disk(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| is_block_device(&metadata))
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Waits until there is something to read, or the end of the file. A pipe without a writer is no end until it has had one.
    fn wait(&self) -> io::Result<()> {
        let limit = EVERY.try_into().expect("less than a second");
        loop {
            let ready = poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&limit));
            match ready {
                Ok(0) | Err(Errno::INTR) => Python::attach(signals::check).map_err(raised)?,
                ready => return Ok(ready.map(drop)?),
            }
        }
    }
}

impl Read for Patient {
    /// Not attached to the interpreter.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.may_wait {
                self.wait()?;
            }
            match self.file.read(buffer) {
                // Another process has read what there was.
                Err(error) if self.may_wait && error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}
