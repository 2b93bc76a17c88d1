//! XTS in GPU memory, and its speed compared with ECB: `cargo run --release --example device_xts [MIB]`

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream};
use aes_bitslice_runtime::{Backend, Cipher, Direction, Ecb, Engine, Error, Key, KeyBits, Operation, Xts};
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Err(e @ Error::CudaUnavailable { .. }) => {
            println!("nothing to show here: {e}");
            return Ok(());
        }
        other => other?,
    };
    println!("engine: {}", engine.description());
    let mib: usize = std::env::args().nth(1).map_or(Ok(64), |mib| mib.parse())?;
    let one = engine.cipher(&Key::generate(KeyBits::Aes128)?)?;
    let two = engine.cipher(&Key::generate_xts(KeyBits::Aes128)?)?;

    let stream = engine.cuda_context()?.new_stream()?;
    let mut data = stream.alloc_zeros::<u8>(mib << 20)?;
    // Encrypts the sectors of a disk from number 1,000 on, and decrypts them again.
    two.device()?.run(&stream, Xts::encrypt(4096, 1000)?, &mut data)?;
    two.device()?.run(&stream, Xts::decrypt(4096, 1000)?, &mut data)?;
    assert!(stream.clone_dtoh(&data)?.iter().all(|&byte| byte == 0));
    println!("{mib} MiB encrypted and decrypted in GPU memory");

    for direction in [Direction::Encrypt, Direction::Decrypt] {
        let ecb = rate(&one, &stream, Ecb::new(direction), &mut data)?;
        println!("{direction:?}, keys of 128 bits: ECB {:.3} Tbit/s", ecb / 1e12);
        for unit in [16, 512, 528, 4096, 65536, 1 << 20] {
            let xts = rate(&two, &stream, Xts::new(direction, unit, 0)?, &mut data)?;
            println!("  XTS in units of {unit:7} bytes {:.3} Tbit/s, {:.1} %", xts / 1e12, 100.0 * xts / ecb);
        }
    }
    Ok(())
}

/// Bits per second of back-to-back calls.
fn rate(
    cipher: &Cipher,
    stream: &Arc<CudaStream>,
    operation: impl Operation<Output = ()>,
    data: &mut CudaSlice<u8>,
) -> Result<f64, Box<dyn std::error::Error>> {
    const RUNS: usize = 20;
    let mut seconds = 0.0;
    // The first turn loads the kernel and lets clocks rise.
    for _ in 0..2 {
        stream.synchronize()?;
        let start = Instant::now();
        for _ in 0..RUNS {
            cipher.device()?.run(stream, operation.clone(), &mut *data)?;
        }
        stream.synchronize()?;
        seconds = start.elapsed().as_secs_f64();
    }
    Ok((8 * RUNS * data.len()) as f64 / seconds)
}
