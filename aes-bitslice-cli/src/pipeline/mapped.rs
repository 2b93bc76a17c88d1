//! Writes a file through a mapping of it: many threads at once, whereas `write` lets one at a time into a file.
//!
//! Space is allocated ahead of the writers, so that a full disk is an error of `fallocate`. A write to a mapping without space would raise
//! a fatal signal (SIGBUS); that cannot happen here:
//!
//! - nothing is touched before it is allocated, and nothing makes the file shorter while it is written;
//! - `MADV_POPULATE_WRITE` takes the page faults before the first byte is copied, and their failure is then an error;
//! - only files in memory (tmpfs) are mapped, whose pages, once allocated, can be written without more space.
//!
//! The whole file is mapped once: threads that map and unmap chunks wait for all that populate others. A written chunk is taken out of the
//! mapping, so that no more is mapped than is being written.
//!
//! If any of this is not available, [`Mapped::write_all_at`] says so, and the caller writes as usual.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{FallocateFlags, fallocate, fstatfs};
use rustix::io::{Errno, retry_on_intr};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

/// Bytes that are allocated at a time: writers of the first step begin while the second is allocated.
const STEP: u64 = 64 << 20;

/// Threads that write one file at a time: more of them only wait for one another in the kernel.
const WRITERS: usize = 16;

/// The file system whose files are mapped, tmpfs, by its magic number. Its existing pages can be written without more space, unlike pages
/// of a copy-on-write file system; and for files on a disk, mappings were slower than `write`.
const TMPFS: u32 = 0x0102_1994;

/// A file that is being allocated and written.
pub struct Mapped {
    /// `None` if it cannot be mapped.
    mapping: Option<Mapping>,
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
    /// It is not available here, or no longer wanted.
    Ended,
}

impl Mapped {
    /// Begins to allocate `length` bytes of `file`.
    pub fn new(file: Arc<File>, length: u64) -> Self {
        let is_tmpfs = fstatfs(&*file).is_ok_and(|info| info.f_type as u32 == TMPFS);
        let mapping = is_tmpfs.then(|| Mapping::new(&file, length)).flatten();
        let state = State { allocation: Allocation::UpTo(0), is_growing: true, free: WRITERS };
        let mapped = Mapped { mapping, shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }) };
        let shared = mapped.shared.clone();
        let allocate = move || {
            shared.allocate(&file, length);
            shared.lock().is_growing = false;
            shared.changed.notify_all();
        };
        if mapped.mapping.is_none() || thread::Builder::new().name("allocate".into()).spawn(allocate).is_err() {
            mapped.cancel();
            mapped.shared.lock().is_growing = false;
        }
        mapped
    }

    /// Writes `data` from `position` on, within the length that is allocated; returns false if it cannot be done this way and nothing was
    /// done.
    pub fn write_all_at(&self, data: &[u8], position: u64) -> io::Result<bool> {
        let Some(mapping) = self.mapping.as_ref().filter(|_| !data.is_empty()) else { return Ok(false) };
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
        let copied = mapping.write(data, position);
        self.shared.lock().free += 1;
        self.shared.changed.notify_all();
        // If it failed, writing as usual gives the proper error, or succeeds.
        Ok(copied.is_ok())
    }

    /// Stops allocating, and releases threads that wait for it.
    pub fn cancel(&self) {
        self.shared.lock().allocation = Allocation::Ended;
        self.shared.changed.notify_all();
    }

    /// Everything is written: the file is as long as it was allocated, and `set_len` then sets its final length.
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

/// A file in memory. Only its allocated part may be touched.
struct Mapping {
    start: *mut c_void,
    length: usize,
}

