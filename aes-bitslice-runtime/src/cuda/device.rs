//! A device that was opened: its context, its kernels, its health, and memory kept ready for data from the host.

use super::kernel::{Image, Kernel, RoundKeys};
use super::memory::Workspace;
use super::{DeviceKey, driver};
use crate::{Error, Key};
use aes_bitslice_gen::aes::{KeyBits, KeySchedule};
use aes_bitslice_gen::basis::Basis;
use aes_bitslice_gen::emit::Manifest;
use aes_bitslice_gen::kernel::{Mode, self_test};
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
    kernels: Mutex<HashMap<Mode, Arc<Kernel>>>,
    /// The first error that left the context unusable.
    poison: OnceLock<String>,
    /// Streams and buffers between calls, cleared.
    pub(super) workspaces: Mutex<Vec<Workspace>>,
}

impl Device {
    pub(super) fn open(ordinal: usize) -> Result<Self, Error> {
        let info = driver::usable(ordinal)?;
        let context = CudaContext::new(ordinal).map_err(|e| Error::CudaUnavailable {
            what: format!("{} does not open ({})", info.name, driver::name(e)),
            help: "see whether another process holds it (`nvidia-smi`), or use the backend `cpu`".into(),
        })?;
        let (major, minor) = info.compute_capability;
        Ok(Self {
            context,
            name: info.name,
            architecture: 10 * major + minor,
            multiprocessors: info.multiprocessors,
            kernels: Mutex::default(),
            poison: OnceLock::new(),
            workspaces: Mutex::default(),
        })
    }

    /// The device's name, as its driver tells it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Compute capability, as in `sm_90`: 90.
    pub(super) fn architecture(&self) -> u32 {
        self.architecture
    }

    /// How many multiprocessors the device has.
    pub(super) fn multiprocessors(&self) -> u32 {
        self.multiprocessors
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

    /// A key on this device.
    pub(crate) fn cipher(self: &Arc<Self>, key: &Key) -> Result<DeviceKey, Error> {
        self.enter()?;
        Ok(DeviceKey::with_planes(self.clone(), key))
    }

    /// The kernel for keys given at launch, loaded and tested at its first use.
    pub(super) fn planes_kernel(&self, mode: Mode) -> Result<Arc<Kernel>, Error> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&mode) {
            return Ok(kernel.clone());
        }
        let (stored, manifest) = stored_kernel(mode);
        let kernel = Kernel::load(self, manifest, &Image::of_stored(self, stored)?)?;
        let basis = basis_of_stored(mode);
        for bits in KeyBits::ALL {
            let key: Vec<u8> = (0..bits.bytes() as u8).map(|i| i.wrapping_mul(29) ^ 0xa7).collect();
            let schedule = KeySchedule::new(&key, mode.direction()).expect("a key length");
            let expected = self_test::expected(mode, &schedule);
            kernel.self_test(self, Some(&RoundKeys::argument(&schedule, basis)), |answer| answer == expected)?;
        }
        Ok(kernels.entry(mode).or_insert(Arc::new(kernel)).clone())
    }
}

/// The stored kernel of a mode.
fn stored_kernel(mode: Mode) -> (&'static aes_bitslice_kernels::Kernel, &'static Manifest) {
    static STORED: OnceLock<Vec<(&aes_bitslice_kernels::Kernel, Manifest)>> = OnceLock::new();
    let parse = |kernel: &'static aes_bitslice_kernels::Kernel| {
        (kernel, Manifest::parse(kernel.manifest).expect("a manifest of this project"))
    };
    let stored = STORED.get_or_init(|| aes_bitslice_kernels::KERNELS.iter().map(parse).collect());
    let found = stored.iter().find(|(_, manifest)| manifest.mode().is_ok_and(|m| m == mode));
    found.map(|(kernel, manifest)| (*kernel, manifest)).expect("every mode has a stored kernel")
}

/// The basis of the round keys that the stored kernel of a mode is launched with.
pub(super) fn basis_of_stored(mode: Mode) -> Basis {
    stored_kernel(mode).1.basis().expect("checked when it was parsed")
}

/// Makes a context this thread's. (`CudaContext::bind_to_thread` would report, and forget, errors of others first.)
pub(super) fn make_current(context: &CudaContext) -> Result<(), DriverError> {
    // SAFETY: the context is retained as long as the reference lives.
    unsafe { result::ctx::set_current(context.cu_ctx()) }
}
