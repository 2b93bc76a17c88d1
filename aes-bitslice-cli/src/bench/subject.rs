//! An engine, and what is kept on it from case to case.

use std::time::Instant;

use aes_bitslice_runtime::{self as runtime, Access, Backend, Buffers, Cipher, Engine, Key, KeyBits};

use super::baked::Baked;
use super::case::{Case, Keyed};
use super::copy::Links;
use super::engines::is_gpu;
use super::host;
use super::host_data::HostData;
use super::memory::Memory;
use super::report::{Copied, Measured, NewKey};
use super::sizes::{NEW_KEY_BYTES, Sizes};
use crate::args::bench::{BenchArgs, Strategy, Timing};
use crate::args::engine::KernelName;
use crate::args::size::Size;
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
    /// How calls on data in device memory are timed.
    on_device: Vec<Timing>,
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
        let memory = Memory::new(&engine, data.input.len(), sizes)?;
        let baked = if memory.is_of_one() && sizes.baked.is_some() {
            Baked::new(&engine, keys, &args.modes())?
        } else {
            Ok(Baked::default())
        };
        let baked = baked.unwrap_or_else(|why| {
            skipped.push(format!("kernels with their key baked in, on {}: {why}", engine.backend()));
            Baked::default()
        });
        for (mode, why) in &baked.missing {
            skipped.push(format!("{} with the key baked in, on {}: {why}", mode.name, engine.backend()));
        }
        let is_gpu = is_gpu(&engine);
        if is_gpu && !memory.is_of_one() && sizes.baked.is_some() {
            skipped.push(format!("kernels with their key baked in, on {}: timed on one GPU", engine.backend()));
        }
        let kernels = if is_gpu { args.kernels.as_slice() } else { &[KernelName::Auto] };
        let is_for = |timing: &&Timing| timing.is_on_host() && (is_gpu || !timing.is_pinned());
        let timings: Vec<_> = args.timings.iter().filter(is_for).copied().collect();
        let has_memory = sizes.is_on_device() && !matches!(memory, Memory::None);
        let on_device = args.timings.iter().copied().filter(|timing| timing.is_on_device()).collect();
        if timings.is_empty() && !has_memory && !args.timings.contains(&Timing::NewKey) {
            skipped.push(format!("{}: none of the timings asked for is for it", engine.backend()));
        }
        let copies = if is_gpu { copies(&engine, sizes, args.runs, data)? } else { Vec::new() };
        Ok(Subject { engine, kernels, timings, on_device, copies, memory, baked })
    }

    /// Times a case. Adds to `skipped` what the engine lacks for it.
    pub fn measure(
        &mut self,
        case: &Case,
        sizes: &Sizes,
        data: &mut HostData,
        skipped: &mut Vec<String>,
    ) -> Result<Vec<Measured>> {
        let Subject { engine, kernels, timings, on_device, copies, memory, baked } = self;
        let (bytes, mode, about) = (case.bytes, case.keyed.mode, case.operation.about());
        let is_batch = case.size.messages.is_some();
        // In host memory, on every engine.
        let is_on_cpu = is_batch || mode.kernels().is_none();
        let mut skip = |what: String| skipped.extend((!skipped.contains(&what)).then_some(what));
        let measured = |strategy, kernel, timing: Timing, times| {
            // A call that uses the links one way only is not compared with copies both ways.
            let both_ways = timing.is_on_host() && about.access == Access::Maps && !is_on_cpu;
            let copied = copies.iter().find(|copied| both_ways && copied.bytes == bytes);
            Measured::new(engine, case, strategy, kernel, timing, times, copied)
        };
        let mut all = Vec::new();
        for &kernel in *kernels {
            let cipher = engine.clone().with_kernels(kernel.kernels()).cipher(case.keyed.key)?;
            if let Some(why) = none_for(&cipher, case, kernel)? {
                skip(format!("{} {why}", mode.name));
                continue;
            }
            for &timing in timings.iter().filter(|_| sizes.host.contains(&bytes)) {
                all.push(measured(Strategy::Planes, Some(kernel), timing, host::time(case, &cipher, timing, data)?));
            }
            if sizes.device.contains(&bytes) {
                let is_elsewhere = (about.has_own_key || is_batch) && !memory.takes_all_operations();
                if (is_elsewhere || (is_on_cpu && !is_batch)) && !matches!(memory, Memory::None) {
                    let what = if is_batch { "many messages of " } else { "" };
                    skip(format!("{what}{} in memory of {}: it is not supported there", mode.name, engine.backend()));
                    continue;
                }
                for &timing in on_device.iter() {
                    match memory.time(case, &cipher, timing, data)? {
                        Some(times) => all.push(measured(Strategy::Planes, Some(kernel), timing, times)),
                        None if timing == Timing::StreamArrays => skip(format!(
                            "{} described by arrays in memory of {}: timed for gcm of many messages, on one CUDA GPU",
                            mode.name,
                            engine.backend()
                        )),
                        None if timing == Timing::Stream => {
                            skip(format!("calls on a stream, on {}: timed on one CUDA GPU", engine.backend()));
                        }
                        None => {}
                    }
                }
            }
        }
        for cipher in baked.of(case).filter(|_| !is_batch && sizes.baked == Some(bytes)) {
            if let Some(times) = memory.time(case, cipher, Timing::Device, data)? {
                all.push(measured(Strategy::OneHotMux, None, Timing::Device, times));
            }
        }
        Ok(all)
    }

    /// Times keys that the engine has not seen, with its kernels loaded.
    pub fn new_keys(&mut self, reference: &Engine, bits: KeyBits, data: &mut HostData) -> Result<NewKey> {
        let Subject { engine, memory, .. } = self;
        let (mut to_launch, mut to_end) = (Vec::new(), Vec::new());
        for run in 0..=NEW_KEYS {
            let key = Key::generate(bits)?;
            let reference = reference.cipher(&key)?;
            let (mode, sectors) = (MeasuredMode::CTR, Sectors::DEFAULT);
            let keyed = Keyed { index: 0, key: &key, reference: &reference, mode, sectors, keys: None, runs: 1 };
            let case = Case::new(keyed, Size { messages: None, each: NEW_KEY_BYTES }, data)?;
            let HostData { input, output, expected, .. } = data;
            let [input, expected] = [input, expected].map(|bytes| &bytes[..NEW_KEY_BYTES]);
            let output = &mut output[..NEW_KEY_BYTES];
            output.fill(0);
            let (launched, ended) = match memory {
                Memory::Cuda(memory) => memory.new_key(engine, key.expose(), input, output)?,
                _ => {
                    let start = Instant::now();
                    let cipher = engine.cipher(&Key::new(key.expose())?)?;
                    case.operation.on_host(&cipher, Buffers::from((input, &mut *output)))?;
                    (None, start.elapsed())
                }
            };
            case.check(engine, None, output, expected)?;
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

/// Loads the kernels of a mode if the engine is a device. Why there are none, if that is so.
fn none_for(cipher: &Cipher, case: &Case, kernel: KernelName) -> Result<Option<String>> {
    let has_choice = case.size.messages.is_none() && case.keyed.mode.kernels().is_some();
    if !has_choice && kernel != KernelName::Auto {
        return Ok(Some(format!("by {}: timed by auto", kernel.kernels())));
    }
    let prepared = match (cipher.engine().backend(), case.keyed.mode.kernels()) {
        (_, None) => Ok(()),
        (Backend::Cuda { .. }, Some(kernels)) => cipher.device()?.prepare(kernels),
        (Backend::CudaAll, Some(kernels)) => cipher.sharded()?.prepare(kernels),
        (backend, Some(kernels)) if backend.is_opencl() => cipher.opencl()?.prepare(kernels),
        _ => Ok(()),
    };
    match prepared {
        Ok(()) => Ok(None),
        Err(runtime::Error::NoSuchKernel { what }) => Ok(Some(format!("by {}: {what}", kernel.kernels()))),
        Err(error) => Err(error.into()),
    }
}
