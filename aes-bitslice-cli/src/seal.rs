//! `seal` and `open`: files that are encrypted and authenticated.

use std::borrow::Cow;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::path::{Path, PathBuf};

use aes_bitslice_runtime::{Engine, Key};
use aes_bitslice_seal::tink::{self, Keyset};
use aes_bitslice_seal::{Error as SealError, Opening, PassphraseCost, Sealing, Secret};
use zeroize::Zeroizing;

use crate::access::exposure;
use crate::args::engine::KernelName;
use crate::args::key::{KeyArgs, KeySource};
use crate::args::seal::{Bytes, Format, IT_ASKS, OpenArgs, SealArgs, SecretArgs};
use crate::context::Context;
use crate::engine::{self, Work};
use crate::error::{Error, Exit, Result, warn};
use crate::input::Input;
use crate::output::{self, Options, Target};
use crate::pipeline::source::Source;
use crate::segments::{Segments, explain};
use crate::terminal::Terminal;
use crate::{keys, secret, segments, single, standard, text};

/// What to do if the input is no disk, and may be longer than its data.
const IF_LONGER: &str = "if the input goes on after the sealed data, give the number of bytes of that data with --length, or of a pipe with \
                         `head -c` in front";

/// Seals as the options say.
pub fn seal(args: &SealArgs) -> Result<()> {
    run(args, true, |engine, given, data, input| {
        let sealing = match given {
            Given::Keyset(keyset) => tink::sealing(engine, keyset, data),
            Given::Secret(secret) => Sealing::new(engine, secret, PassphraseCost::default()),
        };
        let sealing = sealing.map_err(|error| explain(&input.name, error))?;
        Ok(Some(Segments::to_seal(sealing, args.stream.chunk_bytes)))
    })
}

/// Opens as the options say.
pub fn open(args: &OpenArgs) -> Result<()> {
    let OpenArgs { common, range, message_bytes } = args;
    let needs_length = range.as_ref().map(|_| "--range").or(message_bytes.then_some("--message-bytes"));
    run(common, false, |engine, given, data, input| {
        // Checked before anything is read, because reading may have to wait.
        let length = needs_length.map(|option| {
            let message = format!(
                "{option} needs an input that can be read from any byte on, and {} cannot: name a file",
                input.name
            );
            input.measure().ok_or(Error::new(Exit::InputOutput, message))
        });
        let length = length.transpose()?;
        let opening = match given {
            Given::Keyset(keyset) => tink::opening(engine, keyset, data, &start(input, keyset.start_bytes())?),
            Given::Secret(secret) => Opening::new(engine, secret, &start(input, Opening::START)?),
        };
        let opening = opening.map_err(|error| explain(&input.name, error))?;
        let of_any_key = common.format == Format::Tink;
        let part = match (range, length) {
            (None, Some(length)) => {
                let read = |place, bytes: &mut [u8]| input.read_at(place, bytes);
                let bytes = segments::message_bytes(&opening, &input.name, length, of_any_key, read)?;
                output::print(&format!("{bytes}\n"))?;
                return Ok(None);
            }
            (Some(Bytes { start, end }), Some(length)) => {
                let range = (Included(*start), end.map_or(Unbounded, Excluded));
                let read = |place, bytes: &mut [u8]| input.read_at(place, bytes);
                let part = segments::part(&opening, &input.name, length, &range, of_any_key, read)?;
                input.narrow(part.read.clone(), length);
                Some(part)
            }
            _ => {
                input.skip(opening.places().header_bytes());
                None
            }
        };
        let segments = Segments::to_open(opening, part, common.stream.chunk_bytes);
        Ok(Some(if of_any_key { segments.of_any_key() } else { segments }))
    })
}

/// The first `bytes` bytes of what is to be opened, or all if there are fewer.
fn start(input: &mut Input, bytes: usize) -> Result<Cow<'_, [u8]>> {
    if input.peek(1)?.is_empty() {
        Err(Error::new(Exit::Failure, format!("{}: it is empty, and so not a sealed file", input.name)))
    } else {
        input.peek(bytes)
    }
}

