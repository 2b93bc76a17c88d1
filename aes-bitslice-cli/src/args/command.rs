//! The commands, their help, and one-line errors for a wrong command line.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::bench::{self, BenchArgs};
use super::crypt::{self, CryptArgs};
use super::info::InfoArgs;
use super::iv::parse_to_decrypt;
use super::key::KeygenArgs;
use super::keystream::{self, KeystreamArgs};
use super::mode;
use super::numbers::split_unit;
use super::pages::{CompletionsArgs, ManArgs};
use super::seal::{self, OpenArgs, SealArgs};
use super::tune::TuneArgs;
use crate::error::{Error, Result};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failure: a file that is not sealed or was changed, bad padding, an engine
     that fails or disagrees with the reference, too little memory, no threads;
     failures of several kinds
  2  usage: an unknown, missing or contradictory option; a range that the
     message does not have
  3  key, passphrase, keyset or baked kernel: missing, unreadable, malformed, of
     a wrong length, or not the one that a file was sealed with
  4  input or output: cannot be opened, read or written, exists already, is of a
     length that the mode does not take; a closed pipe
  5  a GPU or an OpenCL device was asked for, and there is none
A signal that can be handled ends it as it ends any program, after the
unfinished output file is removed; a real-time signal n ends it with exit code
128 + n.";

const EXAMPLES: &str = "\
Examples:
  aes-bitslice keygen --bits 256 -o key
  aes-bitslice seal -k key -o data.sealed data
  aes-bitslice open -k key -o data.again data.sealed
  aes-bitslice encrypt -m ctr -k key -o data.ctr data
  aes-bitslice decrypt -m ctr -k key -o data.same data.ctr
  aes-bitslice keystream -n 1GiB -k key -o random
  aes-bitslice info
  aes-bitslice tune
  aes-bitslice bench --modes ctr --sizes 1GiB";

/// The most columns of help on a wider terminal.
const WIDEST: usize = 100;

/// Encrypts files and streams with AES, on a GPU or on the CPU
///
/// AES is computed on bit-planes, on a GPU if there is one, through CUDA or OpenCL, and otherwise on the CPU.
#[derive(Parser, Debug)]
#[command(name = "aes-bitslice", version, after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"), max_term_width = WIDEST)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Encrypt and authenticate a file or a stream
    ///
    /// AES-256-GCM in segments of 1 MiB; a sealed file says how to open it.
    #[command(override_usage = "aes-bitslice seal --key-file KEY [OPTIONS] [IN]")]
    #[command(mut_arg("backend", seal::backend), mut_arg("kernel", |arg| arg.hide(true)))]
    #[command(after_long_help = format!("{}\n\n{EXIT_CODES}", seal::EXAMPLES))]
    Seal(SealArgs),
    /// Open what `seal` made, if it was not changed
    #[command(override_usage = "aes-bitslice open --key-file KEY [OPTIONS] [IN]")]
    #[command(mut_arg("backend", seal::backend), mut_arg("kernel", |arg| arg.hide(true)))]
    #[command(after_long_help = format!("{}\n\n{EXIT_CODES}", seal::EXAMPLES))]
    Open(OpenArgs),
    /// Encrypt files or a stream in a raw mode, without authentication
    ///
    /// With a given IV the output is byte-identical to `openssl enc`, which pads ECB and CBC as --padding pkcs7 does; otherwise a new IV is
    /// in front of it.
    #[command(override_usage = "aes-bitslice encrypt --mode MODE --key-file KEY [OPTIONS] [IN]...")]
    #[command(after_long_help = format!("{}\n\n{EXIT_CODES}", crypt::EXAMPLES))]
    Encrypt(CryptArgs),
    /// Decrypt files or a stream in a raw mode
    ///
    /// With a given IV the output is byte-identical to `openssl enc -d`, which removes the padding of ECB and CBC as --padding pkcs7 does;
    /// otherwise the IV is in front of the input.
    #[command(override_usage = "aes-bitslice decrypt --mode MODE --key-file KEY [OPTIONS] [IN]...")]
    #[command(after_long_help = format!("{}\n\n{EXIT_CODES}", crypt::EXAMPLES))]
    Decrypt(CryptArgs),
    /// Write the key stream of CTR: bytes as good as random
    #[command(override_usage = "aes-bitslice keystream --bytes SIZE --key-file KEY [OPTIONS]")]
    #[command(after_long_help = format!("{}\n\n{EXIT_CODES}", keystream::EXAMPLES))]
    Keystream(KeystreamArgs),
    /// Write a new random key to a new file that only its owner may read
    #[command(after_help = "Example:\n  aes-bitslice keygen --bits 256 -o key")]
    Keygen(KeygenArgs),
    /// Show the engines of this machine, which one `auto` takes, and why
    Info(InfoArgs),
    /// Measure what is fastest on a GPU, and keep it for later commands
    #[command(after_long_help = "\
