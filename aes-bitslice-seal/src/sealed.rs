//! Sealed files from a reader to a writer.

use crate::error::Error;
use crate::passphrase::PassphraseCost;
use crate::sealing::{Opening, Sealing, read_at, read_start};
use crate::secret::Secret;
use aes_bitslice_runtime::Engine;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::RangeBounds;

/// Seals `input` to `output`; returns the bytes of `input`. The output is 136 bytes longer, and 16 for each segment of about a MiB.
///
/// # Errors
/// [`Error::KeyLength`], [`Error::XtsKey`], [`Error::EmptyPassphrase`], [`Error::TooLong`], and what reading, writing and the engine
/// report.
pub fn seal(engine: &Engine, secret: Secret<'_>, input: impl Read + Send, output: impl Write) -> Result<u64, Error> {
    seal_with(engine, secret, PassphraseCost::default(), input, output)
}

/// Seals with a cost of trying a passphrase other than the default.
///
/// # Errors
/// [`Error::KeyLength`], [`Error::XtsKey`], [`Error::EmptyPassphrase`], [`Error::PassphraseCost`], [`Error::TooLong`], and what reading,
/// writing and the engine report.
pub fn seal_with(
    engine: &Engine,
    secret: Secret<'_>,
    cost: PassphraseCost,
    input: impl Read + Send,
    output: impl Write,
) -> Result<u64, Error> {
    Sealing::new(engine, secret, cost)?.run(input, output)
}

/// Opens a sealed file from `input` to `output`; returns the bytes of the message.
///
/// No byte of a segment is written before its tag is checked; what was written before an error is the beginning of the message.
///
/// # Errors
/// [`Error::NotSealed`], [`Error::LikeTink`], [`Error::OfOpenssl`], [`Error::Version`], [`Error::DamagedHeader`]; [`Error::WrongKey`],
/// [`Error::WrongPassphrase`], [`Error::NeedsKey`], [`Error::NeedsPassphrase`], before anything is decrypted; [`Error::Damaged`],
/// [`Error::CutOff`]; and what reading, writing and the engine report.
pub fn open(
    engine: &Engine,
    secret: Secret<'_>,
    mut input: impl Read + Send,
    output: impl Write,
) -> Result<u64, Error> {
    let start = read_start(&mut input, Opening::START)?;
    Opening::new(engine, secret, &start)?.run(input, output)
}

/// Opens the bytes `range` of a sealed message, such as `5000..6000`, or `5000..` for all from there on: only the segments that hold these
/// bytes are read. Returns the number of bytes of the range.
///
/// # Errors
/// [`Error::NotSealed`], [`Error::LikeTink`], [`Error::OfOpenssl`], [`Error::Version`], [`Error::DamagedHeader`]; [`Error::WrongKey`],
/// [`Error::WrongPassphrase`], [`Error::NeedsKey`], [`Error::NeedsPassphrase`], before anything is decrypted; [`Error::Damaged`],
/// [`Error::CutOff`]; [`Error::Range`]; and what reading, writing and the engine report.
pub fn open_range(
    engine: &Engine,
    secret: Secret<'_>,
    mut input: impl Read + Seek + Send,
    range: impl RangeBounds<u64>,
    output: impl Write,
) -> Result<u64, Error> {
    opening(engine, secret, &mut input)?.open_range(input, range, output)
}

/// The number of bytes of a sealed message. It is authentic: the last segment is opened.
///
/// # Errors
/// [`Error::NotSealed`], [`Error::LikeTink`], [`Error::OfOpenssl`], [`Error::Version`], [`Error::DamagedHeader`]; [`Error::WrongKey`],
/// [`Error::WrongPassphrase`], [`Error::NeedsKey`], [`Error::NeedsPassphrase`], before anything is decrypted; [`Error::Damaged`],
/// [`Error::CutOff`]; and what reading and the engine report.
pub fn message_bytes(engine: &Engine, secret: Secret<'_>, mut input: impl Read + Seek) -> Result<u64, Error> {
    let opening = opening(engine, secret, &mut input)?;
    opening.message_bytes(input.seek(SeekFrom::End(0))?, read_at(&mut input))
}

fn opening(engine: &Engine, secret: Secret<'_>, input: &mut (impl Read + Seek)) -> Result<Opening, Error> {
    input.seek(SeekFrom::Start(0))?;
    Opening::new(engine, secret, &read_start(input, Opening::START)?)
}
