//! A key on an engine: the one call that takes any operation.

use crate::api::engine::Engine;
use crate::backend::bitsliced::key::Bitsliced;
#[cfg(feature = "cuda")]
use crate::backend::cuda::several::group_key::GroupKey;
#[cfg(feature = "opencl")]
use crate::backend::opencl::device_key::DeviceKey;
use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::cpu::cipher::CpuCipher;
use crate::cpu::key::CpuKey;
use crate::exec::backend::{KernelsNeeded, OnBackend};
use crate::exec::call::{Call, Target};
use crate::exec::choice::Choice;
use crate::exec::cores;
use crate::op::buffers::Buffers;
use crate::op::operation::{Operation, OwnKey};
use aes_bitslice_core::mode::Mode;
use std::fmt;
use std::sync::Arc;

/// A key on an engine. Cloning is cheap, and clones share the expanded key, which is wiped with the last of them.
///
/// Wrong arguments, and everything else that keeps a call from starting, are found before any work and change nothing.
/// If a call fails after it has begun to write, its output is cleared to zero: it never holds half a result. In a call
/// that works in place, the output is the input.
///
/// It is `Send` and `Sync`: any number of threads may share one cipher and make calls on it concurrently. The calls
/// here return when they complete; those in [`submit`](crate::submit) do not wait.
#[derive(Clone)]
pub struct Cipher {
    engine: Engine,
    key: KeyOn,
    /// The key on the CPU, for serial operations and for the calls that [`Engine::backend_for`] sends there; `None` in
    /// a single-kernel cipher.
    cpu: Option<Arc<CpuKey>>,
}

/// A key on an engine's backend.
#[derive(Clone)]
pub(crate) enum KeyOn {
    Cpu(Arc<CpuKey>),
    CpuBitsliced(Arc<Bitsliced>),
    #[cfg(feature = "cuda")]
    Cuda(Arc<GroupKey>),
    #[cfg(feature = "opencl")]
    OpenCl(Arc<DeviceKey>),
}

