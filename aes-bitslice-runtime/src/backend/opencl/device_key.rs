//! A key on a device: its kernels, and the round keys to launch them with.

use crate::backend::opencl::device::Device;
use crate::backend::opencl::handles::{Event, lock};
use crate::backend::opencl::kernel::compiled::Kernel;
use crate::backend::opencl::kernel::hash::HashKernel;
use crate::backend::opencl::kernel::span::{Place, Span};
use crate::backend::opencl::memory::key_memory::{KeyMemory, RoundKeys};
use crate::backend::opencl::memory::slots::Slot;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::cpu::hash_key::HashKey;
use crate::exec::backend::Settings;
use crate::exec::call::Call;
use crate::exec::choice::Choice;
use crate::exec::steps::Step;
use crate::exec::transfers::Transfers;
use crate::op::kernels::KernelsNeeded;
use crate::op::launch::Shape;
use crate::op::operation::{Operation, Pass};
use aes_bitslice_core::mode::Mode;
use opencl3::types::{cl_command_queue, cl_mem};
use std::sync::{Arc, Mutex};

/// A key on a device.
pub(crate) struct DeviceKey {
    device: Arc<Device>,
    code: Code,
    /// Tables of the hash key, once built.
    hash_tables: Mutex<Option<Arc<KeyMemory>>>,
    transfers: Transfers,
}

enum Code {
    /// The stored kernels; each is launched with its round keys.
    Stored { keys: Vec<(Mode, Option<RoundKeys>)>, is_xts: bool },
    /// One kernel, which has the key baked in or is launched with it.
    One(Arc<Kernel>, Option<RoundKeys>),
}

impl DeviceKey {
    /// A key for the stored kernels, which are all bitsliced.
    pub(crate) fn with_stored(device: &Arc<Device>, key: &Key, settings: Settings) -> Result<Self, Error> {
        let Settings { kernels, transfers } = settings;
        if !kernels.allow(Choice::Bitsliced) {
            let what = format!("`{kernels}` is not available on OpenCL, which has bitsliced kernels only: use `auto`");
            return Err(Error::NoSuchKernel { what });
        }
        let modes = Mode::ALL.into_iter();
        let modes = modes.filter(|&mode| mode.has_tweaks() == key.is_xts() && device.supports(mode));
        let keys = modes.map(|mode| Ok((mode, device.round_keys(mode, key)?)));
        let code = Code::Stored { keys: keys.collect::<Result<_, Error>>()?, is_xts: key.is_xts() };
        Ok(Self { device: device.clone(), code, hash_tables: Mutex::default(), transfers })
    }

    /// A key for one kernel: baked in, or to be launched with it.
    pub(crate) fn with_kernel(
        device: &Arc<Device>,
        kernel: Kernel,
        keys: Option<RoundKeys>,
        transfers: Transfers,
    ) -> Self {
        Self {
            device: device.clone(),
            code: Code::One(Arc::new(kernel), keys),
            hash_tables: Mutex::default(),
            transfers,
        }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// How data in host memory goes to the device.
    pub(crate) fn transfers(&self) -> Transfers {
        self.transfers
    }

    /// Compiles and tests the kernel for a mode, unless that was done before.
    pub(crate) fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.kernel(mode).map(|_| ())
    }

    /// The mode of an operation's kernel. `memory` is the kind of memory that the call is on, for the message.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where there is no kernel, [`Error::NotInKernel`] where the only kernel is for another mode.
    pub(crate) fn mode_of<O: Operation>(&self, operation: &O, memory: &str) -> Result<Mode, Error> {
        let unsupported = || Error::Unsupported { operation: O::NAME, backend: memory.into() };
        let mode = operation.kernels().mode.ok_or_else(unsupported)?;
        match &self.code {
            Code::Stored { keys, .. } if !keys.iter().any(|(of, _)| *of == mode) => Err(unsupported()),
            Code::One(kernel, _) if kernel.mode() != mode => Err(not_in(kernel, mode)),
            _ => Ok(mode),
        }
    }

    /// Compiles and tests all kernels of a call, unless that was done before.
    ///
    /// # Errors
    /// [`Error::CompileFailed`], [`Error::SelfTestFailed`], [`Error::NoSuchKernel`], [`Error::NotInKernel`], and any error the driver
    /// reports.
    pub(crate) fn prepare_all<O: Pass>(&self, call: &Call<O>) -> Result<(), Error> {
        let KernelsNeeded { mode, hashed, .. } = call.kernels();
        mode.map_or(Ok(()), |mode| self.prepare(mode))?;
        call.on_device().hash.filter(|_| hashed.is_some()).map_or(Ok(()), |key| self.hash(key).map(drop))
    }

    /// The GHASH kernel, and the tables of the key's only hash key.
    fn hash(&self, key: &HashKey) -> Result<(Arc<HashKernel>, Arc<KeyMemory>), Error> {
        let kernel = self.device.hash_kernel()?;
        let mut tables = lock(&self.hash_tables);
        if tables.is_none() {
            let made = scrubbed::<DERIVED, _>(|| kernel.tables(self.device.context(), key))?;
            *tables = Some(Arc::new(made));
        }
        Ok((kernel, tables.clone().expect("made above")))
    }

