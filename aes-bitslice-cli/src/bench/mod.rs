//! `bench`: how fast the engines are, once they are known to be right.
//!
//! Inputs are random, keys are random, and every output is compared, all of it, with the `cpu` engine's (the `aes` and
//! `ctr` crates) before its case is timed and again after the last run: of more than 4 GiB in GPU memory, pieces from start to
//! end. Whatever is timed has run before.
//!
//! | file | idea |
//! |---|---|
//! | `case` | a mode with a key: what an engine ought to compute, and its time from host memory to host memory |
//! | `copy` | what the links to GPUs give: the ceiling of whole calls on them |
//! | `device` | kernels alone, from and to device memory; new keys |
//! | `opencl` | the same behind OpenCL |
//! | `files` | whole commands on files, beside those of other programs |
//! | `spread` | whole calls on memory spread over several GPUs |
//! | `pieces` | what is compared of what is too large to be compared as a whole |
//! | `baked` | kernels with their key baked in |
//! | `report` | the results as a table and as JSON |
//! | `plot` | throughput over size as SVG |

mod baked;
pub mod case;
mod copy;
pub mod device;
mod files;
mod opencl;
pub mod pieces;
mod plot;
pub mod report;
mod spread;

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use aes_bitslice_runtime::{self as runtime, Backend, Cipher, Engine, Key, KeyBits};

use crate::args::{BenchArgs, BenchMode, KernelName, Strategy, Timing, TransferArgs};
use crate::error::{Error, Result};
use crate::output::{self, Options, Output};
use baked::Baked;
use case::{Buffers, Case};
use copy::Links;
use report::{Copied, Measured, NewKey, Report};

/// New keys of each length that are timed.
const NEW_KEYS: usize = 200;
/// What each of them encrypts first, in bytes.
const NEW_KEY_BYTES: usize = 4096;

/// Measures and reports.
pub fn run(args: &BenchArgs) -> Result<()> {
    if args.json.is_some() && args.json == args.plot {
        return Err(Error::usage("--json and --plot name the same output; give each its own"));
    }
    let table = ![&args.json, &args.plot].iter().any(|path| path.as_deref() == Some(Path::new("-")));
    // Found out before minutes of measuring, not after.
    let options = Options { force: args.force, private: false };
    let open = |path: &Path| Output::open(Some(path), None, options);
    let json = args.json.as_deref().map(open).transpose()?;
    let plot = args.plot.as_deref().map(open).transpose()?;
    let report = match (&args.plot_from, &args.files) {
        (Some(path), _) => Report::read(path)?,
        (None, Some(folder)) => files::measure(args, folder, table)?,
        (None, None) => measure(args, table)?,
    };
    let write = |file: Output, text: &str| {
        file.writer()?.write_all(text.as_bytes()).map_err(|error| file.error(&error))?;
        file.finish()
    };
    if let Some(file) = json {
        write(file, &output::json(&report))?;
    }
    if let Some(file) = plot {
        write(file, &plot::svg(&report)?)?;
    }
    Ok(())
}

/// Measures all that is asked for, and prints it as it comes if there is to be a `table`.
fn measure(args: &BenchArgs, table: bool) -> Result<Report> {
    let say = |text: &str| if table { output::print(text) } else { Ok(()) };
    let (engines, mut skipped) = open(args.backends.as_deref(), args.transfers)?;
    let mut report = Report::new(&engines, args.transfers);
    let sizes = Sizes::new(args, &engines);
    let mut buffers = Buffers::new(sizes.largest())?;
    let gpu = engines.iter().find(|engine| is_gpu(engine));
    if let (Some(gpu), Some(&largest)) = (gpu, sizes.copy.last()) {
        buffers.pin(gpu, largest)?;
    }
    say(&report.heading())?;
    let keys = args.key_bits.iter().map(|&bits| Key::generate(bits)).collect::<std::result::Result<Vec<_>, _>>()?;
    let mut subjects = Vec::new();
    for engine in engines {
        let memory = Memory::new(&engine, &buffers.input, &sizes)?;
        let baked = match memory.is_of_one() && sizes.baked.is_some() {
            true => Baked::new(&engine, &keys, &args.modes, &args.strategies)?,
            false => Ok(Baked::default()),
        };
        let baked = baked.unwrap_or_else(|why| {
            skipped.push(format!("kernels with their key baked in, on {}: {why}", engine.backend()));
            Baked::default()
        });
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
        let copies = if is_gpu { copies(&engine, &sizes, args.runs, &mut buffers)? } else { Vec::new() };
        for copied in &copies {
            say(&copied.row())?;
        }
        subjects.push(Subject { engine, kernels, timings, copies, memory, baked });
    }
    let mut told = 0;
    report.skipped = skipped;

    let reference = Engine::open(Backend::Cpu)?;
    for (index, key) in keys.iter().enumerate() {
        let reference = reference.cipher(key)?;
        for &mode in &args.modes {
            let case = Case { index, key, reference: &reference, mode, runs: args.runs };
            // A shorter input's output is a part of this.
            case.apply(&reference, &buffers.input, &mut buffers.expected)?;
            for subject in &mut subjects {
                let measured = subject.measure(&case, &sizes, &mut buffers, &mut report.skipped)?;
                for what in &report.skipped[told..] {
                    say(&format!("skipped: {what}\n"))?;
                }
                told = report.skipped.len();
                for measured in measured {
                    say(&measured.row())?;
                    report.results.push(measured);
                }
            }
        }
    }
    if args.timings.contains(&Timing::NewKey) {
        for subject in &mut subjects {
            for &bits in &args.key_bits {
                let new_key = subject.new_keys(&reference, bits, &mut buffers)?;
                say(&new_key.row())?;
                report.new_keys.push(new_key);
            }
        }
    }
    report.copies = subjects.into_iter().flat_map(|subject| subject.copies).collect();
    Ok(report)
}

