//! Data in GPU memory, on the program's own stream: `cargo run --release --example device_buffer`

use aes_bitslice_runtime::{Backend, Counter, Ctr, Engine, Error, Key, KeyBits, Mode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Err(e @ Error::CudaUnavailable { .. }) => {
            println!("nothing to show here: {e}");
            return Ok(());
        }
        other => other?,
    };
    println!("engine: {}", engine.description());
    let cipher = engine.cipher(&Key::generate(KeyBits::Aes128)?)?;
    // New for every message: counter blocks that two messages under one key share reveal the XOR of their plaintexts.
    let ctr = Ctr::new(&Counter::random()?, 0);
    // Loads the kernel and tests it, so that the calls below only launch.
    cipher.device()?.prepare(Mode::Ctr)?;

    let stream = engine.cuda_context()?.new_stream()?;
    let mut data = stream.clone_htod(&vec![7u8; 1 << 20])?;
    // Encrypted, and decrypted again. Both calls return at once; the stream keeps their order.
    cipher.device()?.run(&stream, ctr, &mut data)?;
    cipher.device()?.run(&stream, ctr, &mut data)?;
    // An event tells when the stream has reached it. It can also hold up another stream: `other.wait(&done)`.
    let done = stream.record_event(None)?;
    while !done.is_complete() {
        // Time for other work.
        std::thread::yield_now();
    }
    assert!(stream.clone_dtoh(&data)?.iter().all(|&byte| byte == 7));
    println!("1 MiB encrypted and decrypted in GPU memory");
    Ok(())
}
