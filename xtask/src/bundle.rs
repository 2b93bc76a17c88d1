//! A folder to copy to a machine with a GPU and without Rust: test programs, examples, the command line, the program of the
//! papers' tables, and a script that runs them. They need nothing from this checkout, because vectors and kernels are
//! compiled in.

use crate::cargo::{Built, Cargo, Profile};
use crate::files;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package of the papers' kernels, and its program.
pub const PAPERS: &str = "aes-bitslice-papers";

const SCRIPT: &str = include_str!("bundle/run.sh");
/// The packages whose tests are included; the tests of the command line look for their program where it was built.
const PACKAGES: [&str; 3] = ["aes-bitslice-tests", "aes-bitslice-runtime", "aes-bitslice-nvrtc"];
/// The package whose examples measure.
const BENCHMARKS: &str = "aes-bitslice-runtime";

#[derive(clap::Args)]
pub struct Args {
    /// Only what `./run.sh bench` needs
    #[arg(long)]
    bench: bool,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let cargo = Cargo::new(root);
    let built = if args.bench { cargo.examples(BENCHMARKS)? } else { cargo.tests(&PACKAGES)? };
    if !args.bench && !built.iter().any(|b| b.is_test) {
        bail!("cargo built no tests");
    }
    let place = |b: Built| (b.path, Path::new(if b.is_test { "tests" } else { "examples" }).join(b.name));
    let mut binaries: Vec<(PathBuf, PathBuf)> = built.into_iter().map(place).collect();
    binaries.push((cargo.program("aes-bitslice-cli", "aes-bitslice", Profile::Release)?, "aes-bitslice".into()));
    if !args.bench {
        binaries.push((cargo.program(PAPERS, PAPERS, Profile::Release)?, PAPERS.into()));
    }

    let folder = cargo.target.join("gpu-bundle");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot delete `{}`", folder.display()))?;
    }
    for inside in ["tests", "examples"] {
        fs::create_dir_all(folder.join(inside)).with_context(|| format!("cannot make `{}`", folder.display()))?;
    }
    let mut bytes = 0;
    for (from, to) in &binaries {
        let to = folder.join(to);
        fs::copy(from, &to).with_context(|| format!("cannot write `{}`", to.display()))?;
        // Smaller, and no worse on a machine without `strip`.
        let _ = Command::new("strip").arg(&to).status();
        bytes += fs::metadata(&to)?.len();
    }
    let commit = commit(root)?;
    files::write_all(&folder, &[("run.sh", SCRIPT.as_bytes()), ("commit", commit.as_bytes())], false)?;
    #[cfg(unix)]
    fs::set_permissions(folder.join("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    say!("{}: {} programs, {} MiB; copy it and run ./run.sh", folder.display(), binaries.len(), bytes >> 20);
    Ok(())
}

/// The commit of the checkout, with a note if files differ from it.
pub fn commit(root: &Path) -> Result<String> {
    let git = |arguments: &[&str]| -> Result<String> {
        let output = Command::new("git").args(arguments).current_dir(root).output().context("cannot run git")?;
        if !output.status.success() {
            bail!("`git {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?.trim().to_string())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let changed = !git(&["status", "--porcelain"])?.is_empty();
    Ok(format!("{commit}{}\n", if changed { " with changes" } else { "" }))
}
