//! The clock of the multiprocessors, read on a GPU while it works: what the driver reports is the clock that it asks for, which a GPU under
//! load may not have.

use crate::measure::driver::driver;
use aes_bitslice_runtime::Engine;
use aes_bitslice_runtime::cuda::Program;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, result};
use anyhow::Result;
use std::sync::Arc;

/// Counts clocks for at least `nanoseconds`, from one change of the GPU's timer to another.
const SOURCE: &str = r#"
static __device__ unsigned long long now() {
    unsigned long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

static __device__ unsigned long long next() {
    const unsigned long long from = now();
    unsigned long long to;
    do to = now(); while (to == from);
    return to;
}

extern "C" __global__ void clock_rate(const void *in, void *out, unsigned long long nanoseconds) {
    (void)in;
    const unsigned long long began = next();
    const long long from = clock64();
    unsigned long long ended;
    do ended = next(); while (ended - began < nanoseconds);
    ((long long *)out)[0] = clock64() - from;
    ((unsigned long long *)out)[1] = ended - began;
}
"#;

/// How often it is tried to count while a case runs, each time with twice as many runs.
const TRIALS: usize = 8;

/// How long clocks are counted at least, a hundred times the coarsest step of a GPU's timer, and at most. Between these, as long as a case
/// runs.
const NANOSECONDS: [f64; 2] = [1e5, 1e7];

/// How long clocks are counted beside a case of which a run takes `seconds`.
fn nanoseconds_of(seconds: f64) -> f64 {
    (1e9 * seconds).clamp(NANOSECONDS[0], NANOSECONDS[1])
}

/// What reads the clock of a GPU.
pub struct Clock {
    program: Program,
    /// The stream of the cases.
    stream: Arc<CudaStream>,
    unused: CudaSlice<u8>,
    counts: CudaSlice<u8>,
}

impl Clock {
    /// For an engine's GPU, beside work on its default stream.
    pub fn new(engine: &Engine) -> Result<Self> {
        let program = engine.cuda_program(SOURCE, "clock_rate", 1)?;
        let stream = engine.cuda_context()?.default_stream();
        let zeros = |bytes| stream.alloc_zeros::<u8>(bytes).map_err(driver);
        Ok(Self { program, unused: zeros(1)?, counts: zeros(16)?, stream: stream.clone() })
    }

    /// The clock in MHz while a case runs: it is run again for this, without timing, because the thread that counts takes the place of
    /// others. `run` puts one run on the default stream, and a run takes `seconds`. Returns `None` if the runs ended before the count in
    /// every trial.
    ///
    /// # Errors
    /// Those of the driver and of the run.
    pub fn mhz(&mut self, seconds: f64, mut run: impl FnMut() -> Result<()>) -> Result<Option<f64>> {
        let nanoseconds = nanoseconds_of(seconds);
        // Only for this: with another stream there, events would come between those that time a case.
        let beside = self.beside()?;
        // One run before the count begins, and enough runs that the count ends before the last of them.
        let mut runs = 2 + (3e-9 * nanoseconds / seconds).ceil() as usize;
        for _ in 0..TRIALS {
            run()?;
            beside.join(&self.stream).map_err(driver)?;
            self.count(&beside, nanoseconds as u64)?;
            (0..runs).try_for_each(|_| run())?;
            let end = self.stream.record_event(None).map_err(driver)?;
            let mhz = self.counted(&beside)?;
            let is_beside = !end.is_complete();
            self.stream.synchronize().map_err(driver)?;
            if is_beside {
                return Ok(Some(mhz));
            }
            runs *= 2;
        }
        Ok(None)
    }

    /// The clock in MHz while a case runs that waits for its own end: it is run again, without timing, until the count is done. A run takes
    /// `seconds`.
    ///
    /// # Errors
    /// Those of the driver and of the run.
    pub fn mhz_of_waiting(&mut self, seconds: f64, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
        let beside = self.beside()?;
        run()?;
        self.count(&beside, nanoseconds_of(seconds) as u64)?;
        let end = beside.record_event(None).map_err(driver)?;
        loop {
            run()?;
            if end.is_complete() {
                return self.counted(&beside);
            }
        }
    }

    /// A stream for the count. It has the highest priority, so that the thread has a place as soon as one is free.
    fn beside(&self) -> Result<Arc<CudaStream>> {
        let context = self.stream.context();
        context.bind_to_thread().map_err(driver)?;
        let (_, highest) = result::stream::get_priority_range().map_err(driver)?;
        context.new_stream_with_priority(highest).map_err(driver)
    }

    /// Waits for a count, and returns the clock in MHz.
    fn counted(&self, stream: &Arc<CudaStream>) -> Result<f64> {
        let mut counts = [0; 16];
        stream.memcpy_dtoh(&self.counts, &mut counts).map_err(driver)?;
        stream.synchronize().map_err(driver)?;
        let [clocks, nanoseconds] =
            [0, 8].map(|at| u64::from_le_bytes(counts[at..at + 8].try_into().expect("8 bytes")));
        Ok(1e3 * clocks as f64 / nanoseconds as f64)
    }

    /// Counts clocks on a stream.
    #[expect(unsafe_code, reason = "nothing checks where a program writes")]
    fn count(&mut self, stream: &CudaStream, nanoseconds: u64) -> Result<()> {
        // SAFETY: the kernel writes 16 bytes, which is the size of the buffer, and reads nothing.
        unsafe { self.program.run(stream, 1, &self.unused, &mut self.counts, nanoseconds) }?;
        Ok(())
    }
}
