//! An open device: its context, its kernels, and memory kept ready for data from the host.

use crate::backend::cuda::commands::{HashKernel, Kernel, RoundKeys, Slots};
use crate::backend::cuda::context::Context;
use crate::backend::cuda::driver;
use crate::backend::cuda::gcm_self_test;
use crate::backend::cuda::kernel::image::Image;
use crate::backend::cuda::kernel::module::EntryPoints;
use crate::backend::cuda::kernel::side_stream::SideStreams;
use crate::backend::cuda::memory::batch_memory::BatchMemories;
use crate::backend::cuda::memory::hash_memory::HashMemories;
use crate::backend::cuda::memory::stream_sums::StreamSums;
use crate::backend::cuda::memory::tag_results::TagResults;
use crate::backend::cuda::select::hash;
use crate::backend::cuda::select::stored::{KeyForm, Stored, StoredKind};
use crate::backend::cuda::select::tuning::Tuning;
use crate::backend::device::on_first_use::OnFirstUse;
use crate::backend::device::self_test;
use crate::base::error::Error;
use crate::base::stop::Stop;
use crate::exec::{known_answer, sources};
use crate::op::kernels::KernelsNeeded;
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use std::sync::Arc;

/// An open CUDA device.
pub(crate) struct Device {
    context: Arc<Context>,
    /// Its name, as its driver reports it.
    pub(crate) name: String,
    /// Compute capability, as in `sm_90`: 90.
    pub(crate) architecture: u32,
    pub(crate) multiprocessors: u32,
    clock_khz: u32,
    /// The stored kernels that run on it.
    pub(crate) stored: Stored,
    kernels: OnFirstUse<(Mode, StoredKind), Option<Kernel>>,
    /// Whether there is a GHASH kernel for it.
    hashes: bool,
    /// The GHASH kernel.
    hash: OnFirstUse<(), HashKernel>,
    /// The GHASH kernel for messages with hash keys of their own.
    hash_of_jobs: OnFirstUse<(), HashKernel>,
    /// The kernel of GCM in one launch, and the form of its keys.
    gcm: OnFirstUse<(), Option<(HashKernel, KeyForm)>>,
    /// The rate of its memory, in bytes a second.
    memory_rate: u64,
    /// Which kernels are fastest on it.
    pub(crate) tuning: Tuning,
    /// Slots for data from the host.
    pub(crate) slots: Slots,
    /// Memory for hashes of data in device memory.
    pub(crate) hash_memories: Arc<HashMemories>,
    /// Memory in which hashes are added up, of GCM in one launch.
    pub(crate) stream_sums: StreamSums,
    /// Memory that tags come back in.
    pub(crate) tag_results: Arc<TagResults>,
    /// Memory for calls on many messages in device memory.
    pub(crate) batch_memories: Arc<BatchMemories>,
    /// The entry points for batches that gave their known answers, by the mode of their kernel.
    tested: OnFirstUse<(Mode, Entry), ()>,
    /// Streams for the second of two co-resident kernels, between calls.
    pub(crate) side_streams: SideStreams,
}

impl Device {
    /// Opens the device with this number.
    pub(crate) fn open(ordinal: usize) -> Result<Self, Error> {
        let info = driver::usable(ordinal)?;
        let context = Arc::new(Context::open(&info)?);
        let (major, minor) = info.compute_capability;
        let tuning = Tuning::of(&info);
        Ok(Self {
            name: info.name,
            architecture: 10 * major + minor,
            multiprocessors: info.multiprocessors,
            clock_khz: info.clock_khz,
            stored: Stored::for_device(info.shared_memory_bytes),
            kernels: OnFirstUse::default(),
            hashes: hash::alone(10 * major + minor).is_ok(),
            hash: OnFirstUse::default(),
            hash_of_jobs: OnFirstUse::default(),
            gcm: OnFirstUse::default(),
            memory_rate: info.memory_rate,
            tuning,
            slots: Slots::new(context.clone()),
            hash_memories: HashMemories::new(context.clone()),
            stream_sums: StreamSums::new(context.clone()),
            tag_results: TagResults::new(context.clone()),
            batch_memories: BatchMemories::new(context.clone(), info.memory_bytes),
            tested: OnFirstUse::default(),
            side_streams: SideStreams::new(context.clone()),
            context,
        })
    }

    /// Its expected speed, in proportion to others.
    pub(crate) fn rating(&self) -> f64 {
        f64::from(self.multiprocessors.max(1)) * f64::from(self.clock_khz.max(1))
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Refuses if an earlier error left the context unusable, else makes the context this thread's.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        self.context.enter()
    }

    /// Tests an entry point for batches of a mode's kernel, and those that it is used with, unless they have passed before. Who stops the call
    /// does not stop the test.
    pub(crate) fn test_batch(
        &self,
        mode: Mode,
        entry: Entry,
        test: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.tested.get((mode, entry), || Stop::never(test))
    }

