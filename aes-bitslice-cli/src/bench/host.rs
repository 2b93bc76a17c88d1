//! Whole calls on host memory, as a caller sees them.

use std::time::{Duration, Instant};

use aes_bitslice_runtime::{Buffers, Cipher, Tag};

use super::case::Case;
use super::cores::refill;
use super::host_data::HostData;
use crate::args::bench::Timing;
use crate::error::Result;

/// The time of each run, checked before and after.
pub fn time(case: &Case, cipher: &Cipher, timing: Timing, data: &mut HostData) -> Result<Vec<Duration>> {
    let (bytes, engine) = (case.bytes, cipher.engine());
    let HostData { input, output, expected, pinned: [pinned_input, pinned_output] } = data;
    let (input, expected) = (&input[..bytes], &expected[..bytes]);
    let (input, output) = if timing.is_pinned() {
        refill(&mut pinned_input[..bytes], Some(input));
        (&pinned_input[..bytes], &mut pinned_output[..bytes])
    } else {
        (input, &mut output[..bytes])
    };
    let run = |output: &mut [u8]| -> Result<(Option<Tag>, Duration)> {
        // The output of an earlier run must not pass for the output of this one.
        refill(output, timing.is_in_place().then_some(input));
        let start = Instant::now();
        let returned = if timing.is_in_place() {
            case.operation.on_host(cipher, Buffers::from(output))
        } else {
            case.operation.on_host(cipher, Buffers::from((input, output)))
        };
        let time = start.elapsed();
        Ok((case.returned(engine, returned)?, time))
    };
    let (tag, _) = run(output)?;
    case.check(engine, tag, output, expected)?;
    let (tags, times): (Vec<_>, _) =
        (0..case.keyed.runs).map(|_| run(output)).collect::<Result<Vec<_>>>()?.into_iter().unzip();
    case.check(engine, tags.last().copied().flatten(), output, expected)?;
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::case::Keyed;
    use crate::bench::start::IV;
    use crate::modes::measured::MeasuredMode;
    use crate::modes::mode::{Place, Sectors};
    use aes_bitslice_runtime::{Access, Backend, Ecb, Engine, Key};

    /// Checks of a mode on data of 48 bytes, where what is expected was changed: what they report for each way of timing.
    fn reported(name: &str, change: impl FnOnce(&mut HostData, &mut Case)) -> Vec<String> {
        let (engine, key) = (Engine::open(Backend::Cpu).unwrap(), Key::new(&[7; 16]).unwrap());
        let cipher = engine.cipher(&key).unwrap();
        let (mode, sectors) = (MeasuredMode::named(name)[0], Sectors::DEFAULT);
        let keyed = Keyed { index: 0, key: &key, reference: &cipher, mode, sectors, runs: 2 };
        let mut data = HostData::new(64).unwrap();
        data.pin(&engine, 48).unwrap();
        let mut case = Case::new(keyed, 48, &mut data).unwrap();
        let timings = [Timing::Host, Timing::HostInPlace, Timing::Pinned, Timing::PinnedInPlace];
        for timing in timings {
            assert_eq!(time(&case, &cipher, timing, &mut data).unwrap().len(), 2);
        }
        assert_eq!(data.output[48..], [0; 16]);
        if mode.about().access != Access::Reads {
            assert_eq!(data.output[..48], data.expected[..48]);
            assert_eq!(data.pinned[1][..], data.expected[..48]);
        }
        change(&mut data, &mut case);
        timings.map(|timing| time(&case, &cipher, timing, &mut data).unwrap_err().message().to_string()).into()
    }

    #[test]
    fn a_wrong_byte_is_found() {
        for name in ["ctr", "gcm-encrypt", "gcm-decrypt", "gcm-siv-encrypt", "gcm-siv-decrypt", "cbc-encrypt"] {
            for told in reported(name, |data, _| data.expected[47] ^= 1) {
                assert!(told.contains(name) && told.contains("byte 47 of 48"), "{told}");
            }
        }
    }

    #[test]
    fn a_wrong_tag_is_found() {
        for name in ["gcm-encrypt", "gcm-siv-encrypt", "cmac"] {
            for told in reported(name, |_, case| case.tag = Some(Tag::from([0; 16]))) {
                assert!(told.contains(name) && told.contains("the tag of 48 bytes is not that of `cpu`"), "{told}");
            }
            // A call that returns none.
            assert!(reported(name, |_, case| case.operation = Box::new(Ecb::encrypt()))[0].contains("wrongly"));
        }
        for name in ["gcm-decrypt", "gcm-siv-decrypt"] {
            let wrong = |_: &mut HostData, case: &mut Case| {
                case.operation = case.keyed.mode.operation(&Place::start(IV));
            };
            for told in reported(name, wrong) {
                assert!(told.contains(name) && told.contains("it refuses the tag of 48 bytes"), "{told}");
            }
        }
    }
}
