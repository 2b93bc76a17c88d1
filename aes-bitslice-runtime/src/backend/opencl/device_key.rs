//! A key on a device: its kernels, and the round keys to launch them with.

use crate::backend::device::hash::{OfHashKey, Tables};
use crate::backend::device::host_data::{self, KeyOnDevices, OnDevices, Prepared};
use crate::backend::device::key::KeyOnDevice;
use crate::backend::opencl::commands::{Commands, HashKernel, Kernel, RoundKeys, Slots, Span};
use crate::backend::opencl::context::Context;
use crate::backend::opencl::device::Device;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::exec::backend::{OnBackend, Settings};
use crate::exec::call::{Call, PartOf};
use crate::exec::choice::Choice;
use crate::exec::transfers::{Plan, Transfers};
use crate::exec::work::Work;
use crate::op::buffers::Buffers;
use crate::op::operation::{Operation, Pass};
use aes_bitslice_core::mode::Mode;
use std::sync::Arc;

/// A key on a device.
pub(crate) struct DeviceKey {
    device: Arc<Device>,
    code: Code,
    /// Tables of the hash key, once built.
    hash_tables: Tables<Context>,
    transfers: Transfers,
}

enum Code {
    /// The stored kernels; each is launched with its round keys.
    Stored { keys: Vec<(Mode, Option<RoundKeys>)>, is_xts: bool },
    /// One kernel, which has the key baked in or is launched with it.
    One(Kernel, Option<RoundKeys>),
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
        let modes = modes.filter(|&mode| mode.has_tweaks() == key.is_xts() && device.has(mode));
        let keys = modes.map(|mode| Ok((mode, device.round_keys(mode, key)?)));
        let code = Code::Stored { keys: keys.collect::<Result<_, Error>>()?, is_xts: key.is_xts() };
        Ok(Self { device: device.clone(), code, hash_tables: OfHashKey::default(), transfers })
    }

    /// A key for one kernel: baked in, or to be launched with it.
    pub(crate) fn with_kernel(
        device: &Arc<Device>,
        kernel: Kernel,
        keys: Option<RoundKeys>,
        transfers: Transfers,
    ) -> Self {
        Self { device: device.clone(), code: Code::One(kernel, keys), hash_tables: OfHashKey::default(), transfers }
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
    fn kernel(&self, mode: Mode) -> Result<(Kernel, Option<&RoundKeys>), Error> {
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

    /// How a call's data goes to the device.
    fn plan(&self, bytes: usize, is_pinned: bool) -> Plan {
        let (context, mut transfers) = (&self.device.context, self.transfers);
        // A device that is the processor itself has no cores to spare for copies.
        if context.is_cpu() {
            transfers.workers = transfers.workers.or(Some(1));
        } else {
            transfers.chunk_bytes = transfers.chunk_bytes.or(Some(fastest_chunk(bytes)));
            transfers.streams = transfers.streams.or(Some(1));
        }
        let plan = transfers.plan(bytes, is_pinned, 1);
        Plan { chunk_bytes: plan.chunk_bytes.min(context.largest_buffer() as usize / 16 * 16), ..plan }
    }
}

/// The size of a chunk for a GPU, in bytes. OpenCL drivers want larger chunks than CUDA, and one in flight for each of many threads
/// (measured on an H200: docs/record/2026-11-host-memory.md).
fn fastest_chunk(bytes: usize) -> usize {
    (bytes / 128).clamp(4 << 20, 8 << 20).min(bytes / 8).max(1 << 20)
}

impl OnBackend for DeviceKey {
    fn run<O: Pass>(&self, call: Call<O>, data: Buffers<'_>) -> Result<Vec<PartOf<O>>, Error> {
        host_data::run(self, call, data)
    }
}

impl OnDevices for DeviceKey {
    fn prepare(&self, work: &dyn Work, data: &mut Buffers<'_>) -> Result<Box<dyn Prepared + '_>, Error> {
        let devices = KeyOnDevices { keys: std::slice::from_ref(self), weights: &[1.0], first: 0 };
        devices.prepare(work, data, |bytes, is_pinned| self.plan(bytes, is_pinned))
    }
}

impl KeyOnDevice for DeviceKey {
    type Driver = Context;

    fn driver(&self) -> &Arc<Context> {
        &self.device.context
    }

    fn slots(&self) -> &Slots {
        &self.device.slots
    }

    fn loaded_hash(&self) -> Result<HashKernel, Error> {
        self.device.hash_kernel()
    }

    fn tables(&self) -> &Tables<Context> {
        &self.hash_tables
    }

    /// Compiles and tests the kernel, of which there is one for a mode.
    fn prepare(&self, mode: Mode, _asked: Option<Choice>) -> Result<(), Error> {
        self.kernel(mode).map(|_| ())
    }

    unsafe fn launch(
        &self,
        commands: &mut Commands,
        span: Span,
        work: &dyn Work,
        mode: Mode,
        _asked: Option<Choice>,
    ) -> Result<(), Error> {
        debug_assert!(!work.kernels().counters_are_secret, "no kernel here takes them as data");
        let (kernel, keys) = self.kernel(mode)?;
        // SAFETY: as the caller guarantees; operations lay their launches out within the span.
        unsafe { kernel.run(commands, span, keys, |shape| work.launches(shape)) }
    }
}

fn not_in(kernel: &Kernel, mode: Mode) -> Error {
    Error::NotInKernel { wanted: mode.to_string(), has: kernel.mode().to_string() }
}
