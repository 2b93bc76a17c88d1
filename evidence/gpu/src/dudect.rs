//! Whether the time of calls depends on keys or data, on the CPU engines, and in the memory of a CUDA GPU: the test of O. Reparaz,
//! J. Balasch and I. Verbauwhede, "Dude, is my code constant time?", DATE 2017.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-evidence-gpu --bin dudect                   # 100,000 measurements of each
//! cargo run --release -p aes-bitslice-evidence-gpu --bin dudect -- 1000000
//! cargo run --release -p aes-bitslice-evidence-gpu --bin dudect -- 100000 planted # must find what is planted
//! cargo run --release -p aes-bitslice-evidence-gpu --bin dudect -- 20000 cuda     # the first CUDA GPU, and its table kernels
//! cargo run --release -p aes-bitslice-evidence-gpu --bin dudect -- 20000 cuda gcm # of these the calls whose names begin so
//! cargo run --release -p aes-bitslice-evidence-gpu --bin dudect -- 20000 cuda planted     # must find what is planted in each call
//! cargo run --release -p aes-bitslice-evidence-gpu --bin dudect -- 20000 cuda planted ctr # in the calls whose names begin so
//! ```
//!
//! A call is measured again and again, with a key and data that are zeros or random, in random order. For the two kinds, Welch's t says
//! how many standard errors the means are apart: of all times; of those below each of 100 percentiles, which excludes system noise; and of
//! the squares of their distances from the mean. The largest of these is reported, and a value above 10 is a difference (exit code 1).
//! With as many calls as are measured, a t of 4.5 may be chance: measure again, and more.
//!
//! Keys and data of both kinds are made by the same steps at the same addresses, before each measurement. One measurement is one call on
//! this thread. No difference means that this many measurements on this machine have shown none.
//!
//! On a GPU the time is measured between two stream events around a call, which is put on the stream while the GPU is still busy with
//! something else, so that the host has no part in it; except for AES-GCM-SIV, which waits for the GPU while it is put there. Keys and
//! data are copied there before. The table kernels look tables up at addresses that depend on key and data: their result is reported, and
//! changes nothing. With `planted`, the GPU has a little more to do after each call where the first byte of the key is zero, before the
//! second event. This must be found in each call, and nothing between random keys, or the exit code is 1.

use aes_bitslice_runtime::cuda::cudarc::driver::sys::CUevent_flags;
use aes_bitslice_runtime::{
    CbcDecrypt, CbcEncrypt, Cipher, Cmac, Counter, CounterMode, Ctr, Ecb, Engine, Error, GcmDecrypt, GcmEncrypt,
    GcmSivDecrypt, GcmSivEncrypt, Gmac, Kernels, Key, KeyBits, Keystream, Nonce, Prg, Tag, XaesDecrypt, XaesEncrypt,
    Xts,
};
use aes_bitslice_tests::device_calls::{DeviceCall, Input, KEY_BYTES};
use aes_bitslice_tests::engines::{Device, name};
use aes_bitslice_tests::kernels::COMPLETE;
use aes_bitslice_tests::reference::noise;
use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Bytes of data: more than the largest batch of a bitsliced engine, and not a multiple of a batch.
const BYTES: usize = 16 * 600;
/// Bytes of data on a GPU: some for all of it.
const BYTES_ON_GPU: usize = 256 << 10;
/// Bytes that a GPU writes ahead of a call: for longer than it takes to put the call on the stream.
const AHEAD: usize = 512 << 20;
/// Bytes that a GPU writes after a call where the first byte of the key is zero, if that is planted.
const PLANTED: usize = 4 << 20;
/// Bytes of keys, which come before the data: two of the longest, for XTS.
const KEYS: usize = KEY_BYTES;
/// Random bytes, of which each measurement takes some.
const POOL: usize = 1 << 20;
/// Tag comparisons in a measurement: one is too short for the clock.
const COMPARISONS: usize = 64;
/// Measurements before those that count.
const WARM_UP: usize = 1000;
/// The least number of times of each kind for t: with fewer its error is not known.
const LEAST_OF_A_KIND: usize = 100;
/// Measurements that have this many of each kind: the kinds are random, and fewer of one occur in less than one of 10^7 runs.
const LEAST: usize = 3 * LEAST_OF_A_KIND;
/// A t-value that counts as a difference.
const DIFFERENT: f64 = 10.0;

