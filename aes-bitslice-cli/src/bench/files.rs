//! Whole commands on files, from their start to their end: this program with every backend, `openssl enc` if it is installed, and `cp`,
//! which only copies. Each processes one file, and several of the same total size.
//!
//! The programs take turns, so that what slows the machine for a while slows all. The whole output of each is compared with what the `cpu`
//! engine makes of the input, before its runs are timed and after the last.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use aes_bitslice_runtime::{Backend, Buffers, Cipher, Direction, Engine, Key};

use super::cores::first_difference;
use super::engines::is_gpu;
use super::keys::keys;
use super::random;
use super::report::{FileRates, Rates, Report};
use super::start::IV;
use crate::args::bench::BenchArgs;
use crate::args::engine::KernelName;
use crate::error::{Error, Exit, Result};
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::{Place, Sectors};
use crate::modes::table::ALL;
use crate::output;
use crate::scratch::{self, ScratchFolder};

/// How many files are processed together.
const MANY: usize = 16;

/// Bytes that are read and compared at a time.
const CHUNK: usize = 32 << 20;

/// The variable from which this program takes the key.
const KEY_VARIABLE: &str = "AES_BITSLICE_BENCH_KEY";

/// Measures `engines` in a folder below `folder`, which is removed again, completes `report`, and prints a table if `table`.
pub fn measure(
    args: &BenchArgs,
    folder: &Path,
    table: bool,
    engines: Vec<Engine>,
    mut report: Report,
) -> Result<Report> {
    let say = |text: &str| if table { output::print(text) } else { Ok(()) };
    let mut programs = Vec::new();
    for engine in engines {
        let kernels = if is_gpu(&engine) { args.kernels.as_slice() } else { &[KernelName::Auto] };
        let gpu = is_gpu(&engine);
        programs.extend(kernels.iter().map(|&kernel| Program::Ours { backend: engine.backend(), kernel, gpu }));
    }
    for other in [Program::OpenSsl, Program::Copy] {
        if other.is_there() {
            programs.push(other)
        } else {
            report.skipped.push(format!("{}: there is no such program on the PATH", other.name()))
        }
    }
    let (modes, others): (Vec<MeasuredMode>, Vec<_>) =
        args.modes().into_iter().partition(|mode| ALL.contains(&mode.mode));
    for mode in others {
        report.skipped.push(format!("{}: no mode of `encrypt` and `decrypt`", mode.name));
    }
    for mode in modes.iter().filter(|&&mode| programs.iter().any(|program| !program.does(mode))) {
        report.skipped.push(format!("{} by openssl: `openssl enc` does not have it", mode.name));
    }
    let keys = keys(args, &mut report.skipped)?;
    if !folder.is_dir() {
        let what = format!("`{}` is not a folder; make it first", folder.display());
        return Err(Error::new(Exit::InputOutput, what));
    }
    let scratch = ScratchFolder::create(folder).map_err(|error| {
        let what = format!("no folder can be made in `{}`: {}", folder.display(), scratch::reason(&error));
        Error::new(Exit::InputOutput, what)
    })?;
    let reference = Engine::open(Backend::Cpu)?;
    say(&report.heading(args.sector_bytes()))?;
    for what in &report.skipped {
        say(&format!("skipped: {what}\n"))?;
    }
    for bytes in args.sizes.iter().map(|size| size.each) {
        for files in [1, MANY] {
            if !bytes.is_multiple_of(16 * files) {
                let what = format!("{bytes} bytes in {files} files: none of them would be whole blocks");
                say(&format!("skipped: {what}\n"))?;
                report.skipped.push(what);
                continue;
            }
            let job = Job::create(scratch.path(), files, bytes)?;
            for key in &keys {
                let cipher = reference.cipher(key)?;
                for &mode in modes.iter().filter(|mode| mode.takes(key)) {
                    let programs: Vec<_> = programs.iter().filter(|program| program.does(mode)).collect();
                    let case = Case { job: &job, mode, sectors: args.sectors(), key, cipher: &cipher };
                    for (program, times) in programs.iter().zip(case.time(&programs, args.runs)?) {
                        let row = FileRates {
                            mode: mode.name.into(),
                            key_bits: key.bits().bits(),
                            sector_bytes: mode.has_sectors().then_some(case.sectors.bytes),
                            files,
                            bytes,
                            program: program.name(),
                            kernel: program.kernel(),
                            rates: Rates::new(bytes, times),
                        };
                        say(&row.row())?;
                        report.files.push(row);
                    }
                }
            }
            job.remove()?;
        }
    }
    Ok(report)
}

