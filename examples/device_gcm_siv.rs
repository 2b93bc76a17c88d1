//! AES-GCM-SIV of GPU memory on your own stream: checked byte for byte against the CPU, then its speed compared with CTR and GCM.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example device_gcm_siv            # sizes up to 1 GiB
//! cargo run --release -p aes-bitslice-runtime --example device_gcm_siv -- 4GiB    # or what the GPU and the host have room for
//! ```
//!
//! The time is that of a call as its stream sees it: both passes of an encryption, and the time between them. The tables of a message are
//! computed while the stream is still busy with other work.

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, sys::CUevent_flags};
use aes_bitslice_runtime::{
    Backend, Cipher, Counter, Ctr, Engine, Error, GcmEncrypt, GcmSivDecrypt, GcmSivEncrypt, Key, KeyBits, Nonce,
};
use std::sync::Arc;

const RUNS: usize = 20;
const AAD: &[u8] = b"a header that is not secret";

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
    println!("{engine:?}: Tbit/s, median of {RUNS}, every size checked before");
    println!("{:>10} {:>6} {:>8} {:>8} {:>8} {:>8}", "bytes", "key", "CTR", "GCM", "SIV", "SIV open");
    for bits in [KeyBits::Aes128, KeyBits::Aes256] {
        let key = Key::generate(bits)?;
        let (cipher, cpu) = (engine.cipher(&key)?, Engine::open(Backend::Cpu)?.cipher(&key)?);
        let mut len = 1 << 20;
        while len <= most {
            let mut data = checked(&cipher, &cpu, &stream, len)?;
            let rates = rates(&cipher, &stream, &mut data)?.map(|rate| format!("{rate:>8.2}"));
            println!("{len:>10} {:>6} {}", bits.bits(), rates.join(" "));
            len *= 4;
        }
    }
    Ok(())
}

/// Encrypts a message in GPU memory as on the CPU, and decrypts it; a changed message is refused and cleared. Returns the message.
fn checked(
    cipher: &Cipher,
    cpu: &Cipher,
    stream: &Arc<CudaStream>,
    len: usize,
) -> Result<CudaSlice<u8>, Box<dyn std::error::Error>> {
    let (device, nonce) = (cipher.device()?, Nonce::random()?);
    let mut message = vec![0; len];
    cpu.run(Ctr::new(&Counter::random()?, 0), &mut message)?;
    let mut data = stream.clone_htod(&message)?;
    let tag = device.run_with_output(stream, GcmSivEncrypt::new(&nonce, AAD), &mut data)?.wait()?;
    let found = stream.clone_dtoh(&data)?;
    assert!(
        cpu.run(GcmSivEncrypt::new(&nonce, AAD), &mut message)? == tag,
        "{len} bytes: the tag is another on the CPU"
    );
    assert!(found == message, "{len} bytes: the ciphertext is another on the CPU");
    let decrypt = GcmSivDecrypt::new(&nonce, AAD, &tag);
    device.run_with_output(stream, decrypt.clone(), &mut data)?.wait()?;
    cpu.run(decrypt, &mut message)?;
    assert!(stream.clone_dtoh(&data)? == message, "{len} bytes: the plaintext is another on the CPU");
    let wrong = GcmSivDecrypt::new(&nonce, b"another header", &tag);
    let mut copy = stream.clone_htod(&found)?;
    let refused = device.run_with_output(stream, wrong, &mut copy)?.wait();
    assert!(matches!(refused, Err(Error::Unauthenticated)), "{len} bytes: what was changed is not refused");
    assert!(stream.clone_dtoh(&copy)?.iter().all(|&byte| byte == 0), "{len} bytes: what was changed is not cleared");
    Ok(data)
}

/// Tbit/s of CTR, GCM, and AES-GCM-SIV encryption and decryption, by events around each call.
fn rates(
    cipher: &Cipher,
    stream: &Arc<CudaStream>,
    data: &mut CudaSlice<u8>,
) -> Result<[f64; 4], Box<dyn std::error::Error>> {
    let device = cipher.device()?;
    let mut timer = Timer { cipher, stream, ahead: stream.alloc_zeros(256 << 20)?, milliseconds: 0.0 };
    let ctr = rate(&mut timer, data, |data, timer| {
        let counter = Counter::random()?;
        timer.time(|| device.run(stream, Ctr::new(&counter, 0), data))
    })?;
    let gcm = rate(&mut timer, data, |data, timer| {
        let nonce = Nonce::random()?;
        timer.time(|| device.run_with_output(stream, GcmEncrypt::new(&nonce, &[]), data))?.wait().map(drop)
    })?;
    let encrypt = rate(&mut timer, data, |data, timer| {
        let nonce = Nonce::random()?;
        timer.time(|| device.run_with_output(stream, GcmSivEncrypt::new(&nonce, &[]), data))?.wait().map(drop)
    })?;
    let decrypt = rate(&mut timer, data, |data, timer| {
        let nonce = Nonce::random()?;
        let tag = device.run_with_output(stream, GcmSivEncrypt::new(&nonce, &[]), data)?.wait()?;
        timer.time(|| device.run_with_output(stream, GcmSivDecrypt::new(&nonce, &[], &tag), data))?.wait()
    })?;
    Ok([ctr, gcm, encrypt, decrypt])
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
