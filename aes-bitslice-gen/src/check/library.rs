//! A printed kernel as a library for the CPU, for a program that manages the memory and the arguments of its launches itself.

use super::compiler::{OPTIONS, compile, compiler};
use super::error::CheckError;
use aes_bitslice_core::argument::{Argument, Kind};
use aes_bitslice_core::digest;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::signature::{EntryPoint, Parameter};
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What runs all threads of a launch.
pub(super) const LIBRARY: &str = include_str!("library.h");
/// What runs those of a thread block, before [`calls`].
pub(super) const THREADS: &str = include_str!("threads.h");
/// Code that is launched often is worth optimising, for this machine: kernels of GHASH count bits.
const LIBRARY_OPTIONS: [&str; 4] = ["-O2", "-march=native", "-shared", "-fPIC"];

/// Compiles a kernel, which holds no key, as a library in a folder, unless it is there already, with the compiler of
/// [`CompiledC`](super::CompiledC). Returns its path, or `None` if there is no C compiler. Several processes may do so at the same time.
/// The file name contains a digest of the text, of the compiler and of its options.
///
/// The library has one function, for one thread at a time: `int launch(u32 entry, u32 thread_blocks, u32 threads, void *const *arguments)`,
/// where `entry` is a number in `entries`, and each argument is a pointer to a value. It returns 0 when all threads have finished, 1 for a
/// number of threads that the kernel does not support, and 2 if some threads wait for others that never arrive.
pub fn library(
    kernel: &str,
    source: &str,
    entries: &[EntryPoint],
    folder: &Path,
) -> Result<Option<PathBuf>, CheckError> {
    let calls = calls(entries.iter());
    let parts = [source, "\n", THREADS, &calls, LIBRARY];
    let Some(compiler) = compiler()? else { return Ok(None) };
    // A different text, compiler or option makes a different library.
    let options = [OPTIONS.as_slice(), &LIBRARY_OPTIONS].concat().join(" ");
    let library = folder.join(format!("{kernel}-{}.so", digest::of_text(&(parts.concat() + &compiler + &options))));
    // One process compiles it; the others wait for the lock and then find it.
    let lock = File::create(folder.join(format!("{kernel}.lock")))?;
    lock.lock()?;
    if library.exists() {
        return Ok(Some(library));
    }
    let Some((_folder, compiled)) = compile(kernel, false, &parts, &LIBRARY_OPTIONS)? else { return Ok(None) };
    // The library is complete or absent, wherever this process ends.
    let part = library.with_extension("part");
    fs::copy(compiled, &part)?;
    fs::rename(part, &library)?;
    Ok(Some(library))
}

/// The calls of entry points in C, with a pointer to each argument.
pub(super) fn calls<'a>(entries: impl ExactSizeIterator<Item = &'a EntryPoint>) -> String {
    let mut calls = String::from("static void *const *values;\n");
    let names: Vec<String> = (0..entries.len()).map(|n| format!("run_{n}")).collect();
    for (entry, name) in entries.zip(&names) {
        let argument = |(i, parameter): (usize, &Parameter)| {
            let (c_type, bytes) = (c_type(parameter), parameter.kind.cuda_bytes());
            let _ = writeln!(calls, "_Static_assert(sizeof({c_type}) == {bytes}, \"{}\");", parameter.name);
            format!("*({c_type} *)values[{i}]")
        };
        let arguments: Vec<String> = entry.parameters.iter().enumerate().map(argument).collect();
        let _ = writeln!(calls, "static void {name}(void) {{ {}({}); }}", entry.name, arguments.join(", "));
    }
    let _ = writeln!(calls, "static void (*const entries[{}])(void) = {{{}}};", names.len(), names.join(", "));
    calls
}

fn c_type(parameter: &Parameter) -> &'static str {
    let is_whole = parameter.kind != Kind::Words(KeySource::CipherKey.argument_words().expect("it is one"));
    match (parameter.kind, parameter.name) {
        (Kind::U32, _) => "u32",
        (Kind::U64, _) => "u64",
        (Kind::Words(_), Argument::Counter | Argument::SecretCounter | Argument::FirstUnit) => "counter128",
        (Kind::Words(_), Argument::Keys | Argument::TweakKeys) if is_whole => "round_keys",
        (Kind::Words(_), Argument::Keys | Argument::TweakKeys) => "unexpanded_key",
        (Kind::Words(_), _) => "block128",
        (Kind::Input | Kind::Output | Kind::Pointer | Kind::Buffer, _) => "void *",
    }
}
