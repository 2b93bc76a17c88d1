//! What is measured, and in which order.

use std::io::Write as _;
use std::path::Path;

use aes_bitslice_runtime::{Backend, Engine, Key};

use super::case::Case;
use super::engines::{is_gpu, open};
use super::host_data::HostData;
use super::report::Report;
use super::sizes::Sizes;
use super::subject::Subject;
use super::{files, plot};
use crate::args::bench::{BenchArgs, Timing};
use crate::error::{Error, Result};
use crate::output::{self, Options, Output};

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
    let (engines, skipped) = open(args.backends.as_deref(), args.transfers)?;
    let mut report = Report { skipped, ..Report::new(&engines, args.transfers) };
    let sizes = Sizes::new(args, &engines);
    let mut data = HostData::new(sizes.largest())?;
    let gpu = engines.iter().find(|engine| is_gpu(engine));
    if let (Some(gpu), Some(&largest)) = (gpu, sizes.copy.last()) {
        data.pin(gpu, largest)?;
    }
    say(&report.heading())?;
    let keys = args.key_bits.iter().map(|&bits| Key::generate(bits)).collect::<std::result::Result<Vec<_>, _>>()?;
    let mut subjects = Vec::new();
    for engine in engines {
        let subject = Subject::new(engine, args, &keys, &sizes, &mut data, &mut report.skipped)?;
        for copied in &subject.copies {
            say(&copied.row())?;
        }
        subjects.push(subject);
    }

    let mut told = 0;
    let reference = Engine::open(Backend::Cpu)?;
    for (index, key) in keys.iter().enumerate() {
        let reference = reference.cipher(key)?;
        for &mode in &args.modes {
            let case = Case { index, key, reference: &reference, mode, runs: args.runs };
            // A shorter input's output is the front of this.
            case.apply(&reference, &data.input, &mut data.expected)?;
            for subject in &mut subjects {
                let measured = subject.measure(&case, &sizes, &mut data, &mut report.skipped)?;
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
                let new_key = subject.new_keys(&reference, bits, &mut data)?;
                say(&new_key.row())?;
                report.new_keys.push(new_key);
            }
        }
    }
    report.copies = subjects.into_iter().flat_map(|subject| subject.copies).collect();
    Ok(report)
}
