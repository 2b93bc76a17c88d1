//! CMAC of many messages in GPU memory in one call: every tag is compared with the tag of the single message on the CPU, and one wrong tag
//! must be found. `aes-bitslice bench --modes cmac --sizes 65536x1500 --timings device,stream` measures the speed of such calls.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --example device_cmac
//! ```

use aes_bitslice_runtime::cuda::cudarc::driver::CudaStream;
use aes_bitslice_runtime::{Backend, Cipher, Cmac, CmacBatch, CmacVerifyBatch, Engine, Key, KeyBits, Ranges};
use std::ops::Range;
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
        // Of one length, and of all lengths up to it.
        for (bytes, count, is_mixed) in
            [(16 << 10, 4096, false), (1500, 65_536, false), (1500, 65_536, true), (64, 1 << 20, false)]
        {
            let len = |n: usize| if is_mixed { n * 977 % (bytes + 1) } else { bytes };
            let message = |n: usize| (n * bytes) as u64..(n * bytes + len(n)) as u64;
            let messages: Vec<Range<u64>> = (0..count).map(message).collect();
            let data: Vec<u8> = (0..count * bytes).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
            check(&cipher, &cpu, &stream, &messages, &data)?;
            let lengths = if is_mixed { "up to " } else { "" };
            println!("{count} of {lengths}{bytes} bytes, {} bits: as on the CPU", bits.bits());
        }
    }
    Ok(())
}

/// Compares tags with those of single messages on the CPU, and checks that one wrong tag is found.
fn check(cipher: &Cipher, cpu: &Cipher, stream: &Arc<CudaStream>, messages: &[Range<u64>], data: &[u8]) -> Outcome<()> {
    let single = |message: &Range<u64>| -> Outcome<[u8; 16]> {
        let tag = cpu.run(Cmac::new(), &data[message.start as usize..message.end as usize])?;
        Ok(tag.as_bytes().try_into()?)
    };
    let tags: Vec<[u8; 16]> = messages.iter().map(single).collect::<Result<_, _>>()?;
    let ranges = Ranges::from(messages);
    let device = cipher.device()?;
    let mut data = stream.clone_htod(data)?;
    let found = device.run_with_output(stream, CmacBatch::from_arrays(&ranges)?, &mut data)?.wait()?;
    assert!(found == tags, "tags");
    let mut wrong = tags.clone();
    wrong[7] = tags[8];
    let verify = CmacVerifyBatch::from_arrays(&ranges, wrong.as_flattened(), 16)?;
    let verified = device.run_with_output(stream, verify, &mut data)?.wait()?;
    assert!(verified.failed() == [7], "one wrong tag");
    Ok(())
}
