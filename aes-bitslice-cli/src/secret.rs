//! The secret that decides how bytes are changed: a key, or a kernel that is one.

use std::fs;
use std::path::{Path, PathBuf};

use aes_bitslice_runtime::{Direction, Key, KeyBits, Keys, Mode};
use same_file::Handle;

use crate::access::exposure;
use crate::args::key::{KeyArgs, KeySource};
use crate::baked::{self, Baked, KernelFiles};
use crate::error::{Error, Exit, Result, warn};
use crate::keys;
use crate::method::Method;

/// A key, or a kernel that is one.
pub enum Secret<'a> {
    /// A key, where it came from, and the manifest of the kernel that takes it, if one is named.
    Key(Key, &'a KeySource, Option<&'a Path>),
    /// The kernel's manifest.
    Kernel(&'a Path),
}

impl<'a> Secret<'a> {
    /// Reads the secret that the options name.
    pub fn read(method: &Method, args: &'a KeyArgs, kernels: KernelFiles<'a>, quiet: bool) -> Result<Self> {
        let name = method.name();
        match kernels {
            KernelFiles { baked: Some(_), .. } if method.keys() == Keys::Two => {
                let message =
                    format!("{name} has two keys, and a kernel has one baked in; use --key-file or --key-env");
                Err(Error::usage(message))
            }
            KernelFiles { baked: Some(_), .. } if method.kernels().is_none() => {
                let message = format!("{name} runs on the CPU, a kernel does not; use --key-file or --key-env");
                Err(Error::usage(message))
            }
            KernelFiles { generated: Some(_), .. } if method.keys() == Keys::Two || method.kernels().is_none() => {
                Err(Error::usage(format!("no kernel of --generated is for {name}; leave it out")))
            }
            KernelFiles { baked: Some(manifest), .. } => {
                let Baked { files, mode, key_bits } = Baked::read(manifest);
                let metadata = files.iter().map(|file| fs::metadata(file).ok()).collect::<Option<Vec<_>>>();
                // If one of the files is missing, or no key is in them, that will be reported.
                let is_key = key_bits.is_some() && !quiet;
                for (file, metadata) in files.iter().zip(metadata.into_iter().flatten()).filter(|_| is_key) {
                    if let Some(exposed) = exposure(&format!("`{}` is the key and", file.display()), &metadata, false) {
                        warn(&exposed);
                    }
                }
                check_mode(method, mode, "--baked")?;
                check_length(method, key_bits)?;
                Ok(Secret::Kernel(manifest))
            }
            KernelFiles { baked: None, generated } => {
                check_mode(method, generated.and_then(baked::mode), "--generated")?;
                let key = keys::read(args, method.keys().into(), quiet)?;
                check_length(method, Some(key.bits()))?;
                if method.direction == Direction::Encrypt && key.halves_are_equal() {
                    let message = "the two halves of the key are equal, and XTS encrypts with two independent keys: `keygen --xts` makes \
                                   such a key; this one only decrypts";
                    return Err(Error::new(Exit::Key, message));
                }
                Ok(Secret::Key(key, &args.source, generated))
            }
        }
    }

    /// Refuses to write its output over the key, or over the kernel that is one, as [`must_stay`] does.
    pub fn must_stay(&self, output: Option<&Path>) -> Result<()> {
        match self {
            Secret::Key(_, source, _) => must_stay("key", source.key_file.as_slice(), output),
            Secret::Kernel(manifest) => must_stay("key", &Baked::read(manifest).files, output),
        }
    }
}

/// Refuses an `output` that would replace one of the files that a `secret` is in: no one could decrypt what is written there. A `secret` of
/// `-` is standard input; no `output`, or `-`, is standard output. `what` names the secret.
pub fn must_stay<'a>(what: &str, secret: impl IntoIterator<Item = &'a PathBuf>, output: Option<&Path>) -> Result<()> {
    // Only files can be lost; opening anything else might wait for its other end.
    let is_file = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let (name, handle) = match output {
        Some(path) if path != Path::new("-") => {
            (format!("`{}`", path.display()), is_file(path).then(|| Handle::from_path(path)))
        }
        _ => ("standard output".into(), Some(Handle::stdout())),
    };
    let Some(Ok(output)) = handle else { return Ok(()) };
    let is_output = |secret: &PathBuf| {
        if secret == Path::new("-") {
            Handle::stdin().is_ok_and(|secret| secret == output)
        } else {
            is_file(secret) && Handle::from_path(secret).is_ok_and(|secret| secret == output)
        }
    };
    if secret.into_iter().any(is_output) {
        Err(Error::new(Exit::InputOutput, format!("{name} is the file with the {what}; choose another output")))
    } else {
        Ok(())
    }
}

/// Refuses a kernel for another mode, before an engine is opened for it: without a GPU, the message would be about that. The engine
/// checks a mode that is not known.
fn check_mode(method: &Method, found: Option<Mode>, option: &str) -> Result<()> {
    match (method.kernels(), found) {
        (Some(wanted), Some(found)) if wanted != found => {
            let message = format!(
                "the kernel of {option} is for {found} only: for {wanted}, give another kernel, or the key with --key-file alone"
            );
            Err(Error::new(Exit::Key, message))
        }
        _ => Ok(()),
    }
}

/// Refuses a key whose length is not the one in the mode's name; the engine checks a length that is not known.
fn check_length(method: &Method, key_bits: Option<KeyBits>) -> Result<()> {
    match (method.key_bits, key_bits) {
        (Some(wanted), Some(found)) if wanted != found => {
            let (wanted, found) = (wanted.bits(), found.bits());
            let message = format!("the mode is named for a key of {wanted} bits, and the key has {found}");
            let advice = match method.keys() {
                Keys::Two => format!(" for each of two; `keygen --bits {wanted} --xts` makes two of {wanted}"),
                Keys::One | Keys::OnCpu(_) | Keys::Own => {
                    format!("; use another key, or --mode {}", method.mode_name())
                }
            };
            Err(Error::new(Exit::Key, message + &advice))
        }
        _ => Ok(()),
    }
}
