//! All state: contexts, each with the memory, streams, events and modules that were created in it; and notes.

use crate::fault::Faults;
use crate::kernels::{Kernels, Loaded};
use crate::memory::{Kind, Memory};
use crate::work::{Point, Stream};
use cudarc::driver::sys::CUresult;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A test's choices.
pub(crate) struct Options {
    pub(crate) devices: usize,
    /// Compute capability, as in `sm_80`: 80.
    pub(crate) architecture: i32,
    /// Whether work runs when it is put on a stream, not when something waits for it.
    pub(crate) at_once: bool,
    /// How many consecutive devices can have access to each other's memory: 1 for none.
    pub(crate) peers: usize,
    /// A device each of whose launches takes this long.
    pub(crate) slow: Option<(usize, Duration)>,
    /// A device that reports that it is so fast that others are negligible.
    pub(crate) fast: Option<usize>,
}

/// The primary context of a device, by its [handle](context_of).
#[derive(Default)]
pub(crate) struct Context {
    /// How many times it is retained.
    pub(crate) retained: usize,
    /// Why all calls in it fail.
    pub(crate) lost: Option<CUresult>,
    /// The contexts whose memory it may access.
    pub(crate) peers: BTreeSet<usize>,
    /// The number of launches in it.
    pub(crate) launches: u64,
    /// When the last of them completes, on a slow device.
    pub(crate) busy_until: Option<Instant>,
}

/// An event, with the point of a stream at which it was last recorded.
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
    /// The module that it belongs to.
    pub(crate) module: usize,
    /// Shared memory that a launch may ask for, in bytes.
    pub(crate) shared_bytes: u32,
}

pub(crate) struct State {
    pub(crate) options: Options,
    pub(crate) kernels: Kernels,
    /// By handle; those that were ever retained.
    pub(crate) contexts: BTreeMap<usize, Context>,
    /// By its start.
    pub(crate) memory: BTreeMap<u64, Memory>,
    /// A default stream has its context's handle.
    pub(crate) streams: HashMap<usize, Stream>,
    pub(crate) events: HashMap<usize, Event>,
    pub(crate) modules: HashMap<usize, Module>,
    pub(crate) functions: HashMap<usize, Function>,
    handles: usize,
    /// Violations of the driver's rules by its caller.
    pub(crate) notes: Vec<String>,
    /// What was left when its context was released for the last time.
    pub(crate) left: Vec<String>,
    /// What memory held that went back to a pool.
    pub(crate) to_pools: BTreeSet<String>,
    pub(crate) faults: Faults,
}

// SAFETY: pointers in the work on streams are the callers', who promise that the driver may use them.
unsafe impl Send for State {}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    Mutex::new(State {
        options: Options { devices: 1, architecture: 80, at_once: false, peers: 1, slow: None, fast: None },
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
        to_pools: BTreeSet::new(),
        faults: Faults::default(),
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

impl State {
    pub(crate) fn not_lost(&self, context: usize) -> Result<(), CUresult> {
        self.contexts.get(&context).and_then(|context| context.lost).map_or(Ok(()), Err)
    }

    /// Notes a violation, and refuses it.
    pub(crate) fn wrong<T>(&mut self, what: impl Into<String>) -> Result<T, CUresult> {
        self.notes.push(what.into());
        Err(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    pub(crate) fn is_retained(&self, context: usize) -> bool {
        self.contexts.get(&context).is_some_and(|context| context.retained > 0)
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

    /// The memory that contains a byte.
    pub(crate) fn memory_at(&self, start: u64) -> Option<&Memory> {
        self.memory.range(..=start).next_back().map(|(_, memory)| memory)
    }

    /// Whether these bytes are in memory of a device, or pinned.
    pub(crate) fn has(&self, start: u64, len: usize) -> bool {
        self.memory_at(start).is_some_and(|memory| memory.has(start, len))
    }

    /// Whether work of a context may access the memory that contains this byte. Access to a peer's memory does not include memory from a
    /// pool.
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

    /// From now on all calls in a context fail, and no more of its work runs. The reason is noted, unless a test has asked for it.
    pub(crate) fn lose(&mut self, context: usize, code: CUresult, what: &str) {
        if !what.is_empty() {
            self.notes.push(what.into());
        }
        if let Some(of) = self.contexts.get_mut(&context) {
            of.lost.get_or_insert(code);
        }
        for stream in self.streams.values_mut().filter(|stream| stream.context == context) {
            stream.abandon();
        }
    }
}