    /// A stored kernel for keys given at launch, loaded and tested on first use; `None` if this device has none.
    pub(crate) fn kernel(&self, mode: Mode, kind: StoredKind) -> Result<Option<Kernel>, Error> {
        self.kernels.get((mode, kind), || {
            let Some(stored) = self.stored.find(mode, kind) else { return Ok(None) };
            let kernel = self.load(&stored.manifest, &Image::of_stored(self.architecture, stored.kernel)?)?;
            if kind.is_co_resident() {
                kernel.share_multiprocessors()?;
            }
            for (key, expected) in known_answer::keys(mode) {
                let keys = stored.key_form.round_keys(&sources::expanded(&key)).expect("a key of the kernel's kind");
                self.test(&kernel, Some(&keys), |answer| answer == expected)?;
            }
            Ok(Some(kernel))
        })
    }

    /// Whether it has these kernels.
    pub(crate) fn supports(&self, KernelsNeeded { mode, hashed, .. }: KernelsNeeded) -> bool {
        mode.is_none_or(|mode| self.stored.supports(mode)) && (hashed.is_none() || self.hashes)
    }

    /// The GHASH kernel, loaded and tested on first use. The caller has entered the device.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] if there is none for this device, [`Error::SelfTestFailed`], and any error the driver reports.
    pub(crate) fn hash_kernel(&self) -> Result<HashKernel, Error> {
        self.hash.get((), || {
            let kernel = self.load_hash(hash::alone(self.architecture)?)?;
            self_test::of_hash(&kernel, &self.slots).map(|()| kernel)
        })
    }

    /// The GHASH kernel for messages with hash keys of their own, loaded on first use, and not tested. The caller has entered the device.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] if there is none for this device, and any error the driver reports.
    pub(crate) fn hash_kernel_of_jobs(&self) -> Result<HashKernel, Error> {
        self.hash_of_jobs.get((), || self.load_hash(hash::of_jobs(self.architecture)?))
    }

    /// The kernel of GCM in one launch, loaded and tested on first use, and the form of its keys; `None` if there is none for this device.
    /// The caller has entered the device.
    ///
    /// # Errors
    /// [`Error::SelfTestFailed`], and any error the driver reports.
    pub(crate) fn gcm_kernel(&self) -> Result<Option<(HashKernel, KeyForm)>, Error> {
        self.gcm.get((), || {
            let Some((stored, form)) = hash::of_gcm(self.architecture) else { return Ok(None) };
            let kernel = self.load_hash(stored)?;
            gcm_self_test::test(&kernel, &self.slots, &self.stream_sums, &form)?;
            Ok(Some((kernel, form)))
        })
    }

    fn load_hash(&self, (kernel, manifest): hash::Stored) -> Result<HashKernel, Error> {
        let image = Image::of(self.architecture, kernel.name, kernel.cubins, kernel.ptx.unwrap_or_default())?;
        let entry_points = EntryPoints::load(&self.context, &manifest, &image)?;
        Ok(HashKernel::new(&self.context, self.multiprocessors, manifest, entry_points))
    }

    /// The length of the longest message for which GCM in one launch is faster than more launches, in bytes.
    pub(crate) fn most_in_one_launch(&self, direction: Direction, key_bits: KeyBits) -> u64 {
        hash::most_in_one_launch(self.memory_rate, direction, key_bits)
    }

    /// Compiles a source for this device and loads it.
    pub(crate) fn compile(&self, manifest: &Manifest, source: &str) -> Result<Kernel, Error> {
        self.load(manifest, &Image::compile(self.architecture, &manifest.kernel, source, manifest.secret)?)
    }

    fn load(&self, manifest: &Manifest, image: &Image) -> Result<Kernel, Error> {
        self.enter()?;
        Kernel::new(&self.context, self.multiprocessors, manifest, || EntryPoints::load(&self.context, manifest, image))
    }

    /// Runs the known-answer test of a kernel; `is_right` judges the answer.
    pub(crate) fn test(
        &self,
        kernel: &Kernel,
        keys: Option<&RoundKeys>,
        is_right: impl Fn(&[u8]) -> bool,
    ) -> Result<(), Error> {
        self_test::of_cipher(kernel, &self.slots, keys, is_right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::select::stored::StoredKernel;

    /// Thread blocks of as many warps as memory allows, each of which has several tiles.
    #[test]
    #[ignore = "needs a CUDA GPU"]
    fn tweaks_in_little_shared_memory() {
        let device = Device::open(0).unwrap();
        device.enter().unwrap();
        for kib in [64, 99, 163] {
            let stored = Stored::for_device(kib << 10);
            for mode in [Mode::XtsEncrypt, Mode::XtsDecrypt] {
                let StoredKernel { kernel, manifest, key_form } = stored.find(mode, StoredKind::Planes).unwrap();
                let image = Image::of_stored(device.architecture, kernel).unwrap();
                let entry_points = || EntryPoints::load(&device.context, manifest, &image);
                let loaded = Kernel::new(&device.context, 1, manifest, entry_points).unwrap();
                for (key, expected) in known_answer::keys(mode) {
                    let keys = key_form.round_keys(&sources::expanded(&key)).unwrap();
                    device.test(&loaded, Some(&keys), |answer| answer == expected).unwrap();
                }
            }
        }
    }
}
