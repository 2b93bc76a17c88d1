//! What there is: contexts, memory, streams, events, modules; what was noted; and the call that fails.

use crate::kernels::{Kernels, Loaded};
use crate::memory::{Kind, Memory};
use crate::work::{Point, Stream};
use cudarc::driver::sys::CUresult;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What a test has chosen.
pub(crate) struct Options {
    pub(crate) devices: usize,
    /// Compute capability, as in `sm_80`: 80.
    pub(crate) architecture: i32,
    /// Whether work is done when it is put on a stream, not when something waits for it.
    pub(crate) at_once: bool,
}

/// The call that fails, or takes long.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    /// Its number: 0 is the next.
    pub(crate) call: u64,
    /// What it returns; `CUDA_SUCCESS` where it only takes long.
    pub(crate) code: CUresult,
    /// Whether a launch succeeds, and fails when it is done.
    pub(crate) is_late: bool,
    pub(crate) takes: Duration,
}

/// A function of a module.
pub(crate) struct Function {
    pub(crate) kernel: &'static Loaded,
    pub(crate) entry: usize,
    /// The module that it is of.
    pub(crate) module: usize,
    /// Shared memory that a launch may ask for, in bytes.
    pub(crate) shared_bytes: u32,
}

pub(crate) struct State {
    pub(crate) options: Options,
    pub(crate) kernels: Kernels,
    /// How often each device's context is retained.
    pub(crate) contexts: HashMap<i32, usize>,
    /// By where it begins.
    pub(crate) memory: BTreeMap<u64, Memory>,
    /// 0 is the default stream.
    pub(crate) streams: HashMap<usize, Stream>,
    /// Each with the point of a stream that it was recorded at last.
    pub(crate) events: HashMap<usize, Option<Point>>,
    pub(crate) modules: HashMap<usize, &'static Loaded>,
    pub(crate) functions: HashMap<usize, Function>,
    handles: usize,
    /// Why all calls fail.
    pub(crate) lost: Option<CUresult>,
    /// What no caller of the driver may do.
    pub(crate) notes: Vec<String>,
    /// What was there when the last context was released.
    pub(crate) left: Vec<String>,
    /// Calls since a fault was asked for.
    pub(crate) calls: u64,
    pub(crate) fault: Option<Fault>,
    /// The call that failed, or took long.
    pub(crate) failed: Option<&'static CStr>,
    /// What the call that is being made fails with when its work is done: for launches only.
    pub(crate) fails_late: Option<CUresult>,
}

// SAFETY: pointers among what streams have to do are the callers', who promise that the driver may use them.
unsafe impl Send for State {}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    Mutex::new(State {
        options: Options { devices: 1, architecture: 80, at_once: false },
        kernels: Kernels::default(),
        contexts: HashMap::new(),
        memory: BTreeMap::new(),
        streams: HashMap::new(),
        events: HashMap::new(),
        modules: HashMap::new(),
        functions: HashMap::new(),
        handles: 0,
        lost: None,
        notes: Vec::new(),
        left: Vec::new(),
        calls: 0,
        fault: None,
        failed: None,
        fails_late: None,
    })
});

thread_local! {
    /// The context of a thread; 0 for none.
    pub(crate) static CURRENT: Cell<usize> = const { Cell::new(0) };
}

pub(crate) fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call of the driver: counted, refused where it is the one that fails, and done.
pub(crate) fn call(name: &'static CStr, work: impl FnOnce(&mut State) -> Result<(), CUresult>) -> CUresult {
    let fault = {
        let mut state = state();
        let now = state.calls;
        state.calls += 1;
        state.fault.filter(|fault| fault.call == now)
    };
    let mut fails_late = None;
    if let Some(Fault { code, is_late, takes, .. }) = fault {
        thread::sleep(takes);
        let mut state = state();
        state.failed = Some(name);
        if is_late && name == c"cuLaunchKernelEx" {
            fails_late = Some(code);
        } else if code != CUresult::CUDA_SUCCESS {
            // What the driver finds out late, any call may return.
            if is_fatal(code) {
                state.lost.get_or_insert(code);
            }
            return code;
        }
    }
    let mut state = state();
    // Under the same lock as the work, so that it is this call's.
    state.fails_late = fails_late;
    match work(&mut state) {
        Ok(()) => CUresult::CUDA_SUCCESS,
        Err(code) => code,
    }
}

/// The same of a call that needs a context.
pub(crate) fn call_in_context(name: &'static CStr, work: impl FnOnce(&mut State) -> Result<(), CUresult>) -> CUresult {
    call(name, |state| {
        state.not_lost()?;
        match CURRENT.get() {
            0 => Err(CUresult::CUDA_ERROR_INVALID_CONTEXT),
            context if state.is_retained(context) => work(state),
            _ => state.wrong("a context is used that was released"),
        }
    })
}

