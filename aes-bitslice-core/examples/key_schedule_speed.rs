//! Nanoseconds per key expansion, for each length and direction; the minimum over many runs. `cargo run --release --example
//! key_schedule_speed`

use aes_bitslice_core::aes::{Direction, KeyBits, KeySchedule};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    const TIMES: u32 = 1000;
    for bits in KeyBits::ALL {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let key = [0x5a; 32];
            let times = (0..200).map(|_| {
                let begin = Instant::now();
                for _ in 0..TIMES {
                    black_box(KeySchedule::new(black_box(&key[..bits.bytes()]), direction));
                }
                begin.elapsed().as_nanos() / u128::from(TIMES)
            });
            println!("{} bits, {direction:?}: {} ns", bits.bits(), times.min().unwrap_or_default());
        }
    }
}