/// A measurement: prepares a call from a key and data, and returns how long the call took.
type Measure<'a> = Box<dyn Fn(&[u8]) -> Duration + 'a>;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (number, words) = arguments.split_first().unwrap_or((&"100000", &[]));
    let measurements: usize = number.parse().map_err(|e| format!("`{number}` is no number of measurements: {e}"))?;
    if measurements < LEAST {
        return Err(format!("{measurements} measurements are too few to find a difference: use {LEAST} or more").into());
    }
    let is_right = match words {
        [] => of_cpus(measurements)?,
        ["planted"] => planted(measurements),
        ["cuda"] => of_gpu(measurements, false, "")?,
        ["cuda", "planted"] => of_gpu(measurements, true, "")?,
        ["cuda", "planted", name] => of_gpu(measurements, true, name)?,
        ["cuda", name] => of_gpu(measurements, false, name)?,
        _ => {
            let words = words.join(" ");
            return Err(format!(
                "`{words}`: after the number comes nothing, or `planted`, or `cuda` and then, if wanted, `planted` and \
                 the first letters of calls"
            )
            .into());
        }
    };
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures, prints the result, and returns whether it is a difference.
fn is_different(measurements: usize, bytes: usize, what: &str, is_random_only: bool, measure: &Measure<'_>) -> bool {
    let found = Found::of(measurements, bytes, is_random_only, measure);
    println!("{what:42} {:>8.0} ns, t {:6.1} {}", found.median, found.t, found.of);
    found.t.abs() > DIFFERENT
}

/// Every call on the CPU engines. Returns whether none depends on secrets.
fn of_cpus(measurements: usize) -> Result<bool, Box<dyn std::error::Error>> {
    say_columns(measurements);
    let is_different = |what: &str, measure: &Measure<'_>| is_different(measurements, BYTES, what, false, measure);
    let mut different = usize::from(is_different("comparing tags", &comparing_tags()));
    for engine in Device::Cpu.find()? {
        println!("{}", name(engine));
        for (what, measure) in calls(engine) {
            different += usize::from(is_different(&format!("    {what}"), &measure));
        }
    }
    println!("{different} of them depend on what is secret");
    Ok(different == 0)
}

/// The leaks planted on the CPU. Returns whether all of them were found, and nothing where there is nothing.
fn planted(measurements: usize) -> bool {
    say_columns(measurements);
    let is_different = |what: &str, is_random_only, measure: &Measure<'_>| {
        is_different(measurements, BYTES, what, is_random_only, measure)
    };
    let missed = leaks().iter().filter(|(what, leak)| !is_different(what, false, leak)).count();
    let invented = is_different("no difference: all is random", true, &leaks().remove(0).1);
    missed == 0 && !invented
}

/// The calls in the memory of the first GPU whose names begin with these letters. Returns whether none depends on secrets; with something
/// planted after each, whether that was found for all, and nothing where there is nothing.
fn of_gpu(measurements: usize, planted: bool, begins: &str) -> Result<bool, Box<dyn std::error::Error>> {
    let named: Vec<&DeviceCall> = DeviceCall::ALL.iter().filter(|call| call.name.starts_with(begins)).collect();
    if named.is_empty() {
        let names = DeviceCall::ALL.map(|call| call.name).join(", ");
        return Err(format!("no call begins with `{begins}`: there are {names}").into());
    }
    let engines = match Device::Cuda(Kernels::Auto).find() {
        Ok(engines) => engines,
        Err(why) => {
            println!("nothing to measure here: {why}");
            return Ok(true);
        }
    };
    say_columns(measurements);
    let is_different = |what: &str, is_random_only, measure: &Measure<'_>| {
        is_different(measurements, BYTES_ON_GPU, what, is_random_only, measure)
    };
    if planted {
        let (mut missed, mut invented) = (0, 0);
        for engine in engines {
            println!("{}, with something planted", name(engine));
            for call in &named {
                let measure = on_gpu(engine, call, true)?;
                missed += usize::from(!is_different(&format!("    {}", call.name), false, &measure));
            }
            let measure = on_gpu(engine, named[0], true)?;
            let what = format!("    {}, no difference: all is random", named[0].name);
            invented += usize::from(is_different(&what, true, &measure));
        }
        println!("what was planted was missed in {missed} calls, and found in {invented} where all is random");
        return Ok(missed + invented == 0);
    }
    let tables = Device::Cuda(Kernels::Tbox).find().unwrap_or(&[]);
    let mut different = 0;
    for engine in engines.iter().chain(tables) {
        println!("{}", name(engine));
        let has_tables = engine.kernels() == Kernels::Tbox;
        let is_there = |call: &&&DeviceCall| !has_tables || COMPLETE.iter().any(|mode| mode.name() == call.name);
        for call in named.iter().filter(is_there) {
            let measure = on_gpu(engine, call, false)?;
            let found = is_different(&format!("    {}", call.name), false, &measure);
            different += usize::from(found && !has_tables);
        }
    }
    println!("{different} of them depend on what is secret, table kernels not counted");
    Ok(different == 0)
}

