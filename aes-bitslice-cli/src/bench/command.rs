//! What is measured, and in which order.

use std::io::Write as _;
use std::path::Path;

use aes_bitslice_runtime::{Backend, Engine};

use super::case::{Case, Keyed};
use super::chunks::WHOLE;
use super::engines::{is_gpu, open};
use super::host_data::HostData;
use super::keys::keys;
use super::report::Report;
use super::sizes::Sizes;
use super::subject::Subject;
use super::{files, plot};
use crate::args::bench::{BenchArgs, Timing};
use crate::args::engine::KernelName;
use crate::args::size::Size;
use crate::error::{Error, Exit, Result, warn};
use crate::modes::batch::Batches;
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::Lengths;
use crate::output::{self, Options, Output, Target};

/// Measures and reports.
pub fn run(args: &BenchArgs) -> Result<()> {
    let table = ![&args.json, &args.plot].iter().any(|path| path.as_deref() == Some(Path::new("-")));
    // Checked before minutes of measuring, not after.
    let options = Options { force: args.force, private: false };
    let check = |path: &Path| Target::check(Some(path), None, options);
    let json = args.json.as_deref().map(check).transpose()?;
    let plot = args.plot.as_deref().map(check).transpose()?;
    let is_same = |(json, plot): (&Target, &Target)| json.is_same_file(plot);
    if (args.json.is_some() && args.json == args.plot) || json.as_ref().zip(plot.as_ref()).is_some_and(is_same) {
        return Err(Error::usage("--json and --plot name the same output; give each its own"));
    }
    let many = args.sizes.iter().find(|size| size.messages.is_some());
    if let Some(size) = many.filter(|_| args.files.is_some()) {
        return Err(Error::usage(format!("--files has one message in a file, and --sizes has {size}")));
    }
    if args.keys.is_some() && many.is_none() {
        return Err(Error::usage("--keys is for many messages in one call, and --sizes has none, such as 4096x16KiB"));
    }
    if args.plot.is_some() && args.plot_from.is_none() {
        plot::check(args)?;
    }
    if let Some(from) = &args.plot_from
        && plot.as_ref().is_some_and(|plot| plot.is_file(from))
    {
        return Err(Error::usage("--plot would replace what --plot-from reads; give it another name"));
    }
    let source = match &args.plot_from {
        Some(path) => Source::Report(Report::read(path)?),
        None => {
            let (engines, skipped) = open(args.backends.as_deref(), args.transfers)?;
            let skipped = [skipped, without_kernels(args, &engines)].concat();
            Source::Engines(Report { skipped, ..Report::new(&engines, args.transfers) }, engines)
        }
    };
    // After what can end the process: looking for devices loads libraries.
    let json = json.map(Target::open).transpose()?;
    let plot = plot.map(Target::open).transpose()?;
    let report = match (source, &args.files) {
        (Source::Report(report), _) => report,
        (Source::Engines(report, engines), Some(folder)) => files::measure(args, folder, table, engines, report)?,
        (Source::Engines(report, engines), None) => measure(args, table, engines, report)?,
    };
    if args.plot_from.is_none() && report.is_empty() {
        return Err(Error::new(Exit::Failure, format!("nothing was measured: {}", report.skipped.join("; "))));
    }
    let write = |file: Output, text: &str| -> Result<()> {
        file.writer()?.write_all(text.as_bytes()).map_err(|error| file.error(&error))?;
        file.finish()?.show(false);
        Ok(())
    };
    if let Some(file) = json {
        write(file, &output::json(&report))?;
    }
    if let Some(file) = plot {
        write(file, &plot::svg(&report)?)?;
        if report.results.iter().any(|measured| measured.messages.is_some()) {
            warn("the plot leaves out calls on many messages");
        }
    }
    Ok(())
}

/// Where the results come from.
enum Source {
    /// They were measured before.
    Report(Report),
    /// Engines that are measured now, and a report without results.
    Engines(Report, Vec<Engine>),
}

