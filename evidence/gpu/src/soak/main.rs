//! Random calls for as long as requested, from many threads, of every mode, including many messages and many keys, with all key lengths,
//! every byte and tag compared with the CPU; keys change, engines are opened and dropped, and one call in a thousand must be refused. Not
//! included are GHASH alone, counters of fewer than 128 bits, baked keys, sealed files and OpenCL buffers.
//!
//! ```sh
//! cargo run --release -p aes-bitslice-evidence-gpu --bin soak -- --backend cuda --minutes 60 --threads 16 --most 8G --memory 80G
//! cargo run --release -p aes-bitslice-evidence-gpu --bin soak -- --planted # must find what is planted in all that is returned
//! ```
//!
//! | option | what | default |
//! |---|---|---|
//! | `--minutes N` | how long, as in `9.5`; then threads end with their current call | a few calls of each thread |
//! | `--threads N` | threads; on a CUDA GPU half of all calls are in device memory, most of them on eight streams that all threads share, the others in sharded memory | 4 |
//! | `--most N` | bytes of the largest call, with suffix K, M or G | 1M |
//! | `--memory N` | bytes of host memory that all calls in flight may take together; one takes four times its size | 16 times the largest call |
//! | `--backend NAME` | as `--backend` of the command line; with `auto` the CPU does small calls | `auto` |
//! | `--seed N` | the random numbers | 1 |
//! | `--planted` | instead of all this: makes some calls of each kind, each again for every value that the library returns in it, with this value changed before anything looks at it; ends with 1 where nothing finds it | |
//!
//! It exits with 1 at the first wrong byte, and prints the call. When all threads are done, host and device memory must be within 64 MiB of
//! what it was when they were done a first time, after a minute or a fifth of the time, or it exits with 1. At the end it prints the calls
//! of each kind.
//!
//! | file | idea |
//! |---|---|
//! | `options` | the command line |
//! | `random` | random numbers, sizes and bytes |
//! | `memory` | how much calls in flight may take, and how much the process has |
//! | `wrong` | what was wrong with a call |
//! | `planted` | a fault planted in the library's results |
//! | `place` | where the data of a call is, and how the call is made there |
//! | `call` | a call, and the comparison of its results |
//! | `kinds` | the kinds of call, and how often each is made |
//! | `from_host` | calls that are described in host memory |
//! | `from_arrays` | those of which all arrays are in the memory of the GPU, also in graphs |
//! | `refused` | calls that must be refused |

mod call;
mod from_arrays;
mod from_host;
mod kinds;
mod memory;
mod options;
mod place;
mod planted;
mod random;
mod refused;
mod wrong;

use aes_bitslice_runtime::{Backend, Cipher, Engine, Key, KeyBits};
use call::Call;
use kinds::Kind;
use memory::Shares;
use options::{COPIES, Options};
use place::{Place, Streams};
use planted::Planted;
use random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};
use wrong::{Wrong, wrong};

/// The least number of calls of a thread in each round, however short.
const LEAST: u64 = 20;
/// MiB by which memory may grow.
const GROWTH: u64 = 64;

/// State that all threads share.
struct Soak {
    options: Options,
    engine: Engine,
    streams: Streams,
    shares: Shares,
    /// Of each kind.
    made: [Made; Kind::ALL.len()],
    failed: Mutex<Option<Wrong>>,
    /// Threads hold it for reading while they call the GPU, and for writing during a call that must be made alone ([`Kind::is_alone`]).
    others: RwLock<()>,
}

/// Calls of a kind.
#[derive(Default)]
struct Made {
    calls: AtomicU64,
    on_gpu: AtomicU64,
    bytes: AtomicU64,
}

fn main() -> ExitCode {
    memory::keeps_little();
    let opened = Options::read(std::env::args().skip(1)).map(|options| (Engine::open(options.backend), options));
    let (engine, options) = match opened {
        Ok((Ok(engine), options)) => (engine, options),
        Ok((Err(error), _)) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
        Err(what) => {
            eprintln!("error: {what}");
            return ExitCode::from(2);
        }
    };
    let streams = Streams::new(&engine);
    let shares = Shares::new(options.memory);
    let soak = Soak {
        options,
        engine,
        streams,
        shares,
        made: Default::default(),
        failed: Mutex::default(),
        others: RwLock::default(),
    };
    let outcome = if soak.options.planted { soak.planted() } else { soak.soak() };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("error: {what}; seed {}", soak.options.seed);
            ExitCode::FAILURE
        }
    }
}

