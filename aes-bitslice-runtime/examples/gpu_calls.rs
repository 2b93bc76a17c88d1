//! Calls as programs make them: one after the other on a stream, in GPU memory. Prints the rate of the stream, and the time that a call takes
//! on the host. Everything is on one stream, so cudarc need not record events for each buffer, which would take the host 1 to 2 us a call.
//!
//! `cargo run --release -p aes-bitslice-runtime --example gpu_calls -- [KEY BITS [SIZES IN MiB, WITH COMMAS]]`

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream};
use aes_bitslice_runtime::{
    Backend, Choice, Counter, CounterMode, Ctr, Engine, Error, GcmDecrypt, GcmEncrypt, Key, KeyBits, Nonce, Tag,
};
use std::collections::VecDeque;
use std::error::Error as AnyError;
use std::sync::Arc;
use std::time::Instant;

/// Results that nobody has read yet.
const AHEAD: usize = 64;

/// The median of five streams of calls, after some to warm up.
fn measure(
    name: &str,
    stream: &Arc<CudaStream>,
    bytes: usize,
    mut call: impl FnMut() -> Result<(), Error>,
) -> Result<(), Box<dyn AnyError>> {
    let calls = ((8 << 30) / bytes).clamp(8, 2000);
    let (mut times, mut of_host) = (vec![], vec![]);
    for _ in 0..5 {
        (0..calls / 8 + 1).try_for_each(|_| call())?;
        stream.synchronize()?;
        let start = Instant::now();
        (0..calls).try_for_each(|_| call())?;
        of_host.push(start.elapsed().as_secs_f64() / calls as f64);
        stream.synchronize()?;
        times.push(start.elapsed().as_secs_f64() / calls as f64);
    }
    [&mut times, &mut of_host].into_iter().for_each(|times| times.sort_by(f64::total_cmp));
    let (time, host) = (times[2], of_host[2]);
    println!(
        "{:6} MiB  {name:39} {:6.3} Tbit/s {:9.2} us, host {:7.2} us",
        bytes >> 20,
        8.0 * bytes as f64 / time / 1e12,
        time * 1e6,
        host * 1e6
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn AnyError>> {
    let mut arguments = std::env::args().skip(1);
    let bits = arguments.next().map_or(Ok(128), |bits| bits.parse())?;
    let bits = KeyBits::ALL.into_iter().find(|of| of.bits() == bits).ok_or("a key has 128, 192 or 256 bits")?;
    let sizes = arguments.next().unwrap_or_else(|| "1,4,16,64,256,1024,4096".into());
    let engine = Engine::open(Backend::Cuda { ordinal: 0 })?;
    // SAFETY: all buffers are used on one stream.
    unsafe { engine.cuda_context()?.disable_event_tracking() };
    let stream = engine.cuda_context()?.new_stream()?;
    let cipher = engine.cipher(&Key::generate(bits)?)?;
    let calls = || cipher.device();
    let (device, in_two) = (calls()?, calls()?.by(Choice::Bitsliced));
    let mut tag = stream.alloc_zeros::<u8>(16)?;
    println!("AES-{}, calls in GPU memory", bits.bits());
    for size in sizes.split(',') {
        let bytes = size.parse::<usize>()? << 20;
        let mut data: CudaSlice<u8> = stream.alloc_zeros(bytes)?;
        let mut other: CudaSlice<u8> = stream.alloc_zeros(bytes)?;
        // No message here is kept, so it does not matter that they have one nonce.
        let nonce = Nonce::random()?;
        let counter = Counter::new(CounterMode::Ctr128BE, [3; 16]);
        measure("CTR", &stream, bytes, || device.run(&stream, Ctr::new(&counter, 0), &mut data))?;
        let encrypt = || GcmEncrypt::new(&nonce, b"");
        for (name, device) in [("GCM", &device), ("GCM in two launches", &in_two)] {
            measure(&format!("{name}, tag in GPU memory"), &stream, bytes, || {
                device.run_to_tag(&stream, encrypt(), &mut data, &mut tag)
            })?;
            measure(&format!("{name}, tag dropped"), &stream, bytes, || {
                device.run_with_output(&stream, encrypt(), &mut data).map(drop)
            })?;
            measure(&format!("{name}, tag read at once"), &stream, bytes, || {
                device.run_with_output(&stream, encrypt(), &mut data)?.wait().map(drop)
            })?;
        }
        let made = device.run_with_output(&stream, encrypt(), &mut data)?.wait()?;
        for (name, device) in [("GCM decryption", &device), ("GCM decryption, more launches", &in_two)] {
            let mut pending = VecDeque::new();
            measure(name, &stream, bytes, || {
                let decrypt = GcmDecrypt::new(&nonce, b"", &made);
                pending.push_back(device.run_with_output(&stream, decrypt, (&data, &mut other))?);
                if pending.len() > AHEAD { pending.pop_front().map_or(Ok(()), |first| first.wait()) } else { Ok(()) }
            })?;
            pending.into_iter().try_for_each(|last| last.wait())?;
        }
        // Dropped unread: they are forged, and cleared.
        let forged = Tag::from(std::array::from_fn(|i| made.as_bytes()[i] ^ 1));
        measure("GCM decryption, forged", &stream, bytes, || {
            device.run_with_output(&stream, GcmDecrypt::new(&nonce, b"", &forged), (&data, &mut other)).map(drop)
        })?;
    }
    Ok(())
}
