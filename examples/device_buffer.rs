//! Data in GPU memory, on one's own stream: `cargo run --release --example device_buffer`

use aes_bitslice_runtime::{Backend, Counter, CounterMode, Engine, Error, Key, KeyBits, Mode};

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
    let counter = Counter::new(CounterMode::Ctr128BE, [0; 16]);
    // Loads the kernel and tests it, so that the calls below only launch.
    cipher.device()?.prepare(Mode::Ctr)?;

    let stream = engine.cuda_context()?.new_stream()?;
    let mut data = stream.clone_htod(&vec![7u8; 1 << 20])?;
    // Both calls return at once; the stream keeps their order.
    cipher.device()?.ctr_apply(&stream, &counter, 0, &mut data)?;
    cipher.device()?.ctr_apply(&stream, &counter, 0, &mut data)?;
    // An event tells when the stream has come to it. It can also hold up another stream: `other.wait(&done)`.
    let done = stream.record_event(None)?;
    while !done.is_complete() {
        // Whatever else there is to do.
        std::thread::yield_now();
    }
    assert!(stream.clone_dtoh(&data)?.iter().all(|&byte| byte == 7));
    println!("1 MiB encrypted and decrypted in GPU memory");
    Ok(())
}
