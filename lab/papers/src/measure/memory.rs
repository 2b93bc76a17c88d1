//! A kernel timed by the GPU's events, from one buffer in its memory to another.

use crate::measure::clock::Clock;
use crate::measure::data::{Data, apply};
use crate::measure::driver::driver;
use crate::measure::runs::Runs;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaViewMut, sys::CUevent_flags};
use aes_bitslice_runtime::{Cipher, Engine};
use anyhow::Result;
use std::sync::Arc;

/// Untimed runs right before each timed one: while the GPU works on them, the host submits the timed run and both its events, so that no
/// time passes between the first event and the kernel.
pub(super) const LEAD: usize = 2;

/// Memory of a GPU, as much as was needed so far.
pub struct Memory {
    context: Arc<CudaContext>,
    /// The default stream: with another, events that order accesses to the buffers would come between the timing events.
    stream: Arc<CudaStream>,
    buffers: Option<Buffers>,
}

struct Buffers {
    input: CudaSlice<u8>,
    output: CudaSlice<u8>,
}

impl Memory {
    /// No memory so far.
    pub fn new(engine: &Engine) -> Result<Self> {
        let context = engine.cuda_context()?;
        Ok(Self { stream: context.default_stream(), context, buffers: None })
    }

    /// Input and output of at least `bytes`, the input copied over.
    fn buffers(&mut self, bytes: usize, input: &[u8]) -> Result<&mut Buffers> {
        let buffers = match self.buffers.take() {
            Some(buffers) if buffers.input.len() >= bytes => buffers,
            // Freed before larger ones are allocated.
            too_small => {
                drop(too_small);
                let input = self.stream.clone_htod(&input[..bytes]).map_err(driver)?;
                let output = self.stream.alloc_zeros(bytes).map_err(driver)?;
                Buffers { input, output }
            }
        };
        Ok(self.buffers.insert(buffers))
    }

    /// The time of each run on the first bytes of the data, in seconds, and the clock; the outputs of the first run and of the timed ones
    /// were correct.
    pub fn time(
        &mut self,
        cipher: &Cipher,
        mode: Mode,
        bytes: usize,
        data: &mut Data,
        runs: Runs,
        clock: &mut Clock,
    ) -> Result<(Vec<f64>, Option<f64>)> {
        let (context, stream) = (self.context.clone(), self.stream.clone());
        let Buffers { input, output } = self.buffers(bytes, &data.input)?;
        let (from, mut to) = (input.slice(..bytes), output.slice_mut(..bytes));
        let (device, start) = (cipher.device()?, (0, data.before(0)));
        let run = |to: &mut CudaViewMut<u8>| apply(&device, mode, &stream, start, &from, to);
        let timed = |to: &mut CudaViewMut<u8>| timed(&context, &stream, || run(to));
        let check = |to: &CudaViewMut<u8>, data: &mut Data| -> Result<()> {
            stream.memcpy_dtoh(to, &mut data.output[..bytes]).map_err(driver)?;
            stream.synchronize().map_err(driver)?;
            data.check(&data.output[..bytes], 0)
        };

        // No trace of the expected output.
        stream.memset_zeros(&mut to).map_err(driver)?;
        run(&mut to)?;
        check(&to, data)?;
        // Warm-up: clocks rise, caches fill.
        let alone = timed(&mut to)?;
        let runs = runs.count((LEAD + 1) as f64 * alone);
        // The check below is of the runs from here on.
        stream.memset_zeros(&mut to).map_err(driver)?;
        let times = (0..runs).map(|_| timed(&mut to)).collect::<Result<_>>()?;
        check(&to, data)?;
        let mhz = clock.mhz(alone, || run(&mut to))?;
        Ok((times, mhz))
    }
}

/// The time in seconds, by a GPU's events, of work submitted to a stream, the default one.
pub(super) fn timed(
    context: &Arc<CudaContext>,
    stream: &Arc<CudaStream>,
    mut run: impl FnMut() -> Result<()>,
) -> Result<f64> {
    let event = || context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(driver);
    let (start, end) = (event()?, event()?);
    for _ in 0..LEAD {
        run()?;
    }
    start.record(stream).map_err(driver)?;
    run()?;
    end.record(stream).map_err(driver)?;
    Ok(f64::from(start.elapsed_ms(&end).map_err(driver)?) / 1e3)
}
