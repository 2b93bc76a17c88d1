//! Data spread over the memory of several GPUs: whole calls, by the clock of the host.

use std::time::{Duration, Instant};

use aes_bitslice_runtime::cuda::SpreadBuffer;
use aes_bitslice_runtime::{Cipher, Direction, Key, KeyBits};

use super::case::{Buffers, Case, IV, counter};
use crate::args::BenchMode;
use crate::error::Result;

/// Untimed runs before the timed ones: clocks rise.
const WARM_UP: u32 = 3;

/// The time of each run on so many bytes on all GPUs together, checked before and after.
pub fn time(case: &Case, cipher: &Cipher, bytes: usize, buffers: &mut Buffers) -> Result<Vec<Duration>> {
    let engine = cipher.engine();
    let mut input = engine.spread(bytes)?;
    match buffers.input.get(..bytes) {
        Some(host) => input.copy_from_host(0, host)?,
        // A keystream of a random key is as good as random bytes.
        None => engine.cipher(&Key::generate(KeyBits::Aes128)?)?.spread()?.ctr_apply(&counter(), 0, &mut input)?,
    }
    let mut output = engine.spread(bytes)?;
    run(case, cipher, &input, &mut output)?;
    check(case, cipher, &input, &output, buffers)?;
    // What is checked below is the work of the runs from here on.
    drop(output);
    let mut output = engine.spread(bytes)?;
    for _ in 0..WARM_UP {
        run(case, cipher, &input, &mut output)?;
    }
    let times = (0..case.runs).map(|_| run(case, cipher, &input, &mut output)).collect::<Result<_>>()?;
    check(case, cipher, &input, &output, buffers)?;
    Ok(times)
}

fn run(case: &Case, cipher: &Cipher, input: &SpreadBuffer, output: &mut SpreadBuffer) -> Result<Duration> {
    let spread = cipher.spread()?;
    let start = Instant::now();
    match case.mode {
        BenchMode::EcbEncrypt => spread.ecb_to(Direction::Encrypt, input, output),
        BenchMode::EcbDecrypt => spread.ecb_to(Direction::Decrypt, input, output),
        BenchMode::CbcDecrypt => spread.cbc_decrypt_to(&IV, input, output),
        BenchMode::Ctr => spread.ctr_apply_to(&counter(), 0, input, output),
    }?;
    Ok(start.elapsed())
}

fn check(
    case: &Case,
    cipher: &Cipher,
    input: &SpreadBuffer,
    output: &SpreadBuffer,
    buffers: &mut Buffers,
) -> Result<()> {
    let bytes = output.len();
    let Buffers { output: host, expected, .. } = buffers;
    if let (Some(host), Some(expected)) = (host.get_mut(..bytes), expected.get(..bytes)) {
        output.copy_to_host(0, host)?;
        return case.check(cipher.engine(), host, expected);
    }
    let cuts: Vec<_> = output.parts().into_iter().map(|part| part.range.start).collect();
    let read = |from: &SpreadBuffer, at: usize, host: &mut [u8]| Ok(from.copy_to_host(at, host)?);
    case.check_pieces(
        cipher.engine(),
        bytes,
        &cuts,
        |at, host| read(input, at, host),
        |at, host| read(output, at, host),
    )
}
