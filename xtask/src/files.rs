//! Where the project is, and files that are written whole or not at all.

use crate::scratch::{self, Pending};
use aes_bitslice_core::sync::sync;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The workspace's folder. At run time Cargo names the package's; otherwise it is the one of the build.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).parent().expect("the package lies in the workspace").into()
}

/// Cargo's build folder.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Writes files in one folder. Everything that can fail happens before any of them takes its name: each is written to a
/// temporary file, of mode 0600, and synced. `private` files stay so, others get the mode of any new file.
pub fn write_all(folder: &Path, files: &[(&str, &[u8])], private: bool) -> Result<()> {
    make_folder(folder, private).with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    let mut written = Vec::new();
    for (name, contents) in files {
        let path = folder.join(name);
        let file = write_temporary(folder, contents, private);
        written.push((file.with_context(|| format!("cannot write `{}`", path.display()))?, path));
    }
    // All or none of them, if a signal arrives.
    let held = scratch::hold();
    let persisted = written.into_iter().map(|((file, pending), path)| {
        let persisted = file.persist(&path).map(drop);
        (pending, persisted.with_context(|| format!("cannot write `{}`", path.display())))
    });
    let (pending, persisted): (Vec<_>, Vec<_>) = persisted.collect();
    drop(held);
    drop(pending);
    persisted.into_iter().collect::<Result<()>>()?;
    // Makes the names durable, too; not every file system can promise it.
    let _ = File::open(folder).and_then(|folder| sync(&folder));
    Ok(())
}

fn write_temporary(folder: &Path, contents: &[u8], private: bool) -> std::io::Result<(NamedTempFile, Pending)> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    if !private {
        // Minus the process's mask.
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = private;
    let (mut file, pending) = scratch::file(builder.prefix(".xtask-"), folder)?;
    file.write_all(contents)?;
    sync(file.as_file())?;
    Ok((file, pending))
}

fn make_folder(folder: &Path, private: bool) -> std::io::Result<()> {
    if folder.is_file() {
        return Err(std::io::Error::other("it is a file: name a folder"));
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    #[cfg(not(unix))]
    let _ = private;
    builder.create(folder)
}
