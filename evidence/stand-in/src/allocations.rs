//! Allocation and freeing of memory, which must be clear and not in use.

use crate::fault::About;
use crate::memory::{Kind, MEMORY, Memory};
use crate::state::{State, current};
use crate::work::Stream;
use cudarc::driver::sys::CUresult;
use std::collections::BTreeSet;

impl State {
    /// Allocates memory of a kind, in a context, and returns its start. Each device has its own, and so has the host.
    pub(crate) fn allocate(&mut self, kind: Kind, context: usize, len: usize) -> Result<u64, CUresult> {
        if len == 0 {
            return self.wrong("memory of no bytes is asked for");
        }
        let is_pinned = kind == Kind::Pinned;
        let same = |memory: &&Memory| {
            if is_pinned {
                memory.kind == Kind::Pinned
            } else {
                memory.kind != Kind::Pinned && memory.context == context
            }
        };
        let in_use: usize = self.memory.values().filter(same).map(|memory| memory.len).sum();
        let fits = in_use.saturating_add(len) <= MEMORY;
        let memory = fits.then(|| Memory::new(kind, context, len)).flatten();
        let memory = memory.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let start = memory.start;
        // This is not the memory that was there before.
        self.faults.excused.remove(&start);
        self.memory.insert(start, memory);
        Ok(start)
    }

    /// A call about this fails: what its caller had to do to some memory cannot be done.
    pub(crate) fn excuse(&mut self, about: About) {
        let of = |context: usize| self.memory.values().filter(move |memory| memory.context == context);
        let excused: Vec<u64> = match about {
            About::Nothing => vec![],
            About::Memory(byte) => self.memory_at(byte).map(|memory| memory.start).into_iter().collect(),
            About::Stream(stream) => self.touched_by(if stream == 0 { current() } else { stream }),
            About::Event(event) => {
                let point = self.events.get(&event).and_then(|event| event.point);
                point.map(|point| self.touched_by(point.stream)).unwrap_or_default()
            }
            // All of it: outside the context none of it can be waited for, cleared or freed.
            About::Context(context) => of(context).map(|memory| memory.start).collect(),
        };
        self.faults.excused.extend(excused);
    }

    /// What each memory holds when everything on all streams is done, if it holds anything, without repetitions.
    pub(crate) fn contents(&mut self) -> Vec<String> {
        let contexts: Vec<usize> = self.contexts.keys().copied().collect();
        // That of a lost context is not done.
        contexts.into_iter().for_each(|context| _ = self.run_all(context));
        self.memory.values().filter_map(held).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The starts of memory that a stream's work touches.
    fn touched_by(&self, stream: usize) -> Vec<u64> {
        let touched = self.streams.get(&stream).into_iter().flat_map(Stream::touches);
        touched.filter_map(|(start, _)| self.memory_at(start)).map(|memory| memory.start).collect()
    }

    /// Frees memory, which must be clear, unless it is from a pool, and unused; violations are noted.
    pub(crate) fn free(&mut self, start: u64, is_device: bool) -> Result<(), CUresult> {
        let memory = self.memory.get(&start).filter(|memory| (memory.kind != Kind::Pinned) == is_device);
        let Some((kind, context, len)) = memory.map(|memory| (memory.kind, memory.context, memory.len)) else {
            return self.wrong("memory is freed that is none");
        };
        self.not_lost(context)?;
        let is_excused = self.faults.excused.remove(&start);
        if !is_excused && self.is_in_use(start, len) {
            self.notes.push(format!("{kind:?} memory of {len} bytes is freed before what uses it is done"));
        }
        // As the driver does.
        self.run_all(context)?;
        let memory = self.memory.remove(&start).expect("found above");
        if !is_excused && kind != Kind::Pool && !memory.is_clear() {
            self.notes.push(format!("{kind:?} memory of {len} bytes is freed with something in it"));
        }
        Ok(())
    }
}

/// What memory holds, as a line; `None` for nothing.
pub(crate) fn held(memory: &Memory) -> Option<String> {
    let digest = memory.digest()?;
    Some(format!("{:?} memory of {} bytes with {digest:016x}", memory.kind, memory.len))
}
