//! The speed of the CPU engines on one thread: for each mode and size, GB/s (10^9 bytes a second) or, for small calls, nanoseconds a call.
//! Median and best of calls in place, for half a second each.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-runtime --no-default-features --example cpu_rates                    # everything
//! cargo run --release -p aes-bitslice-runtime --no-default-features --example cpu_rates -- vaes-512 gcm    # names that contain both
//! ```

use aes_bitslice_runtime::bitsliced::Isa;
use aes_bitslice_runtime::{
    Backend, CbcDecrypt, Cipher, CmacBatch, Counter, Ctr, Ecb, Engine, Error, GcmDecrypt, GcmEncrypt, GcmEncryptBatch,
    GcmMessage, GcmSivEncrypt, Ghash, Instructions, Key, KeyBits, Nonce, XaesEncrypt, Xts, set_threads,
};
use std::hint::black_box;
use std::time::{Duration, Instant};

fn main() -> Result<(), Error> {
    set_threads(1)?;
    let mut engines = vec![];
    for instructions in Instructions::available() {
        engines.push(Engine::open_cpu(instructions)?);
    }
    for isa in Isa::available() {
        engines.push(Engine::open_bitsliced(isa)?);
    }
    let words: Vec<String> = std::env::args().skip(1).map(|word| word.to_lowercase()).collect();
    let is_asked = |name: &str| words.iter().all(|word| name.to_lowercase().contains(word));
    println!("{}", Engine::open(Backend::Cpu)?.description());
    for engine in &engines {
        for bits in [KeyBits::Aes128, KeyBits::Aes256] {
            let measure = |mode: &str, len: usize, call: Call<'_>| {
                let name = format!("{}: {mode}-{}", engine.description(), bits.bits());
                if is_asked(&format!("{name}, {len} bytes")) {
                    let [median, best] = times(len, call).map(|time| time.as_secs_f64());
                    let rate = |time: f64| len as f64 / time / 1e9;
                    let (rates, nanoseconds) = ([rate(median), rate(best)], 1e9 * median);
                    println!("{name:55} {len:9} bytes {:8.3} {:8.3} GB/s {nanoseconds:10.1} ns", rates[0], rates[1]);
                }
            };
            of_one_key(&engine.cipher(&Key::generate(bits)?)?, &measure)?;
            let xts = engine.cipher(&Key::generate_xts(bits)?)?;
            for unit in [512, 4096, 1 << 20] {
                measure(&format!("XTS, units of {unit}"), 1 << 20, &mut |call, data| {
                    xts.run(Xts::encrypt(unit, call.into()).unwrap(), data).unwrap();
                });
            }
        }
    }
    Ok(())
}

/// A call with a number, on data.
type Call<'a> = &'a mut dyn FnMut(u64, &mut [u8]);

/// Measures calls under one key: their names, their bytes, and the call with its number.
fn of_one_key(cipher: &Cipher, measure: &dyn Fn(&str, usize, Call<'_>)) -> Result<(), Error> {
    const MIB: usize = 1 << 20;
    let nonce = |call: u64| Nonce::from(*u128::from(call).to_be_bytes().last_chunk().unwrap());
    let counter = Counter::random()?;
    for len in [16, 100, 1350, 16 << 10, 64 << 10, MIB] {
        measure("GCM", len, &mut |call, data| {
            black_box(cipher.run(GcmEncrypt::new(&nonce(call), b""), data).unwrap());
        });
    }
    measure("GCM refused", MIB, &mut |call, data| {
        assert!(cipher.run(GcmDecrypt::new(&nonce(call), b"", &[0; 16].into()), data).is_err());
    });
    for len in [100, 16 << 10, MIB] {
        measure("GCM-SIV", len, &mut |call, data| {
            black_box(cipher.run(GcmSivEncrypt::new(&nonce(call), b""), data).unwrap());
        });
    }
    let long_nonce = |call: u64| Nonce::new(&[[0; 16].as_slice(), &call.to_be_bytes()].concat()).unwrap();
    let is_refused = cipher.run(XaesEncrypt::new(&long_nonce(u64::MAX), b""), &mut []).is_err();
    for len in [100, 16 << 10].into_iter().filter(|_| !is_refused) {
        measure("XAES-GCM", len, &mut |call, data| {
            black_box(cipher.run(XaesEncrypt::new(&long_nonce(call), b""), data).unwrap());
        });
    }
    for len in [16, 1350, 16 << 10, MIB] {
        measure("CTR", len, &mut |call, data| cipher.run(Ctr::new(&counter, call * len as u64), data).unwrap());
    }
    for len in [16, MIB] {
        measure("ECB", len, &mut |_, data| cipher.run(Ecb::encrypt(), data).unwrap());
    }
    measure("CBC decryption", MIB, &mut |_, data| cipher.run(CbcDecrypt::new(&[7; 16]), data).unwrap());
    measure("GHASH", MIB, &mut |_, data| {
        black_box(cipher.run(Ghash::new(), &*data).unwrap());
    });
    for each in [100, 1500] {
        let messages = 1_000;
        let nonces: Vec<[u8; 12]> = (0..messages).map(|n: u128| n.to_be_bytes()[4..].try_into().unwrap()).collect();
        let range = |n: usize| n as u64 * each..(n as u64 + 1) * each;
        let batch: Vec<_> =
            nonces.iter().enumerate().map(|(n, nonce)| GcmMessage { nonce, aad: &[], range: range(n) }).collect();
        measure(&format!("GCM, messages of {each}"), nonces.len() * each as usize, &mut |_, data| {
            black_box(cipher.run(GcmEncryptBatch::new(&batch).unwrap(), data).unwrap());
        });
        let ranges: Vec<_> = (0..nonces.len()).map(range).collect();
        measure(&format!("CMAC, messages of {each}"), nonces.len() * each as usize, &mut |_, data| {
            black_box(cipher.run(CmacBatch::new(&ranges).unwrap(), &*data).unwrap());
        });
    }
    Ok(())
}

/// The median and the shortest time of a call.
fn times(len: usize, call: Call<'_>) -> [Duration; 2] {
    let mut data = vec![7; len];
    // Calls between two readings of the clock: of at least 20,000 bytes together, beside which a reading takes little.
    let at_a_time = (20_000 / len.max(1)).max(1) as u64;
    let (start, mut times, mut number) = (Instant::now(), Vec::new(), 0);
    while times.is_empty() || start.elapsed() < Duration::from_millis(500) {
        let before = Instant::now();
        for _ in 0..at_a_time {
            call(number, &mut data);
            number += 1;
        }
        times.push(before.elapsed() / at_a_time as u32);
    }
    times.sort_unstable();
    [times[times.len() / 2], times[0]]
}
