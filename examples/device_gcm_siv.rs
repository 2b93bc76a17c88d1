//! AES-GCM-SIV of GPU memory on your own stream: checked byte for byte against the CPU.
//! `aes-bitslice bench --modes gcm-siv --timings device` measures its speed.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example device_gcm_siv
//! ```

use aes_bitslice_runtime::cuda::cudarc::driver::CudaStream;
use aes_bitslice_runtime::{
    Backend, Cipher, Counter, Ctr, Engine, Error, GcmSivDecrypt, GcmSivEncrypt, Key, KeyBits, Nonce,
};
use std::sync::Arc;

const AAD: &[u8] = b"a header that is not secret";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Ok(engine) => engine,
        Err(error) => {
            println!("This example needs an NVIDIA GPU: {error}");
            return Ok(());
        }
    };
    let stream = engine.cuda_context()?.new_stream()?;
    for bits in [KeyBits::Aes128, KeyBits::Aes256] {
        let key = Key::generate(bits)?;
        let (cipher, cpu) = (engine.cipher(&key)?, Engine::open(Backend::Cpu)?.cipher(&key)?);
        for len in [1 << 20, 16 << 20, 256 << 20] {
            check(&cipher, &cpu, &stream, len)?;
            println!("{len} bytes, {} bits: as on the CPU", bits.bits());
        }
    }
    Ok(())
}

/// Encrypts a message in GPU memory as on the CPU, and decrypts it; a changed message is refused and cleared.
fn check(
    cipher: &Cipher,
    cpu: &Cipher,
    stream: &Arc<CudaStream>,
    len: usize,
) -> Result<(), Box<dyn std::error::Error>> {
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
    Ok(())
}
