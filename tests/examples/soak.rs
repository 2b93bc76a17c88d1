//! Random calls for as long as is asked, from many threads, over all modes, lengths of key and sizes, every byte compared with the `aes`
//! crate on the CPU; keys change, engines are opened and dropped, and one call in a thousand is one that must be refused.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-tests --example soak -- --minutes 60 --threads 16 --most 8G
//! ```
//!
//! | option | what | unless given |
//! |---|---|---|
//! | `--minutes N` | how long | a few calls of each thread |
//! | `--threads N` | threads; on a CUDA GPU each has a stream of its own in device memory, eight at a time | 4 |
//! | `--most N` | bytes of the largest call, K, M or G behind it | 1M |
//! | `--backend NAME` | as `--engine` of the command line has it | `auto` |
//! | `--seed N` | the random numbers | 1 |
//!
//! It ends with 1 at the first byte that is wrong, and prints the call. At the end, memory of host and device is what it was after
//! the first minute, within 64 MiB, or it ends with 1.

use aes_bitslice_runtime::{Backend, Cipher, Engine, Error, GcmDecrypt, GcmEncrypt, Key, KeyBits, Nonce};
use aes_bitslice_tests::operation::AnyOperation;
use aes_bitslice_tests::with_operation;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

struct Options {
    time: Duration,
    threads: usize,
    most: u64,
    backend: Backend,
    seed: u64,
}

fn options() -> Result<Options, String> {
    let mut options = Options { time: Duration::ZERO, threads: 4, most: 1 << 20, backend: Backend::Auto, seed: 1 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} wants a value"))?;
        let number = |text: &str| text.parse::<u64>().map_err(|e| format!("{name} {value}: {e}"));
        match name.as_str() {
            "--minutes" => options.time = Duration::from_secs(60 * number(&value)?),
            "--threads" => options.threads = number(&value)?.max(1) as usize,
            "--most" => {
                let digits = value.trim_end_matches(['K', 'M', 'G']);
                let shift = ["K", "M", "G"].iter().position(|unit| value.ends_with(unit)).map_or(0, |i| 10 * (i + 1));
                options.most = number(digits)? << shift;
            }
            "--backend" => options.backend = value.parse().map_err(|e| format!("{e}"))?,
            "--seed" => options.seed = number(&value)?,
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(options)
}

/// Numbers that look random: xorshift.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| (self.next() >> 32) as u8)
    }

    /// Small sizes are as frequent as large ones.
    fn size(&mut self, most: u64) -> u64 {
        let bits = 1 + self.below(u64::from(u64::BITS - most.leading_zeros()));
        self.below(1 << bits).min(most)
    }

    fn fill(&mut self, data: &mut [u8]) {
        let mut word = self.next();
        for chunk in data.chunks_mut(8) {
            word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ 0x5a;
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        }
    }
}

/// What of a call was wrong.
type Wrong = String;

fn wrong(what: impl std::fmt::Display) -> Wrong {
    what.to_string()
}

/// The first byte that differs.
fn compare(found: &[u8], expected: &[u8], what: &dyn std::fmt::Debug) -> Result<(), Wrong> {
    match found.iter().zip(expected).position(|(f, e)| f != e) {
        None if found.len() == expected.len() => Ok(()),
        at => Err(format!("{what:?} of {} bytes: byte {at:?} is wrong", expected.len())),
    }
}

/// A call in host memory, in place or not, given away or not, or in memory of the GPU.
fn call(cipher: &Cipher, reference: &Cipher, random: &mut Random, most: u64, streams: &Streams) -> Result<(), Wrong> {
    let bytes = random.size(most) as usize;
    let (start, offset) = (random.bytes(), random.below(1 << 20));
    let operations = AnyOperation::all(start, offset);
    let kind = random.below(operations.len() as u64 + 1) as usize;
    let mut input = vec![0; bytes];
    random.fill(&mut input);
    if kind == operations.len() {
        return gcm(cipher, reference, random, input);
    }
    let operation = operations[kind];
    input.truncate(operation.takes(bytes));
    // Serial on one core of the CPU with every engine.
    if matches!(operation, AnyOperation::CbcEncrypt { .. }) {
        input.truncate(1 << 20);
    }
    let mut expected = input.clone();
    operation.run(reference, &mut expected).map_err(wrong)?;
    let found = match random.below(4) {
        0 => {
            let mut data = input;
            operation.run(cipher, &mut data).map_err(wrong)?;
            data
        }
        1 if operation.maps() => {
            let mut output = vec![0xa5; input.len()];
            operation.run(cipher, (&input[..], &mut output[..])).map_err(wrong)?;
            output
        }
        2 => with_operation!(operation, value => cipher.submit(value, input).map_err(wrong)?.wait().map_err(wrong)?),
        _ => streams.run(cipher, operation, input, random)?,
    };
    compare(&found, &expected, &operation)
}

