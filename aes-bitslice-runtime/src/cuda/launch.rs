//! One call on data in device memory, wherever it came from: which kernel it takes, and its launch.

use super::kernel::Span;
use super::{Call, Choice, DeviceKey, Kernels, Runs};
use crate::Error;
use crate::work::Work;
use aes_bitslice_gen::kernel::Mode;
use cudarc::driver::sys::CUstream;

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

    /// The choice for pieces of a call that follow one another on the device without a gap, `bytes` altogether: the kernel
    /// that is fastest for all, its thread blocks as long as for all where a piece keeps the device busy with them.
    pub(super) fn choose_for_pieces(&self, mode: Mode, bytes: u64, aligned: bool) -> Result<Choice, Error> {
        /// Thread blocks that a piece has for each multiprocessor: those of the next pieces come after them.
        const LEFT: u32 = 8;
        let choice = self.choose(mode, bytes, aligned, None)?;
        let Choice::Bitsliced { .. } = choice else { return Ok(choice) };
        let runs = self.kernel(mode, choice)?.0.runs((bytes / 16).max(1));
        Ok(Choice::Bitsliced { runs: Some(Runs { most: runs.clamp(1, 1 << 16) as u32, left: LEFT }) })
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