impl Soak {
    fn soak(&self) -> Result<(), Wrong> {
        let Options { time, threads, most, memory, .. } = self.options;
        println!(
            "engine: {}; {threads} threads, calls of up to {most} bytes, together up to {memory} bytes of memory",
            self.engine.description()
        );
        let begin = Instant::now();
        let first = (time / 5).min(Duration::from_secs(60));
        self.round(0, begin, begin + first)?;
        let early = self.memory();
        self.round(1, begin, begin + time)?;
        let late = self.memory();
        println!("{:24} {:>10} {:>10} {:>18}", "", "calls", "on a GPU", "bytes");
        let line = |name: &str, sum: &dyn Fn(fn(&Made) -> &AtomicU64) -> u64| {
            let [calls, on_gpu, bytes] = [sum(|made| &made.calls), sum(|made| &made.on_gpu), sum(|made| &made.bytes)];
            println!("{name:24} {calls:>10} {on_gpu:>10} {bytes:>18}");
        };
        for (kind, made) in Kind::ALL.iter().zip(&self.made) {
            line(kind.name, &|of| of(made).load(Relaxed));
        }
        line("all", &|of| self.made.iter().map(|made| of(made).load(Relaxed)).sum());
        println!("{:.0?}, all right; memory of host and device in MiB: {early:?}, now {late:?}", begin.elapsed());
        let grew = early.iter().zip(&late).any(|(early, late)| late.zip(*early).is_some_and(|(l, e)| l > e + GROWTH));
        if grew && !time.is_zero() { Err("memory grew".into()) } else { Ok(()) }
    }

    /// MiB of host and device memory in use.
    fn memory(&self) -> [Option<u64>; 2] {
        [memory::resident_without_freed(), self.streams.in_use()].map(|bytes| bytes.map(|bytes| bytes >> 20))
    }

    /// Runs all threads until they are done.
    fn round(&self, round: u64, begin: Instant, until: Instant) -> Result<(), Wrong> {
        std::thread::scope(|scope| {
            let seed = |n: usize| self.options.seed << 32 | round << 16 | n as u64;
            let start = |n: usize| {
                scope.spawn(move || {
                    let outcome = catch_unwind(AssertUnwindSafe(|| self.thread(seed(n), until)));
                    if let Err(what) = outcome.unwrap_or_else(|_| Err("it panicked, as said above".into())) {
                        self.failed.lock().expect("no panic").get_or_insert(format!("thread {n}: {what}"));
                    }
                })
            };
            let threads: Vec<_> = (0..self.options.threads).map(start).collect();
            let mut minutes = begin.elapsed().as_secs() / 60;
            while !threads.iter().all(|thread| thread.is_finished()) {
                std::thread::sleep(Duration::from_millis(100));
                if begin.elapsed().as_secs() / 60 > minutes {
                    minutes += 1;
                    let calls: u64 = self.made.iter().map(|made| made.calls.load(Relaxed)).sum();
                    println!(
                        "{minutes} minutes, {calls} calls, memory of the host in MiB: {:?}",
                        memory::resident().map(|b| b >> 20)
                    );
                }
                if let Some(what) = self.failed.lock().expect("no panic").take() {
                    // Other threads' calls may take long.
                    eprintln!("error: {what}; seed {}", self.options.seed);
                    std::process::exit(1);
                }
            }
        });
        self.failed.lock().expect("no panic").take().map_or(Ok(()), Err)
    }

    /// Calls the GPU while other threads may call it, too, and returns what the calls return.
    fn beside<T>(&self, work: impl FnOnce() -> T) -> T {
        let _others = self.others.read().expect("no panic");
        work()
    }

    /// Makes calls on engines that are opened anew every few thousand calls.
    fn thread(&self, seed: u64, until: Instant) -> Result<(), Wrong> {
        let mut random = Random::new(seed);
        let cpu = Engine::open(Backend::Cpu).map_err(wrong)?;
        let mut calls = 0;
        loop {
            let engine = self.beside(|| Engine::open(self.options.backend)).map_err(wrong)?;
            let mut is_over = false;
            for _ in 0..1 + random.below(100) {
                let with = self.beside(|| self.with_key(&engine, &cpu, &mut random))?;
                is_over = self.under_key(&with, &mut random, &mut calls, until)?;
                self.beside(|| drop(with));
                if is_over {
                    break;
                }
            }
            self.beside(|| drop(engine));
            if is_over {
                return Ok(());
            }
        }
    }

