//! Where chunks go: to their places in a file, by many threads at once, or by turns into anything else.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use aes_bitslice_core::sync::sync_data;

#[cfg(target_os = "linux")]
use super::mapped::Mapped;
use super::positional::write_all_at;
use super::turns::Turns;
use crate::chunk::Chunk;
use crate::error::Result;
use crate::output::Output;

/// An output in chunks.
pub struct Sink {
    /// The bytes in front of the stream.
    header: u64,
    kind: Kind,
}

enum Kind {
    Parallel {
        file: Arc<File>,
        #[cfg(target_os = "linux")]
        mapped: Option<Mapped>,
    },
    InOrder(Turns<File>),
}

impl Sink {
    /// Writes `header`; chunks follow it. A new file whose length will be `mapped` bytes or a little less, the header
    /// not counted, is written through a mapping of it.
    pub fn new(output: &Output, header: &[u8], mapped: Option<u64>) -> Result<Self> {
        let mut file = output.writer()?;
        file.write_all(header).map_err(|error| output.error(&error))?;
        let header = header.len() as u64;
        let kind = if output.is_new_file() {
            let file = Arc::new(file);
            Kind::Parallel {
                #[cfg(target_os = "linux")]
                mapped: mapped.map(|length| Mapped::new(file.clone(), header + length)),
                file,
            }
        } else {
            Kind::InOrder(Turns::new(file))
        };
        #[cfg(not(target_os = "linux"))]
        let _ = mapped;
        Ok(Sink { header, kind })
    }

    /// Whether what was written must be synced to reach the disk.
    pub fn is_file(&self) -> bool {
        matches!(self.kind, Kind::Parallel { .. })
    }

    /// Writes `data`, the output of `chunk`, to its place; returns false if that was cancelled first.
    pub fn write(&self, chunk: &Chunk, data: &[u8]) -> io::Result<bool> {
        match &self.kind {
            Kind::Parallel { file, .. } => {
                let position = self.header + chunk.to;
                #[cfg(target_os = "linux")]
                if let Kind::Parallel { mapped: Some(mapped), .. } = &self.kind
                    && mapped.write_all_at(data, position)?
                {
                    return Ok(true);
                }
                write_all_at(file, data, position).map(|()| true)
            }
            Kind::InOrder(turns) => {
                let written = turns.pass(chunk.index, |file| file.write_all(data));
                written.map_or(Ok(false), |written| written.map(|()| true))
            }
        }
    }

    /// Syncs what was written so far to the disk.
    pub fn sync(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Parallel { file, .. } => sync_data(file),
            Kind::InOrder(_) => Ok(()),
        }
    }

    /// All `length` bytes after the header are written: cuts off anything after them.
    pub fn finish(&self, length: u64) -> io::Result<()> {
        match &self.kind {
            #[cfg(target_os = "linux")]
            Kind::Parallel { file, mapped: Some(mapped) } => {
                mapped.finish();
                file.set_len(self.header + length)
            }
            _ => Ok(()),
        }
    }

    /// Wakes all threads that wait to write; from now on no thread that would have to wait can write.
    pub fn cancel(&self) {
        match &self.kind {
            #[cfg(target_os = "linux")]
            Kind::Parallel { mapped: Some(mapped), .. } => mapped.cancel(),
            Kind::Parallel { .. } => {}
            Kind::InOrder(turns) => turns.cancel(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Options, Target};
    use crate::pipeline::positional::read_exact_at;

    /// Beyond 4 GiB.
    #[test]
    fn positions_have_64_bits() {
        const FAR: u64 = 5 << 30;
        let folder = tempfile::tempdir().unwrap();
        let target = Target::check(Some(&folder.path().join("new")), None, Options::default()).unwrap();
        let output = target.open().unwrap();
        let sink = Sink::new(&output, b"header", None).unwrap();
        let chunk = Chunk { index: FAR / 16, offset: FAR, length: 16, to: FAR, before: None, last: true };
        assert!(sink.write(&chunk, b"the chunk itself").unwrap());
        let mut found = [0; 16];
        read_exact_at(&output.writer().unwrap(), &mut found, 6 + FAR).unwrap();
        assert_eq!(found, *b"the chunk itself");
    }

    /// It was allocated for more than was written.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_mapped_file_ends_where_its_data_does() {
        let folder = tempfile::tempdir().unwrap();
        let target = Target::check(Some(&folder.path().join("new")), None, Options::default()).unwrap();
        let output = target.open().unwrap();
        let sink = Sink::new(&output, b"header", Some(32)).unwrap();
        let chunk = Chunk { index: 0, offset: 0, length: 16, to: 0, before: None, last: true };
        assert!(sink.write(&chunk, &[7; 16]).unwrap());
        let file = output.writer().unwrap();
        file.set_len(6 + 32).unwrap();
        sink.finish(16).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 6 + 16);
    }

    #[cfg(unix)]
    #[test]
    fn who_waits_to_write_is_told_that_the_others_have_ended() {
        let target = Target::check(Some(std::path::Path::new("/dev/null")), None, Options::default()).unwrap();
        let sink = Arc::new(Sink::new(&target.open().unwrap(), &[], None).unwrap());
        let (tell, told) = std::sync::mpsc::channel();
        let waiting = sink.clone();
        std::thread::spawn(move || {
            let chunk = Chunk { index: 1, offset: 16, length: 16, to: 16, before: None, last: true };
            _ = tell.send(waiting.write(&chunk, &[7; 16]).unwrap());
        });
        sink.cancel();
        assert_eq!(told.recv_timeout(std::time::Duration::from_secs(60)), Ok(false));
    }
}