    /// Why there is no kernel for a mode.
    fn none_for(&self, mode: Mode, is_xts: bool) -> Error {
        let what = match (is_xts == mode.has_tweaks(), is_xts) {
            (true, _) => format!("none is stored for {mode} on OpenCL: use the backend `cpu`"),
            (false, true) => format!("{mode} takes one key, and this cipher has two: make a key of one alone"),
            (false, false) => format!("{mode} takes two keys, and this cipher has one: make a key of both"),
        };
        Error::NoSuchKernel { what }
    }

    /// The kernel for a mode, and the round keys to launch it with.
    fn kernel(&self, mode: Mode) -> Result<(Arc<Kernel>, Option<&RoundKeys>), Error> {
        match &self.code {
            Code::Stored { keys, is_xts } => {
                let Some((_, keys)) = keys.iter().find(|(of, _)| *of == mode) else {
                    return Err(self.none_for(mode, *is_xts));
                };
                Ok((self.device.stored(mode)?, keys.as_ref()))
            }
            Code::One(kernel, keys) if kernel.mode() == mode => Ok((kernel.clone(), keys.as_ref())),
            Code::One(kernel, _) => Err(not_in(kernel, mode)),
        }
    }

    /// Puts an operation into a queue, with the kernel for its mode, without waiting; adds the events of its commands to `events`.
    ///
    /// # Safety
    /// The span is within buffers of the device's context, and the queue belongs to it too; all are valid.
    pub(crate) unsafe fn launch<O: Pass>(
        &self,
        queue: cl_command_queue,
        span: Span,
        call: &Call<O>,
        mode: Mode,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        debug_assert!(!call.kernels().counters_are_secret, "no kernel here takes them as data");
        let (kernel, keys) = self.kernel(mode)?;
        let launches = |shape: &Shape<'_>| call.launches(shape);
        // SAFETY: as the caller guarantees; operations lay their launches out within the span.
        unsafe { kernel.run(self.device.context(), queue, span, launches, keys, events) }
    }

    /// Puts all steps of an operation into the queue of a slot, without waiting.
    ///
    /// # Safety
    /// The span is within buffers of the device's context, which are valid.
    pub(crate) unsafe fn launch_in<O: Pass>(
        &self,
        slot: &mut Slot<'_>,
        span: Span,
        call: &Call<O>,
    ) -> Result<(), Error> {
        call.kernels().launch_in(slot, |slot, step| {
            let hash = slot.hash();
            // SAFETY: as the caller guarantees; queue and hash are the slot's, and the queue is in order.
            slot.launch(|_, queue, events| unsafe { self.launch_step(queue, span, call, step, hash, events) })
        })
    }

    /// Puts a step of an operation into a queue, without waiting: the cipher as in [`launch`](Self::launch); a hash is added to the 16
    /// bytes at `hash`.
    ///
    /// # Safety
    /// The span is within buffers of the device's context, and `hash` is in one of them at a multiple of 4 bytes; the queue belongs to the
    /// context; all are valid. The queue is in order, or a barrier was enqueued after earlier work.
    pub(crate) unsafe fn launch_step<O: Pass>(
        &self,
        queue: cl_command_queue,
        span: Span,
        call: &Call<O>,
        step: Step,
        hash: Place,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        let hashed = match step {
            // SAFETY: as the caller guarantees.
            Step::Cipher(mode) => return unsafe { self.launch(queue, span, call, mode, events) },
            Step::Hash(hashed) => hashed.of(span.input, span.output),
        };
        let (Some(data), Some(key)) = (hashed.filter(|_| span.len > 0), call.on_device().hash) else { return Ok(()) };
        let (kernel, tables) = self.hash(key)?;
        // SAFETY: as the caller guarantees.
        unsafe { kernel.run(queue, data, span.aligned, span.len, &tables, hash) }?.into(events)
    }

    /// After all [steps](Self::launch_step) of an operation that verifies, on all its data: clears the output if the hash at the start of
    /// the buffer `hash` shows that it is not authentic. Does nothing for other operations.
    ///
    /// # Safety
    /// The span is within buffers of the device's context, and `hash` is one of them; the queue belongs to the context; all are valid. The
    /// queue is in order, or a barrier was enqueued after the steps.
    pub(crate) unsafe fn clear_unless_authentic<O: Pass>(
        &self,
        queue: cl_command_queue,
        span: Span,
        call: &Call<O>,
        hash: cl_mem,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        let (Some(output), Some(key)) = (span.output.filter(|_| span.len > 0), call.on_device().hash) else {
            return Ok(());
        };
        let Some(verdict) = call.verdict(span.len) else { return Ok(()) };
        let (kernel, _) = self.hash(key)?;
        // SAFETY: as the caller guarantees.
        unsafe { kernel.clear_unless_authentic(queue, output, span.len, hash, &verdict) }?.into(events)
    }
}

fn not_in(kernel: &Kernel, mode: Mode) -> Error {
    Error::NotInKernel { wanted: mode.to_string(), has: kernel.mode().to_string() }
}
