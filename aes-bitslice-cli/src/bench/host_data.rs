//! Host memory of the largest size: random input, room for an engine's output, and the expected output.

use aes_bitslice_core::memory::room;
use aes_bitslice_runtime::{Backend, Engine, HostBuffer};

use super::cores::refill;
use super::random;
use crate::error::{Error, Exit, Result};

/// The data that cases are measured with. A smaller case uses its first bytes.
pub struct HostData {
    pub input: Vec<u8>,
    pub output: Vec<u8>,
    pub expected: Vec<u8>,
    /// Input and output once more, pinned; empty if nothing is timed there.
    pub pinned: [HostBuffer; 2],
}

impl HostData {
    /// Of this many bytes, none of them pinned.
    pub fn new(bytes: usize) -> Result<Self> {
        let cpu = Engine::open(Backend::Cpu)?;
        let pinned = [cpu.host_buffer(0)?, cpu.host_buffer(0)?];
        let room = || {
            room(bytes).map_err(|_| {
                let what = format!("not enough memory for three buffers of {bytes} bytes; use smaller --sizes");
                Error::new(Exit::Failure, what)
            })
        };
        let mut data = HostData { input: room()?, output: room()?, expected: room()?, pinned };
        for buffer in [&mut data.input, &mut data.output, &mut data.expected] {
            buffer.resize(bytes, 0);
        }
        random::cipher(&cpu)?.run(random::operation(0), &mut data.input)?;
        Ok(data)
    }

    /// Pins memory for the first `bytes`, for this and all GPUs.
    pub fn pin(&mut self, engine: &Engine, bytes: usize) -> Result<()> {
        self.pinned = [engine.host_buffer(bytes)?, engine.host_buffer(bytes)?];
        refill(&mut self.pinned[0], Some(&self.input[..bytes]));
        Ok(())
    }

    /// Pinned memory: the first `bytes` of the input, and room for as much output.
    pub fn pinned(&mut self, bytes: usize) -> (&[u8], &mut [u8]) {
        let [input, output] = &mut self.pinned;
        (&input[..bytes], &mut output[..bytes])
    }
}
