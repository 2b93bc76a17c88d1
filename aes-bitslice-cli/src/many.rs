//! `--out-dir`: many files, each to one of the same name in a folder. A failure does not stop the others.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aes_bitslice_seal::naming::Numbered;

use crate::args::crypt::CryptArgs;
use crate::args::iv::Iv;
use crate::context::Context;
use crate::error::{Error, Exit, Result, note};
use crate::input::{self, Input};
use crate::method::Method;
use crate::output::{Options, Target};
use crate::pipeline::pool;
use crate::pipeline::source::Source;
use crate::progress;
use crate::secret::Secret;
use crate::text;
use crate::transform::{IF_NOT_STORED, Transform};

/// Where a file goes.
struct Pair {
    input: PathBuf,
    output: PathBuf,
    /// Why the output must not be written, if so; the others are still processed.
    refused: Option<String>,
    /// Whether the output was there before the command: only then may it be replaced. One that appears later may be the output of another
    /// input, on a file system that treats two names as one.
    replaces: bool,
}

/// Encrypts or decrypts `inputs` into `folder`.
pub fn run(method: Method, inputs: &[PathBuf], folder: &Path, args: &CryptArgs) -> Result<()> {
    let is_default = args.iv.is_none();
    let kernels = args.kernels();
    let CryptArgs { key, stream: args, .. } = args;
    let secret = Secret::read(&method, key, kernels, args.quiet)?;
    let pairs = pairs(inputs, folder, args.force, &secret)?;
    if is_default && method.iv == Some(Iv::Stored) && !args.quiet {
        note(&format!("taking the first 16 bytes of each input as its IV; {IF_NOT_STORED}"));
    }
    // An unreadable file is reported when its turn comes.
    let length = |pair: &Pair| match &pair.refused {
        None => fs::metadata(&pair.input).map_or(Some(0), |metadata| input::length(&metadata)),
        Some(_) => Some(0),
    };
    let lengths: Vec<Option<u64>> = pairs.iter().map(length).collect();
    let (context, cipher) = Context::open(&method, secret, &lengths, args)?;
    let (backend, workers) = (context.backend, context.workers.clone());
    let bar =
        progress::bar(Some(lengths.iter().flatten().fold(0, |sum, length| sum.saturating_add(*length))), args.quiet);

    let all = pairs.len();
    let names: Vec<String> = inputs.iter().map(|input| format!("`{}`", input.display())).collect();
    let open = {
        let bar = bar.clone();
        move |job: usize| {
            let Pair { input, output, refused, replaces } = &pairs[job];
            if let Some(why) = refused {
                return Err(Error::new(Exit::InputOutput, why.clone()));
            }
            let mut input = open_file(input)?;
            let transform = Transform::new(&method, &mut input)?;
            if !replaces && fs::exists(output).is_ok_and(|exists| exists) {
                let message =
                    format!("`{}` was not there before; is it the output of another input?", output.display());
                return Err(Error::new(Exit::InputOutput, message));
            }
            let options = Options { force: *replaces, private: false };
            let output = Target::check(Some(output), Some(&input), options)?.open()?;
            let source = Source::new(input, context.cut);
            context.stream(Arc::new(transform.with(cipher.clone())), source, output, bar.clone())
        }
    };
    let mut failures = Vec::new();
    pool::run(all, workers, open, |job, outcome| {
        bar.suspend(|| match outcome {
            Ok(remarks) => remarks.show(args.quiet),
            Err(error) => failures.push(error.naming(&names[job]).show()),
        });
        ControlFlow::Continue(())
    })?;
    progress::finish(&bar, backend, failures.is_empty());
    match failures[..] {
        [] => Ok(()),
        [first, ..] => {
            let exit = if failures.iter().all(|exit| *exit == first) { first } else { Exit::Failure };
            match all {
                // Its line has said everything.
                1 => Err(Error::told(exit)),
                _ => Err(Error::new(exit, format!("{} of {all} files failed", failures.len()))),
            }
        }
    }
}

/// Opens a regular file; anything else could keep a thread waiting for ever.
fn open_file(path: &Path) -> Result<Input> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
            let message =
                format!("cannot read `{}`: it is not a regular file; do it without --out-dir", path.display());
            Err(Error::new(Exit::InputOutput, message))
        }
        _ => Input::open(Some(path)),
    }
}

/// Where every input goes. All are refused if two outputs would be one, because it is not known which is wanted; outputs that would replace
/// an input, the key, or an existing file are refused one by one.
fn pairs(inputs: &[PathBuf], folder: &Path, force: bool, secret: &Secret<'_>) -> Result<Vec<Pair>> {
    let refuse = |message: String| Err(Error::new(Exit::InputOutput, message));
    if inputs.is_empty() {
        return Err(Error::usage("--out-dir needs the names of the files to read; standard input has none"));
    }
    match fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return refuse(format!("`{}` is not a folder; give --out-dir one", folder.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let advice = text::not_replaced(folder).unwrap_or("make it first");
            return refuse(format!("the folder `{}` does not exist; {advice}", folder.display()));
        }
        Err(error) => return refuse(format!("the folder `{}`: {error}", folder.display())),
    }
    let sources: HashMap<PathBuf, &PathBuf> =
        inputs.iter().filter_map(|input| Some((fs::canonicalize(input).ok()?, input))).collect();
    let mut taken = HashMap::new();
    let mut pairs = Vec::with_capacity(inputs.len());
    for input in inputs {
        let Some(name) = input.file_name().filter(|_| input != Path::new("-")) else {
            return Err(Error::usage(format!("`{}` has no file name to take over; name files", input.display())));
        };
        let output = folder.join(name);
        let existing = fs::canonicalize(&output).ok();
        // Links may lead to the same file.
        if let Some(other) = taken.insert(existing.clone().unwrap_or(output.clone()), input) {
            return refuse(format!(
                "`{}` and `{}` would both become `{}`; do them one after the other, into different folders",
                other.display(),
                input.display(),
                output.display(),
            ));
        }
        let replaces = force && existing.is_some();
        let source = existing.and_then(|path| sources.get(&path));
        let shown = output.display();
        let refused = match source {
            Some(source) => {
                Some(format!("`{shown}` would replace the input `{}`; use another folder", source.display()))
            }
            None if Numbered::of(&output).is_some() => {
                Some(format!("`{shown}` is a file that is open already; use another folder"))
            }
            None if !force && output.symlink_metadata().is_ok() => {
                Some(format!("`{shown}` exists already; use --force to replace it, or another folder"))
            }
            None if fs::metadata(&output).is_ok_and(|metadata| !metadata.is_file()) => {
                Some(format!("`{shown}` is there and not a regular file; use another folder"))
            }
            None => secret.must_stay(Some(&output)).err().map(|error| error.message().to_owned()),
        };
        pairs.push(Pair { input: input.clone(), output, refused, replaces });
    }
    Ok(pairs)
}