fn say_columns(measurements: usize) {
    println!("{measurements} measurements of each; median time, and the largest t");
}

/// The time of a call; its result is used.
fn timed<T>(call: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let returned = call();
    let time = start.elapsed();
    black_box(returned);
    time
}

/// A call in the memory of a GPU; the leak planted after it takes time where the first byte of the key is zero.
fn on_gpu<'a>(
    engine: &'a Engine,
    call: &'a DeviceCall,
    planted: bool,
) -> Result<Measure<'a>, Box<dyn std::error::Error>> {
    let stream = engine.cuda_context()?.new_stream()?;
    let memory = (stream.alloc_zeros::<u8>(BYTES_ON_GPU)?, stream.alloc_zeros::<u8>(AHEAD)?);
    let memory = RefCell::new(memory);
    let number = Cell::new(0);
    let measured = move |secret: &[u8]| -> Result<Duration, Box<dyn std::error::Error>> {
        let (key, data) = secret.split_first_chunk().expect("keys and data");
        let mut data = data.to_vec();
        number.set(number.get() + 1);
        let input = Input { bits: KeyBits::Aes256, number: number.get(), key, data: &mut data };
        let launch = call.prepare(engine, &stream, input)?;
        let (memory, ahead) = &mut *memory.borrow_mut();
        stream.memcpy_htod(&data, memory)?;
        let event = || stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
        stream.memset_zeros(ahead)?;
        let start = event()?;
        let wait = launch(&stream, memory)?;
        if planted && key[0] == 0 {
            stream.memset_zeros(&mut ahead.slice_mut(..PLANTED))?;
        }
        let end = event()?;
        wait()?;
        Ok(Duration::from_secs_f64(f64::from(start.elapsed_ms(&end)?) / 1e3))
    };
    Ok(Box::new(move |secret| measured(secret).unwrap_or_else(|error| panic!("{}: {error}", call.name))))
}

/// An operation on data, under a key, as a measurement.
fn call<'a, T>(engine: &'a Engine, run: impl Fn(&Cipher, &mut [u8]) -> Result<T, Error> + 'a) -> Measure<'a> {
    Box::new(move |secret| {
        let cipher = engine.cipher(&Key::new(&secret[..32]).expect("32 bytes")).expect("a CPU");
        let mut data = secret[KEYS..].to_vec();
        timed(|| run(&cipher, &mut data).expect("a call that is right"))
    })
}

/// An operation on encrypted data as a measurement. `seal`, which is not measured, encrypts the data before and returns their tag.
fn opening<'a, T>(
    engine: &'a Engine,
    seal: impl Fn(&Cipher, &mut [u8]) -> Result<Tag, Error> + 'a,
    open: impl Fn(&Cipher, &mut [u8], &Tag) -> T + 'a,
) -> Measure<'a> {
    Box::new(move |secret| {
        let cipher = engine.cipher(&Key::new(&secret[..32]).expect("32 bytes")).expect("a CPU");
        let mut data = secret[KEYS..].to_vec();
        let tag = seal(&cipher, &mut data).expect("a call that is right");
        timed(|| open(&cipher, &mut data, &tag))
    })
}

/// A tag with one wrong byte: the first, or an unknown one.
fn wrong(tag: &Tag, secret: &[u8]) -> Tag {
    let mut bytes: [u8; 16] = tag.as_bytes().try_into().expect("16 bytes");
    let place = usize::from(secret[0] % 16);
    bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte ^= u8::from(i == place));
    Tag::new(&bytes).expect("16 bytes")
}

/// One nonce for all: it is public.
fn nonce() -> Nonce {
    Nonce::new(&[3; 12]).expect("12 bytes")
}

