//! A backend that was opened.

use crate::api::auto;
use crate::api::host_buffer::HostBuffer;
use crate::backend::cpu::OnCores;
#[cfg(feature = "cuda")]
use crate::backend::cuda::several::group::{Group, Shares};
#[cfg(feature = "opencl")]
use crate::backend::opencl::device::Device;
#[cfg(feature = "opencl")]
use crate::backend::opencl::platforms::Wanted;
use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::base::threads;
use crate::cpu::bitsliced::isa::Isa;
use crate::cpu::instructions::Instructions;
use crate::exec::backend::{Opened, Settings};
use crate::exec::choice::Kernels;
use crate::exec::queue::Queue;
use crate::exec::transfers::Transfers;
use crate::op::kernels::{KernelsNeeded, OnHost};
use crate::op::operation::Operation;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;
use std::fmt;
use std::sync::Arc;

/// An open backend. Cloning is cheap, and clones share the device.
///
/// It is `Send` and `Sync`: any number of threads may share one engine, and open keys and make calls on it
/// concurrently.
#[derive(Clone)]
pub struct Engine {
    opened: Arc<Inner>,
    settings: Settings,
}

struct Inner {
    kind: Kind,
    /// Why this backend was chosen, if it was not requested by name.
    why: Option<String>,
    /// The calls submitted to it.
    queue: Queue,
}

/// The backends. To add one, add a variant here, in [`each!`] and in [`Engine::open`].
pub(crate) enum Kind {
    Cpu(OnCores),
    #[cfg(feature = "cuda")]
    Cuda(Group),
    #[cfg(feature = "opencl")]
    OpenCl(Arc<Device>),
}

/// Evaluates an expression for any backend; `device` in it is an [`Opened`].
macro_rules! each {
    ($kind:expr, $device:ident => $call:expr) => {
        match $kind {
            Kind::Cpu($device) => $call,
            #[cfg(feature = "cuda")]
            Kind::Cuda($device) => $call,
            #[cfg(feature = "opencl")]
            Kind::OpenCl($device) => $call,
        }
    };
}
pub(crate) use each;

impl Engine {
    /// Opens a backend. [`Backend::Auto`] falls back to the CPU.
    ///
    /// # Errors
    /// [`Error::Threads`] if the environment variable `AES_BITSLICE_THREADS` has no number that [`set_threads`](crate::set_threads) takes.
    /// [`Error::CudaUnavailable`], [`Error::NoSuchDevice`] or another CUDA error if a CUDA GPU was requested and cannot
    /// be used; [`Error::OpenClUnavailable`], [`Error::NoSuchOpenClDevice`] or another OpenCL error for an OpenCL
    /// device; [`Error::NotBuilt`] for a backend that this program was built without.
    pub fn open(backend: Backend) -> Result<Self, Error> {
        match backend {
            // This engine has the CPU as well, and decides for each call which is faster.
            Backend::Auto => {
                let (gpu, why) = auto::open_first(Kind::open);
                Self::new(gpu.map_or_else(|| Kind::open(Backend::Cpu), Ok)?, Some(why))
            }
            named => Self::new(Kind::open(named)?, None),
        }
    }

    /// Opens the backend that [`Backend::Auto`] would use for calls of this mode, each on `bytes` bytes in host memory,
    /// and for nothing else. Where the CPU is faster, no GPU is opened, which would take longer than most files do, and
    /// no OpenCL library is loaded. `without_opencl` excludes OpenCL, for kernels that it does not have.
    ///
    /// The engine has a single backend: the choice is not made again for each call. If the GPU does not open, the CPU
    /// is used.
    ///
    /// # Errors
    /// [`Error::Threads`] if the environment variable `AES_BITSLICE_THREADS` has no number that [`set_threads`](crate::set_threads) takes.
    pub fn open_for(mode: Mode, key_bits: KeyBits, bytes: u64, without_opencl: bool) -> Result<Self, Error> {
        match auto::backend_for(mode, key_bits, bytes, without_opencl) {
            Backend::Cpu => Self::open(Backend::Cpu),
            gpu => Self::open(gpu).or_else(|_| Self::open(Backend::Cpu)),
        }
    }

