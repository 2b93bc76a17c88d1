//! Whole calls on host memory, as a caller sees them.

use std::time::{Duration, Instant};

use aes_bitslice_runtime::{Buffers, Cipher};

use super::case::Case;
use super::cores::refill;
use super::host_data::HostData;
use crate::args::bench::Timing;
use crate::error::Result;

/// The time of each run on the first `bytes`, checked before and after.
pub fn time(case: &Case, cipher: &Cipher, timing: Timing, bytes: usize, data: &mut HostData) -> Result<Vec<Duration>> {
    let HostData { input, output, expected, pinned: [pinned_input, pinned_output] } = data;
    let (input, output, expected) = match timing.is_pinned() {
        true => (&pinned_input[..bytes], &mut pinned_output[..bytes], &expected[..bytes]),
        false => (&input[..bytes], &mut output[..bytes], &expected[..bytes]),
    };
    let operation = case.operation();
    let run = |output: &mut [u8]| -> Result<Duration> {
        // The output of an earlier run must not pass for the output of this one.
        refill(output, timing.is_in_place().then_some(input));
        let start = Instant::now();
        match timing.is_in_place() {
            true => operation.on_host(cipher, Buffers::from(output))?,
            false => operation.on_host(cipher, Buffers::from((input, output)))?,
        }
        Ok(start.elapsed())
    };
    run(output)?;
    case.check(cipher.engine(), output, expected)?;
    let times = (0..case.runs).map(|_| run(output)).collect::<Result<_>>()?;
    case.check(cipher.engine(), output, expected)?;
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::measured::MeasuredMode;
    use crate::modes::mode::Sectors;
    use aes_bitslice_runtime::{Backend, Engine, Key};

    #[test]
    fn a_wrong_byte_is_found() {
        let (engine, key) = (Engine::open(Backend::Cpu).unwrap(), Key::new(&[7; 16]).unwrap());
        let cipher = engine.cipher(&key).unwrap();
        let (mode, sectors) = (MeasuredMode::CTR, Sectors::DEFAULT);
        let case = Case { index: 0, key: &key, reference: &cipher, mode, sectors, runs: 2 };
        let mut data = HostData::new(64).unwrap();
        case.apply(&cipher, &data.input, &mut data.expected).unwrap();
        data.pin(&engine, 48).unwrap();
        let timings = [Timing::Host, Timing::HostInPlace, Timing::Pinned, Timing::PinnedInPlace];
        for timing in timings {
            assert_eq!(time(&case, &cipher, timing, 48, &mut data).unwrap().len(), 2);
        }
        assert_eq!(data.output, [&data.expected[..48], &[0; 16]].concat());
        assert_eq!(data.pinned[1][..], data.expected[..48]);
        data.expected[47] ^= 1;
        for timing in timings {
            let error = time(&case, &cipher, timing, 48, &mut data).unwrap_err();
            assert!(error.message().contains("byte 47 of 48"));
        }
    }
}
