//! One call on data in device memory, wherever it came from: its choice of kernel, and its launch.

use crate::backend::cuda::co_resident::{self, Part};
use crate::backend::cuda::commands::{HashKernel, Slots, Span};
use crate::backend::cuda::context::Context;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::select::stored::StoredKind;
use crate::backend::device::hash::{Crypt, Gcm, GcmHash, Tables};
use crate::backend::device::key::KeyOnDevice;
use crate::base::error::Error;
use crate::cpu::hash_key::HashKey;
use crate::exec::choice::{self, Choice, Kernels};
use crate::exec::work::Work;
use crate::op::partial_hash::Verdict;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::mode::Mode;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::sync::Arc;

impl KeyOnDevice for DeviceKey {
    type Driver = Context;

    fn driver(&self) -> &Arc<Context> {
        self.device().context()
    }

    fn slots(&self) -> &Slots {
        &self.device().slots
    }

    fn loaded_hash(&self) -> Result<HashKernel, Error> {
        self.device().hash_kernel()
    }

    fn tables(&self) -> &Tables<Context> {
        &self.hash_tables
    }

    fn prepare(&self, mode: Mode, asked: Option<Choice>) -> Result<(), Error> {
        self.device().enter()?;
        let choices = match (self.allowed(), asked) {
            // There is only this kernel, so the request is ignored.
            (None, _) => vec![Choice::Bitsliced],
            (Some(_), Some(choice)) => vec![choice.checked()?],
            (Some((kernels, _)), None) => {
                let mut all = kernels.choices();
                // Of several, those that exist; a requested one must exist.
                all.retain(|&choice| kernels != Kernels::AutoAny || self.device().stored.has(mode, choice));
                all
            }
        };
        choices.into_iter().try_for_each(|choice| self.load(mode, choice))
    }

    unsafe fn launch(
        &self,
        stream: &mut CUstream,
        span: Span,
        work: &dyn Work,
        mode: Mode,
        asked: Option<Choice>,
    ) -> Result<(), Error> {
        let choice = self.choose(mode, span.len, span.is_aligned(work.head()), asked)?;
        if let Choice::CoResident { bitsliced } = choice {
            let part = |kind| self.stored(mode, kind, choice).map(|(kernel, keys)| Part { kernel, keys });
            let (tables, bits) = (part(StoredKind::CoResidentTbox)?, part(StoredKind::CoResidentBits)?);
            let side_streams = &self.device().side_streams;
            // SAFETY: as the caller guarantees.
            return unsafe { co_resident::launch(side_streams, *stream, span, work, &tables, &bits, bitsliced) };
        }
        let (kernel, keys) = self.kernel(mode, choice)?;
        // SAFETY: as the caller guarantees.
        unsafe { kernel.run(stream, span, keys, |shape| work.launches(shape)) }
    }
}

/// A call of GCM that one launch performs.
pub(crate) struct InOneLaunch<'k> {
    gcm: Gcm<'k, Context>,
    crypt: Crypt<CUdeviceptr>,
    key: HashKey,
}

impl DeviceKey {
    /// The launch that performs a call of GCM on this data alone, where that is the fastest way, unless another is `asked` for; its kernel
    /// is loaded and tested, and its tables are built, on first use. The caller has entered the device.
    pub(crate) fn in_one_launch(
        &self,
        work: &dyn Work,
        span: Span,
        asked: Option<Choice>,
    ) -> Result<Option<InOneLaunch<'_>>, Error> {
        let (Some(hashed), Some(key), Some(counter)) = (work.kernels().hashed, work.hash_key(), work.counter()) else {
            return Ok(None);
        };
        let direction = hashed.of(Direction::Decrypt, Direction::Encrypt);
        let Some((_, key_bits)) = self.allowed().filter(|_| asked.is_none()) else { return Ok(None) };
        if !((1..=self.device().most_in_one_launch(direction, key_bits)).contains(&span.len) && span.is_aligned(0)) {
            return Ok(None);
        }
        let crypt = Crypt { direction, counter, span };
        Ok(self.gcm(key)?.map(|gcm| InOneLaunch { gcm, crypt, key: key.clone() }))
    }

    /// Loads everything that some work may need, and builds the tables of its hash, unless that was done before.
    pub(crate) fn prepare_call(&self, work: &dyn Work, asked: Option<Choice>) -> Result<(), Error> {
        self.prepare_all(work, asked)?;
        match work.hash_key().filter(|_| work.counter().is_some()) {
            Some(key) if asked.is_none() => self.gcm(key).map(drop),
            _ => Ok(()),
        }
    }
}

impl InOneLaunch<'_> {
    /// Puts it on a stream, without waiting. The terms of the hash are written to the 16 bytes at `hash`; or the verdict, which clears what is
    /// decrypted if it is not authentic.
    ///
    /// # Safety
    /// The data and those bytes are in memory of the device that is live until the work is done, and the stream is live and belongs to the
    /// device's context, which was entered on this thread.
    pub(crate) unsafe fn run(
        &self,
        device: &Device,
        stream: CUstream,
        verdict: &Verdict,
        hash: CUdeviceptr,
    ) -> Result<(), Error> {
        // SAFETY: as the caller guarantees; the tables live as long as the key, and dropping it waits for the launches.
        unsafe {
            device.stream_sums.with(stream, |sum| {
                self.gcm.run(&mut { stream }, self.crypt, &self.key, verdict, GcmHash { sum, hash })
            })
        }
    }
}

impl DeviceKey {
    /// The choice for a call. With only one kernel it means nothing, whatever was requested.
    pub(crate) fn choose(&self, mode: Mode, bytes: u64, aligned: bool, asked: Option<Choice>) -> Result<Choice, Error> {
        match (self.allowed(), asked) {
            (None, _) => Ok(Choice::Bitsliced),
            (Some(_), Some(choice)) => choice.checked(),
            (Some((kernels, key_bits)), None) => {
                let call = choice::Call { mode, key_bits, bytes, aligned };
                Ok(self.device().tuning.choose(kernels, &call, |choice| self.device().stored.has(mode, choice)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::device::slots::MOST;
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
        let slots: Vec<_> = (0..MOST).map(|_| device.slots.take(4096).unwrap()).collect();
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
