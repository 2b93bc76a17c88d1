//! Calls that only a CUDA engine supports: several GPUs, device memory, and measurements.

use crate::api::cipher::{Cipher, KeyOn};
use crate::api::engine::{Engine, Kind};
use crate::backend::cuda::device::Device;
use crate::backend::cuda::device_data::DeviceCipher;
use crate::backend::cuda::memory::pinned;
use crate::backend::cuda::program::Program;
use crate::backend::cuda::select::tuning::Tuning;
use crate::backend::cuda::several::group::{Group, Shares};
use crate::backend::cuda::several::sharded_buffer::{Cuts, ShardedBuffer};
use crate::backend::cuda::several::sharded_data::ShardedCipher;
use crate::base::error::Error;
use cudarc::driver::CudaContext;
use std::sync::Arc;
use std::time::Duration;

impl Engine {
    /// Opens several GPUs, by number, that share the work of every call and finish at the same time: one that is ahead takes over part of
    /// what another has left. The output is that of one GPU. If one of them fails, the call fails and its output is cleared.
    ///
    /// ```no_run
    /// use aes_bitslice_runtime::{Counter, Ctr, Engine, Key, KeyBits, cuda::Shares};
    ///
    /// let engine = Engine::multi(&[0, 1], Shares::Measured)?;
    /// let cipher = engine.cipher(&Key::generate(KeyBits::Aes128)?)?;
    /// let mut bytes = vec![7; 1 << 30];
    /// cipher.run(Ctr::new(&Counter::random()?, 0), &mut bytes)?;
    /// // Or in GPU memory, a share on each.
    /// let mut data = engine.sharded(bytes.len())?;
    /// data.copy_from_host(0, &bytes)?;
    /// cipher.sharded()?.run(Ctr::new(&Counter::random()?, 0), &mut data)?;
    /// # Ok::<(), aes_bitslice_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadDevices`] for no GPU, or one GPU twice; [`Error::CudaUnavailable`], [`Error::NoSuchDevice`] or another CUDA error if one
    /// cannot be used; [`Error::Threads`] if the environment variable `AES_BITSLICE_THREADS` has no number that
    /// [`set_threads`](crate::set_threads) takes.
    pub fn multi(ordinals: &[usize], shares: Shares) -> Result<Self, Error> {
        Self::new(Kind::Cuda(Group::open(ordinals, shares)?), None)
    }

    /// The tuning of its CUDA GPU, or of the first of several; `None` on other engines.
    pub fn tuning(&self) -> Option<&Tuning> {
        self.group("").ok().map(|group| &group.first().tuning)
    }

    /// Allocates `len` bytes of zeroed device memory, sharded over this engine's GPUs: each has a share in proportion to its share of the
    /// work. For [`Cipher::sharded`]; with one GPU it is one share.
    ///
    /// # Errors
    /// [`Error::NotCuda`] on other engines, [`Error::OutOfDeviceMemory`], and errors from the devices.
    pub fn sharded(&self, len: usize) -> Result<ShardedBuffer, Error> {
        self.sharded_in(len, Cuts::USUAL)
    }

    /// Device memory that is [sharded](Self::sharded) at other places: for tests with little data.
    #[doc(hidden)]
    pub fn sharded_in(&self, len: usize, cuts: Cuts) -> Result<ShardedBuffer, Error> {
        ShardedBuffer::new(self.group("sharded memory")?, len, cuts)
    }

    /// The CUDA context to which streams and buffers for [`Cipher::device`] belong: the device's primary context.
    ///
    /// # Errors
    /// [`Error::NotCuda`] on other engines, [`Error::SeveralDevices`] where there are several.
    pub fn cuda_context(&self) -> Result<Arc<CudaContext>, Error> {
        Ok(self.gpu("a CUDA context")?.context().shared().clone())
    }

    /// The CUDA context of each GPU, in the order given: [`Cipher::devices`] works in these.
    ///
    /// # Errors
    /// [`Error::NotCuda`] on other engines.
    pub fn cuda_contexts(&self) -> Result<Vec<Arc<CudaContext>>, Error> {
        let members = &self.group("a CUDA context")?.members;
        Ok(members.iter().map(|member| member.device.context().shared().clone()).collect())
    }

    /// Compiles a kernel that is not a cipher, `ENTRY(const void *in, void *out, unsigned long long count)` in CUDA C, for thread blocks of
    /// `threads`: for experiments and measurements. The source contains no key.
    ///
    /// # Errors
    /// [`Error::NotCuda`] on other engines, [`Error::SeveralDevices`] where there are several, [`Error::NvrtcUnavailable`],
    /// [`Error::CompileFailed`], [`Error::NoSuchKernel`] if the entry point takes other arguments, and errors from the driver.
    pub fn cuda_program(&self, source: &str, entry: &str, threads: u32) -> Result<Program, Error> {
        Program::load(self.gpu("a kernel")?, source, entry, threads)
    }