/// A message encrypted, compared with its tag, decrypted, and once more with a bit changed.
fn gcm(cipher: &Cipher, reference: &Cipher, random: &mut Random, input: Vec<u8>) -> Result<(), Wrong> {
    let (nonce, aad) = (Nonce::new(&random.bytes::<12>()).map_err(wrong)?, random.bytes::<33>());
    if !cipher.engine().supports(&GcmEncrypt::new(&nonce, &aad)) {
        return Ok(());
    }
    let mut expected = input.clone();
    let tag = reference.run(GcmEncrypt::new(&nonce, &aad), &mut expected).map_err(wrong)?;
    let mut data = input.clone();
    if cipher.run(GcmEncrypt::new(&nonce, &aad), &mut data).map_err(wrong)? != tag {
        return Err(format!("GCM of {} bytes: the tag is wrong", input.len()));
    }
    compare(&data, &expected, &"GCM")?;
    if !data.is_empty() && random.below(2) == 0 {
        let at = random.below(data.len() as u64) as usize;
        data[at] ^= 1 << random.below(8);
        return match cipher.run(GcmDecrypt::new(&nonce, &aad, &tag), &mut data) {
            Err(Error::Unauthenticated) if data.iter().all(|byte| *byte == 0) => Ok(()),
            other => Err(format!("a changed message was not refused and cleared: {other:?}")),
        };
    }
    cipher.run(GcmDecrypt::new(&nonce, &aad, &tag), &mut data).map_err(wrong)?;
    compare(&data, &input, &"GCM, decrypted")
}

/// What must be refused, and must change nothing.
fn refused(cipher: &Cipher, random: &mut Random) -> Result<(), Wrong> {
    let mut data = vec![0xa5; 16 * random.below(1000) as usize + 1 + random.below(15) as usize];
    let is_refused = match random.below(3) {
        0 => cipher.ecb_encrypt(&mut data).is_err(),
        1 => cipher.cbc_decrypt(&[0; 16], &mut data).is_err(),
        _ => Key::new(&data[..data.len().min(31)]).is_err() || data.len() == 16 || data.len() == 24,
    };
    match is_refused && data.iter().all(|byte| *byte == 0xa5) {
        true => Ok(()),
        false => Err("a call that cannot be was not refused, or changed something".into()),
    }
}

use streams::Streams;

/// Streams of the GPU, where the engine has one.
mod streams {
    use super::{Random, Wrong, wrong};
    use aes_bitslice_runtime::cuda::cudarc::driver::CudaStream;
    use aes_bitslice_runtime::{Cipher, Engine};
    use aes_bitslice_tests::operation::AnyOperation;
    use aes_bitslice_tests::with_operation;
    use std::sync::Arc;

    pub struct Streams(Vec<Arc<CudaStream>>);

    impl Streams {
        pub fn new(engine: &Engine) -> Self {
            match engine.cuda_context() {
                Ok(context) => Self((0..8).filter_map(|_| context.new_stream().ok()).collect()),
                Err(_) => Self(vec![]),
            }
        }

        /// On one of the streams, where the device does it; else in host memory.
        pub fn run(
            &self,
            cipher: &Cipher,
            any: AnyOperation,
            input: Vec<u8>,
            random: &mut Random,
        ) -> Result<Vec<u8>, Wrong> {
            let stream = self.0.get(random.below(self.0.len().max(1) as u64) as usize);
            let (Some(stream), Ok(device), Some(_), false) = (stream, cipher.device(), any.mode(), input.is_empty())
            else {
                let mut data = input;
                any.run(cipher, &mut data).map_err(wrong)?;
                return Ok(data);
            };
            let mut data = stream.clone_htod(&input).map_err(wrong)?;
            with_operation!(any, operation => device.run(stream, operation, &mut data)).map_err(wrong)?;
            stream.clone_dtoh(&data).map_err(wrong)
        }

