//! `seal` and `open`: files that are encrypted and authenticated.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use aes_bitslice_runtime::{Backend, Engine, Key, Keys};
use aes_bitslice_seal::tink::{self, Keyset};
use aes_bitslice_seal::{self as seal, Secret};
use indicatif::ProgressBar;
use zeroize::Zeroizing;

use crate::access::exposure;
use crate::args::key::{KeyArgs, KeySource};
use crate::args::seal::{Format, OpenArgs, SealArgs, SecretArgs};
use crate::error::{Error, Exit, Result, warn};
use crate::input::Input;
use crate::interrupt::{self, Asker, Wanted};
use crate::output::{Options, Output, Target};
use crate::{keys, progress, secret, standard};

/// Seals as told.
pub fn seal(args: &SealArgs) -> Result<()> {
    run(args, true, None, |engine, secret, data, input, output| match secret {
        Given::Keyset(keyset) => tink::encrypt(engine, keyset, data, input, output),
        Given::Secret(secret) => seal::seal(engine, secret, input, output),
    })
}

/// Opens as told.
pub fn open(args: &OpenArgs) -> Result<()> {
    let range = args.range.clone();
    let length = range.as_ref().map(|range| range.end - range.start);
    run(&args.common, false, length, move |engine, secret, data, input, output| match (secret, range) {
        (Given::Keyset(keyset), None) => tink::decrypt(engine, keyset, data, input, output),
        (Given::Keyset(keyset), Some(range)) => tink::decrypt_range(engine, keyset, data, input, range, output),
        (Given::Secret(secret), None) => seal::open(engine, secret, input, output),
        (Given::Secret(secret), Some(range)) => seal::open_range(engine, secret, input, range, output),
    })
}

/// What was given to seal with.
enum Given<'a> {
    Keyset(&'a Keyset),
    Secret(Secret<'a>),
}

/// The same, read.
enum Held {
    Key(Key),
    Passphrase(Zeroizing<String>),
    Keyset(Keyset),
}

/// Does `work` as told; it is about `length` bytes, or those of the input.
fn run(
    args: &SealArgs,
    is_new: bool,
    length: Option<u64>,
    work: impl FnOnce(&Engine, Given<'_>, &[u8], Reading<'_>, Writing<'_>) -> std::result::Result<u64, seal::Error>,
) -> Result<()> {
    let is_standard_input = |path: &PathBuf| path == Path::new("-");
    let SecretArgs { key_file, passphrase_file, keyset, .. } = &args.secret;
    let secrets = [key_file, passphrase_file, keyset].into_iter().flatten();
    if args.input.as_ref().is_none_or(is_standard_input) && secrets.clone().any(is_standard_input) {
        let message =
            "standard input is the data, or the key, the passphrase or the keyset, not both; name the input file";
        return Err(Error::usage(message));
    }
    if args.format == Format::Sealed && args.associated_data.is_some() {
        return Err(Error::usage("--associated-data is for --format tink; a sealed file has its header there"));
    }
    let secret = read(args, is_new)?;
    secret::must_stay(secrets, args.output.as_deref())?;
    let input = Input::open(args.input.as_deref())?;
    let options = Options { force: args.force, private: false };
    let target = Target::check(args.output.as_deref(), Some(&input), options)?;
    let engine = Engine::open(Backend::Cpu)?;
    let output = target.open()?;
    let bar = progress::bar(length.or(input.length), args.quiet);
    let given = match &secret {
        Held::Key(key) => Given::Secret(Secret::Key(key)),
        Held::Passphrase(passphrase) => Given::Secret(Secret::Passphrase(passphrase.as_bytes())),
        Held::Keyset(keyset) => Given::Keyset(keyset),
    };
    let data = args.associated_data.as_deref().unwrap_or_default().as_bytes();
    let (asker, wanted) = interrupt::pair().map_err(|error| Error::io("cannot make a pipe", &error))?;
    let from = Reading { input: &input, asker };
    let to = Writing { output: &output, file: output.writer()?, bar: &bar, unsynced: 0, _wanted: wanted };
    let outcome = work(&engine, given, data, from, to).map_err(|error| explain(&input.name, error));
    let outcome = outcome.and_then(|_| output.finish());
    progress::finish(&bar, Backend::Cpu, outcome.is_ok());
    outcome?.iter().filter(|_| !args.quiet).for_each(|warning| warn(warning));
    Ok(())
}

/// The input, whose failures name it. It is read as long as there is an output.
struct Reading<'a> {
    input: &'a Input,
    asker: Asker,
}

impl Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.asker.wait(&self.input.file).and_then(|()| (&self.input.file).read(buffer));
        read.map_err(|error| named("read", &self.input.name, &error))
    }
}

impl Seek for Reading<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&self.input.file).seek(to).map_err(|error| match error.kind() {
            io::ErrorKind::NotSeekable => io::Error::other(format!(
                "--range needs a file that can be read from any byte on, and {} is none",
                self.input.name
            )),
            _ => named("read", &self.input.name, &error),
        })
    }
}

/// Bytes that are written to a file before they are brought to the disk.
const SYNC_BYTES: u64 = 64 << 20;

/// The output, whose failures name it, and which moves the bar: by what is on the disk, or was handed to the reader.
struct Writing<'a> {
    output: &'a Output,
    file: File,
    bar: &'a ProgressBar,
    unsynced: u64,
    _wanted: Wanted,
}

