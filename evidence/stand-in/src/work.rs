//! The work on streams.

use crate::kernels::{Arguments, Loaded};
use cudarc::driver::sys::CUresult;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::time::Instant;

/// A stream: the work put on it, in order.
pub(crate) struct Stream {
    pub(crate) context: usize,
    /// How much of it is done.
    done: u64,
    queue: VecDeque<Work>,
    /// Work that is on it is still done.
    pub(crate) is_destroyed: bool,
}

impl Stream {
    /// An empty stream of a context.
    pub(crate) fn new(context: usize) -> Self {
        Self { context, done: 0, queue: VecDeque::new(), is_destroyed: false }
    }

    pub(crate) fn put(&mut self, work: Work) {
        self.queue.push_back(work);
    }

    /// Takes the next work.
    pub(crate) fn take(&mut self) -> Option<Work> {
        self.queue.pop_front()
    }

    /// Records that the work taken is done.
    pub(crate) fn has_done(&mut self) {
        self.done += 1;
    }

    /// No work that is on it will be done.
    pub(crate) fn abandon(&mut self) {
        self.done += self.queue.len() as u64;
        self.queue.clear();
    }

    /// The number of the point after everything on it.
    pub(crate) fn end(&self) -> u64 {
        self.done + self.queue.len() as u64
    }

    pub(crate) fn is_past(&self, point: Point) -> bool {
        self.done >= point.number
    }

    pub(crate) fn is_done(&self) -> bool {
        self.queue.is_empty()
    }

    /// The memory that its work reads and writes, as far as is known: beginnings and lengths.
    pub(crate) fn touches(&self) -> impl Iterator<Item = (u64, usize)> {
        self.queue.iter().flat_map(Work::touches)
    }

    /// Whether the next work is not yet complete.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.queue.front(), Some(Work::Launch { due: Some(due), .. }) if Instant::now() < *due)
    }
}

/// A point of a stream: everything up to this number.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) stream: usize,
    pub(crate) number: u64,
}

/// Work of a stream, in memory that was checked when it was put there.
pub(crate) enum Work {
    Launch {
        kernel: &'static Loaded,
        entry: usize,
        grid: (u32, u32),
        arguments: Arguments,
        /// When it completes at the earliest.
        due: Option<Instant>,
    },
    /// Bytes that the driver took when it was called, as it does if memory is not pinned.
    Write {
        bytes: Vec<u8>,
        to: u64,
    },
    Copy {
        from: u64,
        to: u64,
        len: usize,
    },
    /// Rows of bytes. `from` and `to` have the first row's address, and the distance of rows in bytes.
    Rows {
        from: (u64, usize),
        to: (u64, usize),
        len: usize,
        rows: usize,
    },
    Set {
        to: u64,
        value: u8,
        len: usize,
    },
    Free {
        start: u64,
    },
    Wait(Point),
    Call {
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    },
    /// An error that is found when the work before it is done: the context is lost.
    Fail(CUresult),
}

impl Work {
    /// The memory that it reads and writes, as far as is known: beginnings and lengths.
    pub(crate) fn touches(&self) -> Vec<(u64, usize)> {
        match *self {
            Self::Launch { kernel, entry, ref arguments, .. } => {
                kernel.addresses(entry, arguments).map(|(_, address)| (address, 0)).collect()
            }
            Self::Write { ref bytes, to } => vec![(to, bytes.len())],
            Self::Copy { from, to, len } => vec![(from, len), (to, len)],
            Self::Rows { from, to, len, rows } => {
                [from, to].map(|(start, apart)| (start, apart * rows.saturating_sub(1) + len)).into()
            }
            Self::Set { to, len, .. } => vec![(to, len)],
            Self::Free { start } => vec![(start, 1)],
            Self::Wait(_) | Self::Call { .. } | Self::Fail(_) => vec![],
        }
    }
}