        /// Bytes of device memory in use.
        pub fn in_use(&self) -> Option<u64> {
            let (free, total) = self.0.first()?.context().mem_get_info().ok()?;
            Some((total - free) as u64)
        }
    }
}

/// Bytes of this process in memory.
fn resident() -> Option<u64> {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()?;
    Some(4096 * pages)
}

fn key(random: &mut Random) -> Result<Key, Wrong> {
    let bytes = random.bytes::<32>();
    Key::new(&bytes[..KeyBits::ALL[random.below(3) as usize].bytes()]).map_err(wrong)
}

fn thread(number: usize, options: &Options, calls: &AtomicU64, until: Instant) -> Result<(), Wrong> {
    let mut random = Random(options.seed.wrapping_mul(0x9e37_79b9).wrapping_add(number as u64 + 1).max(1));
    let cpu = Engine::open(Backend::Cpu).map_err(wrong)?;
    let mut few = 20;
    while few > 0 || Instant::now() < until {
        let engine = Engine::open(options.backend).map_err(wrong)?;
        let streams = Streams::new(&engine);
        // An engine for some thousand calls, a key for some tens.
        for _ in 0..1 + random.below(100) {
            let key = key(&mut random)?;
            let (cipher, reference) = (engine.cipher(&key).map_err(wrong)?, cpu.cipher(&key).map_err(wrong)?);
            for _ in 0..1 + random.below(50) {
                if few == 0 && Instant::now() >= until {
                    return Ok(());
                }
                few -= u32::from(few > 0);
                match random.below(1000) {
                    0 => refused(&cipher, &mut random)?,
                    _ => call(&cipher, &reference, &mut random, options.most, &streams)?,
                }
                calls.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(what) => {
            eprintln!("error: {what}");
            return ExitCode::from(2);
        }
    };
    let engine = match Engine::open(options.backend) {
        Ok(engine) => engine,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("engine: {}; {} threads, calls of up to {} bytes", engine.description(), options.threads, options.most);
    let streams = Streams::new(&engine);
    let (begin, calls, failed) = (Instant::now(), AtomicU64::new(0), Mutex::new(None));
    let until = begin + options.time;
    let memory = |streams: &Streams| (resident(), streams.in_use());
    let mut early = None;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.threads)
            .map(|number| {
                let (options, calls, failed) = (&options, &calls, &failed);
                scope.spawn(move || {
                    if let Err(what) = thread(number, options, calls, until) {
                        failed.lock().expect("no panic").get_or_insert(format!("thread {number}: {what}"));
                    }
                })
            })
            .collect();
        let mut next = Duration::from_secs(60);
        while !threads.iter().all(|thread| thread.is_finished()) {
            std::thread::sleep(Duration::from_millis(100));
            if begin.elapsed() >= next {
                early.get_or_insert(memory(&streams));
                println!(
                    "{} minutes, {} calls, memory {:?}",
                    next.as_secs() / 60,
                    calls.load(Ordering::Relaxed),
                    memory(&streams)
                );
                next += Duration::from_secs(60);
            }
            if let Some(what) = failed.lock().expect("no panic").take() {
                eprintln!("error: {what}; seed {}", options.seed);
                std::process::exit(1);
            }
        }
    });
    if let Some(what) = failed.into_inner().expect("no panic") {
        eprintln!("error: {what}; seed {}", options.seed);
        return ExitCode::FAILURE;
    }
    println!("{} calls in {:.0?}, all right", calls.load(Ordering::Relaxed), begin.elapsed());
    let late = memory(&streams);
    let grew =
        |early: Option<u64>, late: Option<u64>| late.zip(early).is_some_and(|(late, early)| late > early + (64 << 20));
    match early {
        Some((host, device)) if grew(host, late.0) || grew(device, late.1) => {
            eprintln!("error: memory grew: host and device, after a minute {host:?}, {device:?}, now {late:?}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
