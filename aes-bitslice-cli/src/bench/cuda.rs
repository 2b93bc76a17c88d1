//! Data in the memory of a CUDA GPU: kernels timed by the GPU's own events, and calls in a row timed by the clock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aes_bitslice_runtime::cuda::DeviceCipher;
use aes_bitslice_runtime::cuda::cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, CudaViewMut, DriverError, sys::CUevent_flags,
};
use aes_bitslice_runtime::{Cipher, Engine, Key};

use super::case::Case;
use super::described::Described;
use super::host_data::HostData;
use super::random;
use super::start::start;
use super::warm_up::{AHEAD, LEAD, WARM_UP};
use crate::args::bench::Timing;
use crate::error::{Error, Exit, Result};
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::Sectors;
use crate::modes::operation::{AnyOperation, OnCuda, Returned};
use crate::modes::table::GCM;

/// Calls of a run in a row process this many bytes,
const LONG_ENOUGH: usize = 16 << 30;
/// or fewer, if the host takes this long to submit them.
const LONG: Duration = Duration::from_millis(200);
/// The most calls of such a run.
const MOST_IN_A_ROW: usize = 2000;
/// How many results are outstanding at a time, and the fewest calls of a run.
const IN_FLIGHT: usize = 16;

/// Input and output in device memory, of the largest size that is measured.
pub struct Memory {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    input: CudaSlice<u8>,
    output: CudaSlice<u8>,
}

/// An error of the driver.
pub fn driver(error: DriverError) -> Error {
    Error::new(Exit::Failure, format!("CUDA: {:?}; use smaller sizes?", error.0))
}

/// Copies bytes of device memory, from byte `at` on, to the host.
pub fn to_host(stream: &Arc<CudaStream>, from: &CudaViewMut<'_, u8>, at: usize, host: &mut [u8]) -> Result<()> {
    stream.memcpy_dtoh(&from.slice(at..at + host.len()), host).map_err(driver)
}

impl Memory {
    /// Memory of a CUDA engine of one GPU with `bytes` random bytes, and room for the same amount of output.
    pub fn random(engine: &Engine, bytes: usize) -> Result<Self> {
        let context = engine.cuda_context()?;
        // As callers have one: on the default stream a kernel does not begin before the previous one ends.
        let stream = context.new_stream().map_err(driver)?;
        let mut input = stream.alloc_zeros(bytes).map_err(driver)?;
        let output = stream.alloc_zeros(bytes).map_err(driver)?;
        random::cipher(engine)?.device()?.run(&stream, random::operation(0), &mut input)?;
        Ok(Memory { context, stream, input, output })
    }

    /// Makes these bytes the first of the input.
    fn fill(&mut self, host: &[u8]) -> Result<()> {
        self.stream.memcpy_htod(host, &mut self.input.slice_mut(..host.len())).map_err(driver)
    }

