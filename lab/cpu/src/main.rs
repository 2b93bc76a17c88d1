//! The speed of the CPU engine on one core beside aws-lc and OpenSSL: of each call, GB/s (10^9 bytes a second) and nanoseconds, median and
//! best of windows in which the three take turns. What they compute is compared first.
//!
//! ```sh
//! python3 -m venv venv && venv/bin/pip install cryptography
//! cargo run --release -- venv/bin/python            # everything
//! cargo run --release -- venv/bin/python GCM 256    # rows that contain all of these words
//! cargo run --release --features default-features -- venv/bin/python    # the library with the features that it has by default
//! THREADS=2 cargo run --release -- venv/bin/python arrays    # this library on two threads, aws-lc and OpenSSL on one
//! ```
//!
//! OpenSSL is the one in the Python package `cryptography`, so its calls take some 0.5 µs more than those of a C program.

mod aws_lc;
mod openssl;
mod ours;

use std::time::{Duration, Instant};

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Gcm,
    /// Messages of this many bytes, each with a nonce of its own. Ours are one call, made of a list of messages.
    GcmMessages(usize),
    /// These messages, which ours are given by rules, as arrays are, instead of one by one.
    GcmArrays(usize),
    /// From a ciphertext to other memory.
    GcmDecryption,
    Gmac,
    GcmSiv,
    Cmac,
    /// Messages of this many bytes. Ours are one call.
    CmacMessages(usize),
    Ctr,
    Ecb,
    CbcDecryption,
    /// Data units of this many bytes.
    Xts(usize),
}

/// A call on data of one length, in place.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub mode: Mode,
    /// Bytes of the key; for XTS, of each of the two.
    pub key: usize,
    pub bytes: usize,
}

/// The key, of as many bytes as a row needs.
pub const KEY: [u8; 64] = {
    let mut key = [0; 64];
    let mut i = 0;
    while i < key.len() {
        key[i] = 3 * i as u8 + 1;
        i += 1;
    }
    key
};

/// The nonce of a message, of 12 bytes, or the counter block or IV, of 16, with a number in it. Made as one
/// number, not from parts: a load of bytes that several stores have written waits until they are in the cache.
pub fn nonce<const N: usize>(number: u64) -> [u8; N] {
    *(u128::from(number) << 32).to_be_bytes().first_chunk().expect("at most 16 bytes")
}

/// An implementation, at one row: makes calls with consecutive numbers.
pub type Calls = Box<dyn FnMut(u64, &mut [u8]) -> [u8; 16]>;

fn rows() -> Vec<Row> {
    const MIB: usize = 1 << 20;
    let modes = [
        (Mode::Gcm, &[16, 100, 1350, 16 << 10, MIB][..]),
        (Mode::GcmMessages(100), &[100 * 20_000]),
        (Mode::GcmMessages(1500), &[1500 * 2_000]),
        (Mode::GcmArrays(100), &[100 * 20_000, 100 * 100_000]),
        (Mode::GcmArrays(1500), &[1500 * 2_000]),
        (Mode::GcmDecryption, &[100, 1350, 16 << 10, MIB]),
        (Mode::Gmac, &[MIB]),
        (Mode::GcmSiv, &[100, 16 << 10, MIB]),
        (Mode::Cmac, &[MIB]),
        (Mode::CmacMessages(1500), &[1500 * 2_000]),
        (Mode::Ctr, &[16 << 10, MIB]),
        (Mode::Xts(512), &[MIB]),
        (Mode::Xts(4096), &[MIB]),
        (Mode::Xts(MIB), &[MIB]),
        (Mode::CbcDecryption, &[MIB]),
        (Mode::Ecb, &[MIB]),
    ];
    let of_key =
        |key| modes.iter().flat_map(move |&(mode, lengths)| lengths.iter().map(move |&bytes| Row { mode, key, bytes }));
    [16, 32].into_iter().flat_map(of_key).collect()
}

impl Row {
    fn name(&self) -> String {
        let mode = match self.mode {
            Mode::Gcm => "GCM".into(),
            Mode::GcmMessages(bytes) => format!("GCM, messages of {bytes}"),
            Mode::GcmArrays(bytes) => format!("GCM, arrays, messages of {bytes}"),
            Mode::GcmDecryption => "GCM decryption".into(),
            Mode::Gmac => "GMAC".into(),
            Mode::GcmSiv => "GCM-SIV".into(),
            Mode::Cmac => "CMAC".into(),
            Mode::CmacMessages(bytes) => format!("CMAC, messages of {bytes}"),
            Mode::Ctr => "CTR".into(),
            Mode::Ecb => "ECB".into(),
            Mode::CbcDecryption => "CBC decryption".into(),
            Mode::Xts(unit) => format!("XTS, units of {unit}"),
        };
        format!("{mode}, {} bits, {} bytes", 8 * self.key, self.bytes)
    }
}

/// The time of each call in a window of at least a few.
fn window(bytes: usize, next: &mut u64, data: &mut [u8], calls: &mut Calls) -> Duration {
    let number = (100_000 / bytes.max(1)).max(1) as u64;
    let start = Instant::now();
    for call in *next..*next + number {
        std::hint::black_box(calls(call, data));
    }
    *next += number;
    start.elapsed() / number as u32
}

/// The last 16 bytes, to be compared.
fn end_of(data: &[u8]) -> [u8; 16] {
    *data.last_chunk().expect("a block")
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let python = arguments.next().expect("the Python that has the package `cryptography`");
    let words: Vec<String> = arguments.collect();
    let mut openssl = openssl::Child::new(&python);
    println!("{}; aws-lc-rs; {}", ours::description(), openssl.version);
    println!("{:50} {:>22} {:>22} {:>22}", "best (median)", "ours", "aws-lc", "OpenSSL");
    for row in rows().into_iter().filter(|row| words.iter().all(|word| row.name().contains(word.as_str()))) {
        let mut all = [Some(ours::calls(row)), aws_lc::calls(row)];
        let outputs = all.each_mut().map(|calls| {
            let mut data = vec![7; row.bytes];
            calls.as_mut().map(|calls| (calls(5, &mut data), data))
        });
        let ours = outputs[0].as_ref().expect("ours");
        assert!(outputs[1].as_ref().is_none_or(|theirs| theirs == ours), "aws-lc: {}", row.name());
        let theirs = openssl.output(row);
        assert!(theirs.as_ref().is_none_or(|theirs| *theirs == ours.0), "OpenSSL: {}", row.name());
        let mut times: [Vec<f64>; 3] = Default::default();
        let (mut data, mut next) = (vec![7; row.bytes], 0);
        for _ in 0..40 {
            for (calls, times) in all.iter_mut().zip(&mut times) {
                if let Some(calls) = calls {
                    let windows = 0..8;
                    times.extend(windows.map(|_| window(row.bytes, &mut next, &mut data, calls).as_secs_f64()));
                }
            }
            if theirs.is_some() {
                times[2].extend(openssl.times(row));
            }
        }
        print!("{:50}", row.name());
        for times in &mut times {
            times.sort_by(f64::total_cmp);
            match (times.first(), times.get(times.len() / 2)) {
                (Some(best), Some(median)) => {
                    let text = |seconds: f64| match row.bytes {
                        ..=1000 => format!("{:.0} ns", 1e9 * seconds),
                        bytes => format!("{:.2}", bytes as f64 / seconds / 1e9),
                    };
                    print!(" {:>22}", format!("{} ({})", text(*best), text(*median)));
                }
                _ => print!(" {:>22}", "-"),
            }
        }
        println!();
    }
}