/// The secret that was given.
enum Given<'a> {
    Keyset(&'a Keyset),
    Secret(Secret<'a>),
}

/// The secret, read from its source.
enum Held {
    Key(Key),
    Passphrase(Zeroizing<String>),
    Keyset(Keyset),
}

/// Runs what `begin` makes of engine, secret and associated data for the input, as `args` says; nothing, if it makes `None`.
fn run(
    args: &SealArgs,
    is_new: bool,
    begin: impl FnOnce(&Engine, Given<'_>, &[u8], &mut Input) -> Result<Option<Segments>>,
) -> Result<()> {
    let SecretArgs { key_file, passphrase_file, keyset, .. } = &args.secret;
    let secrets = [key_file, passphrase_file, keyset].into_iter().flatten();
    let is_standard_input = |path: &PathBuf| standard::is_input(path);
    if args.input.as_ref().is_none_or(is_standard_input) && secrets.clone().any(is_standard_input) {
        let message =
            "standard input is the data, or the key, the passphrase or the keyset, not both; name the input file";
        return Err(Error::usage(message));
    }
    if args.format == Format::Sealed && args.associated_data.is_some() {
        return Err(Error::usage("--associated-data is for --format tink; a sealed file has its header there"));
    }
    if args.stream.engine.kernel != KernelName::Auto {
        return Err(Error::usage("--kernel has no place here: GCM has one kernel; leave it out"));
    }
    if args.format == Format::Tink && (args.secret.passphrase || passphrase_file.is_some()) {
        return Err(Error::usage("a Tink stream has no passphrase; give --keyset or a key"));
    }
    let stream = &args.stream;
    let what = match (passphrase_file, keyset) {
        (Some(_), _) => "passphrase",
        (None, Some(_)) => "keyset",
        (None, None) => "key",
    };
    secret::must_stay(what, secrets, stream.output.as_deref())?;
    // A word after --passphrase is the input. Some users will mean it as the passphrase, and no message may show that.
    if let Some(path) = args.input.as_ref().filter(|path| args.secret.passphrase && !is_standard_input(path))
        && let Err(error) = fs::metadata(path)
    {
        return Err(Error::new(Exit::InputOutput, format!("cannot read the input: {error}; {IT_ASKS}")));
    }
    let mut input = Input::open(args.input.as_deref())?;
    input.limit(args.length)?;
    let if_longer = input.if_longer().unwrap_or_else(|| IF_LONGER.into());
    let if_longer = args.length.is_none().then_some(if_longer);
    let options = Options { force: stream.force, private: false };
    let target = Target::check(stream.output.as_deref(), Some(&input), options)?;
    // Before a passphrase is typed, report what is wrong with the files, or that none is needed.
    if args.secret.passphrase && !is_new {
        let needs = Opening::needs_passphrase(&start(&mut input, Opening::START)?);
        let refused = needs.and_then(|needs| if needs { Ok(()) } else { Err(SealError::NeedsKey) });
        refused.map_err(|error| explain(&input.name, error))?;
    }
    let secret = read(args, is_new)?;
    // The CPU, unless another engine is requested: for files its cores are about as fast as the way to a GPU and back.
    let engine = engine::open(&stream.engine, Work::OnCpu, stream.quiet)?;
    let given = match &secret {
        Held::Key(key) => Given::Secret(Secret::Key(key)),
        Held::Passphrase(passphrase) => Given::Secret(Secret::Passphrase(passphrase.as_bytes())),
        Held::Keyset(keyset) => Given::Keyset(keyset),
    };
    let data = args.associated_data.as_deref().unwrap_or_default().as_bytes();
    let segments = begin(&engine, given, data, &mut input).map_err(|error| error.advising(if_longer.as_deref()))?;
    // From here on only the key of the stream is needed.
    drop(secret);
    let Some(segments) = segments else { return Ok(()) };
    let output = target.open()?;
    let is_in_order = input.length.is_none() || !output.is_new_file();
    let segments = if is_in_order && stream.chunk_bytes.is_none() { segments.in_order() } else { segments };
    let context = Context::of_segments(engine, &segments, input.length, stream);
    let source = Source::new(input, context.cut);
    let ended = single::run(context, segments, source, output, stream.quiet);
    ended.map_err(|error| error.advising(if_longer.as_deref()))
}

/// Reads the secret that the options name.
fn read(args: &SealArgs, is_new: bool) -> Result<Held> {
    let SealArgs { secret: args, key_format, format, stream, .. } = args;
    let (key_format, format, quiet) = (*key_format, *format, stream.quiet);
    if let Some(path) = &args.keyset {
        if format != Format::Tink {
            return Err(Error::usage("--keyset is for --format tink; give a key or a passphrase"));
        }
        let read = |text: &str| Keyset::from_json(text).map_err(|error| Error::new(Exit::Key, error.to_string()));
        return secret_text("--keyset", path, quiet, read).map(Held::Keyset);
    }
    let passphrase = match (&args.passphrase_file, args.passphrase) {
        (Some(path), _) => Some(secret_text("--passphrase-file", path, quiet, first_line)?),
        (None, true) => Some(ask(is_new)?),
        (None, false) => None,
    };
    if let Some(passphrase) = passphrase {
        return Ok(Held::Passphrase(passphrase));
    }
    let source = KeySource { key_file: args.key_file.clone(), key_env: args.key_env.clone() };
    let key = keys::read(&KeyArgs { source, key_format }, keys::KeyKind::Aes256, quiet)?;
    match format {
        Format::Sealed => Ok(Held::Key(key)),
        Format::Tink => Ok(Held::Keyset(Keyset::of_key(&key).map_err(|error| explain("the key", error))?)),
    }
}

/// The first line of a text, which is a passphrase.
fn first_line(text: &str) -> Result<Zeroizing<String>> {
    match text.lines().next().unwrap_or_default() {
        "" => Err(Error::new(Exit::Key, "its first line, which is the passphrase, is empty")),
        line if line.contains('\0') => {
            Err(Error::new(Exit::Key, "its first line has a NUL byte, which is no text: save it as plain text"))
        }
        line => Ok(Zeroizing::new(line.to_owned())),
    }
}

/// Returns what `read` makes of the text of an `option`'s file, which holds a secret.
fn secret_text<T>(option: &str, path: &Path, quiet: bool, read: impl FnOnce(&str) -> Result<T>) -> Result<T> {
    /// More than any keyset has.
    const MOST: usize = 1 << 20;
    // Some users will put the secret itself in its place, and no message may show that: only an existing file is named.
    let is_standard_input = path == Path::new("-");
    let name = if is_standard_input {
        format!("standard input ({option})")
    } else if path.exists() {
        format!("`{}`", path.display())
    } else {
        format!("the file of {option}")
    };
    let refuse = |why: &str| Error::new(Exit::Key, format!("{name}: {why}"));
    let file = if is_standard_input {
        standard::input()?
    } else {
        standard::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let advice = text::not_replaced(path).unwrap_or("the option takes a file that holds the secret");
                refuse(&format!("there is no such file; {advice}"))
            }
            _ => refuse(&error.to_string()),
        })?
    };
    let metadata = file.metadata().map_err(|error| refuse(&error.to_string()))?;
    if metadata.is_dir() {
        return Err(refuse("it is a folder, not a file"));
    }
    if file.is_terminal() {
        return Err(refuse(text::TYPED));
    }
    if !quiet && let Some(exposed) = exposure(&name, &metadata, is_standard_input) {
        warn(&exposed);
    }
    // Room for all of it at once, even from a pipe: growing would leave copies behind.
    let mut bytes = Zeroizing::new(Vec::new());
    let no_room = |_| Error::new(Exit::Failure, format!("{name}: there is too little memory to read it"));
    bytes.try_reserve_exact(MOST + 1).map_err(no_room)?;
    file.take(MOST as u64 + 1).read_to_end(&mut bytes).map_err(|error| refuse(&error.to_string()))?;
    if bytes.len() > MOST {
        return Err(refuse("it is too large; a file of a secret has at most 1 MiB"));
    }
    if let Some(why) = text::not_plain(&bytes) {
        return Err(refuse(why));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| refuse("it is not UTF-8: save it as plain text in UTF-8"))?;
    read(text).map_err(|error| refuse(error.message()))
}

