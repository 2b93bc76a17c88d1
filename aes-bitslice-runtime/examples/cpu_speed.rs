//! The speed of the CPU engines on one core, in GB/s (10^9 bytes a second), best of several runs on 256 KiB.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example cpu_speed
//! ```

use aes_bitslice_runtime::bitsliced::Isa;
use aes_bitslice_runtime::{Backend, Cipher, Counter, CounterMode, Engine, Error, Key, KeyBits};
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
            let counter = Counter::new(CounterMode::Ctr128BE, [0x5a; 16]);
            print!("{:12.3}", speed(&cipher, |c, data| c.ecb_encrypt(data))?);
            print!(" {:12.3}", speed(&cipher, |c, data| c.ecb_decrypt(data))?);
            print!(" {:12.3}", speed(&cipher, |c, data| c.cbc_decrypt(&[0x5a; 16], data))?);
            print!(" {:12.3}", speed(&cipher, |c, data| c.ctr_apply(&counter, 0, data))?);
            println!("  AES-{}, {}", bits.bits(), engine.description());
        }
    }
    Ok(())
}

/// The best rate of a second's worth of calls on a buffer too small to be spread over cores.
fn speed(cipher: &Cipher, call: impl Fn(&Cipher, &mut [u8]) -> Result<(), Error>) -> Result<f64, Error> {
    let mut data = vec![0; 256 << 10];
    let (start, mut best) = (Instant::now(), Duration::MAX);
    while start.elapsed() < Duration::from_secs(1) {
        let before = Instant::now();
        call(cipher, &mut data)?;
        best = best.min(before.elapsed());
    }
    Ok(data.len() as f64 / best.as_secs_f64() / 1e9)
}
