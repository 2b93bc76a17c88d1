//! What streams have to do. It is done when something waits for it, and not before, or at once.

use crate::kernels::{Arguments, Loaded};
use crate::state::{State, current};
use cudarc::driver::sys::CUresult;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr;
use std::time::Instant;

/// A stream: what was put on it, in order.
pub(crate) struct Stream {
    pub(crate) context: usize,
    /// How much of it is done.
    done: u64,
    queue: VecDeque<Work>,
    /// What is on it is still done.
    pub(crate) is_destroyed: bool,
}

impl Stream {
    /// An empty one of a context.
    pub(crate) fn new(context: usize) -> Self {
        Self { context, done: 0, queue: VecDeque::new(), is_destroyed: false }
    }

    /// Whether what comes next takes longer than until now.
    fn is_busy(&self) -> bool {
        matches!(self.queue.front(), Some(Work::Launch { due: Some(due), .. }) if Instant::now() < *due)
    }
}

/// A point of a stream: everything up to this number.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) stream: usize,
    number: u64,
}

/// What a stream does, in memory that was looked at when it was put there.
pub(crate) enum Work {
    Launch {
        kernel: &'static Loaded,
        entry: usize,
        grid: (u32, u32),
        arguments: Arguments,
        /// When it is done at the earliest.
        due: Option<Instant>,
    },
    /// Bytes that the driver took when it was called, as it does where memory is not pinned.
    Write {
        bytes: Vec<u8>,
        to: u64,
    },
    Copy {
        from: u64,
        to: u64,
        len: usize,
    },
    /// Rows of bytes. `from` and `to` have the first row's address, and how many bytes apart rows begin.
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
    /// Where it reads and writes, as far as is known: beginnings and lengths.
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

impl State {
    /// Puts work on a stream.
    pub(crate) fn put(&mut self, stream: usize, work: Work) -> Result<(), CUresult> {
        self.stream(stream)?.queue.push_back(work);
        if self.options.at_once { self.synchronize(stream) } else { Ok(()) }
    }

    /// What a stream has come to when all is done that is on it now.
    pub(crate) fn point(&mut self, stream: usize) -> Result<Point, CUresult> {
        let of = self.stream(stream)?;
        let number = of.done + of.queue.len() as u64;
        Ok(Point { stream: if stream == 0 { current() } else { stream }, number })
    }

    /// Does all that a stream has to do.
    pub(crate) fn synchronize(&mut self, stream: usize) -> Result<(), CUresult> {
        let point = self.point(stream)?;
        self.run_to(point)
    }

    /// Does all that is before a point.
    pub(crate) fn run_to(&mut self, point: Point) -> Result<(), CUresult> {
        while !self.is_past(point) {
            self.step(point.stream);
        }
        self.not_lost_at(point)
    }

    /// Does all that all streams of a context have to do.
    pub(crate) fn run_all(&mut self, context: usize) -> Result<(), CUresult> {
        let of_context = self.streams.iter().filter(|(_, stream)| stream.context == context);
        let streams: Vec<usize> = of_context.map(|(number, _)| *number).collect();
        for stream in streams {
            while self.streams.get(&stream).is_some_and(|of| !of.queue.is_empty()) {
                self.step(stream);
            }
        }
        self.not_lost(context)
    }

    /// Whether a point was come to. If not, one step is made towards it, unless what comes next takes longer.
    pub(crate) fn asked(&mut self, point: Point) -> Result<(), CUresult> {
        if self.is_past(point) {
            return self.not_lost_at(point);
        }
        if !self.streams.get(&point.stream).is_some_and(Stream::is_busy) {
            self.step(point.stream);
        }
        self.not_lost_at(point)?;
        Err(CUresult::CUDA_ERROR_NOT_READY)
    }

    /// Whether the context of the stream can be used.
    fn not_lost_at(&self, point: Point) -> Result<(), CUresult> {
        self.streams.get(&point.stream).map_or(Ok(()), |stream| self.not_lost(stream.context))
    }

    fn is_past(&self, point: Point) -> bool {
        self.streams.get(&point.stream).is_none_or(|stream| stream.done >= point.number)
    }

    /// Whether any stream has something to do that touches these bytes.
    pub(crate) fn is_in_use(&self, start: u64, len: usize) -> bool {
        let meets = |(at, bytes): (u64, usize)| at < start + len as u64 && start < at + bytes.max(1) as u64;
        let mut all = self.streams.values().flat_map(|stream| &stream.queue);
        all.any(|work| work.touches().into_iter().any(meets))
    }

    /// Does the next thing that a stream has to do.
    fn step(&mut self, stream: usize) {
        let next = self.streams.get_mut(&stream).and_then(|of| Some((of.context, of.queue.pop_front()?)));
        let Some((context, work)) = next else { return };
        self.work(context, work);
        if let Some(of) = self.streams.get_mut(&stream) {
            of.done += 1;
        }
    }

    /// Whether work of a context can access these bytes; if not it is noted, and the context lost.
    pub(crate) fn access(&mut self, context: usize, start: u64, len: usize) -> Result<(), CUresult> {
        let what = match (self.has(start, len), self.reaches(context, start)) {
            (true, true) => return Ok(()),
            (true, false) => format!("work of device {} on memory of another, without access", context - 1),
            (false, _) => format!("work on memory that is gone, at {start:#x}"),
        };
        self.lose(context, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, &what);
        Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)
    }

    /// Does work of a context.
    fn work(&mut self, context: usize, work: Work) {
        if work.touches().into_iter().any(|(start, len)| self.access(context, start, len).is_err()) {
            return;
        }
        // SAFETY: of all of these: the memory is there, as was looked at above. What is not the device's is the caller's, who must not
        // use it before he has waited.
        unsafe {
            match work {
                Work::Launch { kernel, entry, grid, arguments, .. } => {
                    if let Err(what) = kernel.run(entry, grid, &arguments) {
                        self.lose(context, CUresult::CUDA_ERROR_LAUNCH_FAILED, &what);
                    }
                    if let Some(memory) = self.memory.values().find(|memory| !memory.is_intact()) {
                        let what = format!("{} writes next to memory of {} bytes", kernel.name(), memory.len);
                        self.lose(context, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, &what);
                    }
                }
                Work::Write { bytes, to } => ptr::copy(bytes.as_ptr(), to as *mut u8, bytes.len()),
                Work::Copy { from, to, len } => ptr::copy(from as *const u8, to as *mut u8, len),
                Work::Rows { from, to, len, rows } => {
                    for row in 0..rows {
                        let at = |(start, apart): (u64, usize)| start + (row * apart) as u64;
                        ptr::copy(at(from) as *const u8, at(to) as *mut u8, len);
                    }
                }
                Work::Set { to, value, len } => ptr::write_bytes(to as *mut u8, value, len),
                Work::Free { start } => drop(self.memory.remove(&start)),
                Work::Wait(point) => _ = self.run_to(point),
                Work::Call { function, data } => function(data),
                Work::Fail(code) => self.lose(context, code, ""),
            }
        }
    }

    /// From now on all calls in a context fail, and nothing is done in it any more. What is wrong is noted, unless a test has asked for it.
    pub(crate) fn lose(&mut self, context: usize, code: CUresult, what: &str) {
        if !what.is_empty() {
            self.notes.push(what.into());
        }
        if let Some(of) = self.contexts.get_mut(&context) {
            of.lost.get_or_insert(code);
        }
        for stream in self.streams.values_mut().filter(|stream| stream.context == context) {
            stream.done += stream.queue.len() as u64;
            stream.queue.clear();
        }
    }
}