Examples:
  aes-bitslice tune
  aes-bitslice tune --device 1 --seconds 60
  aes-bitslice tune --dry-run --json > tuning.json

Measures the kernels and their geometries on data in the memory of the GPU, and
the GPU against the CPU on data in host memory, transfers counted. Every output
is compared with that of the `cpu` engine first: all of it up to 4 MiB, chunks
from start to end of what is larger. What was fastest is kept in the user's
cache folder (or in that of AES_BITSLICE_CACHE) for GPUs of this name with this
driver and this version of the program. It holds no secret.")]
    Tune(TuneArgs),
    /// Measure the engines, after checking what they compute
    #[command(after_long_help = bench::HELP)]
    Bench(BenchArgs),
    /// Print completions for a shell
    #[command(
        after_help = "Example:\n  aes-bitslice completions bash > \\\n    ~/.local/share/bash-completion/completions/aes-bitslice"
    )]
    Completions(CompletionsArgs),
    /// Print a manual page
    #[command(after_help = "Example:\n  aes-bitslice man encrypt | man -l -")]
    Man(ManArgs),
}

/// The command line for clap.
pub fn command() -> clap::Command {
    let [short, long] = crypt::IV_TO_DECRYPT;
    let of_decrypt = |iv: Arg| iv.help(short).long_help(long).value_parser(parse_to_decrypt);
    Cli::command().mut_subcommands(|command| {
        // A number's parser says what is allowed; otherwise clap would take a negative one for an unknown option.
        let command = command.mut_args(|arg| if takes_a_number(&arg) { arg.allow_hyphen_values(true) } else { arg });
        match command.get_name() {
            "decrypt" => command.mut_arg("iv", of_decrypt),
            _ => command,
        }
    })
}

/// The value names of options that take numbers, as in their help.
const NUMBERS: [&str; 6] = ["N", "S", "SIZE", "SIZES", "BITS", "START..END"];

fn takes_a_number(arg: &Arg) -> bool {
    arg.get_value_names().is_some_and(|names| names.iter().any(|name| NUMBERS.contains(&name.as_str())))
}

/// What the command line asks for.
pub enum Asked {
    Command(Box<Command>),
    /// Help, or the version: the text.
    Help(clap::Error),
}

/// Parses the command line.
pub fn parse() -> Result<Asked> {
    parse_from(std::env::args_os())
}

/// Parses arguments, the first of which is the name of the program.
fn parse_from(arguments: impl IntoIterator<Item = OsString>) -> Result<Asked> {
    let mut arguments: Vec<_> = arguments.into_iter().collect();
    // clap's own `help` knows no options.
    if arguments.get(1).is_some_and(|command| command == "help") {
        arguments.retain(|word| word != "--help" && word != "-h");
    }
    if let Some((option, instead)) = of_openssl(&arguments) {
        return Err(Error::usage(format!("{option} is an option of `openssl`: {instead}; see --help")));
    }
    let matches = command().try_get_matches_from(&arguments);
    let error = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => return Ok(Asked::Command(Box::new(cli.command))),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Asked::Help(error)),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let names: Vec<_> = command().get_subcommands().map(|command| command.get_name().to_string()).collect();
            Err(Error::usage(format!("no command given: {}; see --help", names.join(", "))))
        }
        ErrorKind::InvalidUtf8 => Err(Error::usage(not_text(&arguments))),
        // The word is not repeated: it may be the passphrase.
        _ if is_second_file(&error, &arguments) => {
            if arguments.iter().any(|argument| argument == "--passphrase") {
                Err(Error::usage(format!("`seal` and `open` take one input, and {}; see --help", seal::IT_ASKS)))
            } else {
                Err(Error::usage("one file at a time: `seal` and `open` take one input; see --help"))
            }
        }
        _ if lacks_folder(&error) && arguments.iter().any(|argument| argument == "-d") => Err(Error::usage(
            "-d is --out-dir, and needs the name of a folder; `decrypt` decrypts without it; see --help",
        )),
        _ => {
            let command = arguments.get(1).and_then(|name| name.to_str());
            let error = without_wrong_tips(error, command);
            let is_empty_option = |word: &[u8]| word.is_empty() || word.starts_with(b"--") && word.ends_with(b"=");
            let is_empty = arguments.iter().any(|word| is_empty_option(word.as_encoded_bytes()));
            match empty_value(&error).filter(|_| is_empty) {
                Some(option) => Err(Error::usage(format!("the value of {option} is empty; see --help"))),
                None => Err(Error::usage(message_of(error, command))),
            }
        }
    }
}

