//! The speed of GCM encryption on the CPU, tag included, in GB/s (10^9 bytes a second): median of one second of calls, in place.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example cpu_gcm            # all cores
//! taskset -c 0 target/release/examples/cpu_gcm                            # one
//! ```

use aes_bitslice_runtime::{Backend, Cipher, Engine, Error, GcmEncrypt, Key, KeyBits, Nonce, threads};
use std::time::{Duration, Instant};

fn main() -> Result<(), Error> {
    let engine = Engine::open(Backend::Cpu)?;
    println!("{:>7} {:>12} {:>12} {:>12}  GB/s; threads: {}", "", "16 KiB", "1 MiB", "64 MiB", threads());
    for bits in KeyBits::ALL {
        let cipher = engine.cipher(&Key::generate(bits)?)?;
        let rates = [16 << 10, 1 << 20, 64 << 20].map(|len| speed(&cipher, len));
        let [short, medium, long] = rates.map(|rate| rate.map_or_else(|e| e.to_string(), |rate| format!("{rate:.3}")));
        println!("AES-{} {short:>12} {medium:>12} {long:>12}", bits.bits());
    }
    Ok(())
}

/// The median rate of one second of calls, each with its own nonce.
fn speed(cipher: &Cipher, len: usize) -> Result<f64, Error> {
    let mut data = vec![0; len];
    let (start, mut times) = (Instant::now(), Vec::new());
    for call in 0_u64.. {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&call.to_be_bytes());
        let before = Instant::now();
        cipher.run(GcmEncrypt::new(&Nonce::from(nonce), &[]), &mut data)?;
        times.push(before.elapsed());
        if start.elapsed() > Duration::from_secs(1) {
            break;
        }
    }
    times.sort();
    Ok(len as f64 / times[times.len() / 2].as_secs_f64() / 1e9)
}
