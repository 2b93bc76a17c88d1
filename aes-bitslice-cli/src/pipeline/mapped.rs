//! Writing a file through mappings of it: many threads at once, where `write` lets one at a time into a file.
//!
//! Space is allocated ahead of the writers, so that a full disk is an error of `fallocate`. A write to a mapping for which
//! there is no space would be a signal that kills (SIGBUS); that cannot happen here:
//!
//! - only what is allocated is mapped, and nothing makes the file shorter while it is written;
//! - `MADV_POPULATE_WRITE` takes the page faults, whose failure is an error then, before the first byte is copied;
//! - only file systems are mapped to which an allocated page can be written again without more space.
//!
//! Where any of this is not to be had, [`Mapped::write_all_at`] says so, and the caller writes as usual.

use std::fs::File;
use std::io;
use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{FallocateFlags, fallocate, fstatfs};
use rustix::io::{Errno, retry_on_intr};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

/// Bytes that are allocated at a time: writers of the first begin while the second is allocated.
const STEP: u64 = 64 << 20;

/// Threads that write one file at a time: more of them only wait for one another in the kernel.
const WRITERS: usize = 16;

/// File systems that write an allocated page in place: ext4 (and its elders), XFS and tmpfs, by their magic numbers. One
/// that copies on write may be out of space at any of them.
const IN_PLACE: [u32; 3] = [0xef53, 0x5846_5342, 0x0102_1994];

/// A file that is being allocated and written.
pub struct Mapped {
    file: Arc<File>,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    allocation: Allocation,
    /// Whether the file may still become longer.
    is_growing: bool,
    /// Threads that may still begin to write.
    free: usize,
}

enum Allocation {
    /// There is space up to here, and there will be more.
    UpTo(u64),
    /// There will be no more.
    Failed(Errno),
    /// There is no such thing here, or nobody wants it any more.
    Ended,
}

impl Mapped {
    /// Begins to allocate `length` bytes of `file`.
    pub fn new(file: Arc<File>, length: u64) -> Self {
        let state = State { allocation: Allocation::UpTo(0), is_growing: true, free: WRITERS };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let mapped = Mapped { file, shared };
        let is_in_place = fstatfs(&*mapped.file).is_ok_and(|info| IN_PLACE.contains(&(info.f_type as u32)));
        let (file, shared) = (mapped.file.clone(), mapped.shared.clone());
        let allocate = move || {
            shared.allocate(&file, length);
            shared.lock().is_growing = false;
            shared.changed.notify_all();
        };
        if !is_in_place || thread::Builder::new().name("allocate".into()).spawn(allocate).is_err() {
            mapped.cancel();
            mapped.shared.lock().is_growing = false;
        }
        mapped
    }

    /// Writes `data` from `position` on, within the length that is allocated; false if it cannot be done this way and
    /// nothing was done.
    pub fn write_all_at(&self, data: &[u8], position: u64) -> io::Result<bool> {
        if data.is_empty() {
            return Ok(true);
        }
        let end = position + data.len() as u64;
        let is_waiting = |state: &mut State| match state.allocation {
            Allocation::UpTo(ready) => ready < end || state.free == 0,
            Allocation::Failed(_) | Allocation::Ended => false,
        };
        let state = self.shared.changed.wait_while(self.shared.lock(), is_waiting);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        match state.allocation {
            Allocation::UpTo(_) => state.free -= 1,
            Allocation::Failed(errno) => return Err(errno.into()),
            Allocation::Ended => return Ok(false),
        }
        drop(state);
        let copied = copy_to(&self.file, data, position);
        self.shared.lock().free += 1;
        self.shared.changed.notify_all();
        // Whatever it was, writing as usual will show it by its right name, or succeed.
        Ok(copied.is_ok())
    }

    /// Stops allocating, and sends those who wait for it away.
    pub fn cancel(&self) {
        self.shared.lock().allocation = Allocation::Ended;
        self.shared.changed.notify_all();
    }