impl Writing<'_> {
    fn sync(&mut self) -> io::Result<()> {
        if self.output.is_new_file() {
            self.file.sync_data().map_err(|error| named("write", &self.output.name, &error))?;
        }
        self.bar.inc(std::mem::take(&mut self.unsynced));
        Ok(())
    }
}

impl Write for Writing<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buffer).map_err(|error| named("write", &self.output.name, &error))?;
        self.unsynced += written as u64;
        if self.unsynced >= SYNC_BYTES || !self.output.is_new_file() {
            self.sync()?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sync()
    }
}

fn named(verb: &str, name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), Error::io(format!("cannot {verb} {name}"), error).message().to_owned())
}

fn explain(name: &str, error: seal::Error) -> Error {
    use seal::Error as Seal;
    let advice = match error {
        Seal::LikeTink => "; if it is, add --format tink",
        Seal::Sealed => "; leave --format tink out",
        _ => "",
    };
    match error {
        Seal::Io(error) => match error.kind() {
            io::ErrorKind::BrokenPipe => Error::io("", &error),
            _ => Error::new(Exit::InputOutput, error.to_string()),
        },
        Seal::Engine(error) => error.into(),
        Seal::KeyLength(_) | Seal::EmptyPassphrase | Seal::Keyset(_) => Error::new(Exit::Key, error.to_string()),
        Seal::WrongKey | Seal::WrongPassphrase | Seal::NeedsPassphrase | Seal::NeedsKey | Seal::NoKeyOpens => {
            Error::new(Exit::Key, format!("{name}: {error}"))
        }
        Seal::Thread(_) | Seal::OutOfMemory => Error::new(Exit::Failure, error.to_string()),
        Seal::Range { .. } => Error::new(Exit::Usage, format!("{name}: {error}")),
        _ => Error::new(Exit::Failure, format!("{name}: {error}{advice}")),
    }
}

/// Reads what the options name.
fn read(args: &SealArgs, is_new: bool) -> Result<Held> {
    let SealArgs { secret: args, key_format, format, quiet, .. } = args;
    let (key_format, format, quiet) = (*key_format, *format, *quiet);
    if let Some(path) = &args.keyset {
        if format != Format::Tink {
            return Err(Error::usage("--keyset is for --format tink; give a key or a passphrase"));
        }
        let read = |text: &str| Keyset::from_json(text).map_err(|error| Error::new(Exit::Key, error.to_string()));
        return secret_text("--keyset", path, quiet, read).map(Held::Keyset);
    }
    let passphrase = match (&args.passphrase_file, args.passphrase) {
        (Some(path), _) => {
            let first_line = |text: &str| Ok(Zeroizing::new(text.lines().next().unwrap_or_default().to_owned()));
            Some(secret_text("--passphrase-file", path, quiet, first_line)?)
        }
        (None, true) => Some(ask(is_new)?),
        (None, false) => None,
    };
    if let Some(passphrase) = passphrase {
        return match format {
            Format::Sealed => Ok(Held::Passphrase(passphrase)),
            Format::Tink => Err(Error::usage("a Tink stream has no passphrase; give --keyset or a key")),
        };
    }
    let source = KeySource { key_file: args.key_file.clone(), key_env: args.key_env.clone(), baked: None };
    let key = keys::read(&KeyArgs { source, key_format }, Keys::One, quiet)?;
    match format {
        Format::Sealed => Ok(Held::Key(key)),
        Format::Tink => Ok(Held::Keyset(Keyset::of_key(&key).map_err(|error| explain("the key", error))?)),
    }
}

/// What `read` makes of the text of the file of an `option`, which holds a secret.
fn secret_text<T>(option: &str, path: &Path, quiet: bool, read: impl FnOnce(&str) -> Result<T>) -> Result<T> {
    /// More than any keyset has.
    const MOST: usize = 1 << 20;
    // Some users will put the secret itself in its place, and no message may show that: named is only what is there.
    let is_standard_input = path == Path::new("-");
    let name = match path.exists() {
        _ if is_standard_input => format!("standard input, for {option}"),
        true => format!("`{}`", path.display()),
        false => format!("the file of {option}"),
    };
    let refuse = |why: &str| Error::new(Exit::Key, format!("{name}: {why}"));
    let file = match is_standard_input {
        true => standard::input()?,
        false => File::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refuse("there is no such file; the option takes a file that holds the secret"),
            _ => refuse(&error.to_string()),
        })?,
    };
    let metadata = file.metadata().map_err(|error| refuse(&error.to_string()))?;
    if !quiet && let Some(exposed) = exposure(&metadata) {
        warn(&format!("{name} {exposed}"));
    }
    // Room for all of it at once, of a pipe too: growing would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MOST + 1));
    file.take(MOST as u64 + 1).read_to_end(&mut bytes).map_err(|error| refuse(&error.to_string()))?;
    if bytes.len() > MOST {
        return Err(refuse("it is too large; a file of a secret has at most 1 MiB"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| refuse("it is not text"))?;
    read(text).map_err(|error| refuse(error.message()))
}

/// Asks for a passphrase on the terminal, twice for a new one.
fn ask(is_new: bool) -> Result<Zeroizing<String>> {
    let ask = |what: &str| {
        rpassword::prompt_password(what).map(Zeroizing::new).map_err(|error| {
            Error::new(Exit::Key, format!("cannot ask for a passphrase: {error}; use --passphrase-file or a key"))
        })
    };
    let passphrase = ask("Passphrase: ")?;
    if is_new && *ask("The same again: ")? != *passphrase {
        return Err(Error::new(Exit::Key, "the two passphrases are not the same"));
    }
    Ok(passphrase)
}
