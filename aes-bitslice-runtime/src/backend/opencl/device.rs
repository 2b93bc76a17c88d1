//! An open device: its context, its slots, and its kernels, each compiled on first use.

use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::lock;
use crate::backend::opencl::kernel::compiled::Kernel;
use crate::backend::opencl::kernel::hash::HashKernel;
use crate::backend::opencl::kernel::self_test::self_test;
use crate::backend::opencl::kernel::stored::{self, StoredKernel};
use crate::backend::opencl::memory::key_memory::RoundKeys;
use crate::backend::opencl::memory::slots::Pool;
use crate::backend::opencl::platforms::Wanted;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::exec::{known_answer, sources};
use aes_bitslice_core::mode::Mode;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// An open OpenCL device.
pub(crate) struct Device {
    /// Slots for data from the host.
    pool: Pool,
    kernels: Mutex<HashMap<Mode, Arc<Kernel>>>,
    /// The GHASH kernel, once compiled.
    hash: Mutex<Option<Arc<HashKernel>>>,
    /// Held while a kernel is compiled and tested. This cannot be the lock of `kernels`: the test waits for a slot, and
    /// a thread that holds one launches kernels, and looks there.
    loading: Mutex<()>,
}

impl Device {
    pub(crate) fn open(wanted: Wanted) -> Result<Arc<Self>, Error> {
        let pool = Pool::new(Context::open(wanted)?);
        Ok(Arc::new(Self { pool, kernels: Mutex::default(), hash: Mutex::default(), loading: Mutex::default() }))
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        self.pool.context()
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Whether there is a stored kernel for a mode.
    pub(crate) fn supports(&self, mode: Mode) -> bool {
        self.find(mode).is_ok()
    }

    /// The stored kernel for a mode, compiled and tested on first use.
    pub(crate) fn stored(&self, mode: Mode) -> Result<Arc<Kernel>, Error> {
        let loaded = || lock(&self.kernels).get(&mode).cloned();
        if let Some(kernel) = loaded() {
            return Ok(kernel);
        }
        let _loading = lock(&self.loading);
        if let Some(kernel) = loaded() {
            return Ok(kernel);
        }
        let StoredKernel { source, manifest } = self.find(mode)?;
        let kernel = Kernel::compile(self.context(), manifest, source)?;
        for (key, expected) in known_answer::keys(mode) {
            let keys = self.round_keys(mode, &key)?;
            self_test(&kernel, &self.pool, keys.as_ref(), |answer| answer == expected)?;
        }
        let kernel = Arc::new(kernel);
        lock(&self.kernels).insert(mode, kernel.clone());
        Ok(kernel)
    }

    /// The GHASH kernel, compiled and tested on first use.
    pub(crate) fn hash_kernel(&self) -> Result<Arc<HashKernel>, Error> {
        let compiled = || lock(&self.hash).clone();
        if let Some(kernel) = compiled() {
            return Ok(kernel);
        }
        let _loading = lock(&self.loading);
        if let Some(kernel) = compiled() {
            return Ok(kernel);
        }
        let kernel = Arc::new(HashKernel::compile(self.context())?);
        kernel.test(&self.pool)?;
        *lock(&self.hash) = Some(kernel.clone());
        Ok(kernel)
    }

    /// The round keys that the stored kernel for a mode is launched with.
    pub(crate) fn round_keys(&self, mode: Mode, key: &Key) -> Result<Option<RoundKeys>, Error> {
        let manifest = &self.find(mode)?.manifest;
        let tweaks = sources::tweak_words(manifest, key)?;
        RoundKeys::new(self.context(), manifest.keys, sources::key_words(manifest, key)?, tweaks)
    }

    /// The stored kernel for a mode.
    fn find(&self, mode: Mode) -> Result<&'static StoredKernel, Error> {
        let missing =
            || Error::NoSuchKernel { what: format!("none is stored for {mode} on OpenCL: use the backend `cpu`") };
        stored::find(mode, self.context().layout()).ok_or_else(missing)
    }
}