/// Times plain copies in every size.
fn copies(engine: &Engine, sizes: &Sizes, runs: u32, buffers: &mut Buffers) -> Result<Vec<Copied>> {
    let Some(&largest) = sizes.copy.last() else { return Ok(Vec::new()) };
    let mut links = Links::new(engine, largest)?;
    let copied = |&bytes: &usize| Ok(Copied::new(engine, bytes, links.time(bytes, runs, buffers)?));
    sizes.copy.iter().map(copied).collect()
}

/// Whether it is a CUDA GPU, or several: with links, pinned memory, and kernels to choose from.
pub fn is_gpu(engine: &Engine) -> bool {
    engine.backend().is_cuda()
}

/// Whether it is one device, or several, behind CUDA or OpenCL.
pub fn is_device(engine: &Engine) -> bool {
    engine.backend().is_cuda() || engine.backend().is_opencl()
}

/// The engines asked for; or all that open, and why the others do not.
fn open(backends: Option<&[Backend]>, transfers: TransferArgs) -> Result<(Vec<Engine>, Vec<String>)> {
    let open = |backend| Ok(Engine::open(backend)?.with_transfers(transfers.transfers()));
    if let Some(backends) = backends {
        let engines =
            backends.iter().map(|&backend| open(backend)).collect::<std::result::Result<_, runtime::Error>>()?;
        return Ok((engines, Vec::new()));
    }
    let (mut engines, mut skipped) = (Vec::new(), Vec::new());
    let first = [Backend::Cuda { ordinal: 0 }].into_iter().chain(runtime::opencl::first_gpu());
    for backend in first.chain([Backend::Cpu, Backend::CpuBitsliced]) {
        match open(backend) {
            Ok(engine) => engines.push(engine),
            Err(error) => skipped.push(format!("{backend}: {error}")),
        }
    }
    Ok((engines, skipped))
}

/// The sizes that are timed, in bytes and in order.
struct Sizes {
    /// Whole calls on data in host memory.
    host: Vec<usize>,
    /// Between host memory and GPUs.
    copy: Vec<usize>,
    /// In device memory, with the key given at launch.
    device: Vec<usize>,
    /// In device memory, with the key baked in.
    baked: Option<usize>,
}

impl Sizes {
    fn new(args: &BenchArgs, engines: &[Engine]) -> Self {
        let mut sizes = args.sizes.clone();
        sizes.sort_unstable();
        let on_device = args.timings.contains(&Timing::Device) && engines.iter().any(is_device);
        let on_host = args.timings.iter().any(|timing| timing.is_on_host());
        let over_links = on_host || args.timings.contains(&Timing::Copy);
        let sizes_if = |wanted: bool| {
            let fits = |size: &usize| wanted && args.host_largest.is_none_or(|largest| *size <= largest);
            sizes.iter().copied().filter(fits).collect()
        };
        let is_baked = |strategy: &Strategy| *strategy != Strategy::Planes;
        Sizes {
            host: sizes_if(on_host),
            copy: sizes_if(over_links && engines.iter().any(is_gpu)),
            baked: sizes.last().copied().filter(|_| on_device && args.strategies.iter().any(is_baked)),
            device: if on_device && args.strategies.contains(&Strategy::Planes) { sizes } else { Vec::new() },
        }
    }

    fn is_on_device(&self) -> bool {
        !self.device.is_empty() || self.baked.is_some()
    }

    fn largest_on_device(&self) -> usize {
        self.device.last().copied().max(self.baked).unwrap_or(0).max(NEW_KEY_BYTES)
    }

