//! One GPU, or several that share the work of a call, and a key on all of them.

use super::device_key::DeviceKey;
use super::pool::Slot;
use super::transfers::Transfers;
use super::{Device, Kernels, driver};
use crate::work::Work;
use crate::{Error, Key, KeyBits, Mode};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How the work of a call is shared out to several GPUs. Whoever is done before the others takes from what they have left, so
/// that it says where a call begins, not where it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Shares {
    /// To all the same.
    Equal,
    /// By multiprocessors and clock, as the driver tells them.
    #[default]
    Rated,
    /// By what each does in a short test when the engine is opened: some milliseconds of CTR on its own memory, all at the
    /// same time.
    Measured,
}

/// GPUs that share the work of a call; one at least.
pub(crate) struct Group {
    members: Vec<Member>,
}

/// One of them.
pub(crate) struct Member {
    pub(crate) ordinal: usize,
    pub(crate) device: Arc<Device>,
    /// How much it gets of the work, beside the others.
    pub(super) weight: f64,
}

impl Group {
    /// Opens the GPUs with these numbers.
    pub(crate) fn open(ordinals: &[usize], shares: Shares) -> Result<Self, Error> {
        let bad = |what: String| Err(Error::BadDevices { what });
        if ordinals.is_empty() {
            return bad("none is given".into());
        }
        if let Some(twice) = ordinals.iter().enumerate().find(|&(i, ordinal)| ordinals[..i].contains(ordinal)) {
            return bad(format!("{} is given twice", twice.1));
        }
        let devices = ordinals.iter().map(|&ordinal| Ok((ordinal, super::open(ordinal)?)));
        let devices = devices.collect::<Result<Vec<_>, Error>>()?;
        let weights = match shares {
            Shares::Equal => vec![1.0; devices.len()],
            Shares::Rated => devices.iter().map(|(_, device)| device.rating()).collect(),
            Shares::Measured => measured(&devices)?,
        };
        let member = |((ordinal, device), weight)| Member { ordinal, device, weight };
        Ok(Self { members: devices.into_iter().zip(weights).map(member).collect() })
    }

    /// All GPUs that there are.
    pub(crate) fn open_all() -> Result<Self, Error> {
        Self::open(&(0..driver::count()?).collect::<Vec<_>>(), Shares::default())
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The GPU, if it is one.
    pub(crate) fn sole(&self) -> Option<&Member> {
        match self.members.as_slice() {
            [member] => Some(member),
            _ => None,
        }
    }

    /// A key on each of them.
    pub(crate) fn key(
        &self,
        transfers: Transfers,
        on: impl Fn(&Arc<Device>) -> Result<DeviceKey, Error>,
    ) -> Result<GroupKey, Error> {
        let keys = self.members.iter().map(|member| on(&member.device)).collect::<Result<_, _>>()?;
        let weights = self.members.iter().map(|member| member.weight).collect();
        Ok(GroupKey { keys, weights, transfers, calls: AtomicUsize::new(0) })
    }
}

/// A key on each GPU of a group.
pub(crate) struct GroupKey {
    keys: Vec<DeviceKey>,
    weights: Vec<f64>,
    transfers: Transfers,
    /// Calls on host memory so far.
    calls: AtomicUsize,
}

impl GroupKey {
    pub(crate) fn keys(&self) -> &[DeviceKey] {
        &self.keys
    }

    /// Loads every kernel that calls of this mode may take, on all GPUs, unless that was done before. One that is known to be
    /// lost is told of first: others may give its error for theirs.
    pub(super) fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.keys.iter().try_for_each(|key| key.device().enter())?;
        self.keys.iter().try_for_each(|key| key.prepare(mode, None))
    }

    /// How much each gets of the work, beside the others.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    pub(super) fn transfers(&self) -> Transfers {
        self.transfers
    }

    /// A number for a call, one after the other.
    pub(super) fn next_call(&self) -> usize {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

/// How fast each GPU is, all of them working at the same time: the bytes a second of CTR by the bitsliced kernel.
fn measured(devices: &[(usize, Arc<Device>)]) -> Result<Vec<f64>, Error> {
    /// Bytes of a run.
    const BYTES: usize = 64 << 20;
    const RUNS: u32 = 8;
    let key = Key::generate(KeyBits::Aes128)?;
    let measure = |device: &Arc<Device>| -> Result<f64, Error> {
        let key = device.cipher(&key, Kernels::Bitsliced)?;
        key.prepare(Mode::Ctr, None)?;
        let mut slot = Slot::take(device, BYTES)?;
        let span = slot.whole();
        let mut run = |runs: u32| -> Result<Duration, Error> {
            let start = Instant::now();
            for _ in 0..runs {
                // SAFETY: the span is the slot's buffer, which outlives the wait.
                unsafe { key.launch(slot.stream(), span, Work::Ctr { counter: 0, skip: 0 }, None) }?;
            }
            slot.wait()?;
            Ok(start.elapsed())
        };
        // Clocks rise.
        run(RUNS)?;
        Ok(span.len as f64 * f64::from(RUNS) / run(RUNS)?.as_secs_f64().max(1e-9))
    };
    thread::scope(|scope| {
        let threads: Vec<_> = devices.iter().map(|(_, device)| scope.spawn(move || measure(device))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        threads.into_iter().map(join).collect()
    })
}
