//! Authenticated encryption of GPU memory on your own stream: GCM, whose tag comes when the stream has come to it. Then how fast it
//! is beside CTR and GMAC.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example device_gcm            # sizes up to 1 GiB
//! cargo run --release -p aes-bitslice-runtime --example device_gcm -- 4GiB    # or what the GPU has room for
//! ```

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream, sys::CUevent_flags};
use aes_bitslice_runtime::{
    Backend, Cipher, Counter, Ctr, Engine, Error, GcmEncrypt, GcmPart, Gmac, Key, KeyBits, Mode, Nonce,
};
use aes_bitslice_runtime::{Direction, GcmDecrypt};
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

    // Encrypt. The call returns at once; the tag is there when the stream has come to it.
    let nonce = Nonce::random()?;
    let message: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 251) as u8).collect();
    let mut data = stream.clone_htod(&message)?;
    let pending = cipher.device()?.run_with_output(&stream, GcmEncrypt::new(&nonce, b"a header"), &mut data)?;
    let tag = pending.wait()?;

    // Decrypt, and use nothing of it before the tag was checked.
    let part = GcmPart::new(Direction::Decrypt, &nonce, 0);
    let part = cipher.device()?.run_with_output(&stream, part, &mut data)?.wait()?;
    cipher.combine(&GcmDecrypt::new(&nonce, b"a header", &tag), vec![part])?;
    assert!(stream.clone_dtoh(&data)? == message);
    println!("{} bytes encrypted, authenticated and decrypted on {engine:?}: {tag:?}", message.len());

    println!("{:>10} {:>6} {:>8} {:>8} {:>8}   Tbit/s, median of {RUNS}", "bytes", "key", "CTR", "GCM", "GMAC");
    for bits in [KeyBits::Aes128, KeyBits::Aes256] {
        let cipher = engine.cipher(&Key::generate(bits)?)?;
        cipher.device()?.prepare(Mode::Ctr)?;
        let mut len = 1 << 20;
        while len <= most {
            let mut data = stream.alloc_zeros::<u8>(len)?;
            let rates = rates(&cipher, &stream, &mut data)?;
            println!("{len:>10} {:>6} {:>8.2} {:>8.2} {:>8.2}", bits.bits(), rates[0], rates[1], rates[2]);
            len *= 4;
        }
    }
    Ok(())
}

/// Tbit/s of CTR, GCM and GMAC, by events around each call.
fn rates(
    cipher: &Cipher,
    stream: &Arc<CudaStream>,
    data: &mut CudaSlice<u8>,
) -> Result<[f64; 3], Box<dyn std::error::Error>> {
    let bits = 8.0 * data.len() as f64;
    let mut median = |run: &mut dyn FnMut(&mut CudaSlice<u8>) -> Result<(), Error>| {
        let mut times = Vec::new();
        for turn in 0..RUNS + 2 {
            let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
            let start = stream.record_event(flags)?;
            run(data)?;
            let end = stream.record_event(flags)?;
            stream.synchronize()?;
            if turn >= 2 {
                times.push(f64::from(start.elapsed_ms(&end)?));
            }
        }
        times.sort_by(f64::total_cmp);
        Ok::<f64, Box<dyn std::error::Error>>(bits / times[RUNS / 2] / 1e9)
    };
    let device = cipher.device()?;
    // A counter and a nonce of their own for each call.
    let ctr = median(&mut |data| device.run(stream, Ctr::new(&Counter::random()?, 0), data))?;
    let mut pending = Vec::new();
    let gcm = median(&mut |data| {
        pending.push(device.run_with_output(stream, GcmEncrypt::new(&Nonce::random()?, &[]), data)?);
        Ok(())
    })?;
    pending.into_iter().try_for_each(|pending| pending.wait().map(drop))?;
    let mut pending = Vec::new();
    let gmac = median(&mut |data| {
        pending.push(device.run_with_output(stream, Gmac::new(&Nonce::random()?), data)?);
        Ok(())
    })?;
    pending.into_iter().try_for_each(|pending| pending.wait().map(drop))?;
    Ok([ctr, gcm, gmac])
}