    fn largest(&self) -> usize {
        [&self.host, &self.copy]
            .into_iter()
            .filter_map(|sizes| sizes.last().copied())
            .fold(self.largest_on_device().min(pieces::WHOLE), usize::max)
    }
}

/// Why there is no kernel for a mode, if that is so.
fn none_for(cipher: &Cipher, case: &Case) -> Result<Option<String>> {
    match case.apply(cipher, &[0; 16], &mut [0; 16]) {
        Ok(()) => Ok(None),
        Err(runtime::Error::NoSuchKernel { what }) => Ok(Some(what)),
        Err(error) => Err(error.into()),
    }
}

/// An engine, and what is kept on it from case to case.
struct Subject<'a> {
    engine: Engine,
    /// Which kernels to time with keys given at launch.
    kernels: &'a [KernelName],
    /// How whole calls on data in host memory are timed.
    timings: Vec<Timing>,
    /// What its links give, in every size that they are used with.
    copies: Vec<Copied>,
    memory: Memory,
    baked: Baked,
}

/// Where an engine has data besides host memory.
enum Memory {
    None,
    /// In the memory of a CUDA GPU.
    Cuda(device::Memory),
    /// Spread over several, made for each case.
    Spread,
    /// In the memory of a device behind OpenCL.
    OpenCl(opencl::Memory),
}

impl Memory {
    /// What the sizes need.
    fn new(engine: &Engine, input: &[u8], sizes: &Sizes) -> Result<Self> {
        let bytes = sizes.largest_on_device();
        Ok(match engine.backend() {
            Backend::Cuda { .. } => Self::Cuda(device::Memory::new(engine, input, bytes)?),
            Backend::CudaAll => Self::Spread,
            backend if backend.is_opencl() && sizes.is_on_device() => {
                Self::OpenCl(opencl::Memory::new(engine, input, bytes)?)
            }
            _ => Self::None,
        })
    }

    /// Whether it is that of one device.
    fn is_of_one(&self) -> bool {
        matches!(self, Self::Cuda(_) | Self::OpenCl(_))
    }

    /// The time of each run of a case on so many bytes; none where there is no such memory.
    fn time(
        &mut self,
        case: &Case,
        cipher: &Cipher,
        bytes: usize,
        buffers: &mut Buffers,
    ) -> Result<Option<Vec<Duration>>> {
        match self {
            Self::None => Ok(None),
            Self::Cuda(memory) => case.time_on_device(cipher, bytes, memory, buffers).map(Some),
            Self::Spread => spread::time(case, cipher, bytes, buffers).map(Some),
            Self::OpenCl(memory) => memory.time(case, cipher, bytes, buffers).map(Some),
        }
    }
}

impl Subject<'_> {
    /// Times a case in all sizes; `skipped` learns of kernels that there are none of.
    fn measure(
        &mut self,
        case: &Case,
        sizes: &Sizes,
        buffers: &mut Buffers,
        skipped: &mut Vec<String>,
    ) -> Result<Vec<Measured>> {
        let Subject { engine, kernels, timings, copies, memory, baked } = self;
        let measured = |strategy, kernel, bytes, timing: Timing, times| {
            let copied = copies.iter().find(|copied| timing.is_on_host() && copied.bytes == bytes);
            Measured::new(engine, case.mode, case.key.bits(), strategy, kernel, bytes, timing, times, copied)
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
                let times = case.time_on_host(&cipher, timing, bytes, buffers)?;
                all.push(measured(Strategy::Planes, Some(kernel), bytes, timing, times));
            }
            for &bytes in &sizes.device {
                if let Some(times) = memory.time(case, &cipher, bytes, buffers)? {
                    all.push(measured(Strategy::Planes, Some(kernel), bytes, Timing::Device, times));
                }
            }
        }
        for (bytes, (strategy, cipher)) in sizes.baked.iter().flat_map(|&b| baked.of(case).map(move |c| (b, c))) {
            if let Some(times) = memory.time(case, cipher, bytes, buffers)? {
                all.push(measured(strategy, None, bytes, Timing::Device, times));
            }
        }
        Ok(all)
    }

    /// Times keys that the engine has not seen, with its kernels loaded.
    fn new_keys(&mut self, reference: &Engine, bits: KeyBits, buffers: &mut Buffers) -> Result<NewKey> {
        let Subject { engine, memory, .. } = self;
        let (input, expected) = (&buffers.input[..NEW_KEY_BYTES], &mut buffers.expected[..NEW_KEY_BYTES]);
        let output = &mut buffers.output[..NEW_KEY_BYTES];
        let (mut to_launch, mut to_end) = (Vec::new(), Vec::new());
        for run in 0..=NEW_KEYS {
            let key = Key::generate(bits)?;
            let reference = reference.cipher(&key)?;
            let case = Case { index: 0, key: &key, reference: &reference, mode: BenchMode::Ctr, runs: 1 };
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
