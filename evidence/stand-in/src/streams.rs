//! Execution of the work on streams: only when something waits for it, or at once.

use crate::allocations::held;
use crate::state::{State, current};
use crate::work::{Point, Stream, Work};
use cudarc::driver::sys::CUresult;
use std::ptr;

impl State {
    /// Puts work on a stream.
    pub(crate) fn put(&mut self, stream: usize, work: Work) -> Result<(), CUresult> {
        self.stream(stream)?.put(work);
        if self.options.at_once { self.synchronize(stream) } else { Ok(()) }
    }

    /// The point that a stream reaches when everything now on it is done.
    pub(crate) fn point(&mut self, stream: usize) -> Result<Point, CUresult> {
        let number = self.stream(stream)?.end();
        Ok(Point { stream: if stream == 0 { current() } else { stream }, number })
    }

    /// Does all work on a stream.
    pub(crate) fn synchronize(&mut self, stream: usize) -> Result<(), CUresult> {
        let point = self.point(stream)?;
        self.run_to(point)
    }

    /// Does all work before a point.
    pub(crate) fn run_to(&mut self, point: Point) -> Result<(), CUresult> {
        while !self.is_past(point) {
            self.step(point.stream);
        }
        self.not_lost_at(point)
    }

    /// Does all work on all streams of a context.
    pub(crate) fn run_all(&mut self, context: usize) -> Result<(), CUresult> {
        let of_context = self.streams.iter().filter(|(_, stream)| stream.context == context);
        let streams: Vec<usize> = of_context.map(|(number, _)| *number).collect();
        for stream in streams {
            while self.streams.get(&stream).is_some_and(|of| !of.is_done()) {
                self.step(stream);
            }
        }
        self.not_lost(context)
    }

    /// Whether a point was reached. If not, takes one step towards it, unless the next work takes longer.
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
        self.streams.get(&point.stream).is_none_or(|stream| stream.is_past(point))
    }

    /// Whether any stream has work that touches these bytes.
    pub(crate) fn is_in_use(&self, start: u64, len: usize) -> bool {
        let meets = |(at, bytes): (u64, usize)| at < start + len as u64 && start < at + bytes.max(1) as u64;
        self.streams.values().flat_map(Stream::touches).any(meets)
    }

    /// Does the next piece of a stream's work.
    fn step(&mut self, stream: usize) {
        let next = self.streams.get_mut(&stream).and_then(|of| Some((of.context, of.take()?)));
        let Some((context, work)) = next else { return };
        self.work(context, work);
        if let Some(of) = self.streams.get_mut(&stream) {
            of.has_done();
        }
    }

    /// Whether work of a context can access these bytes; if not, this is noted, and the context lost.
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
        // SAFETY: for all of these: the memory exists, as checked above. Memory that is not the device's is the caller's, who must not
        // use it before the wait is over.
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
                Work::Free { start } => self.to_pools.extend(self.memory.remove(&start).as_ref().and_then(held)),
                Work::Wait(point) => _ = self.run_to(point),
                Work::Call { function, data } => function(data),
                Work::Fail(code) => self.lose(context, code, ""),
            }
        }
    }
}
