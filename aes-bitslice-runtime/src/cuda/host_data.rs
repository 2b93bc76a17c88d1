//! Data in host memory: to the device, through the kernel, and back, in chunks of bounded size.

use super::device::Stored;
use super::kernel::{Kernel, Span};
use super::launch::Work;
use super::memory::Workspace;
use super::round_keys::RoundKeys;
use super::{Choice, Device, Kernels};
use crate::engine::BlockEngine;
use crate::{Direction, Error, Key, KeyBits};
use aes_bitslice_gen::aes::KeySchedule;
use aes_bitslice_gen::kernel::Mode;
use cipher::inout::InOutBuf;
use std::sync::Arc;

/// Bytes of a chunk: the device memory that a call takes.
const CHUNK: usize = 64 << 20;

/// A key on a device.
pub(crate) struct DeviceKey {
    device: Arc<Device>,
    code: Code,
}

enum Code {
    /// The stored kernels that are allowed; each is launched with its round keys.
    Stored { kernels: Kernels, key_bits: KeyBits, keys: Vec<((Mode, Stored), RoundKeys)> },
    /// One kernel, which is the key or is launched with it.
    One(Arc<Kernel>, Option<RoundKeys>),
}

impl DeviceKey {
    /// A key for the stored kernels that are allowed.
    pub(super) fn with_stored(device: Arc<Device>, key: &Key, kernels: Kernels) -> Self {
        let schedule =
            |direction| KeySchedule::new(key.expose(), direction).expect("a key has one of the three lengths");
        let (encrypt, decrypt) = (schedule(Direction::Encrypt), schedule(Direction::Decrypt));
        let mut keys = Vec::new();
        for kind in Stored::ALL {
            if !kernels.choices().iter().any(|&choice| Stored::kinds(choice).contains(&kind)) {
                continue;
            }
            for mode in Mode::ALL {
                let schedule = match mode.direction() {
                    Direction::Encrypt => &encrypt,
                    Direction::Decrypt => &decrypt,
                };
                keys.extend(device.round_keys(mode, kind, schedule).map(|keys| ((mode, kind), keys)));
            }
        }
        Self { device, code: Code::Stored { kernels, key_bits: key.bits(), keys } }
    }

    /// A key for one kernel: baked in, or to be launched with it.
    pub(super) fn with_kernel(device: Arc<Device>, kernel: Kernel, keys: Option<RoundKeys>) -> Self {
        Self { device, code: Code::One(Arc::new(kernel), keys) }
    }

    pub(super) fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The kernels that are allowed, and the length of the key; nothing where there is one kernel only.
    pub(super) fn allowed(&self) -> Option<(Kernels, KeyBits)> {
        match self.code {
            Code::Stored { kernels, key_bits, .. } => Some((kernels, key_bits)),
            Code::One(..) => None,
        }
    }

    /// The kernel for a mode and a choice, and the round keys to launch it with; loads it at its first use.
    pub(super) fn kernel(&self, mode: Mode, choice: Choice) -> Result<(Arc<Kernel>, Option<&RoundKeys>), Error> {
        match &self.code {
            Code::Stored { .. } => {
                let found = match Stored::kinds(choice) {
                    &[kind] => self.stored(mode, kind)?,
                    // What launches several has them one by one.
                    _ => None,
                };
                let (kernel, keys) = found.ok_or_else(|| self.none_for(mode, choice))?;
                Ok((kernel.laid_out(choice), Some(keys)))
            }
            Code::One(kernel, keys) if kernel.mode() == mode => Ok((kernel.clone(), keys.as_ref())),
            Code::One(kernel, _) => {
                Err(Error::NotInKernel { wanted: mode.to_string(), has: kernel.mode().to_string() })
            }
        }
    }

    /// Loads all that a choice launches, unless that was done before.
    pub(super) fn load(&self, mode: Mode, choice: Choice) -> Result<(), Error> {
        match (&self.code, Stored::kinds(choice)) {
            (Code::Stored { .. }, kinds) => kinds
                .iter()
                .try_for_each(|&kind| self.stored(mode, kind)?.map(|_| ()).ok_or_else(|| self.none_for(mode, choice))),
            (Code::One(..), _) => self.kernel(mode, choice).map(|_| ()),
        }
    }