/// The first option that `openssl enc` has with one dash, and the replacement. A longer one would be taken for several options of one
/// letter: `-out NAME` for `-o ut`, and `NAME` for the input.
fn of_openssl(arguments: &[OsString]) -> Option<(&'static str, &'static str)> {
    const INSTEAD: [(&str, &str); 18] = [
        ("-in", "the input is named without an option"),
        ("-out", "give the output with -o"),
        ("-iv", "give the IV with --iv"),
        ("-pass", "`seal` takes a passphrase, with --passphrase or --passphrase-file"),
        ("-kfile", "give the key with --key-file"),
        ("-nopad", "there is no padding without --padding"),
        ("-pbkdf2", "`seal --passphrase` makes the key by Argon2id"),
        ("-iter", "`seal --passphrase` makes the key by Argon2id"),
        ("-salt", "`seal --passphrase` draws a salt"),
        ("-nosalt", "give the key with --key-file"),
        ("-md", "`seal --passphrase` makes the key by Argon2id"),
        ("-S", "`seal --passphrase` draws a salt"),
        ("-P", "no key is printed"),
        ("-engine", "give the engine with --backend"),
        ("-bufsize", "leave it out"),
        ("-a", "data is bytes; `base64` makes text of them"),
        ("-A", "data is bytes; `base64` makes text of them"),
        ("-base64", "data is bytes; `base64` makes text of them"),
    ];
    let options = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    options.filter_map(|option| option.to_str()).find_map(|option| {
        if option.starts_with("-aes-") {
            // The rest is not repeated: it could be anything.
            Some(("-aes-...", "give the mode with --mode"))
        } else {
            INSTEAD.into_iter().find(|(name, _)| *name == option)
        }
    })
}

/// Which arguments are not text; clap does not say. File names need not be text, so of several, not all may be wrong.
fn not_text(arguments: &[OsString]) -> String {
    let places = (0..arguments.len()).filter(|&place| arguments[place].to_str().is_none());
    let places: Vec<String> = places.map(|place| place.to_string()).collect();
    match &places[..] {
        [place] => format!("argument {place} is not text in UTF-8; see --help"),
        _ => format!(
            "an option or a command is not text in UTF-8: one of the arguments {}; see --help",
            places.join(", ")
        ),
    }
}

/// Whether the unexpected argument is a second input of a command that takes one.
fn is_second_file(error: &clap::Error, arguments: &[OsString]) -> bool {
    let takes_one = arguments.get(1).is_some_and(|command| command == "seal" || command == "open");
    let is_file = |name: &ContextValue| matches!(name, ContextValue::String(name) if !name.starts_with('-'));
    takes_one && error.kind() == ErrorKind::UnknownArgument && error.get(ContextKind::InvalidArg).is_some_and(is_file)
}

/// Whether the value of --out-dir is missing. `-d` without one is how `openssl` is told to decrypt.
fn lacks_folder(error: &clap::Error) -> bool {
    let is = |kind, text: &str| matches!(error.get(kind), Some(ContextValue::String(found)) if found == text);
    is(ContextKind::InvalidArg, "--out-dir <DIR>") && is(ContextKind::InvalidValue, "")
}

/// The option whose value is empty or missing: of both clap says that none was supplied.
fn empty_value(error: &clap::Error) -> Option<String> {
    match [ContextKind::InvalidArg, ContextKind::InvalidValue].map(|kind| error.get(kind)) {
        [Some(ContextValue::String(option)), Some(ContextValue::String(value))]
            if error.kind() == ErrorKind::InvalidValue && value.is_empty() =>
        {
            Some(option.clone())
        }
        _ => None,
    }
}

