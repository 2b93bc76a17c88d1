//! A kernel of a cipher on a device, and its launches.

use crate::backend::device::driver::Driver;
use crate::backend::device::round_keys::RoundKeys;
use crate::backend::device::span::Span;
use crate::backend::device::values::Values;
use crate::base::error::Error;
use crate::op::launch::{Entry, Geometry, Launch, Shape};
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use std::sync::Arc;

/// A kernel on a device. Clones share the code.
pub(crate) struct Kernel<D: Driver>(Arc<LoadedKernel<D>>);

struct LoadedKernel<D: Driver> {
    driver: Arc<D>,
    name: String,
    mode: Mode,
    entries: Vec<Entry>,
    /// The maximum number of threads of a thread block whose threads expand keys.
    own_key_threads: u32,
    geometry: Geometry,
    code: D::Code,
}

impl<D: Driver> Clone for Kernel<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D: Driver> Kernel<D> {
    /// A kernel from its code, which was loaded on a device of this number of multiprocessors.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] for a kernel of no mode.
    pub(crate) fn new(
        driver: &Arc<D>,
        multiprocessors: u32,
        manifest: &Manifest,
        code: impl FnOnce() -> Result<D::Code, Error>,
    ) -> Result<Self, Error> {
        let mode = manifest.mode().map_err(|e| Error::NoSuchKernel { what: e.to_string() })?;
        Ok(Self(Arc::new(LoadedKernel {
            driver: driver.clone(),
            name: manifest.kernel.clone(),
            mode,
            entries: manifest.entries.keys().copied().collect(),
            own_key_threads: manifest.own_key_threads.unwrap_or(manifest.threads),
            geometry: Geometry::new(manifest, multiprocessors),
            code: code()?,
        })))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    pub(crate) fn mode(&self) -> Mode {
        self.0.mode
    }

    /// Its entry points.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.0.entries
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn code(&self) -> &D::Code {
        &self.0.code
    }

    /// The maximum number of threads of a thread block whose threads expand keys.
    #[cfg(feature = "cuda")]
    pub(crate) fn threads_of_own_keys(&self) -> u32 {
        self.0.own_key_threads
    }

    /// The device's driver.
    pub(crate) fn driver(&self) -> &Arc<D> {
        &self.0.driver
    }

    /// Puts `launches` of a call into a queue, without waiting.
    ///
    /// # Errors
    /// Those of `launches` and of [`Driver::launch`]. Launches before the one that failed are in the queue.
    ///
    /// # Safety
    /// The span is within memory of the device that is live until the work is done, and the queue belongs to the device. The launches
    /// belong to an operation of the kernel's mode, for the shape that they are given.
    pub(crate) unsafe fn run(
        &self,
        queue: &mut D::Queue,
        span: Span<D::Place>,
        keys: Option<&RoundKeys<D::KeyMemory>>,
        launches: impl FnOnce(&Shape<'_>) -> Result<Vec<Launch>, Error>,
    ) -> Result<(), Error> {
        let LoadedKernel { driver, geometry, code, .. } = &*self.0;
        let is_aligned = |at| span.is_aligned(at);
        let launches = launches(&Shape { geometry, len: span.len, in_place: span.in_place, is_aligned: &is_aligned })?;
        launches.iter().try_for_each(|launch| {
            // SAFETY: as the caller guarantees.
            unsafe { driver.launch(queue, code, launch, &Values { span, launch, keys, tables: None }) }
        })
    }
}
