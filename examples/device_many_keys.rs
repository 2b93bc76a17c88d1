//! Many keys in one call on GPU memory: all results are compared with the CPU. Then the speed of an equal share of the data under each key,
//! with keys in GPU memory, compared with one key; `aes-bitslice bench --modes ctr --sizes 65536x4KiB --timings device,stream` measures jobs.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example device_many_keys
//! ```

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, sys::CUevent_flags};
use aes_bitslice_runtime::{Backend, Cipher, EachKey, Ecb, Engine, Error, Job, Jobs, Key, KeyBits, Mode};
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
        "Medians of {RUNS}: of a call by events on its stream; of a call and the wait for it, by the clock; of {AHEAD}"
    );
    println!("calls that are on the stream at a time, by the clock.");
    for mode in [Mode::Ctr, Mode::EcbDecrypt] {
        jobs(&engine, &stream, mode)?;
    }
    each_key(&engine, &stream)
}

/// Varied bytes that are fast to compute.
fn noise(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| ((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 37) as u8).collect()
}

/// A call under one key on the same data as under many: ECB, also beside the key stream.
fn one_key(cipher: &Cipher, mode: Mode, stream: &CudaStream, data: &mut CudaSlice<u8>) -> Result<(), Error> {
    match mode {
        Mode::EcbDecrypt => cipher.device()?.run(stream, Ecb::decrypt(), data),
        _ => cipher.device()?.run(stream, Ecb::encrypt(), data),
    }
}

/// Jobs of one length.
fn jobs(engine: &Engine, stream: &Arc<CudaStream>, mode: Mode) -> Outcome<()> {
    for bits in [KeyBits::Aes128, KeyBits::Aes256] {
        for (count, bytes) in [(1024, 65_536), (16_384, 65_536), (65_536, 4096), (262_144, 512)] {
            let keys = noise(1, count * bits.bytes());
            let job = |n: usize| Job {
                key: &keys[n * bits.bytes()..][..bits.bytes()],
                counter: (n as u128).to_be_bytes(),
                range: (n * bytes) as u64..((n + 1) * bytes) as u64,
            };
            let jobs = Jobs::new(mode, &(0..count).map(job).collect::<Vec<_>>())?;
            let cipher = engine.under_own_keys();
            let plain = noise(2, count * bytes);
            let mut expected = plain.clone();
            cipher.run(jobs.clone(), &mut expected)?;
            let mut data = stream.clone_htod(&plain)?;
            cipher.device()?.run_with_output(stream, jobs, &mut data)?.wait()?;
            assert!(stream.clone_dtoh(&data)? == expected, "{count} jobs of {bytes} bytes");
        }
    }
    Ok(())
}

/// An equal number of blocks under each key, with keys in GPU memory.
fn each_key(engine: &Engine, stream: &Arc<CudaStream>) -> Outcome<()> {
    println!(
        "\nThe same number of bytes under each of many keys, in GPU memory: 10^9 keys/s; the same data under one key: 10^9 times that many bytes/s"
    );
    println!(
        "{:>22} {:>5} {:>4} {:>7} {:>7} {:>7}   {:>8} {:>7} {:>7}",
        "keys", "bytes", "key", "events", "alone", "ahead", "one key", "alone", "ahead"
    );
    for mode in [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Keystream] {
        for bits in [KeyBits::Aes128, KeyBits::Aes256] {
            for (count, bytes) in [(1 << 20, 16), (1 << 20, 32), (1 << 24, 16), (1 << 24, 32)] {
                let keys = noise(3, count * bits.bytes());
                let each = EachKey::new(mode, bits, [0; 16], bytes as u64)?;
                let none = engine.under_own_keys();
                let device = none.device()?;
                let plain = noise(4, count * bytes);
                let mut expected = plain.clone();
                engine.run_each_key(&each, &keys, &mut expected)?;
                let keys = stream.clone_htod(&keys)?;
                let mut data = stream.clone_htod(&plain)?;
                device.run_each_key(stream, &each, &keys, &mut data)?;
                assert!(stream.clone_dtoh(&data)? == expected, "{count} keys for {bytes} bytes");

                let all = 1e-9 * count as f64;
                let [events, alone, ahead] =
                    times(stream, &mut data, |data| device.run_each_key(stream, &each, &keys, data))?;
                let cipher = engine.cipher(&Key::generate(bits)?)?;
                let [one_events, one_alone, one_ahead] =
                    times(stream, &mut data, |data| one_key(&cipher, mode, stream, data))?;
                println!(
                    "{:>22} {bytes:>5} {:>4} {:>7.2} {:>7.2} {:>7.2}   {:>8.2} {:>7.2} {:>7.2}",
                    format!("{mode}, {count}"),
                    bits.bits(),
                    all / events,
                    all / alone,
                    all / ahead,
                    all / one_events,
                    all / one_alone,
                    all / one_ahead
                );
            }
        }
    }
    Ok(())
}

/// Seconds of a call: by events around it; by the clock, alone; and with others ahead of it on the stream. The results are not used: only
/// for that reason may counters be reused.
fn times<T>(
    stream: &Arc<CudaStream>,
    data: &mut CudaSlice<u8>,
    call: impl Fn(&mut CudaSlice<u8>) -> Result<T, Error>,
) -> Outcome<[f64; 3]> {
    let event = || stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..RUNS + 2 {
        stream.synchronize()?;
        let start = event()?;
        let pending = call(data)?;
        let end = event()?;
        drop(pending);
        end.synchronize()?;
        times[0].push(f64::from(start.elapsed_ms(&end)?) / 1e3);

        let start = Instant::now();
        drop(call(data)?);
        stream.synchronize()?;
        times[1].push(start.elapsed().as_secs_f64());

        let start = Instant::now();
        let pending: Vec<T> = (0..AHEAD).map(|_| call(data)).collect::<Result<_, _>>()?;
        drop(pending);
        stream.synchronize()?;
        times[2].push(start.elapsed().as_secs_f64() / AHEAD as f64);
    }
    Ok(times.map(|mut times| {
        times.drain(..2);
        times.sort_by(f64::total_cmp);
        times[RUNS / 2]
    }))
}
