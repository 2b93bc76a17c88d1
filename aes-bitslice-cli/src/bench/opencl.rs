//! Data in the memory of an OpenCL device: kernels timed by the device's own clock.

use std::time::Duration;

use aes_bitslice_runtime::opencl::opencl3::command_queue::CommandQueue;
use aes_bitslice_runtime::opencl::{DeviceMemory, TimedQueue};
use aes_bitslice_runtime::{Cipher, Engine};

use super::case::Case;
use super::host_data::HostData;
use super::warm_up::{LEAD, WARM_UP};
use crate::error::{Error, Result};
use crate::modes::operation::Pending;

/// Input and output in device memory, of the largest size that is measured.
pub struct Memory {
    queue: TimedQueue,
    input: DeviceMemory,
    output: DeviceMemory,
}

impl Memory {
    /// Memory of `bytes` bytes, no more than the host has of the input, and room for the same amount of output.
    pub fn new(engine: &Engine, host: usize, bytes: usize) -> Result<Self> {
        if bytes > host {
            let message = format!("{} is measured with {host} bytes at most; use smaller --sizes", engine.backend());
            return Err(Error::usage(message));
        }
        let (input, output) = (engine.opencl_memory(bytes)?, engine.opencl_memory(bytes)?);
        Ok(Self { queue: engine.opencl_queue()?, input, output })
    }

    /// The time of each run, checked before and after.
    pub fn time(&mut self, case: &Case, cipher: &Cipher, data: &mut HostData) -> Result<Vec<Duration>> {
        let Memory { queue, input, output } = self;
        let (bytes, engine, opencl) = (case.bytes, cipher.engine(), cipher.opencl()?);
        input.copy_from_host(0, &data.input[..bytes])?;
        let run = |queue: &CommandQueue, output: &DeviceMemory| {
            case.operation.on_opencl(&opencl, queue, input.slice(0, bytes), output.slice(0, bytes))
        };
        let check = |pending: Pending, output: &DeviceMemory, data: &mut HostData| {
            let tags = case.returned(engine, pending())?;
            output.copy_to_host(0, &mut data.output[..bytes])?;
            case.check(engine, tags.as_ref(), &data.output[..bytes], &data.expected[..bytes])
        };

        // Leave no trace of the expected output.
        output.clear()?;
        let first = run(queue.queue(), output)?;
        queue.finish()?;
        check(first, output, data)?;
        for _ in 0..WARM_UP {
            drop(run(queue.queue(), output)?);
        }
        queue.finish()?;
        // The check below covers the runs from here on.
        output.clear()?;
        let (mut times, mut calls) = (Vec::new(), Vec::new());
        for _ in 0..case.keyed.runs {
            // Dropping a call waits for it.
            calls.clear();
            for _ in 0..LEAD {
                calls.push(run(queue.queue(), output)?);
            }
            times.push(queue.time(|queue| run(queue, output).map(|call| calls.push(call)))?);
        }
        calls.pop().map_or(Ok(()), |last| check(last, output, data))?;
        Ok(times)
    }
}
