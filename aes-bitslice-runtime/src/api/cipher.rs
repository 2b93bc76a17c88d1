//! A key on an engine: the one call that takes any operation.

use crate::api::engine::Engine;
#[cfg(feature = "cuda")]
use crate::backend::cuda::several::group_key::GroupKey;
#[cfg(feature = "opencl")]
use crate::backend::opencl::device_key::DeviceKey;
use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::base::stop::Stop;
use crate::cpu::key::CpuKey;
use crate::exec::backend::OnBackend;
use crate::exec::call::{self, Call, Data, PartOf, Target};
use crate::exec::choice::Choice;
use crate::exec::cores;
use crate::op::buffers::Buffers;
use crate::op::kernels::{KernelsNeeded, OnHost};
use crate::op::operation::{Composition, Keys, Operation, Pass, Passes, Place, Ready};
use crate::op::own_key::OwnKey;
use std::fmt;
use std::sync::Arc;

/// A key on an engine. Cloning is cheap, and clones share the expanded key, which is wiped with the last of them. There is one
/// [without a key](Engine::under_own_keys), for calls that have keys of their own.
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
    /// a single-kernel cipher, and in one without a key.
    cpu: Option<Arc<CpuKey>>,
}

/// A key on an engine's backend.
#[derive(Clone)]
pub(crate) enum KeyOn {
    /// No key.
    None,
    Cpu(Arc<CpuKey>),
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
    #[cfg(feature = "cuda")]
    Cuda(GroupKey),
    #[cfg(feature = "opencl")]
    OpenCl(DeviceKey)
);

impl KeyOn {
    fn run<O: Pass>(&self, call: Call<O>, data: Buffers<'_>) -> Result<Vec<PartOf<O>>, Error> {
        match self {
            Self::None => Err(Error::NeedsKey { what: O::NAME }),
            Self::Cpu(key) => key.run(call, data),
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
        if matches!(self.key, KeyOn::None) && O::KEYS != Keys::Own {
            return Err(Error::NeedsKey { what: O::NAME });
        }
        if self.engine.supports(operation) {
            return Ok(operation.kernels());
        }
        Err(Error::Unsupported { operation: O::NAME, backend: self.engine.backend().to_string() })
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
    /// cipher.run(Ecb::encrypt(), (&input, &mut output))?;
    /// # Ok::<(), aes_bitslice_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongAccess`] and [`Error::LengthMismatch`] for data other than the operation takes, the errors of the
    /// operation's own checks, [`Error::Unsupported`] if the engine does not support it ([`Engine::supports`]),
    /// [`Error::WrongKeys`] for a key of a different kind, [`Error::NeedsKey`] if the operation needs the key on the
    /// CPU and this is a single-kernel cipher, or needs any and there is none; [`Error::Stopped`]; else errors from the device.
    pub fn run<'d, O: Operation>(&self, operation: O, data: impl Into<Buffers<'d>>) -> Result<O::Output, Error> {
        let mut data = data.into();
        if self.cpu.as_deref().is_some_and(|cpu| cores::is_of_one(cpu, data.len()))
            && (data.len() == 0 || self.is_on_cpu(operation.kernels(), data.len() as u64))
            && let Some(value) = call::in_one_step(self, &operation, &mut data)
        {
            return match value {
                Some(value) => Ok(value),
                None => Err(Error::Unauthenticated),
            };
        }
        self.in_steps(operation, data)
    }

    /// A call for which there is no shorter way. Not inlined, so that little is on the way of short messages.
    #[inline(never)]
    fn in_steps<O: Operation>(&self, operation: O, mut data: Buffers<'_>) -> Result<O::Output, Error> {
        let stop = Stop::current();
        let (again, all) = (operation.clone(), data.reborrow());
        let outcome = match &self.cpu {
            Some(cpu) => cpu.scrubbed(|| self.carry_out(again, all)),
            None => self.carry_out(again, all),
        };
        if !stop.is_now() {
            return outcome;
        }
        let mut data = data.accessed(operation.access(), O::NAME)?;
        call::check(self, &operation, data.len() as u64)?;
        operation.clear(data.output());
        Err(Error::Stopped)
    }

    /// Within work that is [scrubbed](CpuKey::scrubbed), if there is a key on the CPU.
    fn carry_out<O: Operation>(&self, operation: O, data: Buffers<'_>) -> Result<O::Output, Error> {
        let on_cpu = data.len() == 0 || self.is_on_cpu(operation.kernels(), data.len() as u64);
        operation.carry_out(InHostMemory { cipher: self, data, on_cpu })
    }

    /// Combines the values that calls on the parts of a message returned, in any order, into the output value of the
    /// whole message: the hash of [`Ghash`](crate::Ghash), the tag of [`GcmEncrypt`](crate::GcmEncrypt).
    ///
    /// # Errors
    /// [`Error::PartsDoNotAdjoin`] if parts overlap or one is missing between others, [`Error::NeedsKey`] on a
    /// single-kernel cipher, and the operation's own errors.
    pub fn combine<O: Pass>(&self, operation: &O, parts: Vec<PartOf<O>>) -> Result<O::Output, Error> {
        Call::combine(self, operation, parts)
    }

    /// Whether the CPU performs an operation with these kernels, whatever the engine.
    #[inline]
    fn is_on_cpu(&self, kernels: KernelsNeeded, bytes: u64) -> bool {
        match (&self.cpu, kernels.as_fast_as) {
            _ if kernels.on_host == OnHost::Cpu || !self.engine.device_supports(kernels) => true,
            _ if kernels.under_own_key && !self.engine.kernels().allow(Choice::Bitsliced) => true,
            (Some(cpu), Some(mode)) => self.engine.backend_for(mode, cpu.bits, bytes) == Backend::Cpu,
            _ => false,
        }
    }

    /// The key on the CPU; `None` in a single-kernel cipher.
    #[cfg(any(feature = "cuda", feature = "opencl"))]
    pub(crate) fn cpu(&self) -> Option<&Arc<CpuKey>> {
        self.cpu.as_ref()
    }

    #[cfg(any(feature = "cuda", feature = "opencl"))]
    pub(crate) fn key(&self) -> &KeyOn {
        &self.key
    }
}

/// The data of a call in host memory.
struct InHostMemory<'c, 'd> {
    cipher: &'c Cipher,
    data: Buffers<'d>,
    /// Whether the CPU performs the call, whatever the engine.
    on_cpu: bool,
}

impl Place for InHostMemory<'_, '_> {
    type Value<V: Send + 'static> = V;

