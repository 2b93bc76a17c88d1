//! A device that was opened: its context, its kernels, and memory kept ready for data from the host.

use super::handles::{Buffer, Queue, call, lock};
use super::kernel::Kernel;
use super::platforms::{self, DeviceInfo, DeviceKind, Found, Wanted};
use super::pool::Pool;
use super::round_keys::RoundKeys;
use crate::{Error, Key, known_answer, sources};
use aes_bitslice_gen::emit::Manifest;
use aes_bitslice_gen::kernel::Mode;
use aes_bitslice_gen::layout::Layout;
use opencl3::context::{Context, context};
use opencl3::types::cl_device_id;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, OnceLock};

/// A device behind OpenCL that was opened.
pub(crate) struct Device {
    found: Found,
    /// Released by our own drop. It lives on until all that was made in it is released, too.
    context: ManuallyDrop<Context>,
    queue: Queue,
    kernels: Mutex<HashMap<Mode, Arc<Kernel>>>,
    /// Held while a kernel is compiled and tested. Not `kernels`: the test waits for a slot, and whoever has one launches, and
    /// looks there.
    loading: Mutex<()>,
    /// Slots for data from the host.
    pub(super) pool: Pool,
}

impl Drop for Device {
    fn drop(&mut self) {
        // Not by its own drop, which panics where this fails.
        // SAFETY: not used after this.
        let _ = unsafe { context::release_context(self.context.get()) };
    }
}

impl Device {
    pub(crate) fn open(wanted: Wanted) -> Result<Arc<Self>, Error> {
        let found = platforms::find(wanted)?;
        let id = found.id.raw();
        let made = context::create_context(&[id], std::ptr::null(), None, std::ptr::null_mut());
        let context = ManuallyDrop::new(Context::new(call("clCreateContext", made)?, &[id]));
        // SAFETY: the context was made for this device just now.
        let queue = unsafe { Queue::new(context.get(), id) }.inspect_err(|_| {
            // SAFETY: made above, and not used after this.
            let _ = unsafe { context::release_context(context.get()) };
        })?;
        Ok(Arc::new(Self {
            found,
            context,
            queue,
            kernels: Mutex::default(),
            loading: Mutex::default(),
            pool: Pool::default(),
        }))
    }

    /// The device, as its driver describes it.
    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.found.info
    }

    /// The context that buffers and queues must belong to.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// The device's handle.
    pub(crate) fn id(&self) -> cl_device_id {
        self.found.id.raw()
    }

    /// Whether its compiler is NVIDIA's.
    pub(super) fn is_nvidia(&self) -> bool {
        self.found.is_nvidia
    }

    /// Bytes that one buffer may have.
    pub(super) fn largest_buffer(&self) -> u64 {
        self.found.largest_buffer
    }

    /// Whether it is the processor of this machine.
    pub(super) fn is_cpu(&self) -> bool {
        self.info().kind == DeviceKind::Cpu
    }

    /// A queue for what is no call's.
    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Another queue.
    pub(super) fn new_queue(&self) -> Result<Queue, Error> {
        // SAFETY: the context is that of the device.
        unsafe { Queue::new(self.context.get(), self.id()) }
    }

    /// A buffer of so many bytes, not none.
    pub(super) fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        // SAFETY: the context is alive.
        unsafe { Buffer::new(self.context.get(), len) }
    }

    /// A buffer of so many bytes, not none, all zero. The queue is one of this device's.
    pub(super) fn zeroed(&self, queue: &Queue, len: usize) -> Result<Buffer, Error> {
        // SAFETY: the context is alive; the driver refuses queues of another.
        unsafe { Buffer::zeroed(self.context.get(), queue, len) }
    }

    /// The stored kernel for a mode, compiled and tested at its first use.
    pub(super) fn stored(self: &Arc<Self>, mode: Mode) -> Result<Arc<Kernel>, Error> {
        let loaded = || lock(&self.kernels).get(&mode).cloned();
        if let Some(kernel) = loaded() {
            return Ok(kernel);
        }
        let _loading = lock(&self.loading);
        if let Some(kernel) = loaded() {
            return Ok(kernel);
        }
        let StoredKernel { source, manifest } = self.find(mode);
        let kernel = Kernel::compile(self, manifest, source)?;
        for (key, expected) in known_answer::keys(mode) {
            let keys = self.round_keys(mode, &Key::new(&key)?)?;
            kernel.self_test(self, keys.as_ref(), |answer| answer == expected)?;
        }
        let kernel = Arc::new(kernel);
        lock(&self.kernels).insert(mode, kernel.clone());
        Ok(kernel)
    }

    /// The round keys that the stored kernel for a mode is launched with.
    pub(super) fn round_keys(self: &Arc<Self>, mode: Mode, key: &Key) -> Result<Option<RoundKeys>, Error> {
        let manifest = &self.find(mode).manifest;
        RoundKeys::new(self, manifest.keys, sources::key_words(manifest, key)?)
    }

    /// The layout that is fast there: by column where threads exchange words, by state elsewhere.
    pub(super) fn layout(&self) -> Layout {
        if self.is_nvidia() { Layout::Column } else { Layout::State }
    }

    /// The stored kernel for a mode.
    fn find(&self, mode: Mode) -> &'static StoredKernel {
        stored_kernel(mode, self.layout()).expect("there is one for every mode and layout")
    }
}

/// A kernel that comes with this crate.
struct StoredKernel {
    source: &'static str,
    manifest: Manifest,
}

fn stored_kernel(mode: Mode, layout: Layout) -> Option<&'static StoredKernel> {
    static STORED: OnceLock<Vec<StoredKernel>> = OnceLock::new();
    let parse = |kernel: &'static aes_bitslice_kernels::OpenClKernel| StoredKernel {
        source: kernel.source,
        manifest: Manifest::parse(kernel.manifest).expect("a manifest of this project"),
    };
    let stored = STORED.get_or_init(|| aes_bitslice_kernels::OPENCL_KERNELS.iter().map(parse).collect());
    stored.iter().find(|StoredKernel { manifest, .. }| {
        manifest.mode().is_ok_and(|of| of == mode) && manifest.layout().is_ok_and(|of| of == layout)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_gen::emit::Dialect;

    #[test]
    fn every_mode_has_a_kernel_for_every_kind_of_device() {
        for mode in Mode::ALL {
            for layout in [Layout::Column, Layout::State] {
                let stored = stored_kernel(mode, layout).unwrap();
                assert!(stored.manifest.dialect == Dialect::OpenCl && stored.manifest.shared_bytes == 0);
                assert!(stored.source.contains(&stored.manifest.entry_bytes), "{mode} {layout}");
            }
        }
    }
}
