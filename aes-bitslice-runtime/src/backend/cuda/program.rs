//! Kernels that are not ciphers: the caller's CUDA C, compiled here, for trials and measurements.

use crate::backend::cuda::commands::Span;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::kernel::binding::arguments;
use crate::backend::cuda::kernel::image::Image;
use crate::backend::cuda::kernel::module::{Function, Module};
use crate::backend::device::values::Values;
use crate::base::error::Error;
use crate::op::launch::{Entry, Launch, Value};
use aes_bitslice_core::argument::{Argument, Kind};
use aes_bitslice_core::grid::GridSize;
use aes_bitslice_core::signature::{EntryPoint, Parameter};
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};
use std::sync::Arc;

/// A kernel `ENTRY(const void *in, void *out, unsigned long long count)` from the caller, on one GPU.
///
/// Nothing checks where it reads and writes. Dropping it waits for everything on the GPU.
pub struct Program {
    device: Arc<Device>,
    function: Function,
    /// Unloaded after the function.
    _module: Module,
    threads: u32,
}

impl Program {
    /// Compiles a source and loads its entry point.
    pub(crate) fn load(device: &Arc<Device>, source: &str, entry: &str, threads: u32) -> Result<Self, Error> {
        device.enter()?;
        let image = Image::compile(device.architecture, entry, source, false)?;
        let parameters = [(Argument::In, Kind::Input), (Argument::Out, Kind::Output), (Argument::Length, Kind::U64)];
        let parameters = parameters.map(|(name, kind)| Parameter { name, kind }).to_vec();
        let module = Module::load(device.context(), &image)?;
        let function = module.function(entry, &EntryPoint { name: entry.into(), parameters }, &image, 0)?;
        Ok(Self { device: device.clone(), function, _module: module, threads })
    }

    /// Puts a launch of `thread_blocks` on a stream, without waiting. `count` is the kernel's third argument.
    ///
    /// # Errors
    /// [`Error::OtherContext`] for a stream or a buffer of another device, and any error the driver reports.
    ///
    /// # Safety
    /// With this number of thread blocks and this count, the code reads only within the input and writes only within
    /// the output.
    pub unsafe fn run<I: DevicePtr<u8>, O: DevicePtrMut<u8>>(
        &self,
        stream: &CudaStream,
        thread_blocks: u32,
        input: &I,
        output: &mut O,
        count: u64,
    ) -> Result<(), Error> {
        self.device.enter()?;
        let own = self.device.context().shared().cu_ctx();
        if [stream.context(), input.stream().context(), output.stream().context()].iter().any(|c| c.cu_ctx() != own) {
            return Err(Error::OtherContext);
        }
        let output_len = output.len() as u64;
        let (from, _reads) = input.device_ptr(stream);
        let (to, _writes) = output.device_ptr_mut(stream);
        let launch = Launch {
            entry: Entry::Bytes,
            at: 0,
            thread_blocks,
            threads: self.threads,
            values: vec![(Argument::Length, Value::U64(count))],
        };
        let span = Span::between(Some(from), Some(to), output_len);
        let values = Values { span, launch: &launch, keys: None, tables: None };
        let arguments =
            arguments(&self.function.parameters, &values, |_, _| unreachable!("nothing of it is gathered"))?;
        let grid = GridSize { thread_blocks: thread_blocks.into(), threads: self.threads };
        // SAFETY: the entry point takes these arguments; the buffers are live memory of the device, which the stream's
        // order keeps until the launch is done; the caller guarantees that the code stays within them.
        unsafe { self.function.launch(self.device.context(), grid, 0, false, stream.cu_stream(), &arguments) }
    }
}
