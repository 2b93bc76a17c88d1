//! NVIDIA's disassembler `nvdisasm`: where it is on this machine, and what it prints for a cubin.

use std::io::{self, Error, ErrorKind, Write};
use std::path::PathBuf;
use std::process::Command;

/// Names the disassembler if it is not where CUDA puts it.
const VARIABLE: &str = "NVDISASM";

/// The disassembler of this machine.
pub struct Disassembler(PathBuf);

impl Disassembler {
    /// The one that the environment names, or the one that came with NVRTC, or the one on the path.
    ///
    /// # Errors
    /// If there is none.
    pub fn find() -> io::Result<Self> {
        if let Some(path) = std::env::var_os(VARIABLE) {
            return Ok(Self(path.into()));
        }
        let folders = |variable: &str| -> Vec<PathBuf> {
            std::env::var_os(variable).map(|paths| std::env::split_paths(&paths).collect()).unwrap_or_default()
        };
        let next_to_nvrtc = folders("LD_LIBRARY_PATH").into_iter().map(|lib| lib.join("../bin"));
        let elsewhere = folders("PATH").into_iter().chain(["/usr/local/cuda/bin".into()]);
        let mut candidates = next_to_nvrtc.chain(elsewhere).map(|folder| folder.join("nvdisasm"));
        candidates.find(|path| path.is_file()).map(Self).ok_or_else(|| {
            let why = format!(
                "nvdisasm, which disassembles CUDA machine code, was not found next to NVRTC nor on the path: install \
                 the CUDA toolkit or the package nvidia-cuda-nvdisasm, or name it in the environment variable {VARIABLE}"
            );
            Error::new(ErrorKind::NotFound, why)
        })
    }

    /// What it prints for a cubin. The cubin is written to a temporary file: it must hold no key.
    ///
    /// # Errors
    /// If it cannot be run, or fails.
    pub fn list(&self, cubin: &[u8]) -> io::Result<String> {
        let program = self.0.display();
        let say = |error: Error, what: String| Error::new(error.kind(), format!("{what}: {error}"));
        let file = tempfile::NamedTempFile::new().and_then(|mut file| file.write_all(cubin).map(|()| file));
        let file = file.map_err(|error| say(error, "cannot write a temporary file".into()))?;
        let output = Command::new(&self.0).arg(file.path()).output();
        let output = output.map_err(|error| {
            say(error, format!("cannot run `{program}`, the disassembler; {VARIABLE} names another"))
        })?;
        if !output.status.success() {
            return Err(Error::other(format!(
                "`{program}` failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !text.contains("/*0000*/") {
            let why = "its version may be too old for the cubin, or too new for us";
            return Err(Error::other(format!("`{program}` printed no instructions: {why}")));
        }
        Ok(text)
    }
}