/// Asks for a passphrase on the terminal, twice for a new one.
fn ask(is_new: bool) -> Result<Zeroizing<String>> {
    let failed = |error: io::Error| {
        Error::new(Exit::Key, format!("cannot ask for a passphrase: {error}; use --passphrase-file or a key"))
    };
    let no_terminal = |error: io::Error| {
        let message =
            format!("there is no terminal to ask for a passphrase on ({error}); use --passphrase-file or a key");
        Error::new(Exit::Key, message)
    };
    let mut terminal = Terminal::open().map_err(no_terminal)?;
    let passphrase = terminal.ask("Passphrase: ").map_err(failed)?;
    if passphrase.is_empty() {
        return Err(Error::new(Exit::Key, "the passphrase is empty"));
    }
    if is_new && *terminal.ask("The same again: ").map_err(failed)? != *passphrase {
        return Err(Error::new(Exit::Key, "the two passphrases are not the same"));
    }
    Ok(passphrase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_its_line_and_nothing_less() {
        for (text, line) in
            [("word", "word"), ("word\nmore", "word"), ("word\r\n", "word"), (" two words\t \n", " two words\t ")]
        {
            assert_eq!(*first_line(text).unwrap(), line, "{text:?}");
        }
        assert!(first_line("wo\0rd").is_err() && first_line("word\n\0").is_ok());
        assert!(["", "\nword", "\r\nword"].iter().all(|text| first_line(text).is_err()));
    }
}
