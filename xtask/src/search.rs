//! `search`: fewer gates. Results are kept in a file to continue from, here or on another machine, and written into the
//! generator's circuit files on demand.

use crate::files;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::basis::Basis;
use aes_bitslice_gen::search::{BestNetlists, Goal, Options, Search, Target};
use anyhow::{Context, Result, bail};
use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the best netlists are saved, and a line is printed if standard error is not a terminal.
const PERIOD: Duration = Duration::from_secs(15);

/// Options of `search`.
#[derive(clap::Args)]
pub struct Args {
    /// What to search for (may be given more than once; everything if not given): basis and inverse-basis are all
    /// layers in the best basis
    #[arg(long, value_name = "NAME", value_parser = goal)]
    target: Vec<Goal>,
    /// How long to search, in seconds
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// The seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads; one per core if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// The file to resume from, which keeps the best netlists
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Write improvements into the generator's circuit files
    #[arg(long)]
    write: bool,
}

fn goal(name: &str) -> Result<Goal, String> {
    let names = || Goal::ALL.map(|g| g.name()).join(", ");
    Goal::ALL.into_iter().find(|g| g.name() == name).ok_or_else(|| format!("the targets are {}", names()))
}

/// Searches, and prints what is known at the end.
pub fn run(root: &Path, args: &Args) -> Result<()> {
    let mut best = BestNetlists::stored();
    if let Some(path) = &args.state {
        match std::fs::read_to_string(path) {
            Ok(text) => best.merge_text(&text).with_context(|| format!("cannot go on from `{}`", path.display()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
        }
    }
    if args.seconds > 0 {
        best = search(args, best)?;
    }
    table(&best);
    if args.write {
        write(root, &best)?;
    }
    Ok(())
}

fn search(args: &Args, best: BestNetlists) -> Result<BestNetlists> {
    let threads = match args.threads {
        Some(n) => n.into(),
        None => std::thread::available_parallelism().map_or(1, Into::into),
    };
    let goals = if args.target.is_empty() { Goal::ALL.to_vec() } else { args.target.clone() };
    let time = Duration::from_secs(args.seconds);
    let search = Search::new(Options { seed: args.seed, threads, time, walks: u64::MAX, goals }, best);
    // Better to find out now than when there is something to lose.
    save(args, &search.best_netlists())?;
    let mut saved = Instant::now();
    search.run(|search| {
        let due = saved.elapsed() >= PERIOD;
        if due {
            saved = Instant::now();
            if let Err(error) = save(args, &search.best_netlists()) {
                eprintln!("not saved, going on: {error:#}");
            }
        }
        progress(search, due);
    });
    if std::io::stderr().is_terminal() {
        eprintln!();
    }
    let best = search.best_netlists();
    save(args, &best)?;
    Ok(best)
}

/// One line: for each direction the S-box, MixColumns without and with a key, then the same in the best basis.
fn progress(search: &Search, due: bool) {
    let terminal = std::io::stderr().is_terminal();
    if !terminal && !due {
        return;
    }
    let (best, progress) = (search.best_netlists(), search.progress());
    let gates = |target: &Target| best.get(target).map_or("?".into(), |n| n.gates().to_string());
    let side = |direction| {
        let standard = Target::standard(direction).map(|t| gates(&t)).join("+");
        let bases = best.bases(direction);
        let best = bases.first().map_or_else(String::new, |(cost, basis)| {
            let [between, .., key] = Target::family(direction, *basis).map(|t| gates(&t));
            format!(
                ", in Q {between}+{key} ({cost}; {} bases), placed {}",
                bases.len(),
                gates(&Target::placed_key(direction))
            )
        });
        format!("{standard}{best}")
    };
    let seconds = progress.time.as_secs_f64();
    let line = format!(
        "{seconds:.0} s: {} | inverse {} | {:.2e} steps/s",
        side(Direction::Encrypt),
        side(Direction::Decrypt),
        progress.steps as f64 / seconds
    );
    if terminal {
        eprint!("\r{line}\x1b[K");
    } else {
        eprintln!("{line}");
    }
}

fn save(args: &Args, best: &BestNetlists) -> Result<()> {
    let Some(path) = &args.state else { return Ok(()) };
    let name = path.file_name().and_then(|n| n.to_str());
    let Some(name) = name else { bail!("--state: `{}` is no name of a file", path.display()) };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    files::write_all(folder, &[(name, best.to_text().as_bytes())], false)
}

fn table(best: &BestNetlists) {
    let row = |what: &str, target: &Target| {
        if let Some(netlist) = best.get(target) {
            say!("{:28} {:20} {:4}  {}", target.title(), what, netlist.gates(), netlist.found_by);
        }
    };
    for direction in [Direction::Encrypt, Direction::Decrypt] {
        Target::standard(direction).iter().for_each(|target| row("", target));
        row("in Q as stored", &Target::placed_key(direction));
        let bases = best.bases(direction);
        if let Some((_, basis)) = bases.first() {
            for target in Target::family(direction, *basis) {
                let word = |basis| if basis == Basis::STANDARD { "standard" } else { "Q" };
                row(&format!("{} to {}", word(target.from), word(target.to)), &target);
            }
            say!("Q = {basis}, the best of {}", bases.len());
        }
    }
}

/// Writes improvements into the generator's circuit files.
fn write(root: &Path, best: &BestNetlists) -> Result<()> {
    let source = root.join("aes-bitslice-gen/src");
    if !source.is_dir() {
        bail!("--write: there is no generator at `{}`; run it in the project, with the same --state", source.display());
    }
    let better = best.better_than_stored();
    for folder in ["sbox/circuits", "linear/circuits"] {
        let texts: Vec<(String, String)> = better
            .iter()
            .map(|(target, netlist)| (target.file(), netlist.to_string()))
            .filter(|((of, _), _)| *of == folder)
            .map(|((_, name), text)| (name, text))
            .collect();
        let texts: Vec<(&str, &[u8])> = texts.iter().map(|(n, t)| (n.as_str(), t.as_bytes())).collect();
        if !texts.is_empty() {
            files::write_all(&source.join(folder), &texts, false)?;
        }
        texts.iter().for_each(|(name, _)| say!("wrote {folder}/{name}"));
    }
    if better.is_empty() {
        say!("nothing is better than the generator's circuits: no file is changed");
    }
    Ok(())
}
