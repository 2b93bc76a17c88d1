//! A printed kernel as a program for the CPU.
//!
//! Kernel and program reach the compiler through a pipe, and the executable is deleted as soon as it runs: the program then answers
//! launches on its standard input until that closes. The compiler's output is kept in memory where Linux has an in-memory file system that
//! allows execution (`/dev/shm`), so that a baked key is never written to disk. Elsewhere it is in the temporary folder until then, and
//! deletion does not overwrite it. For termination by a signal, see [`super::abandon`]; a killed process's files are deleted by the next
//! process that checks a kernel.

use super::calls::Calls;
use super::error::CheckError;
use super::launch::{Access, Launch};
use super::unfinished::Unfinished;
use aes_bitslice_core::grid::Grid;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::layout::{MAX_ROUNDS, PLANES};
use aes_bitslice_core::manifest::{Cipher, Manifest};
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use zeroize::Zeroizing;

const PROGRAM: &str = include_str!("program.h");
/// The code that all programs around kernels share.
pub(super) const THREADS: &str = include_str!("threads.h");
/// Options of every compilation, before its own.
pub(super) const OPTIONS: [&str; 2] = ["-std=c11", "-pipe"];
/// The number of lines of compiler messages that are passed on: the first error is the one that counts.
const LOG_LINES: usize = 12;

/// A printed kernel, compiled for the CPU and running.
#[derive(Debug)]
pub struct CompiledC {
    kernel: String,
    threads: u32,
    tile_blocks: u32,
    grid: Grid,
    keys: KeySource,
    calls: Calls,
    process: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
}

impl CompiledC {
    /// Compiles with the C compiler named by the environment variable `CC`, or else `cc`, `gcc` or `clang`. Returns `None` if none of these
    /// exists.
    pub fn compile(source: &str, manifest: &Manifest) -> Result<Option<Self>, CheckError> {
        let kernel = manifest.kernel.clone();
        let unknown = |parameter| CheckError::Parameter { kernel: kernel.clone(), parameter };
        let calls = Calls::new(manifest).map_err(unknown)?;
        let text_of_calls = calls.text(manifest);
        let parts = [source, "\n", THREADS, PROGRAM, &text_of_calls];
        let Some(mut process) = start_program(&kernel, manifest.secret, &parts)? else { return Ok(None) };
        let requests = process.stdin.take();
        let answers = process.stdout.take().expect("piped");
        let (threads, &Cipher { tile_blocks, grid, keys, .. }) = (manifest.threads, &manifest.function);
        Ok(Some(Self { kernel, threads, tile_blocks, grid, keys, calls, process, requests, answers }))
    }

    /// Whether the output may replace the input; false if there is only one of them.
    pub fn can_be_in_place(&self) -> bool {
        self.calls.reads && self.calls.writes
    }

    /// Whether the entry point for any alignment takes any number of bytes, from anywhere in a block of key stream.
    pub fn takes_any_length(&self) -> bool {
        self.calls.any_length
    }

    /// Runs all threads of a grid that covers the data, thread block by thread block, and returns the output: empty for a kernel that only
    /// reads. The threads of a block take turns: each runs until it reaches a barrier or a shuffle.
    ///
    /// Checks that the bytes around the output are unchanged, and the input too unless the launch is in place.
    pub fn run(&mut self, launch: &Launch<'_>) -> Result<Vec<u8>, CheckError> {
        self.validate(launch).map_err(|what| CheckError::Launch { kernel: self.kernel.clone(), what })?;
        let (by_bytes, input, output) = match launch.access {
            Access::Aligned => (0, 0, 0),
            Access::Bytes { input, output } => (1, input as u64, output as u64),
        };
        let length = launch.data.len() as u64;
        let (reads, writes) = (self.calls.reads, self.calls.writes);
        let tiles = launch.blocks().div_ceil(self.tile_blocks.into());
        let thread_blocks = tiles.div_ceil(launch.tiles as u64).max(1);
        // Chaining is by shares of thread blocks or of warps: the bytes of data in each; the last share may have less.
        let (threads, shares) = match self.grid {
            Grid::Warps { .. } => {
                let warps = (launch.warps as u64).min((self.threads / 32).into());
                (32 * warps, warps * thread_blocks)
            }
            _ => (self.threads.into(), thread_blocks),
        };
        let share = 16 * u64::from(self.tile_blocks) * tiles.div_ceil(shares);
        let numbers = [
            by_bytes,
            u64::from(launch.in_place),
            input,
            output,
            if reads { length } else { 0 },
            if writes { length } else { 0 },
            thread_blocks,
            threads,
            shares,
            share,
            u64::from(self.calls.chained),
        ];
        let values = self.calls.values(launch);
        let data = if reads { launch.data } else { &[] };
        let mut request = Zeroizing::new(Vec::with_capacity(8 * numbers.len() + values.len() + data.len()));
        request.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        request.extend(&*values);
        request.extend(data);
        let requests = self.requests.as_mut().expect("open until dropped");
        requests.write_all(&request)?;
        requests.flush()?;
        let mut verdict = [0];
        self.answers.read_exact(&mut verdict)?;
        let mut output = vec![0; if writes { launch.data.len() } else { 0 }];
        self.answers.read_exact(&mut output)?;
        match verdict {
            [0] => Ok(output),
            [2] => Err(CheckError::Stuck { kernel: self.kernel.clone(), launch: launch.to_string() }),
            _ => Err(CheckError::OutOfBounds { kernel: self.kernel.clone(), launch: launch.to_string() }),
        }
    }

