//! A kernel timed through OpenCL, from one buffer in a device's memory to another: by the device's clock where it has one, else
//! by the host's.

use crate::measure::clock::Clock as ClockReader;
use crate::measure::data::{Data, operation_of};
use crate::measure::runs::Runs;
use crate::measured::{Clock, Kind};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_runtime::opencl::opencl3::command_queue::CommandQueue;
use aes_bitslice_runtime::opencl::{DeviceMemory, TimedQueue};
use aes_bitslice_runtime::{self as runtime, Cipher, Engine};
use anyhow::{Result, bail};
use std::time::Instant;

/// The least number of timed runs on a processor, where each takes long.
const RUNS_ON_CPU: usize = 3;

/// Runs between two looks whether the clock is counted.
const TURN: usize = 8;

/// Memory of an OpenCL device, as much as was needed so far.
pub struct Memory {
    engine: Engine,
    queue: TimedQueue,
    clock: Clock,
    kind: Kind,
    buffers: Option<Buffers>,
}

struct Buffers {
    input: DeviceMemory,
    output: DeviceMemory,
}

impl Memory {
    /// No memory so far.
    pub fn new(engine: &Engine, kind: Kind) -> Result<Self> {
        let queue = engine.opencl_queue()?;
        let clock = match queue.time(|_| Ok::<_, runtime::Error>(())) {
            Ok(_) => Clock::Device,
            Err(_) => Clock::Host,
        };
        Ok(Self { engine: engine.clone(), queue, clock, kind, buffers: None })
    }

    /// The clock that times the runs.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Input and output of at least the data's length, the input copied over.
    fn buffers(engine: &Engine, there: Option<Buffers>, data: &[u8]) -> Result<Buffers> {
        Ok(match there {
            Some(buffers) if buffers.input.len() >= data.len() => buffers,
            // Freed before larger ones are allocated.
            too_small => {
                drop(too_small);
                let mut input = engine.opencl_memory(data.len())?;
                input.copy_from_host(0, data)?;
                Buffers { input, output: engine.opencl_memory(data.len())? }
            }
        })
    }

