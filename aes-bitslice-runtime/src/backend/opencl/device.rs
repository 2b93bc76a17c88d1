//! An open device: its context, its slots, and its kernels, each compiled on first use.

use crate::backend::device::on_first_use::OnFirstUse;
use crate::backend::device::self_test;
use crate::backend::opencl::commands::{HashKernel, Kernel, RoundKeys, Slots};
use crate::backend::opencl::context::Context;
use crate::backend::opencl::kernel::hash;
use crate::backend::opencl::kernel::program::EntryPoints;
use crate::backend::opencl::kernel::stored::{self, StoredKernel};
use crate::backend::opencl::memory::key_memory::KeyMemory;
use crate::backend::opencl::platforms::Wanted;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::exec::{known_answer, sources};
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use std::sync::Arc;

/// An open OpenCL device.
pub(crate) struct Device {
    /// That of its buffers and queues.
    pub(crate) context: Arc<Context>,
    /// Slots for data from the host.
    pub(crate) slots: Slots,
    kernels: OnFirstUse<Mode, Kernel>,
    /// The GHASH kernel.
    hash: OnFirstUse<(), HashKernel>,
}

impl Device {
    pub(crate) fn open(wanted: Wanted) -> Result<Arc<Self>, Error> {
        let context = Context::open(wanted)?;
        let slots = Slots::new(context.clone());
        Ok(Arc::new(Self { context, slots, kernels: OnFirstUse::default(), hash: OnFirstUse::default() }))
    }

    /// Whether there is a stored kernel for a mode.
    pub(crate) fn has(&self, mode: Mode) -> bool {
        self.find(mode).is_ok()
    }

    /// The stored kernel for a mode, compiled and tested on first use.
    pub(crate) fn stored(&self, mode: Mode) -> Result<Kernel, Error> {
        self.kernels.get(mode, || {
            let StoredKernel { source, manifest } = self.find(mode)?;
            let kernel = self.compile(manifest, source)?;
            for (key, expected) in known_answer::keys(mode) {
                let keys = self.round_keys(mode, &key)?;
                self_test::of_cipher(&kernel, &self.slots, keys.as_ref(), |answer| answer == expected)?;
            }
            Ok(kernel)
        })
    }

    /// The GHASH kernel, compiled and tested on first use.
    pub(crate) fn hash_kernel(&self) -> Result<HashKernel, Error> {
        self.hash.get((), || {
            let kernel = hash::compile(&self.context)?;
            self_test::of_hash(&kernel, &self.slots).map(|()| kernel)
        })
    }

    /// Compiles a kernel.
    pub(crate) fn compile(&self, manifest: &Manifest, source: &str) -> Result<Kernel, Error> {
        if manifest.shared_bytes != 0 {
            let what = format!("{} is launched with memory that no OpenCL kernel has", manifest.kernel);
            return Err(Error::NoSuchKernel { what });
        }
        let entry_points = || EntryPoints::compile(&self.context, manifest, source);
        Kernel::new(&self.context, self.context.info().compute_units, manifest, entry_points)
    }

    /// The round keys that the stored kernel for a mode is launched with.
    pub(crate) fn round_keys(&self, mode: Mode, key: &Key) -> Result<Option<RoundKeys>, Error> {
        let manifest = &self.find(mode)?.manifest;
        let tweaks = sources::tweak_words(manifest, key)?;
        RoundKeys::new(
            |words| KeyMemory::new(&self.context, words),
            manifest.keys,
            sources::key_words(manifest, key)?,
            tweaks,
        )
    }

    /// The stored kernel for a mode.
    fn find(&self, mode: Mode) -> Result<&'static StoredKernel, Error> {
        let missing =
            || Error::NoSuchKernel { what: format!("none is stored for {mode} on OpenCL: use the backend `cpu`") };
        stored::find(mode, self.context.layout()).ok_or_else(missing)
    }
}