/// Removes clap's guess from an error, if it begins otherwise than what was given, as `--force` for `--nonce` does, or is an option that
/// the command hides; and its tip to put `--` first, which would make a misspelt option a file's name.
fn without_wrong_tips(mut error: clap::Error, command: Option<&str>) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::StyledStrs(tips)) = error.get(ContextKind::Suggested)
    {
        let right = tips.iter().filter(|tip| !tip.to_string().contains("as a value, use '")).cloned().collect();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(right));
    }
    let Some(ContextValue::String(guess)) = error.get(ContextKind::SuggestedArg) else { return error };
    let all = self::command();
    let command = command.and_then(|name| all.find_subcommand(name));
    let mut hidden = command.into_iter().flat_map(clap::Command::get_arguments).filter(|arg| arg.is_hide_set());
    // The dashes and three letters.
    let start = guess.get(..5).unwrap_or(guess);
    let begins_alike =
        matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(option)) if option.starts_with(start));
    if !begins_alike || hidden.any(|arg| arg.get_long() == guess.strip_prefix("--")) {
        error.remove(ContextKind::SuggestedArg);
    }
    error
}

/// The error of this command, if there is one of that name, in one line.
fn message_of(error: clap::Error, command: Option<&str>) -> String {
    if let (ErrorKind::UnknownArgument, Some(command), Some(ContextValue::String(option))) =
        (error.kind(), command, error.get(ContextKind::InvalidArg))
        && let Some(instead) = instead_of(command, option)
    {
        return format!("`{command}` has no {option}: {instead}; see --help");
    }
    if is_number(&error) {
        one_line(&error.render().to_string())
    } else if command.is_some_and(|command| WITHOUT_SECRETS.contains(&command)) {
        without_keys(&one_line(&error.render().to_string()))
    } else {
        without_keys(&one_line(&without_digits(error).render().to_string()))
    }
}

/// Commands; options that they lack, and that other programs have, or other commands of this one; and the replacement.
const INSTEAD: &[(&[&str], &[&str], &str)] = &[
    // These show in the list of processes.
    (
        &["seal", "open"],
        &["--key", "-K", "--password", "--pass"],
        "others could read the secret in the list of processes; give the name of a file with --key-file or --passphrase-file",
    ),
    (
        &["encrypt", "decrypt", "keystream"],
        &["--key", "-K"],
        "others could read the key in the list of processes; give the name of a file with --key-file",
    ),
    (
        &["encrypt", "decrypt", "keystream"],
        &["--password", "--pass", "--passphrase", "--passphrase-file"],
        "it takes a key, with --key-file; `seal` and `open` take a passphrase",
    ),
    (&["keystream"], &["--baked"], "no kernel with a key baked in makes key stream; give the key with --key-file"),
    (&["seal", "open"], &["--mode", "-m"], "`seal` and `open` are AES-256-GCM; `encrypt` and `decrypt` have modes"),
    (&["keystream"], &["--mode", "-m"], "its key stream is always that of CTR; leave it out"),
    (&["keygen"], &["--mode", "-m"], "a key is for any mode, except that XTS needs two: for XTS add --xts"),
    (&["bench"], &["--mode", "-m"], "give what to measure with --modes, as in `--modes ctr,ecb-encrypt`"),
    (&["bench"], &["--backend"], "give the engines with --backends, as in `--backends cuda,cpu`"),
    (&["bench"], &["--device"], "give GPUs with --backends, as in `--backends cuda:0`"),
    (&["open"], &["--offset", "--bytes", "-n"], "give the bytes of the message with --range START..END"),
    (
        &["seal", "encrypt", "decrypt"],
        &["--offset", "--range", "--bytes", "-n"],
        "it takes all of its input; `open` opens a part of a sealed file, with --range",
    ),
    (&["keystream"], &["--range"], "give where it starts with --offset, and how long it is with --bytes"),
    // `encrypt` and `decrypt` have a -d of their own.
    (&["seal"], &["--decrypt", "-d"], "`open` decrypts what `seal` encrypted"),
    (&["encrypt"], &["--decrypt"], "`decrypt` decrypts what `encrypt` encrypted"),
    (&["open"], &["--encrypt", "-e"], "`seal` encrypts"),
    (&["decrypt"], &["--encrypt", "-e"], "`encrypt` encrypts"),
    (&["seal", "encrypt"], &["--encrypt", "-e"], "it encrypts anyway; leave it out"),
    (&["open"], &["--decrypt", "-d"], "it decrypts anyway; leave it out"),
    (&["decrypt"], &["--decrypt"], "it decrypts anyway; leave it out"),
    (&["seal", "open"], &["--out-dir"], "it takes one file at a time; give the output with -o"),
    // Not for `tune`, which keeps its choice between CPU and GPU for commands that have all cores.
    (
        &["seal", "open", "encrypt", "decrypt", "keystream", "bench"],
        &["--threads", "--jobs", "-t", "-j"],
        "all cores that the system gives the program do the work; `taskset -c 0-3 aes-bitslice ...` gives it four",
    ),
];

