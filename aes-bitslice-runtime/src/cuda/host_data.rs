//! Data in host memory: to the device, through the kernel, and back, in chunks of bounded size.

use super::Device;
use super::device::basis_of_stored;
use super::kernel::{Kernel, RoundKeys, Span};
use super::memory::Workspace;
use crate::engine::BlockEngine;
use crate::{Direction, Error, Key};
use aes_bitslice_gen::aes::KeySchedule;
use aes_bitslice_gen::kernel::Mode;
use cipher::inout::InOutBuf;
use std::sync::Arc;

/// Bytes of a chunk: the device memory that a call takes.
const CHUNK: usize = 64 << 20;

/// A key on a device.
pub(crate) struct DeviceKey {
    device: Arc<Device>,
    kernels: Kernels,
}

enum Kernels {
    /// The stored kernels; round keys, by mode, go with each launch.
    Planes([RoundKeys; Mode::ALL.len()]),
    /// One kernel, which is the key or is launched with it.
    One(Arc<Kernel>, Option<RoundKeys>),
}

impl DeviceKey {
    pub(super) fn with_planes(device: Arc<Device>, key: &Key) -> Self {
        let schedule =
            |direction| KeySchedule::new(key.expose(), direction).expect("a key has one of the three lengths");
        let (encrypt, decrypt) = (schedule(Direction::Encrypt), schedule(Direction::Decrypt));
        let keys = Mode::ALL.map(|mode| {
            let schedule = match mode.direction() {
                Direction::Encrypt => &encrypt,
                Direction::Decrypt => &decrypt,
            };
            RoundKeys::argument(schedule, basis_of_stored(mode))
        });
        Self { device, kernels: Kernels::Planes(keys) }
    }

    /// A key for one kernel: baked in, or to be launched with it.
    pub(super) fn with_kernel(device: Arc<Device>, kernel: Kernel, keys: Option<RoundKeys>) -> Self {
        Self { device, kernels: Kernels::One(Arc::new(kernel), keys) }
    }

    pub(super) fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The kernel for a mode, and the round keys to launch it with; loads it at its first use.
    pub(super) fn kernel(&self, mode: Mode) -> Result<(Arc<Kernel>, Option<&RoundKeys>), Error> {
        match &self.kernels {
            Kernels::Planes(keys) => {
                let (_, keys) = Mode::ALL.iter().zip(keys).find(|(m, _)| **m == mode).expect("all modes are there");
                Ok((self.device.planes_kernel(mode)?, Some(keys)))
            }
            Kernels::One(kernel, keys) if kernel.mode() == mode => Ok((kernel.clone(), keys.as_ref())),
            Kernels::One(kernel, _) => {
                Err(Error::NotInKernel { wanted: mode.to_string(), has: kernel.mode().to_string() })
            }
        }
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
        self.device.enter()?;
        let (kernel, keys) = self.kernel(Mode::ecb(direction))?;
        self.in_chunks(0, data, |workspace, span, _, _| {
            // SAFETY: the span lies in the workspace's buffer, which outlives the wait after the copy back.
            unsafe { kernel.ecb(&self.device, workspace.stream(), span, keys) }
        })
    }

    fn cbc_decrypt(&self, iv: &[u8; 16], data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.device.enter()?;
        let (kernel, keys) = self.kernel(Mode::CbcDecrypt)?;
        let mut previous = *iv;
        self.in_chunks(0, data, |workspace, span, chunk, _| {
            let iv = u128::from_be_bytes(previous);
            previous = *chunk.last_chunk().expect("whole blocks, and not none");
            // SAFETY: as above.
            unsafe { kernel.cbc_decrypt(&self.device, workspace.stream(), span, iv, keys) }
        })
    }

    fn ctr(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        self.device.enter()?;
        let (kernel, keys) = self.kernel(Mode::Ctr)?;
        self.in_chunks(skip, data, |workspace, span, _, blocks| {
            let (counter, skip) = (counter.wrapping_add(blocks as u128), if blocks == 0 { skip } else { 0 });
            // SAFETY: as above.
            unsafe { kernel.ctr(&self.device, workspace.stream(), span, counter, skip, keys) }
        })
    }
}
