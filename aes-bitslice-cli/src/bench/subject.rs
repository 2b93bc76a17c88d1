//! An engine, and what is kept on it from case to case.

use std::time::Instant;

use aes_bitslice_runtime::{self as runtime, Backend, Cipher, Engine, Key, KeyBits};

use super::baked::Baked;
use super::case::Case;
use super::copy::Links;
use super::engines::is_gpu;
use super::host;
use super::host_data::HostData;
use super::memory::Memory;
use super::report::{Copied, Measured, NewKey};
use super::sizes::{NEW_KEY_BYTES, Sizes};
use crate::args::bench::{BenchArgs, Strategy, Timing};
use crate::args::engine::KernelName;
use crate::error::Result;
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::Sectors;

/// New keys of each length that are timed.
const NEW_KEYS: usize = 200;

/// An engine that is measured.
pub struct Subject<'a> {
    engine: Engine,
    /// Which kernels to time with keys given at launch.
    kernels: &'a [KernelName],
    /// How whole calls on data in host memory are timed.
    timings: Vec<Timing>,
    /// The throughput of its links, at every size that they are used with.
    pub copies: Vec<Copied>,
    memory: Memory,
    baked: Baked,
}

impl<'a> Subject<'a> {
    /// Makes what the options need on the engine, and times its links. Adds to `skipped` what it cannot be measured with.
    pub fn new(
        engine: Engine,
        args: &'a BenchArgs,
        keys: &[Key],
        sizes: &Sizes,
        data: &mut HostData,
        skipped: &mut Vec<String>,
    ) -> Result<Self> {
        let memory = Memory::new(&engine, &data.input, sizes)?;
        let baked = match memory.is_of_one() && sizes.baked.is_some() {
            true => Baked::new(&engine, keys, &args.modes, &args.strategies)?,
            false => Ok(Baked::default()),
        };
        let baked = baked.unwrap_or_else(|why| {
            skipped.push(format!("kernels with their key baked in, on {}: {why}", engine.backend()));
            Baked::default()
        });
        for (mode, why) in &baked.missing {
            skipped.push(format!("{} with the key baked in, on {}: {why}", mode.name(), engine.backend()));
        }
        let is_gpu = is_gpu(&engine);
        if is_gpu && !memory.is_of_one() && sizes.baked.is_some() {
            skipped.push(format!("kernels with their key baked in, on {}: timed on one GPU", engine.backend()));
        }
        let kernels = if is_gpu { args.kernels.as_slice() } else { &[KernelName::Auto] };
        let is_for = |timing: &&Timing| timing.is_on_host() && (is_gpu || !timing.is_pinned());
        let timings: Vec<_> = args.timings.iter().filter(is_for).copied().collect();
        let on_device = sizes.is_on_device() && !matches!(memory, Memory::None);
        if timings.is_empty() && !on_device && !args.timings.contains(&Timing::NewKey) {
            skipped.push(format!("{}: none of the timings asked for is for it", engine.backend()));
        }
        let copies = if is_gpu { copies(&engine, sizes, args.runs, data)? } else { Vec::new() };
        Ok(Subject { engine, kernels, timings, copies, memory, baked })
    }

