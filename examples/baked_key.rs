//! A kernel for one key, with the key in its code, of the fastest design: `cargo run --release --example baked_key`

use aes_bitslice_runtime::{Backend, Counter, Engine, Error, Key, KeyBits, Mode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let key = Key::generate(KeyBits::Aes128)?;
    let baked = Engine::open(Backend::Cuda { ordinal: 0 }).and_then(|engine| engine.bake(&key, Mode::Ctr, "lut3"));
    let baked = match baked {
        Err(e @ (Error::CudaUnavailable { .. } | Error::NvrtcUnavailable { .. })) => {
            println!("nothing to show here: {e}");
            return Ok(());
        }
        other => other?,
    };
    // New for every message: counter blocks that two messages under one key share reveal the XOR of their plaintexts.
    let counter = Counter::random()?;
    let mut data = vec![7u8; 1 << 20];
    baked.ctr_apply(&counter, 0, &mut data)?;
    Engine::open(Backend::Cpu)?.cipher(&key)?.ctr_apply(&counter, 0, &mut data)?;
    assert!(data.iter().all(|&byte| byte == 7));
    // It is made for one mode; other modes are refused.
    assert!(matches!(baked.ecb_encrypt(&mut data), Err(Error::NotInKernel { .. })));
    println!("1 MiB encrypted by a kernel that is the key, and decrypted by the CPU with the key itself");
    Ok(())
}
