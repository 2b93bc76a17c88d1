//! The C compiler of the system: a printed kernel reaches it through a pipe. Its output is kept in memory where Linux has an in-memory
//! file system that allows execution (`/dev/shm`), so that a baked key is never written to disk. Elsewhere it is in the temporary folder,
//! and deletion does not overwrite it. For termination by a signal, see [`super::abandon`]; a killed process's files are deleted by the
//! next process that checks a kernel.

use super::error::CheckError;
use super::unfinished::Unfinished;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use zeroize::Zeroizing;

/// Options of every compilation, before its own.
pub(super) const OPTIONS: [&str; 2] = ["-std=c11", "-pipe"];
/// The number of lines of compiler messages that are passed on: the first error is the one that counts.
const LOG_LINES: usize = 12;

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
