//! A device that was opened: its context, its kernels, its health, and memory kept ready for data from the host.

use super::image::Image;
use super::kernel::Kernel;
use super::pair::SideStream;
use super::pinned::Pinned;
use super::pool::Pool;
use super::round_keys::RoundKeys;
use super::{Choice, DeviceKey, Kernels, Tuning, driver};
use crate::{Error, Key, known_answer};
use aes_bitslice_gen::basis::Basis;
use aes_bitslice_gen::emit::{ExpandedKey, Manifest};
use aes_bitslice_gen::kernel::Mode;
use cudarc::driver::{CudaContext, DriverError, result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A CUDA device that was opened.
pub(crate) struct Device {
    context: Arc<CudaContext>,
    name: String,
    /// Compute capability, as in `sm_90`: 90.
    architecture: u32,
    multiprocessors: u32,
    clock_khz: u32,
    /// The stored kernels for this device.
    stored: HashMap<(Mode, Stored), &'static StoredKernel>,
    kernels: Mutex<HashMap<(Mode, Stored), Arc<Kernel>>>,
    /// Held while a kernel is loaded and tested. Not `kernels`: the test waits for a slot, and whoever has one launches, and
    /// looks there.
    loading: Mutex<()>,
    /// The first error that left the context unusable.
    poison: OnceLock<String>,
    tuning: Tuning,
    /// Slots for data from the host.
    pub(super) pool: Pool,
    /// Streams for the second kernel of a pair, between calls.
    pub(super) side_streams: Mutex<Vec<SideStream>>,
}

impl Device {
    pub(super) fn open(ordinal: usize) -> Result<Self, Error> {
        let info = driver::usable(ordinal)?;
        let context = CudaContext::new(ordinal).map_err(|e| Error::CudaUnavailable {
            what: format!("{} does not open ({})", info.name, driver::name(e)),
            help: "see whether another process holds it (`nvidia-smi`), or use the backend `cpu`".into(),
        })?;
        let (major, minor) = info.compute_capability;
        let tuning = Tuning::of(&info);
        Ok(Self {
            context,
            name: info.name,
            architecture: 10 * major + minor,
            multiprocessors: info.multiprocessors,
            clock_khz: info.clock_khz,
            stored: stored_for(info.shared_memory_bytes),
            kernels: Mutex::default(),
            loading: Mutex::default(),
            poison: OnceLock::new(),
            tuning,
            pool: Pool::default(),
            side_streams: Mutex::default(),
        })
    }

    /// The device's name, as its driver tells it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What is fastest on it.
    pub(crate) fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    /// Compute capability, as in `sm_90`: 90.
    pub(super) fn architecture(&self) -> u32 {
        self.architecture
    }

    /// How many multiprocessors the device has.
    pub(super) fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// How fast it ought to be, beside others.
    pub(super) fn rating(&self) -> f64 {
        f64::from(self.multiprocessors.max(1)) * f64::from(self.clock_khz.max(1))
    }

    /// The context that buffers and streams must belong to.
    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Refuses if an earlier error left the context unusable, and makes the context this thread's.
    pub(super) fn enter(&self) -> Result<(), Error> {
        match self.poison.get() {
            Some(cause) => Err(Error::Poisoned { cause: cause.clone() }),
            None => self.call("cuCtxSetCurrent", make_current(&self.context)),
        }
    }

    /// The result of a driver call, in our words; remembers an error that is fatal to the context.
    pub(super) fn call<T>(&self, call: &str, result: Result<T, DriverError>) -> Result<T, Error> {
        result.map_err(|e| {
            if driver::is_sticky(e) {
                let _ = self.poison.set(format!("{call}: {}", driver::name(e)));
            }
            driver::error(call, e)
        })
    }

    /// Pinned host memory.
    pub(crate) fn pinned(&self, len: usize) -> Result<Pinned, Error> {
        self.enter()?;
        Pinned::new(self, len)
    }

    /// A key on this device, for the kernels that are allowed.
    pub(crate) fn cipher(self: &Arc<Self>, key: &Key, kernels: Kernels) -> Result<DeviceKey, Error> {
        self.enter()?;
        Ok(DeviceKey::with_stored(self.clone(), key, kernels))
    }

    /// Whether there are kernels for a choice that run on this device.
    pub(super) fn has(&self, mode: Mode, choice: Choice) -> bool {
        match choice {
            Choice::Bitsliced { .. } => true,
            Choice::Tbox => self.find(mode, Stored::Tbox).is_some(),
            Choice::Pair { .. } => Stored::kinds(choice).iter().all(|&kind| self.find(mode, kind).is_some()),
        }
    }

    /// A stored kernel for keys given at launch, loaded and tested at its first use; none if there is none for this
    /// device.
    pub(super) fn stored(&self, mode: Mode, kind: Stored) -> Result<Option<Arc<Kernel>>, Error> {
        let kernels = || self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = || kernels().get(&(mode, kind)).cloned();
        if let Some(kernel) = loaded() {
            return Ok(Some(kernel));
        }
        let Some(stored) = self.find(mode, kind) else { return Ok(None) };
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = loaded() {
            return Ok(Some(kernel));
        }
        let kernel = Kernel::load(self, &stored.manifest, &Image::of_stored(self, stored.kernel)?)?;
        if matches!(kind, Stored::BitsBeside | Stored::TboxBeside) {
            kernel.share_multiprocessors(self)?;
        }
        for (key, expected) in known_answer::keys(mode) {
            let key = ExpandedKey::new(&key).expect("a key length");
            kernel.self_test(self, Some(&stored.round_keys(mode, &key)), |answer| answer == expected)?;
        }
        let kernel = Arc::new(kernel);
        kernels().insert((mode, kind), kernel.clone());
        Ok(Some(kernel))
    }

    /// The round keys that a stored kernel is launched with; none if there is no such kernel for this device.
    pub(super) fn round_keys(&self, mode: Mode, kind: Stored, key: &ExpandedKey) -> Option<RoundKeys> {
        self.find(mode, kind).map(|stored| stored.round_keys(mode, key))
    }

    /// The stored kernel of a mode and a kind for this device, if there is one.
    fn find(&self, mode: Mode, kind: Stored) -> Option<&'static StoredKernel> {
        self.stored.get(&(mode, kind)).copied()
    }
}