/// Every mode, and the key schedule.
fn calls(engine: &Engine) -> Vec<(String, Measure<'_>)> {
    let counter = Counter::new(CounterMode::Ctr128BE, [7; 16]);
    let iv = [9; 16];
    let schedule = |bits: KeyBits| -> (String, Measure<'_>) {
        let measure = move |secret: &[u8]| {
            let key = Key::new(&secret[..bits.bytes()]).expect("of this length");
            timed(|| engine.cipher(&key).expect("a CPU"))
        };
        (format!("key schedule, {} bits", bits.bits()), Box::new(measure))
    };
    let xts = |operation: Xts| -> Measure<'_> {
        Box::new(move |secret| {
            let mut both: [u8; 64] = secret[..64].try_into().expect("64 bytes");
            // The halves must differ.
            (both[0], both[32]) = (both[0] & 0xfe, both[32] | 1);
            let cipher = engine.cipher(&Key::xts(&both).expect("64 bytes")).expect("a CPU");
            let mut data = secret[KEYS..].to_vec();
            timed(|| cipher.run(operation, &mut data).expect("a call that is right"))
        })
    };
    let gcm = |cipher: &Cipher, data: &mut [u8]| cipher.run(GcmEncrypt::new(&nonce(), b""), data);
    let siv = |cipher: &Cipher, data: &mut [u8]| cipher.run(GcmSivEncrypt::new(&nonce(), b""), data);
    let long_nonce = Nonce::new(&[5; 24]).expect("a nonce");
    let xaes = {
        let nonce = long_nonce.clone();
        move |cipher: &Cipher, data: &mut [u8]| cipher.run(XaesEncrypt::new(&nonce, b""), data)
    };
    let mut calls: Vec<(String, Measure<'_>)> = KeyBits::ALL.map(schedule).into();
    let modes: [(&str, Measure<'_>); 18] = [
        ("ECB encryption", call(engine, |cipher, data| cipher.run(Ecb::encrypt(), data))),
        ("ECB decryption", call(engine, |cipher, data| cipher.run(Ecb::decrypt(), data))),
        ("CTR", call(engine, move |cipher, data| cipher.run(Ctr::new(&counter, 0), data))),
        ("key stream", call(engine, move |cipher, data| cipher.run(Keystream::new(&counter, 0), data))),
        ("PRG", call(engine, |cipher, data| cipher.run(Prg::new(), data))),
        ("CBC encryption", call(engine, move |cipher, data| cipher.run(CbcEncrypt::new(&iv), data))),
        ("CBC decryption", call(engine, move |cipher, data| cipher.run(CbcDecrypt::new(&iv), data))),
        ("XTS encryption", xts(Xts::encrypt(512, 1).expect("a unit"))),
        ("XTS decryption", xts(Xts::decrypt(512, 1).expect("a unit"))),
        ("GCM encryption", call(engine, gcm)),
        (
            "GCM decryption",
            opening(engine, gcm, move |cipher, data, tag| {
                cipher.run(GcmDecrypt::new(&nonce(), b"", tag), data).expect("authentic");
            }),
        ),
        (
            "GCM decryption, refused",
            opening(
                engine,
                // The data say which byte of the tag is wrong.
                move |cipher, data| {
                    let first = data[0];
                    Ok(wrong(&gcm(cipher, data)?, &[first]))
                },
                move |cipher, data, tag| {
                    cipher.run(GcmDecrypt::new(&nonce(), b"", tag), data).expect_err("a wrong tag")
                },
            ),
        ),
        ("GMAC", call(engine, move |cipher, data| cipher.run(Gmac::new(&nonce()), &*data))),
        ("CMAC", call(engine, |cipher, data| cipher.run(Cmac::new(), &*data))),
        ("GCM-SIV encryption", call(engine, siv)),
        (
            "GCM-SIV decryption",
            opening(engine, siv, move |cipher, data, tag| {
                cipher.run(GcmSivDecrypt::new(&nonce(), b"", tag), data).expect("authentic");
            }),
        ),
        ("XAES-256-GCM encryption", call(engine, xaes.clone())),
        (
            "XAES-256-GCM decryption",
            opening(engine, xaes, move |cipher, data, tag| {
                cipher.run(XaesDecrypt::new(&long_nonce, b"", tag), data).expect("authentic");
            }),
        ),
    ];
    calls.extend(modes.into_iter().map(|(what, measure)| (what.to_owned(), measure)));
    calls
}

/// Compares two tags that differ in one byte, the first or any.
fn comparing_tags() -> Measure<'static> {
    Box::new(|secret| {
        let tag = Tag::new(&secret[KEYS..KEYS + 16]).expect("16 bytes");
        let other = wrong(&tag, secret);
        timed(|| (0..COMPARISONS).filter(|_| black_box(&tag) == black_box(&other)).count())
    })
}

