//! A printed kernel as a library for the CPU, for a program that has the memory and the arguments of its launches itself.

use super::calls::structure;
use super::compiled::{THREADS, compile};
use super::error::CheckError;
use aes_bitslice_core::digest;
use aes_bitslice_core::signature::{EntryPoint, Kind};
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const LIBRARY: &str = include_str!("library.h");

/// Compiles a kernel, which holds no key, as a library in a folder, as [`CompiledC`](super::CompiledC) compiles programs, unless it is there
/// already: where it is, or nothing where there is no C compiler. Several processes may do so at a time.
///
/// The library has one function, for one thread at a time: `int launch(u32 entry, u32 thread_blocks, u32 threads, void *const
/// *arguments)`, where `entry` is a number in `entries`, and each argument is a pointer to a value. It returns 0 when all threads are
/// done, 1 for a number of threads that the kernel does not have, and 2 if some wait for others that do not come.
pub fn library(
    kernel: &str,
    source: &str,
    entries: &[EntryPoint],
    folder: &Path,
) -> Result<Option<PathBuf>, CheckError> {
    let mut calls = String::from("\n");
    for (n, entry) in entries.iter().enumerate() {
        let mut arguments = Vec::new();
        for (i, parameter) in entry.parameters.iter().enumerate() {
            let c_type = match parameter.kind {
                Kind::U32 => "u32",
                Kind::U64 => "u64",
                Kind::Words(_) => structure(parameter).ok_or_else(|| CheckError::Parameter {
                    kernel: kernel.into(),
                    parameter: parameter.name.clone(),
                })?,
                Kind::Input | Kind::Output | Kind::Pointer | Kind::Buffer => "void *",
            };
            arguments.push(format!("*({c_type} *)values[{i}]"));
        }
        let _ = writeln!(calls, "static void run_{n}(void) {{ {}({}); }}", entry.name, arguments.join(", "));
    }
    let names: Vec<String> = (0..entries.len()).map(|n| format!("run_{n}")).collect();
    let _ = writeln!(calls, "static void (*const entries[{}])(void) = {{{}}};", names.len(), names.join(", "));
    let declared = LIBRARY.replace("entries[])", &format!("entries[{}])", names.len()));
    // What is launched often is worth optimising.
    let options = ["-O2", "-shared", "-fPIC"];
    let parts = [source, "\n", THREADS, &declared, &calls];
    let library = folder.join(format!("{kernel}-{}.so", digest::of_text(&parts.concat())));
    // Who comes second waits, and finds it.
    let lock = File::create(folder.join(format!("{kernel}.lock")))?;
    lock.lock()?;
    if library.exists() {
        return Ok(Some(library));
    }
    let Some((_folder, compiled)) = compile(kernel, false, &parts, &options)? else { return Ok(None) };
    // All of it is there, or nothing, wherever this process ends.
    let part = library.with_extension("part");
    fs::copy(compiled, &part)?;
    fs::rename(part, &library)?;
    Ok(Some(library))
}