/// A timed program.
enum Program {
    Ours { backend: Backend, kernel: KernelName, gpu: bool },
    OpenSsl,
    Copy,
}

/// Files to read, and a folder to write files of the same names to.
struct Job {
    inputs: Vec<PathBuf>,
    folder: PathBuf,
}

/// A computation.
struct Case<'a> {
    job: &'a Job,
    mode: MeasuredMode,
    sectors: Sectors,
    key: &'a Key,
    /// The key on the engine to compare with.
    cipher: &'a Cipher,
}

impl Program {
    fn name(&self) -> String {
        match self {
            Self::Ours { backend, .. } => backend.to_string(),
            Self::OpenSsl => "openssl".into(),
            Self::Copy => "cp".into(),
        }
    }

    fn kernel(&self) -> Option<String> {
        match self {
            Self::Ours { kernel, gpu: true, .. } => Some(kernel.kernels().to_string()),
            _ => None,
        }
    }

    /// Whether it has a mode: `openssl enc` has no XTS.
    fn does(&self, mode: MeasuredMode) -> bool {
        !matches!(self, Self::OpenSsl) || !mode.has_sectors()
    }

    fn is_there(&self) -> bool {
        let asked = Command::new(self.name()).arg("--help").stdin(Stdio::null()).output();
        !asked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }
}

impl Job {
    /// Writes `files` files with `bytes` random bytes in total.
    fn create(scratch: &Path, files: usize, bytes: usize) -> Result<Self> {
        let (from, folder) = (scratch.join("in"), scratch.join("out"));
        for folder in [&from, &folder] {
            fs::create_dir(folder).map_err(cannot("make", folder))?;
        }
        let inputs: Vec<_> = (0..files).map(|file| from.join(format!("{file:02}"))).collect();
        let cipher = random::cipher(&Engine::open(Backend::Cpu)?)?;
        let (each, mut offset) = (bytes / files, 0);
        for input in &inputs {
            let mut file = File::create(input).map_err(cannot("write", input))?;
            let mut left = each;
            while left > 0 {
                let mut chunk = vec![0; left.min(CHUNK)];
                cipher.run(random::operation(offset), &mut chunk)?;
                file.write_all(&chunk).map_err(cannot("write", input))?;
                (left, offset) = (left - chunk.len(), offset + chunk.len() as u64);
            }
        }
        Ok(Job { inputs, folder })
    }

    /// Where the output of an input goes.
    fn output(&self, input: &Path) -> PathBuf {
        self.folder.join(input.file_name().unwrap_or_default())
    }

    /// Removes what was written.
    fn clear(&self) -> Result<()> {
        for output in self.inputs.iter().map(|input| self.output(input)).filter(|output| output.exists()) {
            fs::remove_file(&output).map_err(cannot("remove", &output))?;
        }
        Ok(())
    }

    /// Removes everything.
    fn remove(self) -> Result<()> {
        let from = self.inputs.first().and_then(|input| input.parent());
        for folder in from.into_iter().chain([&*self.folder]) {
            fs::remove_dir_all(folder).map_err(cannot("remove", folder))?;
        }
        Ok(())
    }
}

