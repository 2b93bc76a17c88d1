//! A kernel for one key, the key in its truth tables: `cargo run --release --example baked_key`

use aes_bitslice_runtime::{Backend, BakedStrategy, Counter, CounterMode, Engine, Error, Key, KeyBits, Mode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let key = Key::generate(KeyBits::Aes128)?;
    let baked = Engine::open(Backend::Cuda { ordinal: 0 })
        .and_then(|engine| engine.bake(&key, Mode::Ctr, BakedStrategy::OneHotMux, "lut3"));
    let baked = match baked {
        Err(e @ (Error::CudaUnavailable { .. } | Error::NvrtcUnavailable { .. })) => {
            println!("nothing to show here: {e}");
            return Ok(());
        }
        other => other?,
    };
    let counter = Counter::new(CounterMode::Ctr128BE, [9; 16]);
    let (mut ours, mut theirs) = (vec![0u8; 1 << 20], vec![0u8; 1 << 20]);
    baked.ctr_apply(&counter, 0, &mut ours)?;
    Engine::open(Backend::Cpu)?.cipher(&key)?.ctr_apply(&counter, 0, &mut theirs)?;
    assert_eq!(ours, theirs);
    // It is made for one mode; another is refused.
    assert!(matches!(baked.ecb_encrypt(&mut ours), Err(Error::NotInKernel { .. })));
    println!("1 MiB of key stream from a kernel that is the key, equal to the CPU's");
    Ok(())
}
