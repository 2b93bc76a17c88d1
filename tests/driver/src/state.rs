//! What there is: contexts, each with the memory, streams, events and modules that were made in it; what was noted; and the call that
//! fails.

use crate::kernels::{Kernels, Loaded};
use crate::memory::{Kind, Memory};
use crate::work::{Point, Stream};
use cudarc::driver::sys::CUresult;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::CStr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What a test has chosen.
pub(crate) struct Options {
    pub(crate) devices: usize,
    /// Compute capability, as in `sm_80`: 80.
    pub(crate) architecture: i32,
    /// Whether work is done when it is put on a stream, not when something waits for it.
    pub(crate) at_once: bool,
    /// How many devices, one after the other, can have access to each other's memory: 1 for none.
    pub(crate) peers: usize,
    /// A device whose launches take this long, each.
    pub(crate) slow: Option<(usize, Duration)>,
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

/// The primary context of a device, by its [handle](context_of).
#[derive(Default)]
pub(crate) struct Context {
    /// How often it is retained.
    pub(crate) retained: usize,
    /// Why all calls in it fail.
    pub(crate) lost: Option<CUresult>,
    /// The contexts whose memory it may access.
    pub(crate) peers: BTreeSet<usize>,
    /// How many launches there were in it.
    pub(crate) launches: u64,
    /// When the last of them is done, on a slow device.
    busy_until: Option<Instant>,
}

/// An event, with the point of a stream that it was recorded at last.
#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub(crate) context: usize,
    pub(crate) point: Option<Point>,
}

/// A module that was loaded.
#[derive(Clone, Copy)]
pub(crate) struct Module {
    pub(crate) context: usize,
    pub(crate) kernel: &'static Loaded,
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
    /// By their handles; those that were retained once.
    pub(crate) contexts: BTreeMap<usize, Context>,
    /// By where it begins.
    pub(crate) memory: BTreeMap<u64, Memory>,
    /// A default stream has its context's handle.
    pub(crate) streams: HashMap<usize, Stream>,
    pub(crate) events: HashMap<usize, Event>,
    pub(crate) modules: HashMap<usize, Module>,
    pub(crate) functions: HashMap<usize, Function>,
    handles: usize,
    /// What no caller of the driver may do.
    pub(crate) notes: Vec<String>,
    /// What was there when its context was released for the last time.
    pub(crate) left: Vec<String>,
    /// Calls since a fault was asked for.
    pub(crate) calls: u64,
    pub(crate) fault: Option<Fault>,
    /// The call that failed, or took long.
    pub(crate) failed: Option<&'static CStr>,
    /// The context that it was made in.
    pub(crate) failed_in: usize,
    /// What the call that is being made fails with when its work is done: for launches only.
    pub(crate) fails_late: Option<CUresult>,
}

// SAFETY: pointers among what streams have to do are the callers', who promise that the driver may use them.
unsafe impl Send for State {}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    Mutex::new(State {
        options: Options { devices: 1, architecture: 80, at_once: false, peers: 1, slow: None },
        kernels: Kernels::default(),
        contexts: BTreeMap::new(),
        memory: BTreeMap::new(),
        streams: HashMap::new(),
        events: HashMap::new(),
        modules: HashMap::new(),
        functions: HashMap::new(),
        handles: 0,
        notes: Vec::new(),
        left: Vec::new(),
        calls: 0,
        fault: None,
        failed: None,
        failed_in: 0,
        fails_late: None,
    })
});

