//! Data in host memory, on whatever engine this machine has: `cargo run --release --example host_buffer`

use aes_bitslice_runtime::{Backend, Counter, Engine, Error, Key, KeyBits};

fn main() -> Result<(), Error> {
    let engine = Engine::open(Backend::Auto)?;
    println!("engine: {}", engine.description());

    let cipher = engine.cipher(&Key::generate(KeyBits::Aes256)?)?;
    // Messages whose counter blocks overlap under one key reveal the XOR of their plaintexts. A random initial block, new for every
    // message, keeps them apart. It is not secret: store `counter.block()` with the ciphertext.
    let counter = Counter::random()?;
    let plain: Vec<u8> = (0..100_003).map(|i| (i % 251) as u8).collect();
    // Any slice will do. This one is pinned if the engine is a GPU, and copied at the full speed of the link.
    let mut data = engine.host_buffer(plain.len())?;
    data.copy_from_slice(&plain);
    cipher.ctr_apply(&counter, 0, &mut data)?;
    assert_ne!(data[..], plain);

    // Any part can be decrypted alone: its offset into the key stream is its offset into the data.
    let mut part = data[54_321..54_400].to_vec();
    cipher.ctr_apply(&counter, 54_321, &mut part)?;
    assert_eq!(part, plain[54_321..54_400]);
    println!("{} bytes encrypted, and 79 from the middle decrypted alone", data.len());
    Ok(())
}
