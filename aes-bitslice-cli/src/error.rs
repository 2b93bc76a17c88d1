//! What can go wrong, as an exit code and one line that says what to do.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use aes_bitslice_core::memory::NoMemory;
use aes_bitslice_runtime as runtime;
use aes_bitslice_seal::Error as SealError;

/// The exit codes other than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Data that is not sealed or was changed, bad padding, an engine that failed or disagrees with the reference, too little memory, no
    /// threads, or failures of several kinds.
    Failure = 1,
    /// An unknown, missing or contradictory option.
    Usage = 2,
    /// The key, passphrase, keyset or baked kernel is missing, unreadable, malformed, or not the one that a file was sealed with.
    Key = 3,
    /// Input or output cannot be opened, read or written, already exists, or has a length that the mode does not take.
    InputOutput = 4,
    /// A GPU or an OpenCL device was requested and there is none.
    Gpu = 5,
}

/// The failure of a subcommand.
#[derive(Debug)]
pub struct Error {
    exit: Exit,
    /// `None` if there is nothing to print: it was printed before, or the reader of the output went away.
    message: Option<String>,
    /// Whether the data is at fault: it may have been read too far.
    is_of_data: bool,
}

/// The result of every function here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A failure whose `message` says what was wrong and what to do.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Error { exit, message: Some(message.into()), is_of_data: false }
    }

    /// The failure of data that is not authentic, or badly padded.
    pub fn damaged(message: impl Into<String>) -> Self {
        Error::of_data(Exit::Failure, message)
    }

    /// A failure that data may be at fault for.
    pub fn of_data(exit: Exit, message: impl Into<String>) -> Self {
        Error { is_of_data: true, ..Error::new(exit, message) }
    }

    /// A failure whose message was printed before.
    pub fn told(exit: Exit) -> Self {
        Error { exit, message: None, is_of_data: false }
    }

    /// Contradictory or missing options.
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new(Exit::Usage, message)
    }

    /// `what` could not be done to a file or stream, and why. A closed pipe is no news to the program that closed it.
    pub fn io(what: impl Display, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Error::told(Exit::InputOutput),
            // In the system's words a resource is unavailable, which does not tell that waiting would have helped.
            io::ErrorKind::WouldBlock => {
                let why = "it is non-blocking, and not ready: have the program that opened it make it blocking, or use a file";
                Error::new(Exit::InputOutput, format!("{what}: {why}"))
            }
            _ => Error::new(Exit::InputOutput, format!("{what}: {error}")),
        }
    }

    /// The system started no thread.
    pub fn thread(error: io::Error) -> Self {
        Error::new(Exit::Failure, SealError::Thread(error).to_string())
    }

    /// The exit code.
    #[cfg(test)]
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// The line for standard error, without the program's name.
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or("the other end of the pipe was closed")
    }

    /// This error with `name` in front unless the message has it: for failures among others.
    pub fn naming(self, name: &str) -> Self {
        if self.message().contains(name) {
            self
        } else {
            Error { message: Some(format!("{name}: {}", self.message())), ..self }
        }
    }

    /// This error with `advice` after the message if the data is at fault.
    pub fn advising(self, advice: Option<&str>) -> Self {
        match advice {
            Some(advice) if self.is_of_data => Error { message: Some(format!("{}; {advice}", self.message())), ..self },
            _ => self,
        }
    }

    /// Prints the line and returns the exit code.
    pub fn show(&self) -> Exit {
        if self.message.is_some() {
            say("error", self.message());
        }
        self.exit
    }

    /// Prints the line and returns the exit code for the system.
    pub fn report(self) -> ExitCode {
        ExitCode::from(self.show() as u8)
    }
}

impl From<NoMemory> for Error {
    fn from(error: NoMemory) -> Self {
        Self::new(Exit::Failure, error.to_string())
    }
}

impl From<runtime::Error> for Error {
    fn from(error: runtime::Error) -> Self {
        let exit = match error {
            // A kernel with a key baked in is a key.
            runtime::Error::KeyLength { .. }
            | runtime::Error::XtsKey { .. }
            | runtime::Error::KeyHex { .. }
            | runtime::Error::BadManifest { .. }
            | runtime::Error::NotInKernel { .. } => Exit::Key,
            runtime::Error::CudaUnavailable { .. }
            | runtime::Error::NoSuchDevice { .. }
            | runtime::Error::OpenClUnavailable { .. }
            | runtime::Error::NoSuchOpenClDevice { .. }
            | runtime::Error::NotBuilt { .. } => Exit::Gpu,
            runtime::Error::Threads { .. } => Exit::Usage,
            _ => Exit::Failure,
        };
        let advice =
            "; --baked takes the manifest of a kernel with its key baked in, which `cargo xtask gen --key @FILE` makes";
        Error::new(exit, in_a_line(&error, advice))
    }
}

/// A message in one line, because a compiler's has several, with advice about a manifest.
fn in_a_line(error: &runtime::Error, of_manifests: &str) -> String {
    let words: Vec<_> = error.to_string().lines().map(|line| line.trim().to_owned()).collect();
    let advice = if matches!(error, runtime::Error::BadManifest { .. }) { of_manifests } else { "" };
    words.join(" ") + advice
}

impl Error {
    /// The error of a kernel that takes its key at launch.
    pub fn of_generated(error: runtime::Error) -> Self {
        match error {
            runtime::Error::BadManifest { .. } | runtime::Error::NoSuchKernel { .. } => {
                let advice = "; --generated takes the manifest of a kernel that `cargo xtask gen` made";
                Error::new(Exit::Key, in_a_line(&error, advice))
            }
            error => error.into(),
        }
    }
}

/// Prints a warning.
pub fn warn(message: &str) {
    say("warning", message);
}

/// Prints what the user must know, although nothing is wrong.
pub fn note(message: &str) {
    say("note", message);
}

/// One line on standard error. A closed standard error is not a failure.
fn say(severity: &str, message: &str) {
    let _ = writeln!(io::stderr(), "aes-bitslice: {severity}: {}", in_sight(message));
}

/// A text whose characters all show: the name of a file in it could have line ends, or turn around what follows.
fn in_sight(text: &str) -> String {
    const SHOWN: [char; 3] = ['"', '\'', '\\'];
    let parts = text.split_inclusive(SHOWN).map(|part| {
        let plain = part.strip_suffix(SHOWN).unwrap_or(part);
        format!("{}{}", plain.escape_debug(), &part[plain.len()..])
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_shows_all_its_characters() {
        for plain in ["", "`it's \"here\"`", r"C:\new", "e\u{301}te\u{301} é 文 🔑", "\\\\''"] {
            assert_eq!(in_sight(plain), plain);
        }
        for (text, shown) in [
            ("two\nlines\t\r", r"two\nlines\t\r"),
            ("\u{1b}[31m", r"\u{1b}[31m"),
            ("data\u{202e}gpj.exe", r"data\u{202e}gpj.exe"),
            ("a\u{2028}b\u{2066}\u{200b}", r"a\u{2028}b\u{2066}\u{200b}"),
        ] {
            assert_eq!(in_sight(text), shown);
        }
    }
}
