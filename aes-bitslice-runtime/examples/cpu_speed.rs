//! The speed of the CPU engines on one core, in GB/s (10^9 bytes a second), best of several runs on 256 KiB.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example cpu_speed
//! ```

use aes_bitslice_runtime::bitsliced::Isa;
use aes_bitslice_runtime::{Backend, CbcDecrypt, Cipher, Counter, Ctr, Ecb, Engine, Error, Key, KeyBits, Operation};
use std::time::{Duration, Instant};

fn main() -> Result<(), Error> {
    let mut engines = vec![Engine::open(Backend::Cpu)?];
    for isa in Isa::available() {
        engines.push(Engine::open_bitsliced(isa)?);
    }
    println!("{:>12} {:>12} {:>12} {:>12}  one thread, GB/s", "ECB encrypt", "ECB decrypt", "CBC decrypt", "CTR");
    for bits in KeyBits::ALL {
        let key = Key::generate(bits)?;
        for engine in &engines {
            let cipher = engine.cipher(&key)?;
            // Like one long message: no part of the key stream is used twice.
            let counter = Counter::random()?;
            let ctr = |call: u64| Ctr::new(&counter, call * BYTES as u64);
            print!("{:12.3}", speed(&cipher, |_| Ecb::encrypt())?);
            print!(" {:12.3}", speed(&cipher, |_| Ecb::decrypt())?);
            print!(" {:12.3}", speed(&cipher, |_| CbcDecrypt::new(&counter.block()))?);
            print!(" {:12.3}", speed(&cipher, ctr)?);
            println!("  AES-{}, {}", bits.bits(), engine.description());
        }
    }
    Ok(())
}

/// Bytes per call: too few for more than one core.
const BYTES: usize = 256 << 10;

/// The best rate in one second of calls, each with an operation made for its number.
fn speed<O: Operation>(cipher: &Cipher, operation: impl Fn(u64) -> O) -> Result<f64, Error> {
    let mut data = vec![0; BYTES];
    let (start, mut best) = (Instant::now(), Duration::MAX);
    for call in 0.. {
        let before = Instant::now();
        cipher.run(operation(call), &mut data)?;
        best = best.min(before.elapsed());
        if start.elapsed() > Duration::from_secs(1) {
            break;
        }
    }
    Ok(data.len() as f64 / best.as_secs_f64() / 1e9)
}
