//! Everything that can go wrong, and what to do about it.

use crate::start::VERSION;
use aes_bitslice_core::memory::NoMemory;
use std::io;

/// Why nothing, or not everything, was sealed or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input could not be read, or the output could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] aes_bitslice_runtime::Error),
    /// The system started no thread.
    #[error("cannot start a thread: {0}{advice}", advice = on_threads(.0))]
    Thread(#[source] io::Error),
    /// Too little memory for a segment, or to stretch a passphrase.
    #[error("the system has too little memory for a segment of the stream, or to stretch the passphrase")]
    OutOfMemory,
    /// The system gave no random bytes.
    #[error("the system's random number generator failed: {0}")]
    Random(#[from] getrandom::Error),
    /// Bytes that are not a sealed file.
    #[error("this is not a sealed file, or its first bytes are damaged")]
    NotSealed,
    /// Not a sealed file, but it begins with the length of a header, like a Tink stream.
    #[error("this is not a sealed file; it may be a Tink stream")]
    LikeTink,
    /// A file that `openssl enc` made from a password.
    #[error("this is not a sealed file: it {0}")]
    OfOpenssl(&'static str),
    /// A sealed file where a Tink stream is needed.
    #[error("this is a sealed file, and not a Tink stream alone")]
    Sealed,
    /// A sealed file of a later version, or one whose version was changed.
    #[error("the header says version {0}, and this program knows version {version}: use a newer program; if there is none, the file is damaged", version = VERSION)]
    Version(u8),
    /// A header that was changed or cut off.
    #[error("the header of the sealed file is damaged: {0}")]
    DamagedHeader(&'static str),
    /// A key of another length.
    #[error("a key of 256 bits (32 bytes) is needed here, and this one has {0} bits")]
    KeyLength(usize),
    /// The two keys of XTS in place of one, even if they have 256 bits together.
    #[error("a key of 256 bits (32 bytes) is needed here, and this is a key of XTS, which is two: give one alone")]
    XtsKey,
    /// The wrong key.
    #[error("wrong key: the file was sealed with another")]
    WrongKey,
    /// The wrong passphrase.
    #[error("wrong passphrase: the file was sealed with another")]
    WrongPassphrase,
    /// A key where a passphrase is needed.
    #[error("the file was sealed with a passphrase: a key does not open it")]
    NeedsPassphrase,
    /// A passphrase where a key is needed.
    #[error("the file was sealed with a key: a passphrase does not open it")]
    NeedsKey,
    /// An empty passphrase.
    #[error("the passphrase is empty")]
    EmptyPassphrase,
    /// A new passphrase that is not one line of plain text in UTF-8.
    #[error("a new passphrase is one line of text in UTF-8, so that every program can give it, and this {0}")]
    PassphraseText(&'static str),
    /// Parameters of Argon2id out of bounds.
    #[error(
        "the passphrase is to be stretched with {0}, which is out of bounds: 8 KiB of memory for each lane to 2 GiB, 1 to 64 passes, 1 to 64 lanes"
    )]
    PassphraseCost(String),
    /// A segment that was changed, moved, or cut off.
    #[error("segment {index} is damaged: the file was changed, cut off or extended, in this segment or after it")]
    Damaged {
        /// The segment, from 0.
        index: u64,
    },
    /// A first segment that no key of a keyset opens.
    #[error(
        "no key of the keyset opens the stream: it is another's, or its beginning was changed, or the associated data are others"
    )]
    NoKeyOpens,
    /// An input that is too short to be a stream, or does not begin as one.
    #[error("the stream is damaged ({0})")]
    CutOff(&'static str),
    /// A message of more segments than a stream can have.
    #[error("the message is too long: a stream has at most 2^32 segments")]
    TooLong,
    /// A range outside the message. If a file was read, it is authentic that the message has no more than `len` bytes.
    #[error(
        "the message has {len} byte{}: there is no range {start}..{} in it",
        if *len == 1 { "" } else { "s" },
        end.map_or(String::new(), |end| end.to_string())
    )]
    Range {
        /// The first byte asked for.
        start: u64,
        /// One past the last; `None` for the end of the message.
        end: Option<u64>,
        /// Bytes of the message.
        len: u64,
    },
    /// A text that is not a keyset, or has no key that can be used here.
    #[error("not a usable Tink keyset: {0}")]
    Keyset(String),
}

impl Error {
    /// Whether the reason may be that the source goes on after the end of the data, as a disk does.
    #[doc(hidden)]
    #[must_use]
    pub fn may_be_of_what_follows(&self) -> bool {
        match self {
            Self::CutOff(why) => *why != NO_HEADER,
            _ => matches!(self, Self::Damaged { .. } | Self::NoKeyOpens),
        }
    }
}

/// Why a stream is damaged that fails before its first segment, whatever follows.
pub(crate) const NO_HEADER: &str = "it does not begin with a header, or is cut off";

/// What to do where the system's words are that a resource is unavailable.
fn on_threads(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            ": the system allows no more threads, or no memory for the stack of another: end some programs, or raise a limit, such as \
             `ulimit -u` or `ulimit -v`"
        }
        _ => "",
    }
}

impl From<NoMemory> for Error {
    fn from(_: NoMemory) -> Self {
        Self::OutOfMemory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_data_may_be_the_reason() {
        for (error, may_be) in [
            (Error::CutOff("it ends early"), true),
            (Error::CutOff(NO_HEADER), false),
            (Error::Damaged { index: 0 }, true),
            (Error::NoKeyOpens, true),
            (Error::WrongKey, false),
        ] {
            assert_eq!(error.may_be_of_what_follows(), may_be, "{error}");
        }
    }

    #[test]
    fn what_to_do_is_said_where_the_system_starts_no_thread() {
        let said = |kind: io::ErrorKind| Error::Thread(kind.into()).to_string();
        assert!(said(io::ErrorKind::WouldBlock).contains("raise a limit, such as `ulimit -u`"));
        assert!(said(io::ErrorKind::PermissionDenied).ends_with(": permission denied"));
    }
}
