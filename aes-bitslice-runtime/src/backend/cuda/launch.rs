//! One call on data in device memory, wherever it came from: its choice of kernel, and its launch.

use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::kernel::co_resident::{self, Part};
use crate::backend::cuda::memory::slots::Slot;
use crate::backend::cuda::memory::span::Span;
use crate::backend::cuda::select::stored::StoredKind;
use crate::base::error::Error;
use crate::exec::call::Call;
use crate::exec::choice::{self, Choice, Kernels};
use crate::exec::steps::Step;
use crate::op::kernels::KernelsNeeded;
use crate::op::operation::Pass;
use aes_bitslice_core::mode::Mode;
use cudarc::driver::sys::{CUdeviceptr, CUstream};

impl DeviceKey {
    /// Loads every kernel that a call of this mode may use, unless that was done before.
    pub(crate) fn prepare(&self, mode: Mode, asked: Option<Choice>) -> Result<(), Error> {
        self.device().enter()?;
        let choices = match (self.allowed(), asked) {
            // There is only this kernel, so the request is ignored.
            (None, _) => vec![Choice::Bitsliced],
            (Some(_), Some(choice)) => vec![choice.checked()?],
            (Some((kernels, _)), None) => {
                let mut all = kernels.choices();
                // Of several, those that exist; a requested one must exist.
                all.retain(|&choice| kernels != Kernels::AutoAny || self.device().stored().has(mode, choice));
                all
            }
        };
        choices.into_iter().try_for_each(|choice| self.load(mode, choice))
    }

    /// Loads everything that a call of an operation may need, unless that was done before.
    pub(crate) fn prepare_all(&self, call: &Call<impl Pass>, asked: Option<Choice>) -> Result<(), Error> {
        let KernelsNeeded { mode, hashed, .. } = call.kernels();
        mode.map_or(Ok(()), |mode| self.prepare(mode, asked))?;
        match call.on_device().hash.filter(|_| hashed.is_some()) {
            Some(key) => self.device().enter().and_then(|()| self.hash_kernel(key).map(drop)),
            None => Ok(()),
        }
    }

    /// Puts all steps of an operation on the stream of a slot, without waiting.
    ///
    /// # Safety
    /// The span is within memory of the device that is live until the work is done.
    pub(crate) unsafe fn launch_in<O: Pass>(
        &self,
        slot: &mut Slot<'_>,
        span: Span,
        call: &Call<O>,
        asked: Option<Choice>,
    ) -> Result<(), Error> {
        call.kernels().launch_in(slot, |slot, step| {
            // SAFETY: as the caller guarantees; stream and hash are the slot's.
            unsafe { self.launch_step(slot.stream(), span, call, step, asked, slot.hash()) }
        })
    }

    /// Puts a step of an operation on a stream, without waiting: the cipher as in [`launch`](Self::launch); a hash is added to the 16 bytes
    /// at `hash`.
    ///
    /// # Safety
    /// The span and `hash` are within memory of the device that is live until the work is done; `hash` is aligned to 4 bytes; the stream is
    /// live.
    pub(crate) unsafe fn launch_step<O: Pass>(
        &self,
        stream: CUstream,
        span: Span,
        call: &Call<O>,
        step: Step,
        asked: Option<Choice>,
        hash: CUdeviceptr,
    ) -> Result<(), Error> {
        let hashed = match step {
            // SAFETY: as the caller guarantees.
            Step::Cipher(mode) => return unsafe { self.launch(stream, span, call, mode, asked) },
            Step::Hash(hashed) => hashed.of(span.input, span.output),
        };
        let (Some(data), Some(key)) = (hashed.filter(|_| span.len > 0), call.on_device().hash) else { return Ok(()) };
        let (kernel, tables) = self.hash_kernel(key)?;
        // SAFETY: as the caller guarantees; the tables live as long as the key, and dropping it waits for the device.
        unsafe { kernel.run(stream, data, span.len, &tables, hash) }
    }