    /// Makes some tens of calls under a key, and returns whether the time is over.
    fn under_key(
        &self,
        with: &WithKey<'_>,
        random: &mut Random,
        calls: &mut u64,
        until: Instant,
    ) -> Result<bool, Wrong> {
        for _ in 0..1 + random.below(50) {
            let number = Kind::random(random);
            let kind = &Kind::ALL[number];
            let bytes = random.size_of_call(self.options.most.min(kind.most));
            let _share = self.shares.take(COPIES * bytes);
            // It may have waited long.
            if *calls >= LEAST && Instant::now() >= until {
                return Ok(true);
            }
            let forged = random.one_in(2);
            let mut call = || self.call(number, bytes, with, random, forged, None);
            if kind.is_alone {
                let _alone = self.others.write().expect("no panic");
                call()?;
            } else {
                self.beside(call)?;
            }
            *calls += 1;
        }
        Ok(false)
    }

    /// A new key on both engines.
    fn with_key<'e>(&self, engine: &'e Engine, cpu: &'e Engine, random: &mut Random) -> Result<WithKey<'e>, Wrong> {
        let bits = random.one_of(&KeyBits::ALL);
        let bytes = random.bytes(bits.bytes());
        let key = Key::new(&bytes).map_err(wrong)?;
        let (cipher, reference) = (engine.cipher(&key).map_err(wrong)?, cpu.cipher(&key).map_err(wrong)?);
        Ok(WithKey { engine, cpu, key: bytes, cipher, reference })
    }

    /// Makes a call of a kind, with a fault planted in one of the returned values, if requested, and returns how many there were.
    fn call(
        &self,
        number: usize,
        bytes: u64,
        with: &WithKey<'_>,
        random: &mut Random,
        forged: bool,
        planted: Option<u64>,
    ) -> Result<u64, Wrong> {
        let (kind, made) = (&Kind::ALL[number], &self.made[number]);
        let planted = Planted::new(planted, random.clone());
        let mut call = Call {
            engine: with.engine,
            cpu: with.cpu,
            key: &with.key,
            cipher: &with.cipher,
            reference: &with.reference,
            streams: &self.streams,
            random,
            bytes: bytes as usize,
            place: Place::Host,
            forged,
            planted,
        };
        (kind.make)(&mut call).map_err(|what| {
            let (bits, place) = (8 * with.key.len(), call.place.name());
            format!("{} of {bytes} bytes, key of {bits} bits, {place}: {what}", kind.name)
        })?;
        made.calls.fetch_add(1, Relaxed);
        made.on_gpu.fetch_add(u64::from(call.place.is_on_gpu()), Relaxed);
        made.bytes.fetch_add(bytes, Relaxed);
        Ok(call.planted.count())
    }

    /// Plants a fault in each value that calls of each kind return: for no data, little, and more, which is compared with the CPU; for
    /// authentic and for forged data.
    fn planted(&self) -> Result<(), Wrong> {
        /// Calls of each: their places and parts are random.
        const CALLS: usize = 4;
        let mut random = Random::new(self.options.seed);
        let cpu = Engine::open(Backend::Cpu).map_err(wrong)?;
        for (number, kind) in Kind::ALL.iter().enumerate() {
            let mut found = Vec::new();
            for (bytes, forged) in [0, 1000, 100_000].into_iter().flat_map(|bytes| [(bytes, false), (bytes, true)]) {
                for _ in 0..CALLS {
                    let with = self.with_key(&self.engine, &cpu, &mut random)?;
                    // Each time one call, up to the planted fault.
                    let same = Random::new(random.next());
                    let call = |planted| self.call(number, bytes, &with, &mut same.clone(), forged, planted);
                    let values = call(None)?;
                    for n in 0..values {
                        match call(Some(n)) {
                            Err(what) => found.push(what),
                            Ok(_) => {
                                let name = kind.name;
                                return Err(format!(
                                    "{name}, {bytes} bytes: what was planted in value {n} of {values} was not found"
                                ));
                            }
                        }
                    }
                }
            }
            let last = found.last().ok_or_else(|| format!("{}: nothing is returned", kind.name))?;
            println!("planted in {} values, and found. {last}", found.len());
        }
        Ok(())
    }
}

/// A key on an engine and on the CPU's.
struct WithKey<'e> {
    engine: &'e Engine,
    cpu: &'e Engine,
    key: Vec<u8>,
    cipher: Cipher,
    reference: Cipher,
}
