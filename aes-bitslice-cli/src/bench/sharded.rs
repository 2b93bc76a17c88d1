//! Data sharded over the memory of several GPUs: whole calls, by the clock of the host.

use std::time::{Duration, Instant};

use aes_bitslice_runtime::Cipher;
use aes_bitslice_runtime::cuda::ShardedBuffer;

use super::case::Case;
use super::host_data::HostData;
use super::random;
use super::warm_up::WARM_UP;
use crate::error::Result;

/// The time of each run on `bytes` bytes on all GPUs together, checked before and after.
pub fn time(case: &Case, cipher: &Cipher, bytes: usize, data: &mut HostData) -> Result<Vec<Duration>> {
    let engine = cipher.engine();
    let mut input = engine.sharded(bytes)?;
    match data.input.get(..bytes) {
        Some(host) => input.copy_from_host(0, host)?,
        None => random::cipher(engine)?.sharded()?.run(random::operation(0), &mut input)?,
    }
    let mut output = engine.sharded(bytes)?;
    run(case, cipher, &input, &mut output)?;
    check(case, cipher, &input, &output, data)?;
    // The check below covers the runs from here on.
    drop(output);
    let mut output = engine.sharded(bytes)?;
    for _ in 0..WARM_UP {
        run(case, cipher, &input, &mut output)?;
    }
    let times = (0..case.runs).map(|_| run(case, cipher, &input, &mut output)).collect::<Result<_>>()?;
    check(case, cipher, &input, &output, data)?;
    Ok(times)
}

fn run(case: &Case, cipher: &Cipher, input: &ShardedBuffer, output: &mut ShardedBuffer) -> Result<Duration> {
    let (sharded, operation) = (cipher.sharded()?, case.operation());
    let start = Instant::now();
    operation.on_sharded(&sharded, input, output)?;
    Ok(start.elapsed())
}

fn check(
    case: &Case,
    cipher: &Cipher,
    input: &ShardedBuffer,
    output: &ShardedBuffer,
    data: &mut HostData,
) -> Result<()> {
    let bytes = output.len();
    let HostData { output: host, expected, .. } = data;
    if let (Some(host), Some(expected)) = (host.get_mut(..bytes), expected.get(..bytes)) {
        output.copy_to_host(0, host)?;
        return case.check(cipher.engine(), host, expected);
    }
    let cuts: Vec<_> = output.shares().into_iter().map(|share| share.range.start).collect();
    let read = |from: &ShardedBuffer, at: usize, host: &mut [u8]| Ok(from.copy_to_host(at, host)?);
    case.check_chunks(
        cipher.engine(),
        bytes,
        &cuts,
        |at, host| read(input, at, host),
        |at, host| read(output, at, host),
    )
}
