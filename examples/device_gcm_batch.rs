//! Many GCM messages in GPU memory in one call, each with its own nonce and tag: all results are compared with single messages on the CPU.
//! `aes-bitslice bench --modes gcm --sizes 4096x16KiB --timings device,stream` measures the speed of such calls.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example device_gcm_batch
//! ```

use aes_bitslice_runtime::cuda::cudarc::driver::CudaStream;
use aes_bitslice_runtime::{
    Backend, Cipher, Engine, GcmDecryptBatch, GcmEncrypt, GcmEncryptBatch, GcmMessage, Key, KeyBits, Nonce,
};
use std::sync::Arc;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let engine = match Engine::open(Backend::Cuda { ordinal: 0 }) {
        Ok(engine) => engine,
        Err(error) => {
            println!("This example needs an NVIDIA GPU: {error}");
            return Ok(());
        }
    };
    let stream = engine.cuda_context()?.new_stream()?;
    println!("{engine:?}");
    for bits in [KeyBits::Aes128, KeyBits::Aes256] {
        let key = Key::generate(bits)?;
        let (cipher, cpu) = (engine.cipher(&key)?, Engine::open(Backend::Cpu)?.cipher(&key)?);
        for (bytes, count, aad) in [(16 << 10, 4096, 0), (16 << 10, 4096, 13), (1500, 44_739, 13), (256, 1 << 18, 0)] {
            let nonces: Vec<[u8; 12]> = (0..count).map(nonce).collect();
            let aads: Vec<Vec<u8>> = (0..count).map(|n| vec![n as u8; aad]).collect();
            let range = |n: usize| (n * bytes) as u64..((n + 1) * bytes) as u64;
            let message = |n: usize| GcmMessage { nonce: &nonces[n], aad: &aads[n], range: range(n) };
            let messages: Vec<GcmMessage<'_>> = (0..count).map(message).collect();
            let plain: Vec<u8> = (0..count * bytes).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
            check(&cipher, &cpu, &stream, &messages, &plain)?;
            println!("{count} of {bytes} bytes, {aad} of additional data, {} bits: as on the CPU", bits.bits());
        }
    }
    Ok(())
}

fn nonce(n: usize) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&(n as u64).to_be_bytes());
    nonce
}

/// Compares tags, ciphertext, plaintext, and one wrong tag among them with single messages on the CPU.
fn check(
    cipher: &Cipher,
    cpu: &Cipher,
    stream: &Arc<CudaStream>,
    messages: &[GcmMessage<'_>],
    plain: &[u8],
) -> Outcome<()> {
    let mut expected = plain.to_vec();
    let mut tags = Vec::new();
    for message in messages {
        let range = message.range.start as usize..message.range.end as usize;
        tags.push(cpu.run(GcmEncrypt::new(&Nonce::new(message.nonce)?, message.aad), &mut expected[range])?);
    }
    let device = cipher.device()?;
    let mut data = stream.clone_htod(plain)?;
    let found = device.run_with_output(stream, GcmEncryptBatch::new(messages)?, &mut data)?.wait()?;
    assert!(found == tags, "tags");
    assert!(stream.clone_dtoh(&data)? == expected, "ciphertext");
    let opened = device.run_with_output(stream, GcmDecryptBatch::new(messages, &tags)?, &mut data)?.wait()?;
    assert!(opened.failed().is_empty() && stream.clone_dtoh(&data)? == plain, "plaintext");
    let mut wrong = tags.clone();
    wrong[7] = tags[8];
    let mut data = stream.clone_htod(&expected)?;
    let opened = device.run_with_output(stream, GcmDecryptBatch::new(messages, &wrong)?, &mut data)?.wait()?;
    let mut left = plain.to_vec();
    left[messages[7].range.start as usize..messages[7].range.end as usize].fill(0);
    assert!(opened.failed() == [7] && stream.clone_dtoh(&data)? == left, "one wrong tag");
    Ok(())
}