    fn validate(&self, launch: &Launch<'_>) -> Result<(), &'static str> {
        let any_length = launch.access != Access::Aligned && self.calls.any_length;
        if let Access::Bytes { input, output } = launch.access
            && (input >= 16 || output >= 16)
        {
            return Err("an offset is below 16");
        }
        if launch.skip >= 16 || (launch.skip != 0 && !any_length) {
            return Err("skip is for key stream by bytes, and below 16");
        }
        if launch.tweaks.is_some() != self.calls.has_tweaks {
            return Err("tweaks are for modes that have them");
        }
        let shares_bytes = self.calls.has_tweaks && launch.access != Access::Aligned && launch.data.len() > 16;
        if !any_length && !shares_bytes && !launch.data.len().is_multiple_of(16) {
            return Err("the data is not whole blocks");
        }
        if launch.tiles == 0 || (launch.tiles > 1 && self.grid == Grid::Covers) {
            return Err("a thread block has one tile");
        }
        if launch.warps == 0 {
            return Err("a thread block has a warp");
        }
        if launch.in_place && !self.can_be_in_place() {
            return Err("it does not both read and write");
        }
        let words = launch.key.len();
        match self.keys {
            KeySource::Memory | KeySource::ScheduleInMemory => {
                if words.is_multiple_of(PLANES) && (3..=MAX_ROUNDS + 1).contains(&(words / PLANES)) {
                    Ok(())
                } else {
                    Err("it takes the planes of 3 to 15 round keys, or as many words")
                }
            }
            KeySource::Baked if words > 0 => Err("its key is baked in"),
            keys if words != keys.argument_words().unwrap_or(0) => Err("its key has another number of words"),
            _ => Ok(()),
        }
    }
}

impl Drop for CompiledC {
    fn drop(&mut self) {
        // The program ends when its standard input does.
        drop(self.requests.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// [Compiles](compile) a text, and starts the program.
pub(super) fn start_program(kernel: &str, secret: bool, parts: &[&str]) -> Result<Option<Child>, CheckError> {
    // Without optimisation: compiling takes most of the time of a check, and the code runs only briefly.
    let Some((folder, executable)) = compile(kernel, secret, parts, &["-O0"])? else { return Ok(None) };
    let process = Command::new(&executable).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    drop(folder);
    Ok(Some(process))
}

/// Compiles a text with the C compiler named by the environment variable `CC`, or else `cc`, `gcc` or `clang`. Returns the path of the
/// result, in a folder that is deleted on drop, or `None` if none of these exists. `secret` says whether the text holds a key.
pub(super) fn compile(
    kernel: &str,
    secret: bool,
    parts: &[&str],
    options: &[&str],
) -> Result<Option<(Unfinished, PathBuf)>, CheckError> {
    let folder = Unfinished::new()?;
    let result = folder.path().join("kernel");
    let started = start_compiler(&folder, |command| {
        command.args(OPTIONS).args(options).args(["-x", "c", "-", "-o"]).arg(&result);
        // Compilers put the files for the assembler and the linker here.
        command.env("TMPDIR", folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    })?;
    let Some((compiler, mut process)) = started else { return Ok(None) };
    // Allocated in full up front: growing would leave copies behind.
    let mut text = Zeroizing::new(String::with_capacity(parts.iter().map(|part| part.len()).sum()));
    text.extend(parts.iter().copied());
    let mut stdin = process.stdin.take().expect("piped");
    // A compiler that gave up early reports more than the broken pipe does.
    let _ = stdin.write_all(text.as_bytes());
    drop(stdin);
    let output = process.wait_with_output()?;
    folder.ended();
    if !output.status.success() {
        let log = if secret {
            "(its messages are withheld: they may quote the source, which holds the key)".into()
        } else {
            String::from_utf8_lossy(&output.stderr).lines().take(LOG_LINES).collect::<Vec<_>>().join("\n")
        };
        return Err(CheckError::Rejected { kernel: kernel.into(), compiler, log });
    }
    Ok(Some((folder, result)))
}

/// Whether there is a working C compiler: the one named by the environment variable `CC`, or else `cc`, `gcc` or `clang`.
pub fn has_compiler() -> bool {
    compiler().is_ok_and(|compiler| compiler.is_some())
}

/// The C compiler that [`compile`] uses: its name, with the options of `CC`, and the version it reports. `None` if no compiler reports one.
pub(super) fn compiler() -> Result<Option<String>, CheckError> {
    let folder = Unfinished::new()?;
    let started = start_compiler(&folder, |command| {
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    })?;
    let Some((name, process)) = started else { return Ok(None) };
    let output = process.wait_with_output()?;
    folder.ended();
    Ok(output.status.success().then(|| format!("{name}\n{}", String::from_utf8_lossy(&output.stdout))))
}

/// The name and process of the first compiler that starts, with arguments and pipes as `set` gives them.
fn start_compiler(folder: &Unfinished, set: impl Fn(&mut Command)) -> Result<Option<(String, Child)>, CheckError> {
    let start = |compiler: &str| {
        let mut words = compiler.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        set(command.args(words));
        folder.start(&mut command)
    };
    if let Some(named) = std::env::var("CC").ok().filter(|cc| !cc.trim().is_empty()) {
        return match start(&named) {
            Ok(process) => Ok(Some((named, process))),
            Err(cause) => Err(CheckError::Compiler { command: named, cause }),
        };
    }
    for name in ["cc", "gcc", "clang"] {
        match start(name) {
            Ok(process) => return Ok(Some((name.into(), process))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}