/// Code whose time depends on a key: a comparison that ends at the first difference, and a table lookup.
fn leaks() -> Vec<(&'static str, Measure<'static>)> {
    const STRIDE: usize = 4096;
    let table = vec![1_u8; 256 * STRIDE];
    let comparison = |secret: &[u8]| {
        let tag = Tag::new(&secret[KEYS..KEYS + 16]).expect("16 bytes");
        let other = wrong(&tag, secret);
        let is_equal = |a: &Tag, b: &Tag| a.as_bytes().iter().zip(b.as_bytes()).all(|(a, b)| a == b);
        timed(|| (0..COMPARISONS).filter(|_| is_equal(black_box(&tag), black_box(&other))).count())
    };
    let look_up = move |secret: &[u8]| {
        timed(|| secret[..32].iter().map(|byte| u32::from(table[usize::from(*byte) * STRIDE])).sum::<u32>())
    };
    vec![
        ("planted: a comparison that ends early", Box::new(comparison)),
        ("planted: a table looked up at key bytes", Box::new(look_up)),
    ]
}

/// The result of measurements.
struct Found {
    /// The median time, in nanoseconds.
    median: f64,
    /// The largest t-value, and the times that it belongs to.
    t: f64,
    of: String,
}

impl Found {
    /// Measures. Where everything is random there is nothing to find.
    fn of(measurements: usize, bytes: usize, is_random_only: bool, measure: &Measure<'_>) -> Self {
        let pool = noise(0xd0de, POOL + KEYS + bytes);
        let mut secret = vec![0; KEYS + bytes];
        let mut state = 1;
        let mut times = Vec::with_capacity(measurements);
        for i in 0..WARM_UP + measurements {
            let bits = random(&mut state);
            let is_random = bits & 1 == 1;
            let mask = black_box(if is_random || is_random_only { 0xff } else { 0 });
            let from = &pool[(bits >> 1) as usize % POOL..];
            secret.iter_mut().zip(from).for_each(|(byte, random)| *byte = random & mask);
            let time = measure(black_box(&secret)).as_nanos() as f64;
            if i >= WARM_UP {
                times.push((is_random, time));
            }
        }
        let mut sorted: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| sorted[((sorted.len() - 1) as f64 * part) as usize];
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        let all = (welch(times.iter().copied()), "of all".to_owned());
        let squares = times.iter().map(|(class, time)| (*class, (time - mean).powi(2)));
        let squares = (welch(squares), "of the squares".to_owned());
        // Closer and closer to all of them, as in the paper's program.
        let cropped = (1..=100).map(|i| {
            let part = 1.0 - 0.5_f64.powf(f64::from(10 * i) / 100.0);
            let below = at(part);
            let t = welch(times.iter().copied().filter(|(_, time)| *time < below));
            (t, format!("of the fastest {:.1} %", 100.0 * part))
        });
        let (t, of) = [all, squares]
            .into_iter()
            .chain(cropped)
            .max_by(|(a, _), (b, _)| a.abs().total_cmp(&b.abs()))
            .expect("some");
        Self { median: at(0.5), t, of }
    }
}

/// Welch's t: the difference of two means divided by its standard error; 0 where there are too few.
fn welch(values: impl Iterator<Item = (bool, f64)>) -> f64 {
    let (mut n, mut mean, mut squares) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    for (class, value) in values {
        let class = usize::from(class);
        let off = value - mean[class];
        n[class] += 1.0;
        mean[class] += off / n[class];
        squares[class] += off * (value - mean[class]);
    }
    if n.iter().any(|n| *n < LEAST_OF_A_KIND as f64) {
        return 0.0;
    }
    let error: f64 = (0..2).map(|class| squares[class] / (n[class] - 1.0) / n[class]).sum();
    if error > 0.0 { (mean[1] - mean[0]) / error.sqrt() } else { 0.0 }
}

/// The next of a sequence of numbers that look random (S. Vigna's SplitMix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