/// What is skipped: `--kernel` on engines that have no kernels to choose from.
fn without_kernels(args: &BenchArgs, engines: &[Engine]) -> Vec<String> {
    let names: Vec<_> = args.kernels.iter().filter(|&&kernel| kernel != KernelName::Auto).collect();
    let names: Vec<_> = names.iter().map(|kernel| kernel.kernels().name()).collect();
    let others = engines.iter().filter(|engine| !is_gpu(engine) && !names.is_empty());
    let skip = |engine: &Engine| {
        format!("--kernel {} on {}: it has no kernels to choose from", names.join(","), engine.backend())
    };
    others.map(skip).collect()
}

/// Why a mode is not measured at a size, if that is so.
fn not_measured(mode: MeasuredMode, size: Size, keys: Option<usize>) -> Option<&'static str> {
    let is_large = size.bytes() > WHOLE;
    match (size.messages, mode.mode.batches) {
        (Some(_), Batches::None) => return Some("it has no calls on many messages"),
        (Some(_), Batches::OneKey(_)) if keys.is_some_and(|keys| keys > 1) => {
            return Some("its messages have one key");
        }
        (Some(count), _) if count > 1 << 24 => return Some("up to 2^24 messages in a call are compared"),
        (Some(_), _) if is_large => return Some("many messages of up to 4 GiB in all are compared"),
        _ => {}
    }
    match mode.mode.lengths {
        Lengths::WholeBlocks | Lengths::Sectors if !size.each.is_multiple_of(16) => {
            Some("whole blocks of 16 bytes are measured")
        }
        _ if mode.about().has_tag && is_large => Some("tags of up to 4 GiB are compared"),
        _ => None,
    }
}

/// Measures all that is requested, and prints it as it comes if `table`.
fn measure(args: &BenchArgs, table: bool, engines: Vec<Engine>, mut report: Report) -> Result<Report> {
    let say = |text: &str| if table { output::print(text) } else { Ok(()) };
    let sizes = Sizes::new(args, &engines);
    let mut data = HostData::new(sizes.largest())?;
    let gpu = engines.iter().find(|engine| is_gpu(engine));
    if let (Some(gpu), Some(&largest)) = (gpu, sizes.copy.last()) {
        data.pin(gpu, largest)?;
    }
    say(&report.heading(args.sector_bytes()))?;
    let (keys, modes) = (keys(args, &mut report.skipped)?, args.modes());
    for (&mode, &size) in modes.iter().flat_map(|mode| sizes.all.iter().map(move |size| (mode, size))) {
        let skip = |why: &str| format!("{} of {size}: {why}", mode.name);
        report.skipped.extend(not_measured(mode, size, args.keys).map(skip));
    }
    let mut subjects = Vec::new();
    for engine in engines {
        let subject = Subject::new(engine, args, &keys, &sizes, &mut data, &mut report.skipped)?;
        for copied in &subject.copies {
            say(&copied.row())?;
        }
        subjects.push(subject);
    }

    let mut told = 0;
    let mut tell = |skipped: &[String]| {
        skipped[told..].iter().try_for_each(|what| say(&format!("skipped: {what}\n")))?;
        told = skipped.len();
        Ok::<_, Error>(())
    };
    tell(&report.skipped)?;
    let reference = Engine::open(Backend::Cpu)?;
    for (index, key) in keys.iter().enumerate() {
        let reference = reference.cipher(key)?;
        for mode in modes.iter().copied().filter(|mode| mode.takes(key)) {
            for &size in sizes.all.iter().filter(|&&size| not_measured(mode, size, args.keys).is_none()) {
                let (sectors, keys, runs) = (args.sectors(), args.keys, args.runs);
                let keyed = Keyed { index, key, reference: &reference, mode, sectors, keys, runs };
                let case = Case::new(keyed, size, &mut data)?;
                for subject in &mut subjects {
                    let measured = subject.measure(&case, &sizes, &mut data, &mut report.skipped)?;
                    tell(&report.skipped)?;
                    for measured in measured {
                        say(&measured.row())?;
                        report.results.push(measured);
                    }
                }
            }
        }
    }
    if args.timings.contains(&Timing::NewKey) {
        for subject in &mut subjects {
            for &bits in &args.key_bits {
                let new_key = subject.new_keys(&reference, bits, &mut data)?;
                say(&new_key.row())?;
                report.new_keys.push(new_key);
            }
        }
    }
    report.copies = subjects.into_iter().flat_map(|subject| subject.copies).collect();
    Ok(report)
}