    fn pass<O: Pass>(self, operation: O) -> Result<O::Output, Error> {
        let Self { cipher, data, on_cpu } = self;
        let (call, mut data) = Call::new(cipher, operation.clone(), data)?;
        // Messages without data have tags, too.
        let own = if on_cpu { call.operation().under_own_keys(data.reborrow()) } else { None };
        let parts = match (own, data.len(), on_cpu) {
            (Some(part), ..) => vec![part],
            (None, 0, _) => vec![],
            (None, _, true) => {
                cores::run(cipher.cpu.as_deref().ok_or(Error::NeedsKey { what: O::NAME })?, &call, data.reborrow())?
            }
            (None, _, false) => cipher.key.run(call.clone(), data.reborrow())?,
        };
        call.operation().finish(parts).inspect_err(|_| operation.clear(data.output()))
    }

    fn composed<C: Composition>(self, composition: C) -> Result<C::Output, Error> {
        let Self { cipher, data, on_cpu } = self;
        let (data, bytes) = data.checked(&composition)?;
        call::check(cipher, &composition, bytes)?;
        let cpu = cipher.cpu.as_deref().ok_or(Error::NeedsKey { what: C::NAME })?;
        // What it leaves on the stack would be moved to the heap, between the fields of what is made below.
        let derived = cpu.scrubbed(|| composition.derive(cpu))?;
        let OwnKey { key, cpu } = derived.as_ref().clone();
        let own = if on_cpu {
            Cipher::new(cipher.engine.clone(), cpu.clone().into(), Some(cpu))
        } else {
            cipher.engine.cipher(&key)?
        };
        composition.passes(derived, InHostMemory { cipher: &own, data, on_cpu })
    }
}

impl Passes for InHostMemory<'_, '_> {
    fn read<O: Pass>(&self, operation: O) -> Result<O::Output, Error> {
        let Self { cipher, on_cpu, .. } = *self;
        InHostMemory { cipher, data: Buffers::Read(self.data.input()), on_cpu }.pass(operation)
    }

    fn last<O: Pass, V: Send + 'static>(self, operation: O, value: V) -> Result<V, Error> {
        self.pass(operation).map(|_| value)
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cipher on {:?}", self.engine)
    }
}
