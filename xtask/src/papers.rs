//! The papers' tables on the GPU of this machine, measured and rendered by a separate program: it needs the runtime, which
//! nothing here depends on.

use crate::bundle;
use crate::cargo::{Cargo, Profile};
use crate::sass::{self, Sass};
use crate::scratch::Folder;
use aes_bitslice_analysis::sass::Disassembler;
use aes_bitslice_nvrtc::{self as nvrtc, Target};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// The package, and its program.
const PACKAGE: &str = bundle::PAPERS;
/// The program's exit code if it has done its work, but cases failed or files are stale.
const WITH_GAPS: i32 = 3;

#[derive(clap::Args)]
pub struct Args {
    /// Measure this paper only, and keep the others' figures in docs; may be given several times
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from", "check"])]
    paper: Vec<String>,
    /// Render these figures into docs, and measure nothing; needs no GPU
    #[arg(long, value_name = "JSON", conflicts_with = "quick")]
    from: Option<PathBuf>,
    /// Change nothing; fail if docs/papers.md is not what its figures render to
    #[arg(long, conflicts_with_all = ["from", "quick", "price"])]
    check: bool,
    /// Count the instructions of the main paper's kernel into the papers' package, and measure nothing; needs NVRTC and nvdisasm
    #[arg(long, conflicts_with_all = ["from", "check", "quick", "paper", "price"])]
    count: bool,
    /// One run of each case, none with more than 1 MiB, into the target folder: to see whether everything works
    #[arg(long)]
    quick: bool,
    /// The price of the GPU in dollars, for throughput for a dollar
    #[arg(long, requires = "price_source")]
    price: Option<f64>,
    /// Who names the price, and the date of the page or report that does
    #[arg(long, value_name = "TEXT", requires = "price")]
    price_source: Option<String>,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let cargo = Cargo::new(root);
    let program = cargo.program(PACKAGE, PACKAGE, Profile::Release)?;
    let docs = root.join("docs");
    let price = match (args.price, &args.price_source) {
        (Some(dollars), Some(source)) => {
            vec!["--price".into(), dollars.to_string(), "--price-source".into(), source.clone()]
        }
        _ => vec![],
    };
    let render = |from: &Path, docs: &Path, options: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("render").arg("--from").arg(from).arg("--docs").arg(docs).args(options);
        if args.from.is_some() {
            command.args(&price);
        }
        finish(command)
    };
    if args.count {
        return count(root, &program);
    }
    if args.check {
        return if render(&docs.join("papers.json"), &docs, &["--check"])? { Ok(()) } else { exit(1) };
    }
    if let Some(from) = &args.from {
        return render(from, &docs, &[]).map(|_| ());
    }
    let folder = cargo.target.join("papers");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    let measured = folder.join("papers.json");
    let mut command = Command::new(&program);
    command.arg("measure").arg("--out").arg(&measured).args(args.quick.then_some("--quick"));
    command.args(["--commit", bundle::commit(root)?.trim()]);
    for paper in &args.paper {
        command.args(["--paper", paper]);
    }
    command.args(&price);
    let whole = finish(command)?;
    render(&measured, if args.quick { &folder } else { &docs }, &[])?;
    if !whole {
        // The program has said why.
        exit(1);
    }
    Ok(())
}

/// The architectures that instructions are counted for: the oldest that NVRTC has, which is the nearest to a V100, and that of an H200.
const COUNTED: [u32; 2] = [75, 90];

/// Counts the kernels that the program prints: by architecture and kernel, all instructions, those of the loop of rounds, and registers.
fn count(root: &Path, program: &Path) -> Result<()> {
    let folder = Folder::create(&std::env::temp_dir(), "aes-bitslice-count-")?;
    let mut command = Command::new(program);
    command.arg("print").arg(&folder.path);
    finish(command)?;
    let disassembler = Disassembler::find()?;
    let mut counts: BTreeMap<String, BTreeMap<String, [u32; 3]>> = BTreeMap::new();
    for file in fs::read_dir(&folder.path)? {
        let file = file?.path();
        // The folder has a file of its own, too.
        if file.extension().is_none_or(|extension| extension != "cu") {
            continue;
        }
        let name = file.file_stem().and_then(|name| name.to_str()).context("a name")?;
        for arch in COUNTED {
            let target = Target::Cubin(arch);
            let compiled = nvrtc::compile(name, &fs::read_to_string(&file)?, target)?;
            let listing = disassembler.list(&compiled.image)?;
            // For whole blocks: the name of the other entry point has an ending more.
            let length = |(entry, _): &(String, Sass)| entry.len();
            let all = sass::count(&listing);
            let (entry, sass) = all.into_iter().min_by_key(length).context("an entry point")?;
            let reported = compiled.entries.iter().find(|report| report.name == entry).context("its registers")?;
            let rounds = sass.hot_loop.with_context(|| format!("{name} has no loop"))?.total;
            counts.entry(target.name()).or_default().insert(name.into(), [sass.all.total, rounds, reported.registers]);
        }
    }
    let text = serde_json::to_string_pretty(&counts)? + "\n";
    fs::write(root.join("lab/papers/instructions.json"), text).context("cannot write the counts")
}

/// Runs the program and returns whether it left no gaps. If it fails it has said why, and there is nothing to add.
fn finish(mut command: Command) -> Result<bool> {
    let status = command.status().with_context(|| format!("cannot run {PACKAGE}"))?;
    match status.code() {
        Some(0) => Ok(true),
        Some(WITH_GAPS) => Ok(false),
        _ => exit(1),
    }
}
