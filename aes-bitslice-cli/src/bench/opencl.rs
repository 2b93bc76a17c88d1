//! Data in the memory of an OpenCL device: kernels timed by the device's own clock.

use std::time::Duration;

use aes_bitslice_runtime::opencl::opencl3::command_queue::CommandQueue;
use aes_bitslice_runtime::opencl::{DeviceMemory, TimedQueue};
use aes_bitslice_runtime::{Cipher, Engine};

use super::case::Case;
use super::host_data::HostData;
use super::warm_up::{LEAD, WARM_UP};
use crate::error::{Error, Result};

/// Input and output in device memory, of the largest size that is measured.
pub struct Memory {
    queue: TimedQueue,
    input: DeviceMemory,
    output: DeviceMemory,
}

impl Memory {
    /// Memory of `bytes` bytes that begins with `input`, and room for the same amount of output.
    pub fn new(engine: &Engine, input: &[u8], bytes: usize) -> Result<Self> {
        if bytes > input.len() {
            let message =
                format!("{} is measured with {} bytes at most; use smaller --sizes", engine.backend(), input.len());
            return Err(Error::usage(message));
        }
        let (mut on_device, output) = (engine.opencl_memory(bytes)?, engine.opencl_memory(bytes)?);
        on_device.copy_from_host(0, &input[..bytes])?;
        Ok(Self { queue: engine.opencl_queue()?, input: on_device, output })
    }

    /// The time of each run on the first `bytes`, checked before and after.
    pub fn time(&mut self, case: &Case, cipher: &Cipher, bytes: usize, data: &mut HostData) -> Result<Vec<Duration>> {
        let Memory { queue, input, output } = self;
        let (opencl, operation) = (cipher.opencl()?, case.operation());
        let run = |queue: &CommandQueue, output: &DeviceMemory| {
            operation.on_opencl(&opencl, queue, input.slice(0, bytes), output.slice(0, bytes))
        };
        let check = |output: &DeviceMemory, data: &mut HostData| {
            output.copy_to_host(0, &mut data.output[..bytes])?;
            case.check(cipher.engine(), &data.output[..bytes], &data.expected[..bytes])
        };

        // Leave no trace of the expected output.
        output.clear()?;
        run(queue.queue(), output)?;
        queue.finish()?;
        check(output, data)?;
        for _ in 0..WARM_UP {
            run(queue.queue(), output)?;
        }
        queue.finish()?;
        // The check below covers the runs from here on.
        output.clear()?;
        let timed = |_| -> Result<Duration> {
            for _ in 0..LEAD {
                run(queue.queue(), output)?;
            }
            Ok(queue.time(|queue| run(queue, output))?)
        };
        let times = (0..case.runs).map(timed).collect::<Result<_>>()?;
        check(output, data)?;
        Ok(times)
    }
}