    /// Why there is no kernel.
    pub(super) fn none_for(&self, mode: Mode, choice: Choice) -> Error {
        let name = choice.kernel_name();
        let what = match (&self.code, choice) {
            (Code::Stored { kernels, .. }, _) if !kernels.allow(choice) => {
                format!("`{name}` is not among what the engine may use (`{kernels}`): see `Engine::with_kernels`")
            }
            (_, Choice::Pair { .. }) => {
                format!("there is no `{name}` for {mode} that runs on this device; use `tbox` or `auto-any`")
            }
            _ => format!("there is no `{name}` for {mode} that runs on this device; use `auto` or `auto-any`"),
        };
        Error::NoSuchKernel { what }
    }

    /// A stored kernel, and the round keys to launch it with; none where it is not allowed, or there is none for this
    /// device.
    pub(super) fn stored(&self, mode: Mode, kind: Stored) -> Result<Option<(Arc<Kernel>, &RoundKeys)>, Error> {
        let Code::Stored { keys, .. } = &self.code else { return Ok(None) };
        let Some((_, keys)) = keys.iter().find(|(of, _)| *of == (mode, kind)) else { return Ok(None) };
        Ok(self.device.stored(mode, kind)?.map(|kernel| (kernel, keys)))
    }

    /// Copies chunks to the device, calls `launch` with each, what it holds, and the number of blocks before it, and copies
    /// them back. The data begins `skip` bytes into a block, and is laid on the device so that blocks are aligned.
    fn in_chunks(
        &self,
        skip: usize,
        mut data: InOutBuf<'_, '_, u8>,
        mut launch: impl FnMut(&Workspace, Span, &[u8], usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let device = &*self.device;
        let workspace = Workspace::take(device, (skip + data.len()).next_multiple_of(16).min(CHUNK))?;
        let (mut done, mut at, mut begun) = (0, skip, false);
        let mut run = || {
            while done < data.len() {
                // All chunks but the last end with a block, so all but the first begin with one.
                let len = (workspace.len() / 16 * 16 - at).min(data.len() - done);
                let chunk = &data.get_in()[done..done + len];
                workspace.copy_in(device, at, chunk)?;
                let pointer = workspace.buffer() + at as u64;
                let span = Span { input: pointer, output: pointer, len: len as u64 };
                launch(&workspace, span, chunk, (skip + done) / 16)?;
                begun = true;
                workspace.copy_out(device, at, &mut data.get_out()[done..done + len])?;
                done += len;
                at = 0;
            }
            Ok(())
        };
        let outcome = match run() {
            Ok(()) => workspace.give_back(device, skip + data.len()),
            Err(e) => {
                // Waits for what is on the stream, and clears the buffer; only then may the caller have the data back.
                drop(workspace);
                Err(e)
            }
        };
        if outcome.is_err() && begun {
            data.get_out().fill(0);
        }
        outcome
    }
}

impl BlockEngine for DeviceKey {
    fn ecb(&self, direction: Direction, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.prepare(Mode::ecb(direction), None)?;
        self.in_chunks(0, data, |workspace, span, _, _| {
            // SAFETY: the span lies in the workspace's buffer, which outlives the wait after the copy back.
            unsafe { self.launch(workspace.stream(), span, Work::Ecb(direction), None) }
        })
    }

    fn cbc_decrypt(&self, iv: &[u8; 16], data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.prepare(Mode::CbcDecrypt, None)?;
        let mut previous = *iv;
        self.in_chunks(0, data, |workspace, span, chunk, _| {
            let iv = u128::from_be_bytes(previous);
            previous = *chunk.last_chunk().expect("whole blocks, and not none");
            // SAFETY: as above.
            unsafe { self.launch(workspace.stream(), span, Work::CbcDecrypt { iv }, None) }
        })
    }

    fn ctr(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.prepare(Mode::Ctr, None)?;
        self.in_chunks(skip, data, |workspace, span, _, blocks| {
            let (counter, skip) = (counter.wrapping_add(blocks as u128), if blocks == 0 { skip } else { 0 });
            // SAFETY: as above.
            unsafe { self.launch(workspace.stream(), span, Work::Ctr { counter, skip }, None) }
        })
    }
}