impl Case<'_> {
    /// The times of each program's runs, whose output was right.
    fn time(&self, programs: &[&Program], runs: u32) -> Result<Vec<Vec<Duration>>> {
        let mut times = vec![Vec::new(); programs.len()];
        for run in 0..=runs {
            for (program, times) in programs.iter().zip(&mut times) {
                let mut commands = self.commands(program)?;
                let start = Instant::now();
                commands.iter_mut().try_for_each(execute)?;
                let time = start.elapsed();
                // The first run is only checked.
                if run > 0 {
                    times.push(time);
                }
                if run == 0 || run == runs {
                    self.job.inputs.iter().try_for_each(|input| self.check(program, input))?;
                }
                self.job.clear()?;
            }
        }
        Ok(times)
    }

    /// The commands that a user would run, one after the other.
    fn commands(&self, program: &Program) -> Result<Vec<Command>> {
        let Job { inputs, folder } = self.job;
        let (direction, mode) = (self.mode.direction, self.mode.mode.name);
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let has_iv = self.mode.mode.iv;
        Ok(match program {
            Program::Ours { backend, kernel, gpu } => {
                let this = std::env::current_exe().map_err(|error| Error::io("cannot find this program", &error))?;
                let mut command = Command::new(this);
                command.arg(if direction == Direction::Encrypt { "encrypt" } else { "decrypt" });
                command.args(["--quiet", "--mode", mode, "--key-env", KEY_VARIABLE]);
                command.env(KEY_VARIABLE, hex(self.key.expose()));
                command.args(["--backend", &backend.to_string()]);
                if *gpu {
                    command.args(["--kernel", &kernel.kernels().to_string()]);
                }
                if self.mode.has_sectors() {
                    command.args(["--sector-size", &self.sectors.bytes.to_string()]);
                }
                if has_iv {
                    command.args(["--iv", &if self.stores_iv(program) { "random".into() } else { hex(&IV) }]);
                }
                match &inputs[..] {
                    [input] => command.arg("-o").arg(self.job.output(input)).arg(input),
                    inputs => command.arg("--out-dir").arg(folder).args(inputs),
                };
                vec![command]
            }
            Program::OpenSsl => {
                let command = |input: &PathBuf| {
                    let mut command = Command::new("openssl");
                    command.args(["enc", &format!("-aes-{}-{mode}", self.key.bits().bits())]);
                    command.args([if direction == Direction::Encrypt { "-e" } else { "-d" }, "-nopad"]);
                    command.args(["-K", &hex(self.key.expose())]);
                    if has_iv {
                        command.args(["-iv", &hex(&IV)]);
                    }
                    command.arg("-in").arg(input).arg("-out").arg(self.job.output(input));
                    command
                };
                inputs.iter().map(command).collect()
            }
            Program::Copy => {
                let mut command = Command::new("cp");
                command.args(inputs).arg(folder);
                vec![command]
            }
        })
    }

    /// Whether the output begins with its own IV: several files are never encrypted with one IV.
    fn stores_iv(&self, program: &Program) -> bool {
        let encrypts_with_iv = self.mode.mode.iv && self.mode.direction == Direction::Encrypt;
        matches!(program, Program::Ours { .. }) && encrypts_with_iv && self.job.inputs.len() > 1
    }

    /// An error if a program's output for a file is wrong.
    fn check(&self, program: &Program, input: &Path) -> Result<()> {
        let output = self.job.output(input);
        let open = |path: &Path| File::open(path).map_err(cannot("read", path));
        let (mut source, mut target) = (open(input)?, open(&output)?);
        // Whole sectors, which have at most 16 MiB.
        let chunk_bytes = CHUNK as u64 / self.sectors.bytes * self.sectors.bytes;
        let read = |file: &mut File, path: &Path, chunk: &mut Vec<u8>| {
            chunk.clear();
            file.take(chunk_bytes).read_to_end(chunk).map_err(cannot("read", path))
        };
        let mut iv = IV;
        if self.stores_iv(program) {
            target.read_exact(&mut iv).map_err(cannot("read", &output))?;
        }
        let mut place = Place { sectors: self.sectors, ..Place::start(iv) };
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        let last_block = |data: &[u8]| data.last_chunk().copied().unwrap_or_default();
        loop {
            read(&mut source, input, &mut expected)?;
            read(&mut target, &output, &mut found)?;
            let last_read = last_block(&expected);
            if !matches!(program, Program::Copy) {
                self.mode.operation(&place).on_host(self.cipher, Buffers::from(&mut expected))?;
            }
            let common = expected.len().min(found.len());
            let difference = first_difference(&expected[..common], &found[..common]);
            let difference = difference.or((expected.len() != found.len()).then_some(common));
            if let Some(at) = difference {
                let (program, mode, bits) = (program.name(), self.mode.name, self.key.bits().bits());
                let at = place.offset + at as u64;
                let what = format!(
                    "{program} does {mode} with a key of {bits} bits wrongly: \
                     byte {at} of a file is the first to differ from `cpu`; do not use it"
                );
                return Err(Error::new(Exit::Failure, what));
            }
            if expected.is_empty() {
                return Ok(());
            }
            place.offset += expected.len() as u64;
            place.before = match self.mode.direction {
                Direction::Encrypt => last_block(&expected),
                Direction::Decrypt => last_read,
            };
        }
    }
}

/// Runs a command to its end.
fn execute(command: &mut Command) -> Result<()> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().display().to_string();
    let ended = command.stdin(Stdio::null()).output();
    let ended = ended.map_err(|error| Error::new(Exit::Failure, format!("cannot start `{name}`: {error}")))?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(Error::new(Exit::Failure, format!("`{name}` failed ({}): {}", ended.status, said.trim())))
}

fn cannot(what: &str, path: &Path) -> impl Fn(io::Error) -> Error {
    let what = format!("cannot {what} `{}`", path.display());
    move |error| Error::io(&what, &error)
}