    /// Times a case at all sizes. Adds missing kernels to `skipped`.
    pub fn measure(
        &mut self,
        case: &Case,
        sizes: &Sizes,
        data: &mut HostData,
        skipped: &mut Vec<String>,
    ) -> Result<Vec<Measured>> {
        let Subject { engine, kernels, timings, copies, memory, baked } = self;
        let measured = |strategy, kernel, bytes, timing: Timing, times| {
            // A call that uses the links one way only is not compared with copies both ways.
            let both_ways = timing.is_on_host() && case.mode.reads();
            let copied = copies.iter().find(|copied| both_ways && copied.bytes == bytes);
            Measured::new(engine, case, strategy, kernel, bytes, timing, times, copied)
        };
        let mut all = Vec::new();
        for &kernel in *kernels {
            let cipher = engine.clone().with_kernels(kernel.kernels()).cipher(case.key)?;
            if let Some(why) = none_for(&cipher, case)? {
                let what = format!("{} by {}: {why}", case.mode.name(), kernel.kernels());
                skipped.extend((!skipped.contains(&what)).then_some(what));
                continue;
            }
            for (bytes, &timing) in
                sizes.host.iter().flat_map(|&bytes| timings.iter().map(move |timing| (bytes, timing)))
            {
                let times = host::time(case, &cipher, timing, bytes, data)?;
                all.push(measured(Strategy::Planes, Some(kernel), bytes, timing, times));
            }
            for &bytes in &sizes.device {
                if let Some(times) = memory.time(case, &cipher, bytes, data)? {
                    all.push(measured(Strategy::Planes, Some(kernel), bytes, Timing::Device, times));
                }
            }
        }
        for (bytes, (strategy, cipher)) in sizes.baked.iter().flat_map(|&b| baked.of(case).map(move |c| (b, c))) {
            if let Some(times) = memory.time(case, cipher, bytes, data)? {
                all.push(measured(strategy, None, bytes, Timing::Device, times));
            }
        }
        Ok(all)
    }

    /// Times keys that the engine has not seen, with its kernels loaded.
    pub fn new_keys(&mut self, reference: &Engine, bits: KeyBits, data: &mut HostData) -> Result<NewKey> {
        let Subject { engine, memory, .. } = self;
        let (input, expected) = (&data.input[..NEW_KEY_BYTES], &mut data.expected[..NEW_KEY_BYTES]);
        let output = &mut data.output[..NEW_KEY_BYTES];
        let (mut to_launch, mut to_end) = (Vec::new(), Vec::new());
        for run in 0..=NEW_KEYS {
            let key = Key::generate(bits)?;
            let reference = reference.cipher(&key)?;
            let (mode, sectors) = (MeasuredMode::CTR, Sectors::DEFAULT);
            let case = Case { index: 0, key: &key, reference: &reference, mode, sectors, runs: 1 };
            case.apply(&reference, input, expected)?;
            output.fill(0);
            let (launched, ended) = match memory {
                Memory::Cuda(memory) => memory.new_key(engine, key.expose(), output)?,
                _ => {
                    let start = Instant::now();
                    case.apply(&engine.cipher(&Key::new(key.expose())?)?, input, output)?;
                    (None, start.elapsed())
                }
            };
            case.check(engine, output, expected)?;
            // The first loads the kernel.
            if run > 0 {
                to_launch.extend(launched);
                to_end.push(ended);
            }
        }
        Ok(NewKey::new(engine, bits, NEW_KEY_BYTES, to_launch, to_end))
    }
}

/// Times plain copies at every size.
fn copies(engine: &Engine, sizes: &Sizes, runs: u32, data: &mut HostData) -> Result<Vec<Copied>> {
    let Some(&largest) = sizes.copy.last() else { return Ok(Vec::new()) };
    let mut links = Links::new(engine, largest)?;
    let copied = |&bytes: &usize| Ok(Copied::new(engine, bytes, links.time(bytes, runs, data)?));
    sizes.copy.iter().map(copied).collect()
}

/// Loads the kernels of a mode if the engine is a device.
fn prepare(cipher: &Cipher, mode: MeasuredMode) -> std::result::Result<(), runtime::Error> {
    match cipher.engine().backend() {
        Backend::Cuda { .. } => cipher.device()?.prepare(mode.kernels),
        Backend::CudaAll => cipher.sharded()?.prepare(mode.kernels),
        backend if backend.is_opencl() => cipher.opencl()?.prepare(mode.kernels),
        _ => Ok(()),
    }
}

/// Why there is no kernel for a mode, if that is so.
fn none_for(cipher: &Cipher, case: &Case) -> Result<Option<String>> {
    // The first call is for modes that the CPU does if a device has no kernel.
    match prepare(cipher, case.mode).and_then(|()| case.apply(cipher, &[0; 16], &mut [0; 16])) {
        Ok(()) => Ok(None),
        Err(runtime::Error::NoSuchKernel { what }) => Ok(Some(what)),
        Err(error) => Err(error.into()),
    }
}
