//! An engine on the processor timed by the host's clock, from one buffer in host memory to another.

use crate::measure::data::{Data, operation_of};
use crate::measure::runs::Runs;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_runtime::{Backend, Engine, Key};
use anyhow::Result;
use std::time::Instant;

/// The time of each run on the first bytes of the data, in seconds; the outputs of the first run and of the timed ones were correct.
pub fn time(backend: Backend, mode: Mode, key: &Key, bytes: usize, data: &mut Data, runs: Runs) -> Result<Vec<f64>> {
    let cipher = Engine::open(backend)?.cipher(key)?;
    let before = data.before(0);
    let timed = |data: &mut Data| -> Result<f64> {
        let (input, output) = (&data.input[..bytes], &mut data.output[..bytes]);
        let start = Instant::now();
        operation_of!(mode, 0, before, operation => cipher.run(operation, (input, output))?);
        Ok(start.elapsed().as_secs_f64())
    };
    data.output[..bytes].fill(0);
    timed(data)?;
    data.check(&data.output[..bytes], 0)?;
    // The first run warms up.
    let runs = runs.count(timed(data)?);
    data.output[..bytes].fill(0);
    let times = (0..runs).map(|_| timed(data)).collect::<Result<_>>()?;
    data.check(&data.output[..bytes], 0)?;
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::data::Keys;
    use aes_bitslice_core::aes::KeyBits;

    /// With a key other than the expected one, the output is wrong.
    #[test]
    fn both_engines_are_timed_and_checked() {
        let keys = Keys::generate().unwrap();
        let mut data = Data::new(&keys, 4096).unwrap();
        // Those of the papers.
        for mode in [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr, Mode::CbcDecrypt] {
            data.expect(mode, KeyBits::Aes256).unwrap();
            for backend in [Backend::Cpu, Backend::CpuBitsliced] {
                let mut time = |bits| time(backend, mode, keys.get(bits), 4096, &mut data, Runs::QUICK);
                assert!(time(KeyBits::Aes256).unwrap()[0] > 0.0);
                assert!(time(KeyBits::Aes128).is_err());
            }
        }
    }
}