    pub(crate) fn new(kind: Kind, why: Option<String>) -> Result<Self, Error> {
        threads::decided()?;
        let queue = Queue::new(each!(&kind, device => device.calls_at_once()));
        Ok(Self { opened: Arc::new(Inner { kind, why, queue }), settings: Settings::default() })
    }

    /// Opens the bitsliced CPU engine on the given vectors instead of the widest available.
    ///
    /// # Errors
    /// [`Error::IsaUnavailable`] if the processor lacks these vectors, [`Error::Threads`] if the environment variable
    /// `AES_BITSLICE_THREADS` has no number that [`set_threads`](crate::set_threads) takes.
    pub fn open_bitsliced(isa: Isa) -> Result<Self, Error> {
        if !Isa::available().contains(&isa) {
            return Err(Error::IsaUnavailable { isa: isa.to_string() });
        }
        Self::new(Kind::Cpu(OnCores::Bitsliced(isa)), None)
    }

    /// Opens the CPU on the given instructions instead of the fastest, for tests and measurements.
    ///
    /// # Errors
    /// [`Error::IsaUnavailable`] if the processor lacks them.
    #[doc(hidden)]
    pub fn open_cpu(instructions: Instructions) -> Result<Self, Error> {
        if !Instructions::available().contains(&instructions) {
            return Err(Error::IsaUnavailable { isa: instructions.to_string() });
        }
        Self::new(Kind::Cpu(OnCores::Instructions(instructions)), None)
    }

    /// Returns this engine with other GPU kernels, for keys that are loaded on it from now on. On a CPU this changes nothing.
    ///
    /// OpenCL has bitsliced kernels only. An engine that was opened as [`Backend::Auto`] and became OpenCL uses these for every value of
    /// `kernels`. On an engine that was opened as OpenCL, [`cipher`](Self::cipher) refuses other kernels.
    pub fn with_kernels(self, kernels: Kernels) -> Self {
        Self { settings: Settings { kernels, ..self.settings }, ..self }
    }

    /// Returns this engine with other transfers between host memory and GPUs, for keys that are loaded on it from now on. On a CPU this
    /// changes nothing.
    pub fn with_transfers(self, transfers: Transfers) -> Self {
        Self { settings: Settings { transfers, ..self.settings }, ..self }
    }

    /// The kernels that keys on this engine may use.
    pub fn kernels(&self) -> Kernels {
        self.settings.kernels
    }

    /// Allocates `len` bytes of zeroed host memory that is fast for this engine.
    ///
    /// ```
    /// use aes_bitslice_runtime::{Backend, Counter, Ctr, Engine, Key, KeyBits};
    ///
    /// let engine = Engine::open(Backend::Auto)?;
    /// let cipher = engine.cipher(&Key::generate(KeyBits::Aes128)?)?;
    /// let counter = Counter::random()?;
    /// let mut data = engine.host_buffer(1 << 20)?;
    /// cipher.ctr_apply(&counter, 0, &mut data)?;
    /// // It can be given away, too, to a call that returns at once.
    /// let data = cipher.submit(Ctr::new(&counter, 0), data)?.wait()?;
    /// assert!(data.iter().all(|&byte| byte == 0));
    /// # Ok::<(), aes_bitslice_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfHostMemory`], and errors from the device.
    pub fn host_buffer(&self, len: usize) -> Result<HostBuffer, Error> {
        match each!(&self.opened.kind, device => device.host_memory(len))? {
            Some(memory) => Ok(HostBuffer::of_backend(memory)),
            None => HostBuffer::ordinary(len),
        }
    }

    /// Whether this operation can be called on host memory: some operations have no GPU kernels. On every engine the CPU performs serial
    /// operations. Where there are no kernels for them, it also performs XTS, AES-GCM-SIV, and GCM with a nonce that is not 12 bytes long.
    /// An engine that was opened as [`Backend::Auto`] performs all operations.
    pub fn supports<O: Operation>(&self, operation: &O) -> bool {
        let kernels = operation.kernels();
        kernels.on_host != OnHost::Device || self.is_auto() || self.device_supports(kernels)
    }

    /// Whether the device itself has these kernels.
    pub(crate) fn device_supports(&self, kernels: KernelsNeeded) -> bool {
        each!(&self.opened.kind, device => device.supports(kernels))
    }