macro_rules! key_on {
    ($($(#[$cfg:meta])? $variant:ident($key:ty)),*) => { $(
        $(#[$cfg])?
        impl From<Arc<$key>> for KeyOn {
            fn from(key: Arc<$key>) -> Self {
                Self::$variant(key)
            }
        }
    )* };
}
key_on!(
    Cpu(CpuKey),
    CpuBitsliced(Bitsliced),
    #[cfg(feature = "cuda")]
    Cuda(GroupKey),
    #[cfg(feature = "opencl")]
    OpenCl(DeviceKey)
);

impl KeyOn {
    fn run<O: Operation>(&self, call: Call<O>, data: Buffers<'_>) -> Result<Vec<O::Part>, Error> {
        match self {
            Self::Cpu(key) => OnBackend::run(&**key, call, data),
            Self::CpuBitsliced(key) => key.run(call, data),
            #[cfg(feature = "cuda")]
            Self::Cuda(key) => key.run(call, data),
            #[cfg(feature = "opencl")]
            Self::OpenCl(key) => key.run(call, data),
        }
    }
}

/// For calls on host memory.
impl Target for Cipher {
    fn cpu(&self) -> Option<&CpuKey> {
        self.cpu.as_deref()
    }

    fn kernels_for<O: Operation>(&self, operation: &O) -> Result<KernelsNeeded, Error> {
        match self.engine.supports(operation) {
            true => Ok(KernelsNeeded::of(operation).unwrap_or(KernelsNeeded::NONE)),
            false => Err(Error::Unsupported { operation: O::NAME, backend: self.engine.backend().to_string() }),
        }
    }
}

impl Cipher {
    pub(crate) fn new(engine: Engine, key: KeyOn, cpu: Option<Arc<CpuKey>>) -> Self {
        Self { engine, key, cpu }
    }

    /// The engine it runs on.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Performs an operation on host memory and returns its output value: a tag or a hash from operations that
    /// authenticate, `()` from the others.
    ///
    /// ```
    /// use aes_bitslice_runtime::{Backend, Ctr, Counter, Ecb, Engine, Key, KeyBits};
    ///
    /// let cipher = Engine::open(Backend::Cpu)?.cipher(&Key::generate(KeyBits::Aes256)?)?;
    /// let mut data = *b"any number of bytes";
    /// cipher.run(Ctr::new(&Counter::random()?, 0), &mut data)?;
    /// let (input, mut output) = ([7; 32], [0; 32]);
    /// cipher.run(Ecb::encrypt(), (&input[..], &mut output[..]))?;
    /// # Ok::<(), aes_bitslice_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongAccess`] and [`Error::LengthMismatch`] for data other than the operation takes, the errors of the
    /// operation's own checks, [`Error::Unsupported`] if the engine does not support it ([`Engine::supports`]),
    /// [`Error::WrongKeys`] for a key of a different kind, [`Error::NeedsKey`] if the operation needs the key on the
    /// CPU and this is a single-kernel cipher; else errors from the device.
    pub fn run<'d, O: Operation>(&self, operation: O, data: impl Into<Buffers<'d>>) -> Result<O::Output, Error> {
        let mut data = data.into();
        if cores::is_of_one(data.len())
            && (data.len() == 0 || self.is_on_cpu(&operation, data.len() as u64))
            && let Some(result) = Call::in_one_step(self, &operation, &mut data)
        {
            return result;
        }
        match &self.cpu {
            Some(cpu) => cpu.scrubbed(|| self.carry_out(operation, data)),
            None => self.carry_out(operation, data),
        }
    }

    /// Within work that is [scrubbed](CpuCipher::scrubbed), if there is a key on the CPU.
    fn carry_out<O: Operation>(&self, operation: O, data: Buffers<'_>) -> Result<O::Output, Error> {
        let on_cpu = data.len() == 0 || self.is_on_cpu(&operation, data.len() as u64);
        let (call, data) = Call::new(self, operation, data)?;
        match call.operation().own_key().map(|own| self.of_one_call(&own, on_cpu)).transpose()? {
            Some(own) => own.passes(call, data, on_cpu),
            None => self.passes(call, data, on_cpu),
        }
    }

    /// A cipher on the same engine for a call that has its own key.
    fn of_one_call(&self, own: &OwnKey<'_>, on_cpu: bool) -> Result<Self, Error> {
        if !on_cpu {
            return self.engine.cipher(own.key);
        }
        Ok(Self::new(self.engine.clone(), own.cpu.clone().into(), Some(own.cpu.clone())))
    }

    /// Performs a call: one pass over the data after the other.
    fn passes<O: Operation>(&self, mut call: Call<O>, mut data: Buffers<'_>, on_cpu: bool) -> Result<O::Output, Error> {
        loop {
            let of_pass = match call.operation().only_reads() {
                true => Buffers::Read(data.input()),
                false => data.reborrow(),
            };
            let parts = match of_pass.len() {
                0 => vec![],
                _ if on_cpu => cores::run(self.cpu_key::<O>()?, &call, of_pass),
                _ => self.key.run(call.clone(), of_pass)?,
            };
            match call.next_pass(&parts)? {
                Some(next) => call = next,
                None => return call.operation().finish(parts).inspect_err(|_| data.output().fill(0)),
            }
        }
    }

    /// Combines the values that calls on the parts of a message returned, in any order, into the output value of the
    /// whole message: the hash of [`Ghash`](crate::Ghash), the tag of [`GcmEncrypt`](crate::GcmEncrypt).
    ///
    /// # Errors
    /// [`Error::PartsDoNotAdjoin`] if parts overlap or one is missing between others, [`Error::NeedsKey`] on a
    /// single-kernel cipher, and the operation's own errors.
    pub fn combine<O: Operation>(&self, operation: &O, parts: Vec<O::Part>) -> Result<O::Output, Error> {
        Call::combine(self, operation, parts)
    }

    /// Whether the CPU performs it, whatever the engine.
    fn is_on_cpu<O: Operation>(&self, operation: &O, bytes: u64) -> bool {
        // Copying takes as long for hashing as for encrypting, and also for counting the other way.
        let mode = operation.mode().filter(|&mode| mode != Mode::CtrLe32);
        let mode = mode.or(operation.hashed().map(|_| Mode::Ctr));
        match (&self.cpu, mode) {
            _ if O::SERIAL => true,
            _ if !self.engine.device_supports(operation) => true,
            // There are no other kernels.
            _ if O::HAS_OWN_KEY && !self.engine.kernels().allow(Choice::Bitsliced) => true,
            (Some(cpu), Some(mode)) => self.engine.backend_for(mode, cpu.bits(), bytes) == Backend::Cpu,
            _ => false,
        }
    }

    /// The key on the CPU; `None` in a single-kernel cipher.
    #[cfg(any(feature = "cuda", feature = "opencl"))]
    pub(crate) fn cpu(&self) -> Option<&Arc<CpuKey>> {
        self.cpu.as_ref()
    }

    fn cpu_key<O: Operation>(&self) -> Result<&CpuKey, Error> {
        self.cpu.as_deref().ok_or(Error::NeedsKey { what: O::NAME })
    }

    #[cfg(any(feature = "cuda", feature = "opencl"))]
    pub(crate) fn key(&self) -> &KeyOn {
        &self.key
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cipher on {:?}", self.engine)
    }
}
