//! CMAC of many messages in GPU memory in one call: every tag is compared with the tag of the single message on the CPU, one wrong tag must
//! be found, then the speed is measured.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example device_cmac
//! ```

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, sys::CUevent_flags};
use aes_bitslice_runtime::cuda::{DeviceCipher, Pending};
use aes_bitslice_runtime::{
    Backend, Cipher, Cmac, CmacBatch, CmacVerifyBatch, Engine, Key, KeyBits, Operation, Ranges,
};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

const RUNS: usize = 30;
/// The number of calls queued on the stream in the measurement "ahead".
const AHEAD: usize = 4;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let engine = match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Ok(engine) => engine,
        Err(error) => {
            println!("This example needs an NVIDIA GPU: {error}");
            return Ok(());
        }
    };
    let stream = engine.cuda_context()?.new_stream()?;
    println!("{engine:?}");
    println!(
        "Tbit/s, medians of {RUNS}: of a call by events on its stream; of a call and the wait for its results, by the clock; of {AHEAD}"
    );
    println!("calls that are on the stream at a time, by the clock.");
    println!("{:>18} {:>4} {:>8} {:>7} {:>7} {:>7}", "messages", "key", "", "events", "alone", "ahead");
    for bits in [KeyBits::Aes128, KeyBits::Aes256] {
        let key = Key::generate(bits)?;
        let (cipher, cpu) = (engine.cipher(&key)?, Engine::open(Backend::Cpu)?.cipher(&key)?);
        // Of one length, and of all lengths up to it.
        for (bytes, count, is_mixed) in
            [(16 << 10, 4096, false), (1500, 65_536, false), (1500, 65_536, true), (64, 1 << 20, false)]
        {
            let len = |n: usize| if is_mixed { n * 977 % (bytes + 1) } else { bytes };
            let message = |n: usize| (n * bytes) as u64..(n * bytes + len(n)) as u64;
            let messages: Vec<Range<u64>> = (0..count).map(message).collect();
            let data: Vec<u8> = (0..count * bytes).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
            let read: usize = (0..count).map(len).sum();
            let tags = check(&cipher, &cpu, &stream, &messages, &data)?;

            let device = cipher.device()?;
            let ranges = Ranges::from(&*messages);
            let make = CmacBatch::from_arrays(&ranges)?;
            let verify = CmacVerifyBatch::from_arrays(&ranges, tags.as_flattened(), 16)?;
            let mut data = stream.clone_htod(&data)?;
            let rows = [
                ("make", rates(&device, &stream, &make, &mut data, read, |made| *made == tags)?),
                ("verify", rates(&device, &stream, &verify, &mut data, read, |verified| verified.failed().is_empty())?),
            ];
            for (name, [events, alone, ahead]) in rows {
                let messages = format!("{count} x {}{bytes}", if is_mixed { "0 to " } else { "" });
                println!("{messages:>18} {:>4} {name:>8} {events:>7.3} {alone:>7.3} {ahead:>7.3}", bits.bits());
            }
        }
    }
    Ok(())
}

/// Compares tags with those of single messages on the CPU, and checks that one wrong tag is found; returns the tags.
fn check(
    cipher: &Cipher,
    cpu: &Cipher,
    stream: &Arc<CudaStream>,
    messages: &[Range<u64>],
    data: &[u8],
) -> Outcome<Vec<[u8; 16]>> {
    let single = |message: &Range<u64>| -> Outcome<[u8; 16]> {
        let tag = cpu.run(Cmac::new(), &data[message.start as usize..message.end as usize])?;
        Ok(tag.as_bytes().try_into()?)
    };
    let tags: Vec<[u8; 16]> = messages.iter().map(single).collect::<Result<_, _>>()?;
    let ranges = Ranges::from(messages);
    let device = cipher.device()?;
    let mut data = stream.clone_htod(data)?;
    let found = device.run_with_output(stream, CmacBatch::from_arrays(&ranges)?, &mut data)?.wait()?;
    assert!(found == tags, "tags");
    let mut wrong = tags.clone();
    wrong[7] = tags[8];
    let verify = CmacVerifyBatch::from_arrays(&ranges, wrong.as_flattened(), 16)?;
    let verified = device.run_with_output(stream, verify, &mut data)?.wait()?;
    assert!(verified.failed() == [7], "one wrong tag");
    Ok(tags)
}

/// Tbit/s of a call that reads `bytes` bytes: by events around it; by the clock, alone; and with others ahead of it on the stream.
fn rates<O: Operation>(
    device: &DeviceCipher<'_>,
    stream: &Arc<CudaStream>,
    operation: &O,
    data: &mut CudaSlice<u8>,
    bytes: usize,
    is_right: impl Fn(&O::Output) -> bool,
) -> Outcome<[f64; 3]> {
    let mut call = || device.run_with_output(stream, operation.clone(), data);
    // Results are compared after the clock was read.
    let check = |results: &[O::Output]| assert!(results.iter().all(&is_right), "what is measured is right");
    let event = || stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..RUNS + 2 {
        stream.synchronize()?;
        let start = event()?;
        let pending = call()?;
        let end = event()?;
        check(&[pending.wait()?]);
        times[0].push(f64::from(start.elapsed_ms(&end)?) / 1e3);

        let start = Instant::now();
        let result = call()?.wait()?;
        times[1].push(start.elapsed().as_secs_f64());
        check(&[result]);

        let start = Instant::now();
        let pending: Vec<_> = (0..AHEAD).map(|_| call()).collect::<Result<_, _>>()?;
        let results: Vec<_> = pending.into_iter().map(Pending::wait).collect::<Result<_, _>>()?;
        times[2].push(start.elapsed().as_secs_f64() / AHEAD as f64);
        check(&results);
    }
    Ok(times.map(|mut times| {
        times.drain(..2);
        times.sort_by(f64::total_cmp);
        8.0 * bytes as f64 / times[RUNS / 2] / 1e12
    }))
}
