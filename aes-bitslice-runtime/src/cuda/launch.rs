//! One call on data in device memory, wherever it came from: which kernel it takes, and its launch.

use super::kernel::Span;
use super::{Call, Choice, DeviceKey, Kernels};
use crate::{Direction, Error};
use aes_bitslice_gen::kernel::Mode;
use cudarc::driver::sys::CUstream;

/// What is to be done with a span of device memory.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Whole blocks through the block cipher, each on its own.
    Ecb(Direction),
    /// XOR with the key stream that starts `skip` (fewer than 16) bytes into the block of `counter`.
    Ctr { counter: u128, skip: usize },
    /// Whole blocks of ciphertext through the block cipher, each XORed with the one before; the first with `iv`.
    CbcDecrypt { iv: u128 },
}

impl Work {
    pub(super) fn mode(self) -> Mode {
        match self {
            Self::Ecb(direction) => Mode::ecb(direction),
            Self::Ctr { .. } => Mode::Ctr,
            Self::CbcDecrypt { .. } => Mode::CbcDecrypt,
        }
    }
}

impl DeviceKey {
    /// Loads every kernel that a call of this mode may take, unless that was done before.
    pub(super) fn prepare(&self, mode: Mode, asked: Option<Choice>) -> Result<(), Error> {
        self.device().enter()?;
        let choices = match (asked, self.allowed()) {
            (Some(choice), _) => vec![choice],
            (None, None) => vec![Choice::BITSLICED],
            (None, Some((kernels, _))) => {
                let mut all = kernels.choices();
                // Of several, those there are; one that was asked for has to be there.
                all.retain(|&choice| kernels != Kernels::AutoAny || self.device().has(mode, choice));
                all
            }
        };
        choices.into_iter().try_for_each(|choice| self.kernel(mode, choice).map(|_| ()))
    }

    /// Puts the work on a stream, without waiting; as `asked`, else as is fastest of what the key's kernels may be.
    ///
    /// # Safety
    /// The span lies in memory of the device that is live until the stream has come to the launch.
    pub(super) unsafe fn launch(
        &self,
        stream: CUstream,
        span: Span,
        work: Work,
        asked: Option<Choice>,
    ) -> Result<(), Error> {
        let device = self.device();
        // What comes before the first whole block of key stream is done apart.
        let head = match work {
            Work::Ctr { skip, .. } => (16 - skip as u64) % 16,
            Work::Ecb(_) | Work::CbcDecrypt { .. } => 0,
        };
        let aligned = span.part(head, 0).is_aligned();
        let choice = self.choose(work.mode(), span.len, aligned, asked);
        let (kernel, keys) = self.kernel(work.mode(), choice)?;
        // SAFETY: as the caller vouches.
        unsafe {
            match work {
                Work::Ecb(_) => kernel.ecb(device, stream, span, keys),
                Work::Ctr { counter, skip } => kernel.ctr(device, stream, span, counter, skip, keys),
                Work::CbcDecrypt { iv } => kernel.cbc_decrypt(device, stream, span, iv, keys),
            }
        }
    }

    /// The choice for a call. Where there is one kernel only, it says nothing.
    fn choose(&self, mode: Mode, bytes: u64, aligned: bool, asked: Option<Choice>) -> Choice {
        match (asked, self.allowed()) {
            (Some(choice), _) => choice,
            (None, None) => Choice::BITSLICED,
            (None, Some((kernels, key_bits))) => {
                let call = Call { mode, key_bits, bytes, aligned };
                self.device().tuning().choose(kernels, &call, |choice| self.device().has(mode, choice))
            }
        }
    }
}