/// The replacement in the table, if any.
fn instead_of(command: &str, option: &str) -> Option<&'static str> {
    let mut rows = INSTEAD.iter();
    let row = rows.find(|(commands, options, _)| commands.contains(&command) && options.contains(&option));
    row.map(|(.., instead)| *instead)
}

/// Commands that take no secret: nobody gives them one in another value's place.
const WITHOUT_SECRETS: [&str; 2] = ["bench", "tune"];

/// Some users will put the key where another value belongs, and no message may show it: a value with many hexadecimal digits is left out.
fn without_digits(mut error: clap::Error) -> clap::Error {
    const MOST: usize = 7;
    // It takes no value; a user who gives it one has given a passphrase.
    if matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(name)) if name == "--passphrase") {
        error.insert(ContextKind::InvalidValue, ContextValue::String("(not shown)".into()));
    }
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg, ContextKind::InvalidSubcommand] {
        let Some(ContextValue::String(text)) = error.get(kind) else { continue };
        // `aes-128-ecb-encrypt` has ten.
        let is_known = is_name(text) || mode::is_name_of_mode(text);
        if text.bytes().filter(u8::is_ascii_hexdigit).count() > MOST && !is_known {
            error.insert(kind, ContextValue::String("(not shown)".into()));
            // Suggestions quote it.
            error.remove(ContextKind::Suggested);
        }
    }
    error
}

/// Whether the wrong value is a decimal number, or a range of them, too short for a key, where a number belongs.
fn is_number(error: &clap::Error) -> bool {
    /// Digits of the largest number of 64 bits. Far fewer than a key has, even one that lost some.
    const MOST: usize = 20;
    let [Some(ContextValue::String(option)), Some(ContextValue::String(text))] =
        [ContextKind::InvalidArg, ContextKind::InvalidValue].map(|kind| error.get(kind))
    else {
        return false;
    };
    let belongs = NUMBERS.iter().any(|name| option.ends_with(&format!(" <{name}>")));
    let is_short = |number: &str| {
        let digits = split_unit(number).0;
        digits.len() <= MOST && digits.bytes().all(|digit| digit.is_ascii_digit())
    };
    let numbers: Vec<&str> = text.split("..").flat_map(|number| number.trim_start_matches('-').split('-')).collect();
    belongs && numbers.len() <= 2 && numbers.into_iter().all(is_short)
}

/// Whether it is the name of an argument.
fn is_name(text: &str) -> bool {
    let name = text.trim_start_matches(['-', '<']);
    name.len() < text.len() && !name.bytes().any(|byte| byte.is_ascii_digit())
}

/// The text of an error of a value's parser, without long runs of hexadecimal digits, which may be keys.
fn without_keys(text: &str) -> String {
    let shown = |word: &str| word.len() < 16 || word.contains(|sign: char| !sign.is_ascii_hexdigit());
    let words = text.split_inclusive(|sign: char| !sign.is_ascii_alphanumeric());
    let words = words.map(|word| {
        let (digits, sign) = word.split_at(word.trim_end_matches(|sign: char| !sign.is_ascii_alphanumeric()).len());
        if shown(digits) { word.to_string() } else { format!("(not shown){sign}") }
    });
    words.collect()
}