    /// Measures how long the driver takes to allocate this much pinned memory for its GPU, with nothing written to it. It is freed again.
    ///
    /// # Errors
    /// [`Error::NotCuda`] on other engines, [`Error::SeveralDevices`] where there are several, and errors from the driver.
    pub fn pinning_time(&self, bytes: usize) -> Result<Duration, Error> {
        let context = self.gpu("pinned memory")?.context();
        context.enter()?;
        pinned::time_to_allocate(context, bytes)
    }

    /// The GPU, for calls that only a single GPU supports.
    fn gpu(&self, what: &'static str) -> Result<&Arc<Device>, Error> {
        self.group(what)?.sole().map(|member| &member.device).ok_or(Error::SeveralDevices { what })
    }

    /// The GPUs, for calls that only a CUDA engine supports.
    fn group(&self, what: &'static str) -> Result<&Group, Error> {
        match self.kind() {
            Kind::Cuda(group) => Ok(group),
            _ => Err(Error::NotCuda { what, backend: self.backend().to_string() }),
        }
    }
}

impl Cipher {
    /// Calls with this key on memory of the CUDA device.
    ///
    /// # Errors
    /// [`Error::NotCuda`] if the engine has no CUDA device, [`Error::SeveralDevices`] if it has several GPUs.
    pub fn device(&self) -> Result<DeviceCipher<'_>, Error> {
        let device = self.engine().gpu("device memory")?;
        Ok(match self.key() {
            KeyOn::Cuda(key) => DeviceCipher::new(&key.keys[0], self.cpu()),
            _ => DeviceCipher::without_key(device),
        })
    }

    /// Calls with this key on memory of each of the engine's GPUs, in the order of [`Engine::cuda_contexts`]: for callers with their own
    /// buffers and streams on each.
    ///
    /// A message on several GPUs may be cut anywhere for CTR: every part gets the message's counter, and the position of its first byte in
    /// the message as `offset`. For ECB and CBC it is cut at whole blocks. In CBC the IV of a part is the ciphertext block before it, which
    /// has to be kept if the call works in place.
    ///
    /// # Errors
    /// [`Error::NotCuda`] if the engine has no CUDA device.
    pub fn devices(&self) -> Result<Vec<DeviceCipher<'_>>, Error> {
        let members = &self.engine().group("device memory")?.members;
        Ok(match self.key() {
            KeyOn::Cuda(key) => key.keys.iter().map(|key| DeviceCipher::new(key, self.cpu())).collect(),
            _ => members.iter().map(|member| DeviceCipher::without_key(&member.device)).collect(),
        })
    }

    /// Calls with this key on device memory that is sharded over the engine's GPUs ([`Engine::sharded`]).
    ///
    /// # Errors
    /// [`Error::NotCuda`] if the engine has no CUDA device, [`Error::NeedsKey`] on a cipher without a key.
    pub fn sharded(&self) -> Result<ShardedCipher<'_>, Error> {
        let what = "sharded memory";
        self.engine().group(what)?;
        match self.key() {
            KeyOn::Cuda(key) => Ok(ShardedCipher::new(key, self.cpu())),
            _ => Err(Error::NeedsKey { what }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::backend::Backend;
    use crate::base::key::Key;

    #[test]
    fn what_only_cuda_answers_is_refused_elsewhere() {
        for backend in [Backend::Cpu, Backend::CpuBitsliced] {
            let engine = Engine::open(backend).unwrap();
            assert!(engine.tuning().is_none());
            assert!(matches!(engine.sharded(16), Err(Error::NotCuda { .. })));
            assert!(matches!(engine.cuda_context(), Err(Error::NotCuda { .. })));
            assert!(matches!(engine.under_own_keys().device().map(drop), Err(Error::NotCuda { .. })));
            assert!(matches!(engine.cuda_contexts(), Err(Error::NotCuda { .. })));
            assert!(matches!(engine.cuda_program("", "", 32), Err(Error::NotCuda { .. })));
            assert!(matches!(engine.pinning_time(16), Err(Error::NotCuda { .. })));
            let cipher = engine.cipher(&Key::new(&[1; 16]).unwrap()).unwrap();
            assert!(matches!(cipher.device(), Err(Error::NotCuda { .. })));
            assert!(matches!(cipher.devices(), Err(Error::NotCuda { .. })));
            assert!(matches!(cipher.sharded(), Err(Error::NotCuda { .. })));
        }
    }

    #[test]
    fn gpus_that_cannot_work_together_are_refused() {
        assert!(matches!(Engine::multi(&[], Shares::Equal), Err(Error::BadDevices { .. })));
        assert!(matches!(Engine::multi(&[1, 1], Shares::Equal), Err(Error::BadDevices { .. })));
    }
}
