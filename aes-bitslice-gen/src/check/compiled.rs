//! A printed kernel as a program for the CPU.
//!
//! Kernel and program reach the compiler through a pipe, and the executable is deleted as soon as it runs: the program
//! then answers launches on its standard input until that closes. What the compiler writes lies in memory where Linux
//! has a file system there that programs run from (`/dev/shm`), so that a baked key rests on no disk. Elsewhere it lies
//! in the temporary folder until then, and deletion does not overwrite it.

use super::CheckError;
use crate::emit::bitsliced::MAX_ROUNDS;
use crate::emit::{Grid, KeySource, Manifest};
use crate::kernel::Mode;
use crate::layout::PLANES;
use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use zeroize::Zeroizing;

const PROGRAM: &str = include_str!("program.h");
/// Where Linux has a file system in memory.
const SHARED_MEMORY: &str = "/dev/shm";
/// Lines of a compiler's messages that are passed on: the first fault is the one that counts.
const LOG_LINES: usize = 12;

/// How a launch reaches its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The entry point for whole blocks, aligned to 16 bytes.
    Aligned,
    /// The entry point for bytes: how far input and output lie behind a multiple of 16, in bytes, below 16.
    /// In place, the output's counts.
    Bytes {
        /// That of the input.
        input: usize,
        /// That of the output.
        output: usize,
    },
}

/// One launch of a kernel over a grid that covers the data.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// The entry point and the alignment.
    pub access: Access,
    /// Whether the output replaces the input.
    pub in_place: bool,
    /// Counter mode: the counter block of the first block; CBC: the IV. As a big-endian number.
    pub start: u128,
    /// Counter mode, by bytes: where in the key stream of the first block the data begins, below 16.
    pub skip: usize,
    /// The words of the key ([`Manifest::key_words`]); none for a kernel with a key baked in.
    pub key: &'a [u32],
    /// How often a thread block takes the blocks that it works on at a time: 1, or more where the grid need not cover all.
    pub runs: usize,
    /// The input: whole blocks unless the mode is CTR and the access by bytes.
    pub data: &'a [u8],
}

impl fmt::Display for Launch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.in_place { "in place" } else { "to another buffer" };
        match self.access {
            Access::Aligned => write!(f, "{} aligned bytes, {place}", self.data.len())?,
            Access::Bytes { input, output } => {
                write!(f, "{} bytes at offsets {input} and {output}, {place}", self.data.len())?
            }
        }
        write!(f, ", start {:#x}, skip {}, {} runs", self.start, self.skip, self.runs)
    }
}

/// A printed kernel, compiled for the CPU and running.
#[derive(Debug)]
pub struct CompiledC {
    kernel: String,
    mode: Mode,
    grid: Grid,
    keys: KeySource,
    process: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
}

