//! One GPU, or several that share the work of a call: the open CUDA backend.

use crate::backend::cuda::commands::Span;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_data::DeviceCipher;
use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::driver;
use crate::backend::cuda::memory::pinned::Pinned;
use crate::backend::cuda::several::group_key::GroupKey;
use crate::backend::device::key::KeyOnDevice;
use crate::backend::device::one_kernel;
use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::exec::at_once::at_once;
use crate::exec::backend::{HostMemory, Opened, Settings};
use crate::exec::call::Call;
use crate::exec::choice::Kernels;
use crate::op::buffers::Access;
use crate::op::ctr::Ctr;
use crate::op::kernels::KernelsNeeded;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::{Manifest, Printed};
use aes_bitslice_core::mode::Mode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How the work of a call is shared out to several GPUs. A GPU that finishes first takes over part of what the others
/// have left, so this determines where a call begins, not where it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Shares {
    /// Equal shares.
    Equal,
    /// By multiprocessors and clock, as the driver reports them.
    #[default]
    Rated,
    /// By each GPU's speed in a short test when the engine is opened: some milliseconds of CTR on its own memory, all
    /// at the same time.
    Measured,
}

/// GPUs that share the work of a call; at least one.
pub(crate) struct Group {
    pub(crate) members: Vec<Member>,
}

/// A GPU of a group.
pub(crate) struct Member {
    pub(crate) ordinal: usize,
    pub(crate) device: Arc<Device>,
    /// Its share of the work, in proportion to the others.
    pub(crate) weight: f64,
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
        let devices = ordinals.iter().map(|&ordinal| Ok((ordinal, Arc::new(Device::open(ordinal)?))));
        let devices = devices.collect::<Result<Vec<_>, Error>>()?;
        let weights = match shares {
            Shares::Equal => vec![1.0; devices.len()],
            Shares::Rated => devices.iter().map(|(_, device)| device.rating()).collect(),
            Shares::Measured => measured(&devices)?,
        };
        let member = |((ordinal, device), weight)| Member { ordinal, device, weight };
        Ok(Self { members: devices.into_iter().zip(weights).map(member).collect() })
    }

    /// Opens all GPUs.
    pub(crate) fn open_all() -> Result<Self, Error> {
        Self::open(&(0..driver::count()?).collect::<Vec<_>>(), Shares::default())
    }

    /// The GPU, if there is only one.
    pub(crate) fn sole(&self) -> Option<&Member> {
        match self.members.as_slice() {
            [member] => Some(member),
            _ => None,
        }
    }

    /// The GPU that answers questions about all of them.
    pub(crate) fn first(&self) -> &Arc<Device> {
        &self.members[0].device
    }

    /// A key on each of them.
    fn key_on(
        &self,
        settings: Settings,
        on: impl Fn(&Arc<Device>) -> Result<DeviceKey, Error>,
    ) -> Result<GroupKey, Error> {
        let keys = self.members.iter().map(|member| on(&member.device)).collect::<Result<_, _>>()?;
        let weights = self.members.iter().map(|member| member.weight).collect();
        Ok(GroupKey::new(keys, weights, settings.transfers))
    }
}

/// The number of submitted calls that run at the same time on each GPU.
const SUBMITTED_AT_ONCE: usize = 4;

impl Opened for Group {
    type Key = GroupKey;

    fn backend(&self) -> Backend {
        self.sole().map_or(Backend::CudaAll, |member| Backend::Cuda { ordinal: member.ordinal })
    }

    fn description(&self) -> String {
        let name = |member: &Member| format!("{} (CUDA {})", member.device.name, member.ordinal);
        self.members.iter().map(name).collect::<Vec<_>>().join(" and ")
    }

    fn supports(&self, kernels: KernelsNeeded) -> bool {
        kernels.exist() && self.members.iter().all(|member| member.device.supports(kernels))
    }

    fn is_preferred(&self, mode: Mode, key_bits: KeyBits, bytes: u64) -> bool {
        self.first().tuning.prefers_cuda(mode, key_bits, bytes)
    }

    fn calls_at_once(&self) -> usize {
        SUBMITTED_AT_ONCE * self.members.len()
    }

    fn host_memory(&self, len: usize) -> Result<Option<Box<dyn HostMemory>>, Error> {
        self.first().enter()?;
        Ok(Some(Box::new(Pinned::new(self.first().context(), len)?)))
    }

    fn key(&self, key: &Key, settings: Settings) -> Result<GroupKey, Error> {
        self.key_on(settings, |device| {
            device.enter()?;
            Ok(DeviceKey::with_stored(device.clone(), key, settings.kernels))
        })
    }

    fn compiles(&self) -> Option<(Dialect, Layout)> {
        Some((Dialect::Cuda, Layout::Column))
    }

    fn kernel(&self, printed: &Printed, key: Option<&Key>, settings: Settings) -> Result<GroupKey, Error> {
        self.key_on(settings, |device| {
            device.enter()?;
            let compile = |manifest: &Manifest, source: &str| device.compile(manifest, source);
            let (kernel, keys) = one_kernel::compiled(&device.slots, printed, key, compile)?;
            Ok(DeviceKey::with_kernel(device.clone(), kernel, keys))
        })
    }
}

/// The speed of each GPU while all of them work: bytes a second of CTR with the bitsliced kernel.
fn measured(devices: &[(usize, Arc<Device>)]) -> Result<Vec<f64>, Error> {
    /// Bytes of a run.
    const BYTES: usize = 64 << 20;
    const RUNS: u32 = 8;
    let key = Key::generate(KeyBits::Aes128)?;
    let measure = |device: &Arc<Device>| -> Result<f64, Error> {
        device.enter()?;
        let key = DeviceKey::with_stored(device.clone(), &key, Kernels::Bitsliced);
        key.prepare(Mode::Ctr, None)?;
        let call = Call::without_data(&DeviceCipher::new(&key, None), Ctr::from_block(0))?;
        let mut slot = device.slots.take(BYTES)?;
        let len = slot.len();
        let span = Span::in_place(Access::Maps, slot.room(0, len), len as u64);
        let mut run = |runs: u32| -> Result<Duration, Error> {
            let start = Instant::now();
            for _ in 0..runs {
                // SAFETY: the span is the slot's buffer, which outlives the wait.
                unsafe { key.launch(slot.queue(), span, &call, Mode::Ctr, None) }?;
            }
            slot.wait()?;
            Ok(start.elapsed())
        };
        // A first run raises the clocks.
        run(RUNS)?;
        Ok(span.len as f64 * f64::from(RUNS) / run(RUNS)?.as_secs_f64().max(1e-9))
    };
    at_once(devices, |(_, device)| measure(device)).into_iter().collect()
}
