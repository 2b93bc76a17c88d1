//! The clock of the multiprocessors, read on a GPU: what the driver reports is the clock that it asks for, which a GPU under load may not
//! have.

use crate::measure::driver::driver;
use aes_bitslice_runtime::Engine;
use aes_bitslice_runtime::cuda::Program;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream};
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

/// How long clocks are counted: too short for the clock to change, and a hundred times the coarsest step of a GPU's timer.
const NANOSECONDS: u64 = 100_000;

/// What reads the clock of a GPU.
pub struct Clock {
    program: Program,
    stream: Arc<CudaStream>,
    unused: CudaSlice<u8>,
    counts: CudaSlice<u8>,
}

impl Clock {
    /// For an engine's GPU, after work on its default stream.
    pub fn new(engine: &Engine) -> Result<Self> {
        let program = engine.cuda_program(SOURCE, "clock_rate", 1)?;
        let stream = engine.cuda_context()?.default_stream();
        let zeros = |bytes| stream.alloc_zeros::<u8>(bytes).map_err(driver);
        Ok(Self { program, unused: zeros(1)?, counts: zeros(16)?, stream: stream.clone() })
    }

    /// The clock in MHz right after the work that the stream has been given.
    #[expect(unsafe_code, reason = "nothing checks where a program writes")]
    pub fn mhz(&mut self) -> Result<f64> {
        // SAFETY: the kernel writes 16 bytes, which is the size of the buffer, and reads nothing.
        unsafe { self.program.run(&self.stream, 1, &self.unused, &mut self.counts, NANOSECONDS) }?;
        let mut counts = [0; 16];
        self.stream.memcpy_dtoh(&self.counts, &mut counts).map_err(driver)?;
        self.stream.synchronize().map_err(driver)?;
        let [clocks, nanoseconds] =
            [0, 8].map(|at| u64::from_le_bytes(counts[at..at + 8].try_into().expect("8 bytes")));
        Ok(1e3 * clocks as f64 / nanoseconds as f64)
    }
}