/// Whether the context cannot be used behind it.
pub(crate) fn is_fatal(code: CUresult) -> bool {
    matches!(code, CUresult::CUDA_ERROR_LAUNCH_FAILED | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)
}

impl State {
    pub(crate) fn not_lost(&self) -> Result<(), CUresult> {
        self.lost.map_or(Ok(()), Err)
    }

    /// Notes what no caller may do, and refuses it.
    pub(crate) fn wrong<T>(&mut self, what: impl Into<String>) -> Result<T, CUresult> {
        self.notes.push(what.into());
        Err(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    /// Whether a context, by its handle, is retained.
    pub(crate) fn is_retained(&self, context: usize) -> bool {
        let device = context.wrapping_sub(1) as i32;
        self.contexts.get(&device).is_some_and(|retained| *retained > 0)
    }

    /// A new handle.
    pub(crate) fn handle(&mut self) -> usize {
        self.handles += 1;
        0x1000 + 16 * self.handles
    }

    pub(crate) fn stream(&mut self, handle: usize) -> Result<&mut Stream, CUresult> {
        if handle == 0 {
            return Ok(self.streams.entry(0).or_default());
        }
        if self.streams.get(&handle).is_none_or(|stream| stream.is_destroyed) {
            return self.wrong("a stream is used that is none");
        }
        Ok(self.streams.get_mut(&handle).expect("found above"))
    }

    /// The memory that a byte is in.
    pub(crate) fn memory_at(&self, start: u64) -> Option<&Memory> {
        self.memory.range(..=start).next_back().map(|(_, memory)| memory)
    }

    /// Whether these bytes are in memory of the device, or pinned.
    pub(crate) fn has(&self, start: u64, len: usize) -> bool {
        self.memory_at(start).is_some_and(|memory| memory.has(start, len))
    }

    /// Whether these bytes of the host are pinned.
    pub(crate) fn is_pinned(&self, start: u64, len: usize) -> bool {
        self.memory_at(start).is_some_and(|memory| memory.kind == Kind::Pinned && memory.has(start, len))
    }

    /// Memory of a kind: where it begins.
    pub(crate) fn allocate(&mut self, kind: Kind, len: usize) -> Result<u64, CUresult> {
        if len == 0 {
            return self.wrong("memory of no bytes is asked for");
        }
        let in_use: usize = self.memory.values().map(|memory| memory.len).sum();
        let fits = in_use.saturating_add(len) <= crate::api::memory::MEMORY;
        let memory = fits.then(|| Memory::new(kind, len)).flatten().ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let start = memory.start;
        self.memory.insert(start, memory);
        Ok(start)
    }

    /// Whether memory may be freed in use, or with something in it: what failed was to wait for it, to clear it, to free it, or to enter
    /// its context. A fatal error needs no excuse: behind it nothing is freed.
    fn is_excused(&self) -> bool {
        const EXCUSES: [&str; 5] = ["Synchronize", "Query", "Memset", "Free", "SetCurrent"];
        let fails = self.fault.is_some_and(|fault| fault.code != CUresult::CUDA_SUCCESS);
        let name = self.failed.map(CStr::to_string_lossy).unwrap_or_default();
        fails && EXCUSES.iter().any(|part| name.contains(part))
    }

    /// Frees memory: which is clear, unless it is of a pool, and which nothing uses; what is not is noted.
    pub(crate) fn free(&mut self, start: u64, is_device: bool) -> Result<(), CUresult> {
        let memory = self.memory.get(&start).filter(|memory| (memory.kind != Kind::Pinned) == is_device);
        let Some((kind, len)) = memory.map(|memory| (memory.kind, memory.len)) else {
            return self.wrong("memory is freed that is none");
        };
        if !self.is_excused() && self.is_in_use(start, len) {
            self.notes.push(format!("{kind:?} memory of {len} bytes is freed before what uses it is done"));
        }
        // As the driver does.
        self.run_all()?;
        let memory = self.memory.remove(&start).expect("found above");
        if !self.is_excused() && kind != Kind::Pool && !memory.is_clear() {
            self.notes.push(format!("{kind:?} memory of {len} bytes is freed with something in it"));
        }
        Ok(())
    }

    /// Frees all there is, and notes it, unless the context was lost. Streams that were destroyed are done.
    pub(crate) fn end(&mut self) {
        if self.run_all().is_ok() {
            let kinds = self.memory.values().map(|memory| format!("{:?} memory of {} bytes", memory.kind, memory.len));
            self.left.extend(kinds);
            let streams = self.streams.iter().filter(|(handle, stream)| **handle != 0 && !stream.is_destroyed).count();
            for (what, how_many) in
                [("streams", streams), ("events", self.events.len()), ("modules", self.modules.len())]
            {
                if how_many > 0 {
                    self.left.push(format!("{how_many} {what}"));
                }
            }
        }
        self.memory.clear();
        self.streams.clear();
        self.events.clear();
        self.modules.clear();
        self.functions.clear();
    }
}
