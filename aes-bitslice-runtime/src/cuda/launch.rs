//! One call on data in device memory, wherever it came from: which kernel it takes, and its launch.

use super::kernel::{Kernel, Span};
use super::round_keys::RoundKeys;
use super::{Call, Choice, Device, DeviceKey, Kernels};
use crate::Error;
use crate::work::Work;
use aes_bitslice_gen::kernel::Mode;
use cudarc::driver::sys::CUstream;

impl Kernel {
    /// Puts the work on a stream, without waiting.
    ///
    /// # Safety
    /// The span lies in memory of the device that is live until the work is done, and the stream is live.
    pub(super) unsafe fn run(
        &self,
        device: &Device,
        stream: CUstream,
        span: Span,
        work: Work,
        keys: Option<&RoundKeys>,
    ) -> Result<(), Error> {
        // SAFETY: as the caller vouches.
        unsafe {
            match work {
                Work::Ecb(_) => self.ecb(device, stream, span, keys),
                Work::Ctr { counter, skip } => self.ctr(device, stream, span, counter, skip, keys),
                Work::CbcDecrypt { iv } => self.cbc_decrypt(device, stream, span, u128::from_be_bytes(iv), keys),
            }
        }
    }
}

impl DeviceKey {
    /// Loads every kernel that a call of this mode may take, unless that was done before.
    pub(super) fn prepare(&self, mode: Mode, asked: Option<Choice>) -> Result<(), Error> {
        self.device().enter()?;
        let choices = match (self.allowed(), asked) {
            // One kernel, whatever is asked for.
            (None, _) => vec![Choice::BITSLICED],
            (Some(_), Some(choice)) => vec![choice.checked()?],
            (Some((kernels, _)), None) => {
                let mut all = kernels.choices();
                // Of several, those there are; one that was asked for has to be there.
                all.retain(|&choice| kernels != Kernels::AutoAny || self.device().has(mode, choice));
                all
            }
        };
        choices.into_iter().try_for_each(|choice| self.load(mode, choice))
    }

    /// Puts the work on a stream, without waiting; as `asked`, else as is fastest of what the key's kernels may be.
    ///
    /// # Safety
    /// The span lies in memory of the device that is live until the work is done, and the stream is live.
    pub(super) unsafe fn launch(
        &self,
        stream: CUstream,
        span: Span,
        work: Work,
        asked: Option<Choice>,
    ) -> Result<(), Error> {
        let device = self.device();
        let aligned = span.part(work.head(), 0).is_aligned();
        let choice = self.choose(work.mode(), span.len, aligned, asked)?;
        if let Choice::Pair { bitsliced } = choice {
            // SAFETY: as the caller vouches.
            return unsafe { self.launch_pair(stream, span, work, bitsliced) };
        }
        let (kernel, keys) = self.kernel(work.mode(), choice)?;
        // SAFETY: as the caller vouches.
        unsafe { kernel.run(device, stream, span, work, keys) }
    }

    /// The choice for a call. Where there is one kernel only, it says nothing, whatever was asked for.
    fn choose(&self, mode: Mode, bytes: u64, aligned: bool, asked: Option<Choice>) -> Result<Choice, Error> {
        match (self.allowed(), asked) {
            (None, _) => Ok(Choice::BITSLICED),
            (Some(_), Some(choice)) => choice.checked(),
            (Some((kernels, key_bits)), None) => {
                let call = Call { mode, key_bits, bytes, aligned };
                Ok(self.device().tuning().choose(kernels, &call, |choice| self.device().has(mode, choice)))
            }
        }
    }
}