/// The message of clap and its tips as one line, without the usage, which `--help` shows.
fn one_line(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let told = paragraphs.filter(|p| !p.starts_with("Usage:") && !p.starts_with("For more information"));
    format!("{}; see --help", told.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;
    use proptest::prelude::*;
    use proptest::sample::select;
    use std::cell::Cell;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_text_is_told_by_its_place() {
        let told = |line: &[&[u8]]| {
            let error = parse_from(line.iter().map(|word| of_bytes(word.to_vec()))).err().unwrap();
            error.message().to_owned()
        };
        let variable = told(&[b"aes-bitslice", b"encrypt", b"--key-env", b"c\xe9", b"-m", b"ctr"]);
        assert_eq!(variable, "argument 3 is not text in UTF-8; see --help");
        let several = told(&[b"aes-bitslice", b"encrypt", b"-o", b"k\xe9y", b"--key-env", b"c\xe9"]);
        assert!(several.contains("one of the arguments 3, 5;"), "{several}");
    }

    /// The message for a wrong line.
    fn refused(line: &str) -> String {
        let Err(error) = parse_from(line.split(' ').map(OsString::from)) else { panic!("{line}") };
        error.message().to_owned()
    }

    #[test]
    fn no_message_shows_a_key() {
        for key in
            ["8badf00d8badf00d8badf00d8badf00d", "8badf00d8badf00d8badf00d8badf00", "0x8badf00d8b", "8badf00dkey"]
        {
            for line in [
                key.to_string(),
                format!("encrypt -m {key}"),
                format!("encrypt -m ctr -i {key}"),
                format!("decrypt -m ctr --iv={key}"),
                format!("encrypt -m ctr --key-format {key}"),
                format!("encrypt -m ctr --device {key}"),
                format!("encrypt -m ctr --{key}"),
                format!("encrypt -m ctr -{key}"),
                format!("info {key}"),
                format!("keystream -n {key}"),
            ] {
                let text = refused(&format!("aes-bitslice {line}"));
                assert!(!text.contains(&key[..8]) && !text.contains("f00d"), "{line}: {text}");
            }
        }
        let shown = refused;
        let key = "8badf00d8badf00d8badf00d8badf00d";
        for line in
            [format!("aes-bitslice encrypt -m ctr -b {key}"), format!("aes-bitslice encrypt -m ctr -b cuda:{key}")]
        {
            let text = shown(&line);
            assert!(!text.contains("f00d") && text.contains("backend"), "{text}");
        }
        let text = shown("aes-bitslice seal --passphrase=hunter2 data");
        assert!(!text.contains("hunter2") && text.contains("--passphrase"), "{text}");
        assert!(shown("aes-bitslice encrypt -m cfb").contains("'cfb'"));
        for name in ["gcm", "AES-256-GCM"] {
            assert!(shown(&format!("aes-bitslice encrypt -m {name}")).contains("`seal` and `open` are AES-256-GCM"));
        }
        for name in ["gcm-siv", "AES_256_GCM_SIV"] {
            assert!(
                shown(&format!("aes-bitslice encrypt -m {name}")).contains("AES-GCM-SIV of single messages"),
                "{name}"
            );
        }
        assert!(shown("aes-bitslice encrypt --key-feedback x").contains("'--key-feedback'"));
        assert!(shown("aes-bitslice keystream -n -1GiB").contains("'-1GiB' for '--bytes"));
        assert!(
            shown("aes-bitslice encrypt -m xts --sector-size 99999999999").contains("'99999999999' for '--sector-size")
        );
        assert!(shown("aes-bitslice encrypt -m ctr -i 99999999999").contains("(not shown)"));
        // Where a number belongs: one of a little over 64 bits is shown, a key of decimal digits that lost one is not.
        let digits = "9876543210987654321098765432109";
        for option in ["keystream -n ", "keystream -n -", "encrypt -m xts --sector-size ", "open --range 5.."] {
            let [number, key] = [20, 31].map(|len| shown(&format!("aes-bitslice {option}{}", &digits[..len])));
            assert!(number.contains(&digits[..20]), "{option}: {number}");
            assert!(!key.contains(&digits[..8]) && key.contains("(not shown)"), "{option}: {key}");
            let in_pieces = shown(&format!("aes-bitslice {option}98765432-10987654-32109876-54321098"));
            assert!(!in_pieces.contains("10987654") && in_pieces.contains("(not shown)"), "{option}: {in_pieces}");
        }
    }

    #[test]
    fn digits_are_shown_where_they_are_too_few_for_a_key() {
        assert!(refused("aes-bitslice info abcdef0").contains("'abcdef0'"));
        for digits in ["abcdef01", "deadbeef"] {
            assert!(refused(&format!("aes-bitslice info {digits}")).contains("(not shown)"));
        }
        assert_eq!(without_keys("of 8badf00d8badf00, x"), "of 8badf00d8badf00, x");
        assert_eq!(without_keys("of 8badf00d8badf00d, x"), "of (not shown), x");
    }

    /// They begin with letters that are options here.
    #[test]
    fn options_of_openssl_are_told() {
        let parsed = |line: &str| parse_from(line.split(' ').map(OsString::from));
        for (option, instead) in [
            ("-out here", "-o"),
            ("-in here", "without an option"),
            ("-aes-256-ctr", "--mode"),
            ("-engine x", "--backend"),
            ("-bufsize 5", "leave it out"),
            ("-md sha256", "Argon2id"),
            ("-S 00", "salt"),
            ("-P", "no key"),
            ("-a", "`base64`"),
            ("-A", "`base64`"),
        ] {
            let Err(error) = parsed(&format!("aes-bitslice encrypt -m ctr -k key {option}")) else {
                panic!("{option}")
            };
            let message = error.message();
            assert!(message.contains("of `openssl`") && message.contains(instead), "{message}");
        }
        assert!(parsed("aes-bitslice encrypt -m ctr -k key --out-dir y -- -out x").is_ok());
    }

    #[test]
    fn a_missing_folder_is_told_from_another_missing_value() {
        assert!(refused("aes-bitslice encrypt -m ctr -k key -d").starts_with("-d is --out-dir"));
        assert!(refused("aes-bitslice encrypt -m ctr -k key -d folder --iv").contains("'--iv <IV>'"));
    }

    /// No hint names an option that the command lacks, or is for one that it has.
    #[test]
    fn hints_are_right_for_the_command() {
        let all = command();
        for (commands, options, hint) in INSTEAD {
            for name in *commands {
                for option in *options {
                    let told = refused(&format!("aes-bitslice {name} {option} 5"));
                    assert_eq!(told, format!("`{name}` has no {option}: {hint}; see --help"));
                }
                let has = |word: &str| {
                    let is_it = |arg: &Arg| match word.strip_prefix("--") {
                        Some(long) => arg.get_long() == Some(long),
                        None => arg.get_short() == word.chars().nth(1),
                    };
                    all.find_subcommand(name).unwrap().get_arguments().any(is_it)
                };
                // Before a clause about other commands.
                let own = hint.split("; `").next().unwrap();
                for word in own.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-') {
                    assert!(!word.starts_with('-') || has(word), "{name}: {hint}");
                }
            }
        }
    }

    /// clap wraps longer lines anywhere, commands too, and begins the rest at the left.
    #[test]
    fn what_help_ends_with_needs_no_wrapping() {
        let mut all = command();
        let names: Vec<_> = all.get_subcommands().map(|command| command.get_name().to_string()).collect();
        all.build();
        let ends = |command: &clap::Command| {
            [command.get_after_help(), command.get_after_long_help()].map(|end| end.map(ToString::to_string))
        };
        let of_commands: Vec<_> = names.iter().flat_map(|name| ends(all.find_subcommand(name).unwrap())).collect();
        for line in ends(&all).iter().chain(&of_commands).flatten().flat_map(|end| end.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    /// The short help of every command, on a terminal of the usual size; longer texts are in `--help`.
    #[test]
    fn short_help_fits_a_screen() {
        let mut command = command().term_width(80);
        let names: Vec<_> = command.get_subcommands().map(|command| command.get_name().to_string()).collect();
        command.build();
        let check = |name: &str, help: String| {
            let lines: Vec<&str> = help.lines().collect();
            assert!(lines.len() <= 24, "{name}: {} lines\n{help}", lines.len());
            assert!(lines.iter().all(|line| line.chars().count() <= 80), "{name}\n{help}");
        };
        check("", command.render_help().to_string());
        for name in names {
            let help = command.find_subcommand_mut(&name).unwrap().render_help().to_string();
            check(&name, help);
        }
    }

    /// `--help` of a command.
    fn help(name: &str) -> String {
        command().find_subcommand_mut(name).unwrap().render_long_help().to_string()
    }

    #[test]
    fn help_has_the_lengths_of_keys_that_the_command_takes() {
        for (name, lengths, others) in [
            ("seal", &["256 bits", "64 hexadecimal"][..], &["128", "192", "32, 48", "xts"][..]),
            ("open", &["256 bits", "64 hexadecimal"], &["128", "192", "32, 48", "xts"]),
            ("keystream", &["128, 192 or 256 bits", "32, 48 or 64 hexadecimal"], &["xts", "XTS"]),
            ("encrypt", &["128, 192 or 256 bits", "32, 48 or 64 hexadecimal", "AES-128-XTS"], &[]),
        ] {
            let help = help(name).split_whitespace().collect::<Vec<_>>().join(" ");
            let options = help.split("Examples:").next().unwrap();
            assert!(lengths.iter().all(|length| options.contains(length)), "{name}: {options}");
            assert!(!others.iter().any(|length| options.contains(length)), "{name}: {options}");
        }
    }

    #[test]
    fn decryption_has_an_iv_of_its_own() {
        let of_iv = |name| {
            let help = help(name);
            help.split("--iv <IV>").nth(1).unwrap().split("--padding").next().unwrap().to_string()
        };
        assert!(of_iv("encrypt").contains("`random`, the default") && !of_iv("encrypt").contains("stored`"));
        assert!(of_iv("decrypt").contains("`stored`, the default") && !of_iv("decrypt").contains("random"));
    }

    /// Words of a command line: names of commands and of options, long and short, values that they take, and anything else.
    fn words(output: &str) -> impl Strategy<Value = OsString> + use<> {
        let (mut names, mut values) = (vec![], vec![]);
        for command in command().get_subcommands().chain([&command()]) {
            names.push(command.get_name().to_string());
            for arg in command.get_arguments() {
                names.extend(arg.get_long().map(|name| format!("--{name}")));
                names.extend(arg.get_short().map(|name| format!("-{name}")));
                values.extend(arg.get_possible_values().iter().map(|value| value.get_name().to_string()));
            }
        }
        names.extend(["--help", "-h", "--version", "--", "-", "help"].map(String::from));
        values.extend(
            ["0", "16", "4KiB", "1GiB", "128", "256", "0..9", "0,2", "all", "cuda:0", "opencl:0.0"].map(String::from),
        );
        values.extend([
            output.to_string(),
            "0f".repeat(16),
            "99999999999999999999TiB".into(),
            "340282366920938463463374607431768211455".into(),
        ]);
        let (name, value) = (select(names), select(values));
        let arbitrary = prop_oneof![".{0,12}", "[0-9a-zA-Z.:,=+-]{0,20}"].prop_map(OsString::from);
        let known = prop_oneof![
            4 => name.clone(),
            3 => value.clone(),
            2 => (name.clone(), value).prop_map(|(name, value)| format!("{name}={value}")),
            1 => (name, ".{0,12}").prop_map(|(name, value)| format!("{name}={value}")),
        ];
        prop_oneof![8 => known.prop_map(OsString::from), 1 => arbitrary, 1 => any::<Vec<u8>>().prop_map(of_bytes)]
    }

    /// As the system hands them over: not only UTF-8.
    #[cfg(unix)]
    fn of_bytes(bytes: Vec<u8>) -> OsString {
        std::os::unix::ffi::OsStringExt::from_vec(bytes)
    }

    #[cfg(not(unix))]
    fn of_bytes(bytes: Vec<u8>) -> OsString {
        String::from_utf8_lossy(&bytes).into_owned().into()
    }

    /// Any words are a command, a help text, or one line and exit code 2; and no file is made.
    #[test]
    fn any_words_are_a_command_or_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let commands: Vec<_> = command().get_subcommands().map(|command| command.get_name().to_string()).collect();
        let words = proptest::collection::vec(words(output.to_str().unwrap()), 0..8);
        let (asked, refused) = (Cell::new(0), Cell::new(0));
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases: 500,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let outcome = runner.run(&(proptest::option::weighted(0.8, select(commands)), words), |(command, words)| {
            let arguments = ["aes-bitslice".into()].into_iter().chain(command.map(OsString::from)).chain(words);
            match parse_from(arguments) {
                Ok(Asked::Command(_)) => asked.set(asked.get() + 1),
                Ok(Asked::Help(text)) => assert!(!text.to_string().is_empty() && text.exit_code() == 0),
                Err(error) => {
                    refused.set(refused.get() + 1);
                    assert!(!error.message().contains('\n'), "{:?}", error.message());
                    assert_eq!(error.exit(), Exit::Usage);
                }
            }
            Ok(())
        });
        outcome.unwrap_or_else(|e| panic!("{e}"));
        assert!(asked.get() > 0 && refused.get() > 0, "{asked:?} commands, {refused:?} refused");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "something was written");
    }
}