    /// Everything is written: the file is as long as it was allocated, and `set_len` will have the last word.
    pub fn finish(&self) {
        self.cancel();
        let ended = self.shared.changed.wait_while(self.shared.lock(), |state| state.is_growing);
        drop(ended.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allocate(&self, file: &File, length: u64) {
        let mut ready = 0;
        while ready < length {
            let step = STEP.min(length - ready);
            let allocated = retry_on_intr(|| fallocate(file, FallocateFlags::empty(), ready, step));
            ready += step;
            let mut state = self.lock();
            if matches!(state.allocation, Allocation::Ended) {
                return;
            }
            state.allocation = match allocated {
                Ok(()) => Allocation::UpTo(ready),
                Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::IO)) => Allocation::Failed(errno),
                Err(_) => Allocation::Ended,
            };
            drop(state);
            self.changed.notify_all();
            if allocated.is_err() {
                return;
            }
        }
    }
}

/// Copies `data` to `file` from `position` on, where it is allocated, or changes nothing.
fn copy_to(file: &File, data: &[u8], position: u64) -> io::Result<()> {
    // Mappings begin where pages do. Other threads may write the rest of the first page and of the last.
    let skip = position % rustix::param::page_size() as u64;
    let (skip, start) = (skip as usize, position - skip);
    let length = skip + data.len();
    // SAFETY: a new mapping, at an address that the system chooses, of a file that stays open; nobody knows of it but the
    // lines below.
    let memory = unsafe {
        mmap(null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, file, start)
            .map_err(io::Error::from)
    }?;
    // SAFETY: all of the mapping made above; it changes what is in memory, not what the bytes are.
    let populated = unsafe { madvise(memory, length, Advice::LinuxPopulateWrite) };
    if populated.is_ok() {
        // SAFETY: `skip + data.len()` bytes are mapped for writing, populated, and not the caller's `data`, which was there
        // before. The file is ours and keeps its length, see the module's head. The other threads that map the same pages
        // write other bytes.
        unsafe { copy_nonoverlapping(data.as_ptr(), memory.cast::<u8>().add(skip), data.len()) };
    }
    // SAFETY: the mapping made above, to which no reference was made.
    unsafe { munmap(memory, length) }?;
    Ok(populated?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Pieces that begin and end within pages, written by several threads in any order.
    #[test]
    fn pieces_of_pages_come_together() {
        let mut file = tempfile::tempfile().unwrap();
        let data: Vec<u8> = (0..100_003_u32).map(|at| (at * 7 / 8) as u8).collect();
        let mapped = Mapped::new(Arc::new(file.try_clone().unwrap()), data.len() as u64);
        let pieces: Vec<(usize, &[u8])> = data.chunks(1001).enumerate().collect();
        let is_mapped = thread::scope(|scope| {
            let writers = [0, 1, 2].map(|writer| {
                let (mapped, pieces) = (&mapped, &pieces);
                scope.spawn(move || {
                    let mine = pieces.iter().rev().skip(writer).step_by(3);
                    mine.map(|(index, piece)| mapped.write_all_at(piece, 1001 * *index as u64).unwrap())
                        .fold(true, |a, b| a & b)
                })
            });
            writers.into_iter().all(|writer| writer.join().unwrap())
        });
        if !is_mapped {
            let _ = io::Write::write_all(&mut io::stderr(), b"SKIPPED: files of this folder cannot be mapped\n");
            return;
        }
        let mut written = Vec::new();
        file.read_to_end(&mut written).unwrap();
        assert!(written == data);
    }

    #[test]
    fn what_is_cancelled_is_to_be_written_otherwise() {
        let mapped = Mapped::new(Arc::new(tempfile::tempfile().unwrap()), 1 << 20);
        mapped.cancel();
        assert!(!mapped.write_all_at(&[1; 16], 0).unwrap());
    }
}