    /// The times of runs of `operation` on the first `bytes`, until there are `enough`; `check` judges what the first run did and, after
    /// the last, what the timed ones did. A run is one call, or one of many in a row.
    pub fn time(
        &mut self,
        device: &DeviceCipher,
        operation: &dyn AnyOperation,
        bytes: usize,
        timing: Timing,
        enough: impl Fn(&[Duration]) -> bool,
        mut check: impl FnMut(Returned, &OnCuda<'_>) -> Result<()>,
    ) -> Result<Vec<Duration>> {
        let Memory { context, stream, input, output } = self;
        let (input, output) = (input.slice_mut(..bytes), output.slice_mut(..bytes));
        let mut call = OnCuda { cipher: device, stream, input, output };
        let event = || context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(driver);

        // Leave no trace of the expected output.
        stream.memset_zeros(&mut call.output).map_err(driver)?;
        let first = operation.on_cuda(&mut call)?;
        check(first(), &call)?;
        for _ in 0..WARM_UP {
            drop(operation.on_cuda(&mut call)?);
        }
        // The check below covers the runs from here on.
        stream.memset_zeros(&mut call.output).map_err(driver)?;
        // Submitting a call with tags takes longer than short ones run.
        let mut ahead = if operation.about().waits_when_dropped {
            Some(stream.alloc_zeros::<u8>(AHEAD).map_err(driver)?)
        } else {
            None
        };
        let (mut times, mut last) = (Vec::new(), None);
        while timing != Timing::Device && !enough(&times) {
            let most = (LONG_ENOUGH / bytes).clamp(IN_FLIGHT, MOST_IN_A_ROW);
            let mut calls = 0;
            let mut in_flight = VecDeque::from_iter(last.take());
            stream.synchronize().map_err(driver)?;
            let start = Instant::now();
            while calls < IN_FLIGHT || (calls < most && start.elapsed() < LONG) {
                calls += 1;
                in_flight.push_back(operation.on_cuda(&mut call)?);
                if in_flight.len() > IN_FLIGHT {
                    drop(in_flight.pop_front());
                }
            }
            last = in_flight.pop_back();
            drop(in_flight);
            stream.synchronize().map_err(driver)?;
            times.push(start.elapsed() / calls as u32);
        }
        while !enough(&times) {
            let (start, end) = (event()?, event()?);
            // Dropping a call waits for it.
            drop(last.take());
            for _ in 0..LEAD {
                match &mut ahead {
                    Some(ahead) => stream.memset_zeros(ahead).map_err(driver)?,
                    None => drop(operation.on_cuda(&mut call)?),
                }
            }
            start.record(stream).map_err(driver)?;
            last = Some(operation.on_cuda(&mut call)?);
            end.record(stream).map_err(driver)?;
            times.push(Duration::from_secs_f64(f64::from(start.elapsed_ms(&end).map_err(driver)?) / 1e3));
        }
        last.map_or(Ok(()), |last| check(last(), &call))?;
        Ok(times)
    }

    /// The time of each run of a case, checked before and after; `None` if arrays in this memory cannot describe it, but should.
    pub fn time_case(
        &mut self,
        case: &Case,
        cipher: &Cipher,
        timing: Timing,
        data: &mut HostData,
    ) -> Result<Option<Vec<Duration>>> {
        let MeasuredMode { mode, direction, .. } = case.keyed.mode;
        let described = match (timing, &case.messages) {
            (Timing::StreamArrays, Some(messages)) if *mode == GCM => {
                Some(Described::new(&self.stream, direction, messages).map_err(driver)?)
            }
            (Timing::StreamArrays, _) => return Ok(None),
            _ => None,
        };
        let operation = described.as_ref().map_or(&*case.operation, |described| described);
        let HostData { input, output, expected, .. } = data;
        let (bytes, engine) = (case.bytes, cipher.engine());
        // More than the host has is random.
        self.fill(input.get(..bytes).unwrap_or(input))?;
        let enough = |times: &[Duration]| times.len() == case.keyed.runs as usize;
        let times = self.time(&cipher.device()?, operation, bytes, timing, enough, |returned, call| {
            let tags = case.returned(engine, returned)?;
            if let (Some(output), Some(expected)) = (output.get_mut(..bytes), expected.get(..bytes)) {
                to_host(call.stream, &call.output, 0, output)?;
                return case.check(engine, tags.as_ref(), output, expected);
            }
            let of = |memory| move |at, host: &mut [u8]| to_host(call.stream, memory, at, host);
            case.check_chunks(engine, &[], of(&call.input), of(&call.output))
        });
        times.map(Some)
    }

    /// The times from a key's bytes to the return of the call that launches CTR with it, and to the end of the kernel, on an idle stream.
    /// It encrypts `input`, and copies the output to `host`.
    pub fn new_key(
        &mut self,
        engine: &Engine,
        key: &[u8],
        input: &[u8],
        host: &mut [u8],
    ) -> Result<(Option<Duration>, Duration)> {
        self.fill(input)?;
        let input = self.input.slice_mut(..host.len());
        let mut output = self.output.slice_mut(..host.len());
        self.stream.memset_zeros(&mut output).map_err(driver)?;
        self.stream.synchronize().map_err(driver)?;
        let operation = MeasuredMode::CTR.operation(&start(Sectors::DEFAULT));
        let start = Instant::now();
        let cipher = engine.cipher(&Key::new(key)?)?;
        let device = cipher.device()?;
        let mut call = OnCuda { cipher: &device, stream: &self.stream, input, output };
        let _pending = operation.on_cuda(&mut call)?;
        let launched = start.elapsed();
        self.stream.synchronize().map_err(driver)?;
        let ended = start.elapsed();
        self.stream.memcpy_dtoh(&call.output, host).map_err(driver)?;
        Ok((Some(launched), ended))
    }
}