// SAFETY: it is an address and a length, which any thread may use; the bytes there are written only through `write`.
unsafe impl Send for Mapping {}
// SAFETY: an address and a length, which any thread may use. Threads that write the same bytes at once would race, in the file as in
// memory; those of the pipeline do not.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// The first `length` bytes of `file`, whether it has them yet or not; `None` if that is not possible.
    fn new(file: &File, length: u64) -> Option<Self> {
        let length = usize::try_from(length).ok()?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the system chooses. Nothing is touched here.
        let start = unsafe { mmap(null_mut(), length, access, MapFlags::SHARED, file, 0) }.ok()?;
        Some(Mapping { start, length })
    }

    /// Copies `data` to `position`, all of which must be allocated, or changes nothing.
    fn write(&self, data: &[u8], position: u64) -> io::Result<()> {
        let page = rustix::param::page_size();
        let begin = usize::try_from(position).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let end = begin.checked_add(data.len()).filter(|end| *end <= self.length).ok_or(io::ErrorKind::FileTooLarge)?;
        let at = |offset: usize| self.start.cast::<u8>().wrapping_add(offset);
        let first = begin / page * page;
        // SAFETY: these pages are mapped, as checked. This changes which pages are in memory, not their bytes.
        unsafe { madvise(at(first).cast(), end - first, Advice::LinuxPopulateWrite) }?;
        // SAFETY: these bytes are mapped for writing, and populated; no reference to them is ever made, and they are not `data`, which is
        // owned memory. For why the file has space for them, see the top of the module. Other threads may write the rest of the first page
        // and of the last.
        unsafe { copy_nonoverlapping(data.as_ptr(), at(begin), data.len()) };
        let (first, after) = (begin.next_multiple_of(page), end / page * page);
        if first < after {
            // SAFETY: these are the pages that only this call writes. In a shared mapping they stay in the file as they are.
            let _ = unsafe { madvise(at(first).cast(), after - first, Advice::LinuxDontNeed) };
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is what `new` mapped, and it is no longer used. It does not fail for an existing mapping.
        let _ = unsafe { munmap(self.start, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// A new file in tmpfs; `None`, and a message past the test harness, if there is no tmpfs, or no room for these bytes.
    fn file_in_memory(bytes: u64) -> Option<File> {
        let has_room = rustix::fs::statfs("/dev/shm")
            .is_ok_and(|info| info.f_type as u32 == TMPFS && info.f_bavail * info.f_bsize as u64 >= bytes);
        let file = if has_room { tempfile::tempfile_in("/dev/shm").ok() } else { None };
        if file.is_none() {
            let _ = writeln!(io::stderr(), "SKIPPED: no file is mapped: no tmpfs at /dev/shm has {bytes} bytes for it");
        }
        file
    }

    /// Chunks that begin and end within pages, written by several threads in any order.
    #[test]
    fn chunks_of_pages_come_together() {
        let Some(mut file) = file_in_memory(1 << 20) else { return };
        let data: Vec<u8> = (0..100_003_u32).map(|at| (at * 7 / 8) as u8).collect();
        let mapped = Mapped::new(Arc::new(file.try_clone().unwrap()), data.len() as u64);
        let chunks: Vec<(usize, &[u8])> = data.chunks(1001).enumerate().collect();
        let is_mapped = thread::scope(|scope| {
            let writers = [0, 1, 2].map(|writer| {
                let (mapped, chunks) = (&mapped, &chunks);
                scope.spawn(move || {
                    let mine = chunks.iter().rev().skip(writer).step_by(3);
                    mine.map(|(index, chunk)| mapped.write_all_at(chunk, 1001 * *index as u64).unwrap())
                        .fold(true, |a, b| a & b)
                })
            });
            writers.into_iter().all(|writer| writer.join().unwrap())
        });
        assert!(is_mapped);
        let mut written = Vec::new();
        file.read_to_end(&mut written).unwrap();
        assert!(written == data);
    }

    /// What is allocated in several steps can be written to its end, is no longer than it should be, and is no longer mapped afterwards.
    #[test]
    fn the_last_step_ends_where_the_file_does() {
        use std::os::unix::fs::MetadataExt;
        // More than it takes, for the other tests.
        let Some(file) = file_in_memory(6 * STEP) else { return };
        let mapped = Mapped::new(Arc::new(file.try_clone().unwrap()), STEP + 1);
        assert!(mapped.write_all_at(&[1], STEP).unwrap());
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), STEP + 1);
        let device = metadata.dev();
        let place = format!(" {:02x}:{:02x} {} ", rustix::fs::major(device), rustix::fs::minor(device), metadata.ino());
        let is_mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().contains(&place);
        assert!(is_mapped());
        drop(mapped);
        assert!(!is_mapped());
    }

    /// Most of it is not allocated by then.
    #[test]
    fn what_is_finished_grows_no_longer() {
        let Some(file) = file_in_memory(6 * STEP) else { return };
        let mapped = Mapped::new(Arc::new(file), 8 * STEP);
        mapped.finish();
        assert!(!mapped.shared.lock().is_growing);
    }

    #[test]
    fn what_is_cancelled_is_to_be_written_otherwise() {
        let Some(file) = file_in_memory(1 << 20) else { return };
        let mapped = Mapped::new(Arc::new(file), 1 << 20);
        assert!(mapped.mapping.is_some() && mapped.write_all_at(&[1; 16], 0).unwrap());
        mapped.cancel();
        assert!(!mapped.write_all_at(&[1; 16], 0).unwrap());
    }
}
