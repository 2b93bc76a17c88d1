//! Data sharded over the memory of several GPUs: whole calls, by the clock of the host.

use std::time::{Duration, Instant};

use aes_bitslice_runtime::Cipher;
use aes_bitslice_runtime::cuda::ShardedBuffer;

use super::case::Case;
use super::host_data::HostData;
use super::random;
use super::warm_up::WARM_UP;
use crate::error::Result;
use crate::modes::operation::Tags;

/// The time of each run on all GPUs together, checked before and after.
pub fn time(case: &Case, cipher: &Cipher, data: &mut HostData) -> Result<Vec<Duration>> {
    let (bytes, engine) = (case.bytes, cipher.engine());
    let mut input = engine.sharded(bytes)?;
    match data.input.get(..bytes) {
        Some(host) => input.copy_from_host(0, host)?,
        None => random::cipher(engine)?.sharded()?.run(random::operation(0), &mut input)?,
    }
    let mut output = engine.sharded(bytes)?;
    let (mut tags, _) = run(case, cipher, &mut input, &mut output)?;
    check(case, cipher, tags.as_ref(), &input, &output, data)?;
    // The check below covers the runs from here on.
    drop(output);
    let mut output = engine.sharded(bytes)?;
    for _ in 0..WARM_UP {
        run(case, cipher, &mut input, &mut output)?;
    }
    let mut times = Vec::new();
    for _ in 0..case.keyed.runs {
        let time;
        (tags, time) = run(case, cipher, &mut input, &mut output)?;
        times.push(time);
    }
    check(case, cipher, tags.as_ref(), &input, &output, data)?;
    Ok(times)
}

fn run(
    case: &Case,
    cipher: &Cipher,
    input: &mut ShardedBuffer,
    output: &mut ShardedBuffer,
) -> Result<(Option<Tags>, Duration)> {
    let sharded = cipher.sharded()?;
    let start = Instant::now();
    let returned = case.operation.on_sharded(&sharded, input, output);
    let time = start.elapsed();
    Ok((case.returned(cipher.engine(), returned)?, time))
}

fn check(
    case: &Case,
    cipher: &Cipher,
    tags: Option<&Tags>,
    input: &ShardedBuffer,
    output: &ShardedBuffer,
    data: &mut HostData,
) -> Result<()> {
    let bytes = output.len();
    let HostData { output: host, expected, .. } = data;
    if let (Some(host), Some(expected)) = (host.get_mut(..bytes), expected.get(..bytes)) {
        output.copy_to_host(0, host)?;
        return case.check(cipher.engine(), tags, host, expected);
    }
    let cuts: Vec<_> = output.shares().into_iter().map(|share| share.range.start).collect();
    let read = |from: &ShardedBuffer, at: usize, host: &mut [u8]| Ok(from.copy_to_host(at, host)?);
    case.check_chunks(cipher.engine(), &cuts, |at, host| read(input, at, host), |at, host| read(output, at, host))
}