    /// After all [steps](Self::launch_step) of an operation that verifies, on all its data: clears the output if it is not authentic. Does
    /// nothing for other operations.
    ///
    /// # Safety
    /// The span and `hash` are within memory of the device that is live until the work is done; `hash` is aligned to 4 bytes; the stream is
    /// live.
    pub(crate) unsafe fn clear_unless_authentic<O: Pass>(
        &self,
        stream: CUstream,
        span: Span,
        call: &Call<O>,
        hash: CUdeviceptr,
    ) -> Result<(), Error> {
        let (Some(output), Some(key)) = (span.output.filter(|_| span.len > 0), call.on_device().hash) else {
            return Ok(());
        };
        let Some(verdict) = call.verdict(span.len) else { return Ok(()) };
        let (kernel, _) = self.hash_kernel(key)?;
        // SAFETY: as the caller guarantees.
        unsafe { kernel.clear_unless_authentic(stream, output, span.len, hash, &verdict) }
    }

    /// Puts an operation on a stream, without waiting: with the `asked` choice, else with the fastest of the kernels that the key allows.
    /// Its kernels compute `mode`.
    ///
    /// # Safety
    /// The span is within memory of the device that is live until the work is done, and the stream is live.
    pub(crate) unsafe fn launch<O: Pass>(
        &self,
        stream: CUstream,
        span: Span,
        call: &Call<O>,
        mode: Mode,
        asked: Option<Choice>,
    ) -> Result<(), Error> {
        let choice = self.choose(mode, span.len, span.is_aligned(call.head()), asked)?;
        if let Choice::CoResident { bitsliced } = choice {
            let part = |kind| self.stored(mode, kind, choice).map(|(kernel, keys)| Part { kernel, keys });
            let (tables, bits) = (part(StoredKind::CoResidentTbox)?, part(StoredKind::CoResidentBits)?);
            let side_streams = self.device().side_streams();
            // SAFETY: as the caller guarantees.
            return unsafe { co_resident::launch(side_streams, stream, span, call, &tables, &bits, bitsliced) };
        }
        let (kernel, keys) = self.kernel(mode, choice)?;
        // SAFETY: as the caller guarantees.
        unsafe { kernel.run(stream, span, keys, |shape| call.launches(shape)) }
    }

    /// The choice for a call. With only one kernel it means nothing, whatever was requested.
    pub(crate) fn choose(&self, mode: Mode, bytes: u64, aligned: bool, asked: Option<Choice>) -> Result<Choice, Error> {
        match (self.allowed(), asked) {
            (None, _) => Ok(Choice::Bitsliced),
            (Some(_), Some(choice)) => choice.checked(),
            (Some((kernels, key_bits)), None) => {
                let call = choice::Call { mode, key_bits, bytes, aligned };
                Ok(self.device().tuning().choose(kernels, &call, |choice| self.device().stored().has(mode, choice)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::device::Device;
    use crate::backend::cuda::memory::slots::MOST;
    use crate::base::key::Key;
    use std::sync::Arc;

    /// Loading a kernel takes a slot, for its test, and calls that hold slots launch meanwhile.
    #[test]
    #[ignore = "needs a CUDA GPU"]
    fn a_kernel_is_loaded_while_all_slots_are_in_use() {
        let device = Arc::new(Device::open(0).unwrap());
        device.enter().unwrap();
        let key = DeviceKey::with_stored(device.clone(), &Key::new(&[3; 16]).unwrap(), Kernels::Bitsliced);
        key.prepare(Mode::Ctr, None).unwrap();
        let slots: Vec<_> = (0..MOST).map(|_| device.slots().take(4096).unwrap()).collect();
        std::thread::scope(|scope| {
            let loading = scope.spawn(|| key.prepare(Mode::EcbEncrypt, None));
            std::thread::sleep(std::time::Duration::from_millis(200));
            // Finds its kernel, though another one is being loaded.
            key.prepare(Mode::Ctr, None).unwrap();
            drop(slots);
            loading.join().unwrap().unwrap();
        });
    }
}
