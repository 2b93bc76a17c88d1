//! Authenticated encryption of GPU memory on your own stream: GCM, whose tag is available when the stream has reached it.
//! `aes-bitslice bench --modes gcm,gmac,ctr --timings device,stream` measures its speed.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example device_gcm
//! ```

use aes_bitslice_runtime::{Backend, Engine, GcmDecrypt, GcmEncrypt, Key, KeyBits, Nonce};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Ok(engine) => engine,
        Err(error) => {
            println!("This example needs an NVIDIA GPU: {error}");
            return Ok(());
        }
    };
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
    Ok(())
}
