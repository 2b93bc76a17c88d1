//! Whole calls on host memory, as a caller sees them.

use std::time::{Duration, Instant};

use aes_bitslice_runtime::{Buffers, Cipher};

use super::case::Case;
use super::cores::refill;
use super::host_data::HostData;
use crate::args::bench::Timing;
use crate::error::Result;
use crate::modes::operation::Tags;

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
    let run = |output: &mut [u8]| -> Result<(Option<Tags>, Duration)> {
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
    let (mut tags, _) = run(output)?;
    case.check(engine, tags.as_ref(), output, expected)?;
    let mut times = Vec::new();
    for _ in 0..case.keyed.runs {
        let time;
        (tags, time) = run(output)?;
        times.push(time);
    }
    case.check(engine, tags.as_ref(), output, expected)?;
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::size::parse_call_size;
    use crate::bench::case::Keyed;
    use crate::bench::start::IV;
    use crate::modes::measured::MeasuredMode;
    use crate::modes::mode::{Place, Sectors};
    use aes_bitslice_runtime::{Access, Backend, Ecb, Engine, Key, Tag};

    /// Checks of a mode on data of 48 bytes, where what is expected was changed: what they report for each way of timing.
    fn reported(name: &str, size: &str, change: impl FnOnce(&mut HostData, &mut Case)) -> Vec<String> {
        let (engine, key) = (Engine::open(Backend::Cpu).unwrap(), Key::new(&[7; 16]).unwrap());
        let cipher = engine.cipher(&key).unwrap();
        let (mode, sectors, keys) = (MeasuredMode::named(name)[0], Sectors::DEFAULT, Some(2));
        let keyed = Keyed { index: 0, key: &key, reference: &cipher, mode, sectors, keys, runs: 2 };
        let mut data = HostData::new(64).unwrap();
        data.pin(&engine, 48).unwrap();
        let mut case = Case::new(keyed, parse_call_size(size).unwrap(), &mut data).unwrap();
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
        let alone = ["ctr", "gcm-encrypt", "gcm-decrypt", "gcm-siv-encrypt", "gcm-siv-decrypt", "cbc-encrypt"];
        let many = ["ctr", "keystream", "ecb-encrypt", "ecb-decrypt", "gcm-encrypt", "gcm-decrypt"];
        let cases = alone.map(|name| (name, "48")).into_iter().chain(many.map(|name| (name, "3x16")));
        for (name, size) in cases {
            for told in reported(name, size, |data, _| data.expected[47] ^= 1) {
                assert!(told.contains(name) && told.contains("byte 47 of 48"), "{told}");
            }
        }
    }

    #[test]
    fn a_wrong_tag_is_found() {
        for name in ["gcm-encrypt", "gcm-siv-encrypt", "cmac", "gmac"] {
            for told in reported(name, "48", |_, case| case.tags = Some(Tags::One(Tag::from([0; 16])))) {
                assert!(told.contains(name) && told.contains("the tag of 48 bytes is not that of `cpu`"), "{told}");
            }
            // A call that returns none.
            assert!(reported(name, "48", |_, case| case.operation = Box::new(Ecb::encrypt()))[0].contains("wrongly"));
        }
        for name in ["gcm-encrypt", "cmac"] {
            let wrong = |_: &mut HostData, case: &mut Case| {
                let Some(Tags::Each(tags)) = &mut case.tags else { panic!("tags") };
                tags[1][15] ^= 1;
            };
            for told in reported(name, "3x16", wrong) {
                assert!(told.contains("the tag of message 1 of 3 x 16 B is not that of `cpu`"), "{told}");
            }
        }
        for name in ["gcm-decrypt", "gcm-siv-decrypt"] {
            let wrong = |_: &mut HostData, case: &mut Case| {
                case.operation = case.keyed.mode.operation(&Place::start(IV));
            };
            for told in reported(name, "48", wrong) {
                assert!(told.contains(name) && told.contains("it refuses the tag of 48 bytes"), "{told}");
            }
        }
        for told in reported("gcm-decrypt", "3x16", |data, _| data.input[20] ^= 1) {
            assert!(told.contains("it refuses the tag of 48 bytes"), "{told}");
        }
    }
}
