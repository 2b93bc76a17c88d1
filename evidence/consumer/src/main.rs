//! A program with its own choice of `cudarc`, whose buffers and streams it passes to a cipher. It seals, too.

use aes_bitslice_runtime::{Backend, Cipher, Counter, Ctr, Engine, Error, Key, KeyBits};
use aes_bitslice_seal::{Secret, open, seal};
use cudarc::driver::{CudaSlice, CudaStream};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::open(Backend::Cpu)?;
    let key = Key::generate(KeyBits::Aes256)?;
    let cipher = engine.cipher(&key)?;
    let counter = Counter::random()?;
    let mut data = vec![7; 1000];
    cipher.ctr_apply(&counter, 0, &mut data)?;
    cipher.ctr_apply(&counter, 0, &mut data)?;
    assert_eq!(data, [7; 1000]);
    let (mut sealed, mut opened) = (vec![], vec![]);
    seal(&engine, Secret::Key(&key), &data[..], &mut sealed)?;
    open(&engine, Secret::Key(&key), &sealed[..], &mut opened)?;
    assert_eq!(opened, data);
    let on_device: OnDevice = on_device;
    let _ = on_device;
    println!("one program, one cudarc");
    Ok(())
}

type OnDevice = fn(&Cipher, &CudaStream, &Counter, &mut CudaSlice<u8>) -> Result<(), Error>;

/// Types of the program's own `cudarc` are the runtime's.
fn on_device(cipher: &Cipher, stream: &CudaStream, counter: &Counter, data: &mut CudaSlice<u8>) -> Result<(), Error> {
    cipher.device()?.run(stream, Ctr::new(counter, 0), data)
}