/// For each mode and kind the first stored kernel that fits into so much shared memory.
fn stored_for(shared_memory: u32) -> HashMap<(Mode, Stored), &'static StoredKernel> {
    let find = |mode: Mode, kind: Stored| {
        let named = |name: &&str| {
            let name = format!("aes-{mode}-{name}");
            let fits = |manifest: &Manifest| manifest.shared_bytes <= shared_memory;
            stored_kernels().iter().find(|stored| stored.kernel.name == name && fits(&stored.manifest))
        };
        kind.names().iter().find_map(named)
    };
    let all = Mode::ALL.into_iter().flat_map(|mode| Stored::ALL.map(|kind| (mode, kind)));
    all.filter_map(|(mode, kind)| Some(((mode, kind), find(mode, kind)?))).collect()
}

/// The kinds of stored kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stored {
    /// On bit-planes.
    Planes,
    /// With look-up tables.
    Tbox,
    /// On bit-planes, beside one with look-up tables: it leaves shared memory alone as far as it can.
    BitsBeside,
    /// With look-up tables, beside one on bit-planes: it leaves registers for that.
    TboxBeside,
}

impl Stored {
    /// All kinds.
    pub(super) const ALL: [Self; 4] = [Self::Planes, Self::Tbox, Self::BitsBeside, Self::TboxBeside];

    /// What a choice launches.
    pub(super) fn kinds(choice: Choice) -> &'static [Self] {
        match choice {
            Choice::Bitsliced { .. } => &[Self::Planes],
            Choice::Tbox => &[Self::Tbox],
            Choice::Pair { .. } => &[Self::TboxBeside, Self::BitsBeside],
        }
    }

    /// How the names of its kernels end, the better ones first.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Planes => &["planes"],
            Self::Tbox => &["tbox", "tbox-one-table"],
            Self::BitsBeside => &["bits"],
            Self::TboxBeside => &["tbox-beside"],
        }
    }
}

/// A kernel that comes with this crate.
struct StoredKernel {
    kernel: &'static aes_bitslice_kernels::Kernel,
    manifest: Manifest,
    /// That of the round keys that it is launched with.
    basis: Basis,
}

impl StoredKernel {
    /// What it takes at launch, its mode being this.
    fn round_keys(&self, mode: Mode, key: &ExpandedKey) -> RoundKeys {
        RoundKeys::Argument(self.manifest.keys.words(key, mode.direction(), self.basis))
    }
}

/// All stored kernels.
fn stored_kernels() -> &'static [StoredKernel] {
    static STORED: OnceLock<Vec<StoredKernel>> = OnceLock::new();
    let parse = |kernel: &'static aes_bitslice_kernels::Kernel| {
        let manifest = Manifest::parse(kernel.manifest).expect("a manifest of this project");
        let basis = manifest.basis().expect("checked when it was parsed");
        StoredKernel { kernel, manifest, basis }
    };
    STORED.get_or_init(|| aes_bitslice_kernels::KERNELS.iter().map(parse).collect())
}

/// Makes a context this thread's. (`CudaContext::bind_to_thread` would report, and forget, errors of others first.)
pub(super) fn make_current(context: &CudaContext) -> Result<(), DriverError> {
    // SAFETY: the context is retained as long as the reference lives.
    unsafe { result::ctx::set_current(context.cu_ctx()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_has_a_bitsliced_kernel() {
        for mode in Mode::ALL {
            let name = format!("aes-{mode}-{}", Stored::Planes.names()[0]);
            assert!(stored_kernels().iter().any(|stored| stored.kernel.name == name), "{name}");
        }
    }
}