impl CompiledC {
    /// Compiles with the C compiler that the environment variable `CC` names, or else `cc`, `gcc` or `clang`.
    /// `None` where there is none of these.
    pub fn compile(source: &str, manifest: &Manifest) -> Result<Option<Self>, CheckError> {
        let (kernel, mode) = (manifest.kernel.clone(), manifest.mode()?);
        let folder = private_folder()?;
        let executable = folder.path().join("kernel");
        let options = [
            "-std=c11",
            "-O1",
            "-pipe",
            &format!("-DENTRY={}", manifest.entry),
            &format!("-DENTRY_BYTES={}", manifest.entry_bytes),
            &format!("-DMODE_CTR={}", u8::from(mode == Mode::Ctr)),
            &format!("-DMODE_CBC={}", u8::from(mode == Mode::CbcDecrypt)),
            &format!("-DKEYS_AT_LAUNCH={}", u8::from(manifest.keys.argument_words().is_some())),
            &format!(
                "-DKEY_TYPE={}",
                if manifest.keys == KeySource::CipherKey { "unexpanded_key" } else { "round_keys" }
            ),
            &format!("-DKEYS_IN_MEMORY={}", u8::from(manifest.keys == KeySource::Memory)),
            &format!("-DBLOCKS_AT_A_TIME={}ull", manifest.blocks),
            "-x",
            "c",
            "-",
            "-o",
        ];
        let command = |program: &str| {
            let mut words = program.split_whitespace();
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words).args(options).arg(&executable);
            // Where compilers put what they hand on to the assembler and the linker.
            command.env("TMPDIR", folder.path());
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            command
        };
        let Some((compiler, mut process)) = start_compiler(command)? else { return Ok(None) };
        // Room for all of it at once: growing would leave copies behind.
        let mut text = Zeroizing::new(String::with_capacity(source.len() + 1 + PROGRAM.len()));
        text.extend([source, "\n", PROGRAM]);
        let mut stdin = process.stdin.take().expect("piped");
        // A compiler that gave up early has more to say than the broken pipe.
        let _ = stdin.write_all(text.as_bytes());
        drop(stdin);
        let output = process.wait_with_output()?;
        if !output.status.success() {
            let log = match manifest.secret {
                true => "(its messages are withheld: they may quote the source, which holds the key)".into(),
                false => String::from_utf8_lossy(&output.stderr).lines().take(LOG_LINES).collect::<Vec<_>>().join("\n"),
            };
            return Err(CheckError::Rejected { kernel, compiler, log });
        }
        let mut process = Command::new(&executable).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = process.stdin.take();
        let answers = process.stdout.take().expect("piped");
        // Where a running program cannot be deleted, the operating system clears its temporary files in time.
        let _ = folder.close();
        Ok(Some(Self { kernel, mode, grid: manifest.grid, keys: manifest.keys, process, requests, answers }))
    }

    /// Runs all threads of a grid that covers the data, thread block by thread block, and returns the output. Threads of
    /// a block take turns: one runs until it meets a barrier or a shuffle.
    ///
    /// Bytes around the output, and the input where the launch is not in place, are checked to be as they were.
    pub fn run(&mut self, launch: &Launch<'_>) -> Result<Vec<u8>, CheckError> {
        self.validate(launch).map_err(|what| CheckError::Launch { kernel: self.kernel.clone(), what })?;
        let (by_bytes, input, output) = match launch.access {
            Access::Aligned => (0, 0, 0),
            Access::Bytes { input, output } => (1, input as u64, output as u64),
        };
        let numbers = [
            by_bytes,
            u64::from(launch.in_place),
            input,
            output,
            launch.data.len() as u64,
            launch.skip as u64,
            launch.start as u64,
            (launch.start >> 64) as u64,
            launch.key.len() as u64,
            launch.runs as u64,
        ];
        let bytes = 8 * numbers.len() + size_of_val(launch.key) + launch.data.len();
        let mut request = Zeroizing::new(Vec::with_capacity(bytes));
        request.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        request.extend(launch.key.iter().flat_map(|word| word.to_le_bytes()));
        request.extend(launch.data);
        let requests = self.requests.as_mut().expect("open until dropped");
        requests.write_all(&request)?;
        requests.flush()?;
        let mut verdict = [0];
        self.answers.read_exact(&mut verdict)?;
        let mut output = vec![0; launch.data.len()];
        self.answers.read_exact(&mut output)?;
        match verdict {
            [0] => Ok(output),
            [2] => Err(CheckError::Stuck { kernel: self.kernel.clone(), launch: launch.to_string() }),
            _ => Err(CheckError::OutOfBounds { kernel: self.kernel.clone(), launch: launch.to_string() }),
        }
    }

    fn validate(&self, launch: &Launch<'_>) -> Result<(), &'static str> {
        let any_length = launch.access != Access::Aligned && self.mode == Mode::Ctr;
        if let Access::Bytes { input, output } = launch.access
            && (input >= 16 || output >= 16)
        {
            return Err("an offset is below 16");
        }
        if launch.skip >= 16 || (launch.skip != 0 && !any_length) {
            return Err("skip is for counter mode by bytes, and below 16");
        }
        if !any_length && !launch.data.len().is_multiple_of(16) {
            return Err("the data is not whole blocks");
        }
        if launch.runs == 0 || (launch.runs > 1 && self.grid == Grid::Covers) {
            return Err("it takes its blocks once");
        }
        let words = launch.key.len();
        match self.keys {
            KeySource::Memory if words.is_multiple_of(PLANES) && (3..=MAX_ROUNDS + 1).contains(&(words / PLANES)) => {
                Ok(())
            }
            KeySource::Memory => Err("it takes the planes of 3 to 15 round keys"),
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

/// The compiler's name and process, of the first compiler that starts.
fn start_compiler(command: impl Fn(&str) -> Command) -> Result<Option<(String, Child)>, CheckError> {
    if let Some(named) = std::env::var("CC").ok().filter(|cc| !cc.trim().is_empty()) {
        return match command(&named).spawn() {
            Ok(process) => Ok(Some((named, process))),
            Err(cause) => Err(CheckError::Compiler { command: named, cause }),
        };
    }
    for name in ["cc", "gcc", "clang"] {
        match command(name).spawn() {
            Ok(process) => return Ok(Some((name.into(), process))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// A temporary folder that only its owner can enter, in memory where that can be had.
fn private_folder() -> std::io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.prefix("aes-bitslice-check-");
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    match runs_programs_from_memory(&mounts) {
        // Even so it may be full, or not for us to write to.
        true => builder.tempdir_in(SHARED_MEMORY).or_else(|_| builder.tempdir()),
        false => builder.tempdir(),
    }
}

/// Whether [`SHARED_MEMORY`] is a file system in memory whose files may be executed, by a table as in `proc_mounts(5)`:
/// device, folder, type and options. Of several, the last lies on top.
fn runs_programs_from_memory(mounts: &str) -> bool {
    let mut mounts = mounts.lines().rev().map(|line| line.split(' ').collect::<Vec<_>>());
    let top = mounts.find(|fields| fields.get(1) == Some(&SHARED_MEMORY));
    matches!(top.as_deref(), Some([_, _, "tmpfs", options, ..]) if options.split(',').all(|option| option != "noexec"))
}

#[cfg(test)]
mod tests {
    use super::runs_programs_from_memory;

    #[test]
    fn memory_that_programs_run_from() {
        let usable = "proc /proc proc rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0\n";
        assert!(runs_programs_from_memory(usable));
        for other in [
            "",
            "tmpfs /dev tmpfs rw 0 0\n",
            "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime 0 0\n",
            "/dev/sda1 /dev/shm ext4 rw 0 0\n",
            &format!("{usable}tmpfs /dev/shm tmpfs rw,noexec 0 0\n"),
        ] {
            assert!(!runs_programs_from_memory(other), "{other:?}");
        }
    }
}