thread_local! {
    /// The context of a thread; 0 for none.
    pub(crate) static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The context of this thread.
pub(crate) fn current() -> usize {
    CURRENT.get()
}

/// The handle of a device's primary context.
pub(crate) fn context_of(device: i32) -> usize {
    device as usize + 1
}

pub(crate) fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call of the driver: counted, refused where it is the one that fails, and done.
pub(crate) fn call(name: &'static CStr, work: impl FnOnce(&mut State) -> Result<(), CUresult>) -> CUresult {
    call_of(name, current(), work)
}

/// The same of a call about this context, which is lost if the call fails by a fatal error.
pub(crate) fn call_of(
    name: &'static CStr,
    context: usize,
    work: impl FnOnce(&mut State) -> Result<(), CUresult>,
) -> CUresult {
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
        (state.failed, state.failed_in) = (Some(name), context);
        if is_late && name == c"cuLaunchKernelEx" {
            fails_late = Some(code);
        } else if code != CUresult::CUDA_SUCCESS {
            // What the driver finds out late, any call may return.
            if is_fatal(code) {
                state.lose(context, code, "");
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
    call(name, |state| match current() {
        0 => Err(CUresult::CUDA_ERROR_INVALID_CONTEXT),
        context if state.is_retained(context) => {
            state.not_lost(context)?;
            work(state)
        }
        _ => state.wrong("a context is used that was released"),
    })
}

/// The same of a call that waits for the context: on a slow device until all launches are done, while others may call.
pub(crate) fn call_that_waits(name: &'static CStr, work: impl FnOnce(&mut State) -> Result<(), CUresult>) -> CUresult {
    loop {
        let until = state().contexts.get(&current()).and_then(|context| context.busy_until);
        match until.map(|until| until.saturating_duration_since(Instant::now())) {
            Some(left) if !left.is_zero() => thread::sleep(left),
            _ => return call_in_context(name, work),
        }
    }
}

/// Whether the context cannot be used behind it.
pub(crate) fn is_fatal(code: CUresult) -> bool {
    matches!(code, CUresult::CUDA_ERROR_LAUNCH_FAILED | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)
}

impl State {
    pub(crate) fn not_lost(&self, context: usize) -> Result<(), CUresult> {
        self.contexts.get(&context).and_then(|context| context.lost).map_or(Ok(()), Err)
    }

    /// Notes what no caller may do, and refuses it.
    pub(crate) fn wrong<T>(&mut self, what: impl Into<String>) -> Result<T, CUresult> {
        self.notes.push(what.into());
        Err(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    pub(crate) fn is_retained(&self, context: usize) -> bool {
        self.contexts.get(&context).is_some_and(|context| context.retained > 0)
    }

    /// Whether a device can have access to the memory of another.
    pub(crate) fn can_access(&self, device: i32, peer: i32) -> bool {
        let group = |device: i32| device as usize / self.options.peers.max(1);
        device != peer && group(device) == group(peer)
    }

    /// A launch in a context: when it is done at the earliest.
    pub(crate) fn launched(&mut self, context: usize) -> Option<Instant> {
        let slow = self.options.slow.filter(|&(device, _)| context_of(device as i32) == context);
        let of = self.contexts.get_mut(&context)?;
        of.launches += 1;
        let (_, takes) = slow?;
        let now = Instant::now();
        of.busy_until = Some(of.busy_until.map_or(now, |until| until.max(now)) + takes);
        of.busy_until
    }

    /// A new handle.
    pub(crate) fn handle(&mut self) -> usize {
        self.handles += 1;
        0x1000 + 16 * self.handles
    }

    /// A stream that a caller names: 0 is the default stream of the current context.
    pub(crate) fn stream(&mut self, handle: usize) -> Result<&mut Stream, CUresult> {
        let number = if handle == 0 { current() } else { handle };
        match self.streams.get(&number).map(|stream| (stream.is_destroyed, stream.context)) {
            Some((false, context)) => self.not_lost(context)?,
            _ => return self.wrong("a stream is used that is none"),
        }
        Ok(self.streams.get_mut(&number).expect("found above"))
    }

    /// The memory that a byte is in.
    pub(crate) fn memory_at(&self, start: u64) -> Option<&Memory> {
        self.memory.range(..=start).next_back().map(|(_, memory)| memory)
    }

    /// Whether these bytes are in memory of a device, or pinned.
    pub(crate) fn has(&self, start: u64, len: usize) -> bool {
        self.memory_at(start).is_some_and(|memory| memory.has(start, len))
    }

    /// Whether work of a context may access the memory that this byte is in. Access to a peer's memory is not access to what is of a pool.
    pub(crate) fn reaches(&self, context: usize, start: u64) -> bool {
        self.memory_at(start).is_some_and(|memory| {
            let is_peer = self.contexts.get(&context).is_some_and(|of| of.peers.contains(&memory.context));
            memory.context == context || memory.kind == Kind::Pinned || memory.kind == Kind::Device && is_peer
        })
    }

    /// Whether these bytes of the host are pinned.
    pub(crate) fn is_pinned(&self, start: u64, len: usize) -> bool {
        self.memory_at(start).is_some_and(|memory| memory.kind == Kind::Pinned && memory.has(start, len))
    }

    /// Memory of a kind, in a context: where it begins. Each device has its own, and so has the host.
    pub(crate) fn allocate(&mut self, kind: Kind, context: usize, len: usize) -> Result<u64, CUresult> {
        if len == 0 {
            return self.wrong("memory of no bytes is asked for");
        }
        let is_pinned = kind == Kind::Pinned;
        let same = |memory: &&Memory| match is_pinned {
            true => memory.kind == Kind::Pinned,
            false => memory.kind != Kind::Pinned && memory.context == context,
        };
        let in_use: usize = self.memory.values().filter(same).map(|memory| memory.len).sum();
        let fits = in_use.saturating_add(len) <= crate::api::memory::MEMORY;
        let memory = fits.then(|| Memory::new(kind, context, len)).flatten();
        let memory = memory.ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?;
        let start = memory.start;
        self.memory.insert(start, memory);
        Ok(start)
    }

    /// Whether memory of a context may be freed in use, or with something in it: what failed there was to wait for it, to clear it, to free
    /// it, or to enter the context. A fatal error needs no excuse: behind it nothing of the context is freed.
    fn is_excused(&self, context: usize) -> bool {
        const EXCUSES: [&str; 5] = ["Synchronize", "Query", "Memset", "Free", "SetCurrent"];
        let fails = self.fault.is_some_and(|fault| fault.code != CUresult::CUDA_SUCCESS);
        let name = self.failed.map(CStr::to_string_lossy).unwrap_or_default();
        fails && self.failed_in == context && EXCUSES.iter().any(|part| name.contains(part))
    }

    /// Frees memory: which is clear, unless it is of a pool, and which nothing uses; what is not is noted.
    pub(crate) fn free(&mut self, start: u64, is_device: bool) -> Result<(), CUresult> {
        let memory = self.memory.get(&start).filter(|memory| (memory.kind != Kind::Pinned) == is_device);
        let Some((kind, context, len)) = memory.map(|memory| (memory.kind, memory.context, memory.len)) else {
            return self.wrong("memory is freed that is none");
        };
        self.not_lost(context)?;
        if !self.is_excused(context) && self.is_in_use(start, len) {
            self.notes.push(format!("{kind:?} memory of {len} bytes is freed before what uses it is done"));
        }
        // As the driver does.
        self.run_all(context)?;
        let memory = self.memory.remove(&start).expect("found above");
        if !self.is_excused(context) && kind != Kind::Pool && !memory.is_clear() {
            self.notes.push(format!("{kind:?} memory of {len} bytes is freed with something in it"));
        }
        Ok(())
    }

    /// Frees all that was made in a context, and notes it, unless the context was lost. Streams that were destroyed are done.
    pub(crate) fn end(&mut self, context: usize) {
        if self.run_all(context).is_ok() {
            let of = self.memory.values().filter(|memory| memory.context == context);
            self.left.extend(of.map(|memory| format!("{:?} memory of {} bytes", memory.kind, memory.len)));
            let is_left = |(number, stream): (&usize, &Stream)| {
                *number != context && stream.context == context && !stream.is_destroyed
            };
            let streams = self.streams.iter().filter(|&stream| is_left(stream)).count();
            let events = self.events.values().filter(|event| event.context == context).count();
            let modules = self.modules.values().filter(|module| module.context == context).count();
            for (what, how_many) in [("streams", streams), ("events", events), ("modules", modules)] {
                if how_many > 0 {
                    self.left.push(format!("{how_many} {what} of device {}", context - 1));
                }
            }
        }
        self.memory.retain(|_, memory| memory.context != context);
        self.streams.retain(|_, stream| stream.context != context);
        self.events.retain(|_, event| event.context != context);
        self.modules.retain(|_, module| module.context != context);
        self.functions.retain(|_, function| self.modules.contains_key(&function.module));
        for other in self.contexts.values_mut() {
            other.peers.remove(&context);
        }
        // It stays lost as long as the process lives.
        if let Some(of) = self.contexts.get_mut(&context) {
            *of = Context { lost: of.lost, launches: of.launches, ..Context::default() };
        }
    }

    /// Begins a context that is retained for the first time, or again.
    pub(crate) fn begin(&mut self, context: usize) {
        self.contexts.entry(context).or_default().retained += 1;
        self.streams.entry(context).or_insert_with(|| Stream::new(context));
    }
}
