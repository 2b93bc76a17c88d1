//! The kernels alone, from and to the memory of the GPU, timed by the GPU's own events.

use std::time::Duration;

use aes_bitslice_runtime::cuda::cudarc::driver::{DriverError, sys::CUevent_flags};
use aes_bitslice_runtime::{Backend, Cipher, Counter, CounterMode, Direction};

use super::COUNTER;
use crate::args::BenchMode;
use crate::error::{Error, Exit, Result};

/// Untimed runs before the timed ones: clocks rise, caches fill.
const WARM_UP: u32 = 3;

/// The time of each of `runs` runs of `mode` from one buffer of device memory to another, `check` having judged the
/// output before the first and after the last of them; `None` for an engine without device memory.
pub fn kernel_only(
    cipher: &Cipher,
    mode: BenchMode,
    input: &[u8],
    runs: u32,
    check: impl Fn(&[u8]) -> Result<()>,
) -> Result<Option<Vec<Duration>>> {
    if !matches!(cipher.engine().backend(), Backend::Cuda { .. }) {
        return Ok(None);
    }
    let context = cipher.engine().cuda_context()?;
    let device = cipher.device()?;
    let driver = |error: DriverError| Error::new(Exit::Failure, format!("CUDA: {:?}; use smaller --sizes?", error.0));
    let stream = context.new_stream().map_err(driver)?;
    let from = stream.clone_htod(input).map_err(driver)?;
    // Not a trace of what ought to be there.
    let mut to = stream.alloc_zeros::<u8>(input.len()).map_err(driver)?;
    let run = |to: &mut _| match mode {
        BenchMode::EcbEncrypt => device.ecb_to(&stream, Direction::Encrypt, &from, to),
        BenchMode::EcbDecrypt => device.ecb_to(&stream, Direction::Decrypt, &from, to),
        BenchMode::Ctr => device.ctr_apply_to(&stream, &Counter::new(CounterMode::Ctr128BE, COUNTER), 0, &from, to),
    };
    let check = |to: &_| check(&stream.clone_dtoh(to).map_err(driver)?);
    run(&mut to)?;
    check(&to)?;
    for _ in 0..WARM_UP {
        run(&mut to)?;
    }
    let event = || context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(driver);
    let mut times = Vec::new();
    for _ in 0..runs {
        let (start, end) = (event()?, event()?);
        start.record(&stream).map_err(driver)?;
        run(&mut to)?;
        end.record(&stream).map_err(driver)?;
        times.push(Duration::from_secs_f64(f64::from(start.elapsed_ms(&end).map_err(driver)?) / 1e3));
    }
    check(&to)?;
    Ok(Some(times))
}