    /// The backend that computes a call on this many bytes in host memory. For an engine that was opened as
    /// [`Backend::Auto`] and has a GPU, it is the faster of GPU and CPU; otherwise it is the engine's backend.
    pub fn backend_for(&self, mode: Mode, key_bits: KeyBits, bytes: u64) -> Backend {
        if !self.is_auto() || each!(&self.opened.kind, device => device.is_preferred(mode, key_bits, bytes)) {
            self.backend()
        } else {
            Backend::Cpu
        }
    }

    /// Whether it was opened as [`Backend::Auto`].
    pub(crate) fn is_auto(&self) -> bool {
        self.opened.why.is_some()
    }

    /// The backend that was opened; never [`Backend::Auto`] or [`Backend::OpenClFirst`].
    pub fn backend(&self) -> Backend {
        each!(&self.opened.kind, device => device.backend())
    }

    /// One line of text for people: the device, and for [`Backend::Auto`] why it was chosen.
    pub fn description(&self) -> String {
        let what = each!(&self.opened.kind, device => device.description());
        match &self.opened.why {
            Some(why) => format!("{what} ({why})"),
            None => what,
        }
    }

    /// The queue in which submitted calls wait for a thread.
    pub(crate) fn queue(&self) -> &Queue {
        &self.opened.queue
    }

    /// The settings for loading keys on it.
    pub(crate) fn settings(&self) -> Settings {
        self.settings
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.opened.kind
    }
}

impl Kind {
    /// Opens a backend that was requested by name or chosen by `auto`.
    pub(crate) fn open(backend: Backend) -> Result<Self, Error> {
        match backend {
            Backend::Cuda { .. } | Backend::CudaAll => cuda(backend),
            Backend::OpenCl { .. } | Backend::OpenClFirst => opencl(backend),
            Backend::Cpu | Backend::Auto => Ok(Self::Cpu(OnCores::Instructions(Instructions::best()))),
            Backend::CpuBitsliced => Ok(Self::Cpu(OnCores::Bitsliced(Isa::best()))),
        }
    }
}

#[cfg(feature = "cuda")]
fn cuda(backend: Backend) -> Result<Kind, Error> {
    let group = match backend {
        Backend::Cuda { ordinal } => Group::open(&[ordinal], Shares::Equal),
        _ => Group::open_all(),
    };
    group.map(Kind::Cuda)
}

#[cfg(not(feature = "cuda"))]
fn cuda(_backend: Backend) -> Result<Kind, Error> {
    Err(Error::NotBuilt { what: "CUDA", feature: "cuda" })
}

#[cfg(feature = "opencl")]
fn opencl(backend: Backend) -> Result<Kind, Error> {
    let wanted = match backend {
        Backend::OpenCl { platform, device } => Wanted::Numbered { platform, device },
        _ => Wanted::First,
    };
    Device::open(wanted).map(Kind::OpenCl)
}

#[cfg(not(feature = "opencl"))]
fn opencl(_backend: Backend) -> Result<Kind, Error> {
    Err(Error::NotBuilt { what: "OpenCL", feature: "opencl" })
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Engine({})", self.description())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_opens_and_says_why() {
        let engine = Engine::open(Backend::Auto).unwrap();
        assert_ne!(engine.backend(), Backend::Auto);
        assert!(engine.description().contains("auto: "), "{}", engine.description());
        assert!(!engine.description().contains('\n'));
    }

    #[test]
    fn memory_for_a_cpu_is_ordinary_and_zero() {
        let engine = Engine::open(Backend::Cpu).unwrap();
        for len in [0, 1, 4097] {
            let mut buffer = engine.host_buffer(len).unwrap();
            assert!(buffer.iter().all(|&byte| byte == 0) && buffer.len() == len && !buffer.is_pinned());
            buffer.fill(7);
            assert_eq!(format!("{buffer:?}"), format!("HostBuffer({len} bytes)"));
        }
        assert!(matches!(engine.host_buffer(usize::MAX), Err(Error::OutOfHostMemory { .. })));
    }

    #[test]
    fn small_calls_go_to_the_cpu() {
        assert_eq!(Engine::open_for(Mode::Ctr, KeyBits::Aes128, 1, true).unwrap().backend(), Backend::Cpu);
    }
}
