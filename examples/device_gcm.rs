//! Authenticated encryption of GPU memory on your own stream: GCM, whose tag is available when the stream has reached it. Then its speed
//! compared with CTR and GMAC.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example device_gcm            # sizes up to 1 GiB
//! cargo run --release -p aes-bitslice-runtime --example device_gcm -- 4GiB    # or what the GPU has room for
//! ```

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, sys::CUevent_flags};
use aes_bitslice_runtime::{
    Backend, Cipher, Counter, Ctr, Engine, Error, GcmDecrypt, GcmEncrypt, Gmac, Key, KeyBits, Mode, Nonce,
};
use std::sync::Arc;

const RUNS: usize = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Ok(engine) => engine,
        Err(error) => {
            println!("This example needs an NVIDIA GPU: {error}");
            return Ok(());
        }
    };
    let most = std::env::args()
        .nth(1)
        .map_or(Some(1 << 30), |size| Some(size.strip_suffix("GiB")?.parse::<usize>().ok()? << 30));
    let most = most.ok_or("give a size as in 4GiB")?;
    let stream = engine.cuda_context()?.new_stream()?;
    let cipher = engine.cipher(&Key::generate(KeyBits::Aes256)?)?;

    // Encrypt. The call returns at once; the tag is available when the stream has reached it.
    let nonce = Nonce::random()?;
    let message: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 251) as u8).collect();
    let mut data = stream.clone_htod(&message)?;
    let pending = cipher.device()?.run_with_output(&stream, GcmEncrypt::new(&nonce, b"a header"), &mut data)?;
    let tag = pending.wait()?;

    // Decrypt. Data that is not authentic is cleared on the stream, and is an error here.
    let decrypt = GcmDecrypt::new(&nonce, b"a header", &tag);
    cipher.device()?.run_with_output(&stream, decrypt, &mut data)?.wait()?;
    assert!(stream.clone_dtoh(&data)? == message);
    println!("{} bytes encrypted, authenticated and decrypted on {engine:?}: {tag:?}", message.len());

    println!("Tbit/s, median of {RUNS}:");
    println!("{:>10} {:>6} {:>8} {:>8} {:>8} {:>8}", "bytes", "key", "CTR", "GCM", "GCM open", "GMAC");
    for bits in [KeyBits::Aes128, KeyBits::Aes256] {
        let cipher = engine.cipher(&Key::generate(bits)?)?;
        cipher.device()?.prepare(Mode::Ctr)?;
        let mut len = 1 << 20;
        while len <= most {
            let mut data = stream.alloc_zeros::<u8>(len)?;
            let rates = rates(&cipher, &stream, &mut data)?.map(|rate| format!("{rate:>8.2}"));
            println!("{len:>10} {:>6} {}", bits.bits(), rates.join(" "));
            len *= 4;
        }
    }
    Ok(())
}

/// Tbit/s of CTR, GCM encryption and decryption, and GMAC, by events around each call.
fn rates(
    cipher: &Cipher,
    stream: &Arc<CudaStream>,
    data: &mut CudaSlice<u8>,
) -> Result<[f64; 4], Box<dyn std::error::Error>> {
    let device = cipher.device()?;
    let mut timer = Timer { cipher, stream, ahead: stream.alloc_zeros(256 << 20)?, milliseconds: 0.0 };
    // Each message has its own counter or nonce. The first call turns the zeros into data.
    let ctr = rate(&mut timer, data, |data, timer| {
        let counter = Counter::random()?;
        timer.time(|| device.run(stream, Ctr::new(&counter, 0), data))
    })?;
    let encrypt = rate(&mut timer, data, |data, timer| {
        let nonce = Nonce::random()?;
        timer.time(|| device.run_with_output(stream, GcmEncrypt::new(&nonce, &[]), data))?.wait().map(drop)
    })?;
    let decrypt = rate(&mut timer, data, |data, timer| {
        let nonce = Nonce::random()?;
        let tag = device.run_with_output(stream, GcmEncrypt::new(&nonce, &[]), data)?.wait()?;
        timer.time(|| device.run_with_output(stream, GcmDecrypt::new(&nonce, &[], &tag), data))?.wait()
    })?;
    let gmac = rate(&mut timer, data, |data, timer| {
        let nonce = Nonce::random()?;
        timer.time(|| device.run_with_output(stream, Gmac::new(&nonce), data))?.wait().map(drop)
    })?;
    Ok([ctr, encrypt, decrypt, gmac])
}

/// Times one call of each turn by events on its stream.
struct Timer<'a> {
    cipher: &'a Cipher,
    stream: &'a Arc<CudaStream>,
    /// Encrypted before each timed call, which is submitted meanwhile: no time passes between the first event and the call's first kernel.
    ahead: CudaSlice<u8>,
    milliseconds: f32,
}

impl Timer<'_> {
    fn time<T>(&mut self, call: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.cipher.device()?.run(self.stream, Ctr::new(&Counter::random()?, 0), &mut self.ahead)?;
        let event = || self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).expect("a live stream");
        let start = event();
        let result = call()?;
        self.milliseconds = start.elapsed_ms(&event()).expect("events of one stream");
        Ok(result)
    }
}

/// Tbit/s, from the median of turns that time one call each.
fn rate(
    timer: &mut Timer<'_>,
    data: &mut CudaSlice<u8>,
    mut turn: impl FnMut(&mut CudaSlice<u8>, &mut Timer<'_>) -> Result<(), Error>,
) -> Result<f64, Box<dyn std::error::Error>> {
    let mut times = Vec::new();
    for _ in 0..RUNS + 2 {
        turn(data, timer)?;
        timer.stream.synchronize()?;
        times.push(timer.milliseconds);
    }
    times.drain(..2);
    times.sort_by(f32::total_cmp);
    Ok(8.0 * data.len() as f64 / f64::from(times[RUNS / 2]) / 1e9)
}
