//! Calls of every kind in the memory of a CUDA GPU, with one key and data or with new ones each time: for a profiler, which must count the
//! same in both cases. And the comparison of its counts.
//!
//! ```sh
//! S=l1tex__t_sectors_pipe_lsu_mem_global_op; M=smsp__inst_executed.sum,${S}_ld.sum,${S}_st.sum
//! for which in fixed random; do
//!     ncu --csv --page details --print-units base --metrics $M target/release/fixed_or_random $which 1000 ctr > $which.csv
//! done
//! target/release/fixed_or_random compare fixed.csv random.csv
//! ```
//!
//! The number is how often each call is made with keys of each length. It may be a range, as 20..40: then these are the calls, and random
//! keys and data, that a run of 40 makes after the first 20. Each part of a long run can be compared with one short run of the fixed key.
//! The name is that of a call, or the first letters of several, such as `gcm`; without it all calls are made.
//!
//! Lengths, counters, nonces and units are public, and do not change, except the nonces of AES-GCM-SIV, which are new each time, in both
//! cases. Both cases launch equal kernels in equal order. `compare` compares each launch of a kernel in one file with the launch of its
//! number in the other, and exits with 1 where their grid, their thread block or a metric differs, or one has more launches. It leaves out
//! the counter mode of AES-GCM-SIV: its number of tiles depends on its first counter, which is the tag: public, but different for each key.

use aes_bitslice_runtime::{Backend, Engine, Error, KeyBits};
use aes_bitslice_tests::counters::Counters;
use aes_bitslice_tests::device_calls::{DeviceCall, Input, KEY_BYTES};
use aes_bitslice_tests::reference::noise;
use std::process::ExitCode;

/// Bytes of a call: several tiles of some thread blocks.
const BYTES: usize = 1 << 20;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (is_random, rest) = match &arguments[..] {
        ["compare", first, second] => return compare(first, second),
        ["fixed", rest @ ..] => (false, rest),
        ["random", rest @ ..] => (true, rest),
        [] => (false, &[][..]),
        _ => {
            return Err("use `fixed` or `random`, how often, and the name of a call; or `compare` and two files".into());
        }
    };
    let numbers = match rest.first().and_then(|numbers| numbers.split_once("..")) {
        Some((from, to)) => from.parse()?..to.parse()?,
        None => 0..rest.first().map_or(Ok(2), |times| times.parse::<u64>())?,
    };
    let begins = rest.get(1).unwrap_or(&"");
    let calls: Vec<&DeviceCall> = DeviceCall::ALL.iter().filter(|call| call.name.starts_with(begins)).collect();
    if calls.is_empty() {
        let names = DeviceCall::ALL.map(|call| call.name).join(", ");
        return Err(format!("no call is named `{begins}`: there are {names}").into());
    }
    let engine = match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Err(e @ Error::CudaUnavailable { .. }) => {
            println!("nothing to count here: {e}");
            return Ok(ExitCode::SUCCESS);
        }
        other => other?,
    };
    let stream = engine.cuda_context()?.new_stream()?;
    for number in numbers.clone() {
        let seed = if is_random { 1 + number } else { 0 };
        for bits in KeyBits::ALL {
            for call in calls.iter().filter(|call| call.bits.contains(&bits)) {
                let key: [u8; KEY_BYTES] = noise(seed, KEY_BYTES).try_into().expect("as long");
                let mut data = noise(seed + 1_000_000, BYTES);
                let input = Input { bits, number, key: &key, data: &mut data };
                let launch = call.prepare(&engine, &stream, input)?;
                let mut memory = stream.clone_htod(&data)?;
                launch(&stream, &mut memory)?().map_err(|e| format!("{}: {e}", call.name))?;
            }
        }
    }
    println!(
        "{} times {}, with keys of each length",
        numbers.count(),
        calls.iter().map(|call| call.name).collect::<Vec<_>>().join(", ")
    );
    Ok(ExitCode::SUCCESS)
}

fn compare(first: &str, second: &str) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let read = |file: &str| {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        Counters::read(&text).map_err(|e| format!("{file}: {e}"))
    };
    let (one, two) = (read(first)?, read(second)?);
    let differences = one.differences(&two);
    differences.iter().for_each(|difference| println!("{difference}"));
    one.left_out().for_each(|kernel| println!("left out, as its counter is the tag: {kernel}"));
    let ((kernels, first), (_, second)) = (one.kernels_and_launches(), two.kernels_and_launches());
    println!(
        "{kernels} kernels, {first} launches in the first and {second} in the second: {} differences",
        differences.len()
    );
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
