//! A printed kernel as a program for the CPU, which is deleted as soon as it runs: it then answers launches on its standard input until that
//! closes. Any entry point can be launched, with any arguments.

use super::compiler::compile;
use super::error::CheckError;
use super::library::{LIBRARY, THREADS, calls};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::signature::EntryPoint;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use zeroize::Zeroizing;

const PROGRAM: &str = include_str!("program.h");

/// A printed kernel, compiled for the CPU and running.
#[derive(Debug)]
pub(super) struct Program {
    kernel: String,
    entries: BTreeMap<Entry, EntryPoint>,
    process: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
}

/// Kinds of arguments, as the program numbers them.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Value,
    Read,
    Written,
}

/// The argument for a parameter.
pub(super) enum Given<'a> {
    Number(u64),
    Block([u8; 16]),
    /// A structure, whose other words are zero.
    Words(&'a [u32]),
    /// A structure that begins with an address in this memory, counted from its first byte.
    Within([u32; 4], &'a [u8]),
    /// Memory that is read; the data begins this many bytes past a multiple of 16.
    Read(&'a [u8], usize),
    /// Memory that may be written, likewise.
    Written(&'a [u8], usize),
    /// The address this many bytes past the first of another argument's memory.
    At(Argument, i64),
}

/// How much of a grid is launched.
#[derive(Clone, Copy)]
pub(super) struct Threads {
    pub(super) thread_blocks: u64,
    pub(super) threads: u32,
}

impl Program {
    /// Compiles a kernel; returns `None` if there is no C compiler.
    pub(super) fn compile<F>(source: &str, manifest: &Manifest<F>) -> Result<Option<Self>, CheckError> {
        let (kernel, entries) = (manifest.kernel.clone(), manifest.entries.clone());
        let parts = [source, "\n", THREADS, &calls(entries.values()), LIBRARY, PROGRAM];
        // Without optimisation: compiling takes most of the time of a check, and the code runs only briefly.
        let Some((folder, executable)) = compile(&kernel, manifest.secret, &parts, &["-O0"])? else { return Ok(None) };
        let mut process = Command::new(&executable).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        drop(folder);
        let requests = process.stdin.take();
        let answers = process.stdout.take().expect("piped");
        Ok(Some(Self { kernel, entries, process, requests, answers }))
    }

    /// Runs all threads of a grid, thread block by thread block, with the arguments that `given` has by name, and returns the memory that
    /// may be written, in the order of the parameters. The threads of a block take turns: each runs until it reaches a barrier or a
    /// shuffle. Checks that nothing else changed.
    pub(super) fn run<'a>(
        &mut self,
        entry: Entry,
        Threads { thread_blocks, threads }: Threads,
        launch: &dyn Display,
        given: &dyn Fn(Argument) -> Option<Given<'a>>,
    ) -> Result<Vec<Vec<u8>>, CheckError> {
        let kernel = || self.kernel.clone();
        let place = self.entries.keys().position(|known| *known == entry);
        let place = place.ok_or_else(|| CheckError::Launch { kernel: kernel(), what: "it has no such entry point" })?;
        let parameters = &self.entries[&entry].parameters;
        let unknown = |name: Argument| CheckError::Parameter { kernel: kernel(), parameter: name.to_string() };
        let mut arguments: Vec<(Kind, Vec<u8>, usize, usize)> = Vec::new();
        // What comes after the parameters is memory that their values point to.
        let mut pointed_to = Vec::new();
        for parameter in parameters {
            let name = parameter.name;
            let value = |value: &[u8], base| {
                let mut value = value.to_vec();
                value.resize(parameter.kind.cuda_bytes(), 0);
                (Kind::Value, value, 0, base)
            };
            arguments.push(match given(name).ok_or_else(|| unknown(name))? {
                Given::Number(number) => value(&number.to_le_bytes(), 0),
                Given::Block(block) => value(&block, 0),
                Given::Words(words) => value(&bytes_of(words), 0),
                Given::Within(words, memory) => {
                    pointed_to.push((Kind::Read, memory.to_vec(), 0, 0));
                    value(&bytes_of(&words), parameters.len() + pointed_to.len())
                }
                Given::Read(memory, offset) => (Kind::Read, memory.to_vec(), offset, 0),
                Given::Written(memory, offset) => (Kind::Written, memory.to_vec(), offset, 0),
                Given::At(other, bytes) => {
                    let base = parameters.iter().position(|parameter| parameter.name == other);
                    value(&bytes.to_le_bytes(), 1 + base.ok_or_else(|| unknown(other))?)
                }
            });
        }
        arguments.append(&mut pointed_to);
        let mut request = Zeroizing::new(Vec::new());
        let numbers = [place as u64, thread_blocks, threads.into(), arguments.len() as u64];
        request.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        for (kind, bytes, offset, base) in &arguments {
            let numbers = [*kind as u64, bytes.len() as u64, *offset as u64, *base as u64];
            request.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
            request.extend(bytes);
        }
        let requests = self.requests.as_mut().expect("open until dropped");
        requests.write_all(&request)?;
        requests.flush()?;
        let mut verdict = [0];
        self.answers.read_exact(&mut verdict)?;
        let written = arguments.into_iter().filter(|(kind, ..)| *kind == Kind::Written);
        let mut written: Vec<Vec<u8>> = written.map(|(_, bytes, ..)| bytes).collect();
        written.iter_mut().try_for_each(|bytes| self.answers.read_exact(bytes))?;
        let launch = launch.to_string();
        match verdict {
            [0] => Ok(written),
            [2] => Err(CheckError::Stuck { kernel: kernel(), launch }),
            _ => Err(CheckError::OutOfBounds { kernel: kernel(), launch }),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The program ends when its standard input does.
        drop(self.requests.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Words as they are in memory.
pub(super) fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