    /// The time of each run on the first bytes of the data, in seconds, and the clock, if the device has what reads it; the outputs of the
    /// first run and of the timed ones were correct.
    pub fn time(
        &mut self,
        cipher: &Cipher,
        mode: Mode,
        bytes: usize,
        data: &mut Data,
        runs: Runs,
        reader: Option<&mut ClockReader>,
    ) -> Result<(Vec<f64>, Option<f64>)> {
        let Self { engine, queue, clock, kind, buffers } = self;
        let there = Self::buffers(engine, buffers.take(), &data.input[..bytes])?;
        let Buffers { input, output } = buffers.insert(there);
        let device = cipher.opencl()?;
        let before = data.before(0);
        // Untimed runs right before each timed one: while a GPU works on them, the host submits the timed run. A processor is its own host.
        let (lead, runs) = match kind {
            Kind::Gpu => (2, runs),
            Kind::Cpu => (0, runs.with_least(RUNS_ON_CPU)),
        };
        let run = |queue: &CommandQueue, to: &DeviceMemory| -> Result<()> {
            let (from, to) = (input.slice(0, bytes), to.slice(0, bytes));
            operation_of!(mode, 0, before, operation => device.run(queue, operation, (from, to))?);
            Ok(())
        };
        let timed = |to: &DeviceMemory| -> Result<f64> {
            (0..lead).try_for_each(|_| run(queue.queue(), to))?;
            let time = match clock {
                Clock::Device => queue.time(|queue| run(queue, to))?,
                Clock::Host => {
                    queue.finish()?;
                    let start = Instant::now();
                    run(queue.queue(), to)?;
                    queue.finish()?;
                    start.elapsed()
                }
            };
            if time.is_zero() {
                bail!("the device's clock stands still");
            }
            Ok(time.as_secs_f64())
        };
        let check = |to: &DeviceMemory, data: &mut Data| -> Result<()> {
            to.copy_to_host(0, &mut data.output[..bytes])?;
            data.check(&data.output[..bytes], 0)
        };

        // No trace of the expected output.
        output.clear()?;
        run(queue.queue(), output)?;
        queue.finish()?;
        check(output, data)?;
        // Warm-up: clocks rise, caches fill.
        let runs = runs.count((lead + 1) as f64 * timed(output)?);
        // The check below is of the runs from here on.
        output.clear()?;
        let times = (0..runs).map(|_| timed(output)).collect::<Result<_>>()?;
        check(output, data)?;
        // CUDA and OpenCL take turns on the GPU: the shortest count, which is within one turn.
        let mut several = || -> Result<()> {
            (0..TURN).try_for_each(|_| run(queue.queue(), output))?;
            Ok(queue.finish()?)
        };
        let mhz = reader.map(|reader| reader.mhz_of_waiting(0.0, &mut several)).transpose()?;
        Ok((times, mhz))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Kernel;
    use crate::measure::data::Keys;
    use crate::measure::devices::Devices;
    use crate::measure::printed;
    use aes_bitslice_core::aes::{Direction, KeyBits};
    use aes_bitslice_papers::kernels::Bytewise;

    /// On whatever devices there are, by either clock, on buffers that are allocated once and on larger ones: correct with the expected
    /// key, and not with another.
    #[test]
    fn kernels_are_timed_and_checked() {
        let mut devices = Devices::none();
        let _ = devices.open_opencl();
        let basic = Bytewise::basic(Direction::Encrypt);
        let kernels = [
            Bytewise::ul_haq_2011(Direction::Decrypt)[3],
            Bytewise { threads: 1024, ..basic },
            Bytewise { mode: Mode::Ctr, ..basic },
        ];
        let keys = Keys::generate().unwrap();
        let mut data = Data::new(&keys, 8192).unwrap();
        for (kernel, kind) in kernels.into_iter().flat_map(|kernel| [Kind::Gpu, Kind::Cpu].map(|kind| (kernel, kind))) {
            let kernel = Kernel::bytewise(kernel);
            data.expect(kernel.mode, KeyBits::Aes192).unwrap();
            let Ok(engine) = devices.engine(Some(kind)).cloned() else { continue };
            let [right, wrong] = [KeyBits::Aes192, KeyBits::Aes256]
                .map(|bits| printed::open(&engine, &keys, &kernel.clone().with_key_bits(bits)).unwrap().0);
            let (memory, _) = devices.opencl_memory(kind).unwrap();
            for (clock, bytes) in [(memory.clock, 4096), (Clock::Host, 8192), (memory.clock, 16)] {
                memory.clock = clock;
                let mut time = |cipher| memory.time(cipher, kernel.mode, bytes, &mut data, Runs::QUICK, None);
                assert!(time(&right).unwrap().0.len() == 1, "{kind} {clock:?}");
                assert!(time(&wrong).unwrap_err().to_string().contains("the output is wrong"), "{kind} {clock:?}");
            }
        }
    }

    #[test]
    fn a_device_that_is_missing_is_told() {
        let mut devices = Devices::none();
        assert!(devices.engine(Some(Kind::Gpu)).is_err() && devices.opencl().is_empty());
        match devices.open_opencl() {
            Ok(()) => assert!(!devices.opencl().is_empty()),
            Err(why) => assert!(why.to_string().contains("OpenCL") && devices.opencl().is_empty()),
        }
        for kind in [Kind::Gpu, Kind::Cpu] {
            let is_there = devices.opencl().iter().any(|device| device.kind == kind);
            assert_eq!(devices.engine(Some(kind)).is_ok(), is_there);
            assert_eq!(devices.opencl_memory(kind).is_ok(), is_there);
        }
    }
}
