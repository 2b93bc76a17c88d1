//! Many GCM messages in GPU memory in one call, each with its own nonce and tag: all results are compared with single messages on the CPU,
//! then the speed is measured.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example device_gcm_batch
//! ```

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, sys::CUevent_flags};
use aes_bitslice_runtime::cuda::{DeviceCipher, Pending};
use aes_bitslice_runtime::{
    Backend, Cipher, Engine, GcmDecryptBatch, GcmEncrypt, GcmEncryptBatch, GcmMessage, Key, KeyBits, Nonce, Operation,
    Tag,
};
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
        "Tbit/s, tags included, medians of {RUNS}: of a call by events on its stream; of a call and the wait for its results, by"
    );
    println!("the clock; of {AHEAD} calls that are on the stream at a time, by the clock.");
    println!("{:>22} {:>4} {:>8} {:>7} {:>7} {:>7}", "messages, header", "key", "", "events", "alone", "ahead");
    for bits in [KeyBits::Aes128, KeyBits::Aes256] {
        let key = Key::generate(bits)?;
        let (cipher, cpu) = (engine.cipher(&key)?, Engine::open(Backend::Cpu)?.cipher(&key)?);
        for (bytes, count, aad) in [(16 << 10, 4096, 0), (16 << 10, 4096, 13), (1500, 44_739, 13), (256, 1 << 18, 0)] {
            let nonces: Vec<[u8; 12]> = (0..count).map(nonce).collect();
            let aads: Vec<Vec<u8>> = (0..count).map(|n| vec![n as u8; aad]).collect();
            let range = |n: usize| (n * bytes) as u64..((n + 1) * bytes) as u64;
            let message = |n: usize| GcmMessage { nonce: &nonces[n], aad: &aads[n], range: range(n) };
            let messages: Vec<GcmMessage<'_>> = (0..count).map(message).collect();
            let plain: Vec<u8> = (0..count * bytes).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
            let (tags, secret) = check(&cipher, &cpu, &stream, &messages, &plain)?;

            let device = cipher.device()?;
            let encrypt = GcmEncryptBatch::new(&messages)?;
            let decrypt = GcmDecryptBatch::new(&messages, &tags)?;
            let [plain, secret] = [stream.clone_htod(&plain)?, stream.clone_htod(&secret)?];
            // Nothing of it leaves this program: only for that reason may nonces be reused.
            let rows = [
                ("encrypt", rates(&device, &stream, &encrypt, &plain, |_| true)?),
                ("decrypt", rates(&device, &stream, &decrypt, &secret, |opened| opened.failed().is_empty())?),
            ];
            for (name, [events, alone, ahead]) in rows {
                let messages = format!("{count} x {bytes}, {aad}");
                println!("{messages:>22} {:>4} {name:>8} {events:>7.2} {alone:>7.2} {ahead:>7.2}", bits.bits());
            }
        }
    }
    Ok(())
}

fn nonce(n: usize) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&(n as u64).to_be_bytes());
    nonce
}

/// Compares tags, ciphertext, plaintext, and one wrong tag among them with single messages on the CPU; returns tags and ciphertext.
fn check(
    cipher: &Cipher,
    cpu: &Cipher,
    stream: &Arc<CudaStream>,
    messages: &[GcmMessage<'_>],
    plain: &[u8],
) -> Outcome<(Vec<Tag>, Vec<u8>)> {
    let mut expected = plain.to_vec();
    let mut tags = Vec::new();
    for message in messages {
        let range = message.range.start as usize..message.range.end as usize;
        tags.push(cpu.run(GcmEncrypt::new(&Nonce::new(message.nonce)?, message.aad), &mut expected[range])?);
    }
    let device = cipher.device()?;
    let mut data = stream.clone_htod(plain)?;
    let found = device.run_with_output(stream, GcmEncryptBatch::new(messages)?, &mut data)?.wait()?;
    assert!(found == tags, "tags");
    assert!(stream.clone_dtoh(&data)? == expected, "ciphertext");
    let opened = device.run_with_output(stream, GcmDecryptBatch::new(messages, &tags)?, &mut data)?.wait()?;
    assert!(opened.failed().is_empty() && stream.clone_dtoh(&data)? == plain, "plaintext");
    let mut wrong = tags.clone();
    wrong[7] = tags[8];
    let mut data = stream.clone_htod(&expected)?;
    let opened = device.run_with_output(stream, GcmDecryptBatch::new(messages, &wrong)?, &mut data)?.wait()?;
    let mut left = plain.to_vec();
    left[messages[7].range.start as usize..messages[7].range.end as usize].fill(0);
    assert!(opened.failed() == [7] && stream.clone_dtoh(&data)? == left, "one wrong tag");
    Ok((tags, expected))
}

/// Tbit/s of a call on copies of `source`: by events around it; by the clock, alone; and with others ahead of it on the stream.
fn rates<O: Operation>(
    device: &DeviceCipher<'_>,
    stream: &Arc<CudaStream>,
    operation: &O,
    source: &CudaSlice<u8>,
    is_right: impl Fn(&O::Output) -> bool,
) -> Outcome<[f64; 3]> {
    let mut data = (0..AHEAD).map(|_| stream.alloc_zeros::<u8>(source.len())).collect::<Result<Vec<_>, _>>()?;
    let call = |data: &mut CudaSlice<u8>| device.run_with_output(stream, operation.clone(), data);
    let wait = |pending: Pending<O>| -> Outcome<()> {
        assert!(is_right(&pending.wait()?), "what is measured is right");
        Ok(())
    };
    let event = || stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..RUNS + 2 {
        for data in &mut data {
            stream.memcpy_dtod(source, data)?;
        }
        stream.synchronize()?;
        let start = event()?;
        let pending = call(&mut data[0])?;
        let end = event()?;
        wait(pending)?;
        times[0].push(f64::from(start.elapsed_ms(&end)?) / 1e3);

        stream.memcpy_dtod(source, &mut data[0])?;
        stream.synchronize()?;
        let start = Instant::now();
        wait(call(&mut data[0])?)?;
        times[1].push(start.elapsed().as_secs_f64());

        stream.memcpy_dtod(source, &mut data[0])?;
        stream.synchronize()?;
        let start = Instant::now();
        let pending: Vec<_> = data.iter_mut().map(call).collect::<Result<_, _>>()?;
        pending.into_iter().try_for_each(wait)?;
        times[2].push(start.elapsed().as_secs_f64() / AHEAD as f64);
    }
    Ok(times.map(|mut times| {
        times.drain(..2);
        times.sort_by(f64::total_cmp);
        8.0 * source.len() as f64 / times[RUNS / 2] / 1e12
    }))
}
