//! Memory between pages that nothing may touch: device memory, and pinned memory of the host.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::param::page_size;
use std::ffi::c_void;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr;
use std::slice;

/// Bytes of memory of each device; the same number can be pinned.
pub(crate) const MEMORY: usize = 1 << 30;
/// Device memory begins at a multiple of this.
const ALIGNMENT: usize = 256;
/// The contents of memory that was never written.
const UNWRITTEN: u8 = 0xd7;

/// Whose memory it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The device's.
    Device,
    /// The device's, from a pool, in the order of a stream.
    Pool,
    /// The host's, pinned.
    Pinned,
}

/// Some memory, from `start` on. It ends close before a page that nothing may touch; the bytes left there, and some before it, are checked.
pub(crate) struct Memory {
    pub(crate) kind: Kind,
    /// The context that it was created in.
    pub(crate) context: usize,
    pub(crate) start: u64,
    pub(crate) len: usize,
    map: usize,
    map_len: usize,
}

impl Memory {
    /// `None` where there is no room.
    pub(crate) fn new(kind: Kind, context: usize, len: usize) -> Option<Self> {
        let (page, room) = (page_size(), len.checked_next_multiple_of(ALIGNMENT)?);
        let pages = room.checked_next_multiple_of(page)?;
        let map_len = pages.checked_add(2 * page)?;
        // SAFETY: memory at an address that the operating system chooses.
        let map = unsafe {
            mmap_anonymous(ptr::null_mut(), map_len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE).ok()?
        };
        let map = map as usize;
        for edge in [map, map + page + pages] {
            // SAFETY: pages of the mapping, which nothing has used.
            unsafe { mprotect(edge as *mut c_void, page, MprotectFlags::empty()).ok()? };
        }
        // SAFETY: the pages between, which are writable.
        unsafe { ptr::write_bytes((map + page) as *mut u8, UNWRITTEN, pages) };
        Some(Self { kind, context, start: (map + page + pages - room) as u64, len, map, map_len })
    }

    /// The first byte after it.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    /// Whether these bytes are in it.
    pub(crate) fn has(&self, start: u64, len: usize) -> bool {
        start >= self.start && start.checked_add(len as u64).is_some_and(|end| end <= self.end())
    }

    /// Whether nothing was written next to it.
    pub(crate) fn is_intact(&self) -> bool {
        let page = page_size();
        let first = (self.start as usize - ALIGNMENT).max(self.map + page);
        let last = self.map + self.map_len - page;
        let bytes = |from: usize, to: usize| {
            // SAFETY: within the pages of the mapping that can be read.
            unsafe { slice::from_raw_parts(from as *const u8, to - from) }
        };
        let margins = [bytes(first, self.start as usize), bytes(self.end() as usize, last)];
        margins.iter().all(|margin| margin.iter().all(|&byte| byte == UNWRITTEN))
    }

    /// Whether all of it is zero. It is being freed.
    pub(crate) fn is_clear(&self) -> bool {
        self.bytes().iter().all(|&byte| byte == 0)
    }

    /// A digest of the bytes that are neither zero nor were never written, and of their places; `None` if there are none. Nobody uses it.
    pub(crate) fn digest(&self) -> Option<u64> {
        let written = |chunk: &[u8]| chunk.iter().fold(false, |any, &byte| any | ((byte != 0) & (byte != UNWRITTEN)));
        let mut chunks = self.bytes().chunks(64).enumerate().filter(|(_, chunk)| written(chunk)).peekable();
        chunks.peek()?;
        let mut digest = DefaultHasher::new();
        for (place, chunk) in chunks {
            let bytes: Vec<u8> = chunk.iter().map(|&byte| if byte == UNWRITTEN { 0 } else { byte }).collect();
            (place, bytes).hash(&mut digest);
        }
        Some(digest.finish())
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: it exists as long as this value. Nothing writes meanwhile: stream work runs under the state's lock, which is held here;
        // and the owner of pinned memory no longer uses it when it is freed, and does not use it while a test looks at its contents.
        unsafe { slice::from_raw_parts(self.start as *const u8, self.len) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by this value; from now on an access there ends the process, which is intended.
        let _ = unsafe { munmap(self.map as *mut c_void, self.map_len) };
    }
}
