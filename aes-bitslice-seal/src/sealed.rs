//! Sealed files from a reader to a writer.

use crate::error::Error;
use crate::passphrase::PassphraseCost;
use crate::sealing::{Opening, Sealing, read_start};
use crate::secret::Secret;
use aes_bitslice_runtime::Engine;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;

/// Seals `input` to `output`; returns the bytes of `input`. The output is 136 bytes longer, and 16 for each segment of about a MiB.
///
/// # Errors
/// [`Error::KeyLength`], [`Error::EmptyPassphrase`], [`Error::TooLong`], and what reading, writing and the engine report.
pub fn seal(engine: &Engine, secret: Secret<'_>, input: impl Read + Send, output: impl Write) -> Result<u64, Error> {
    seal_with(engine, secret, PassphraseCost::default(), input, output)
}

/// The same with a cost of trying a passphrase other than the default.
///
/// # Errors
/// As [`seal`], and [`Error::PassphraseCost`].
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
/// [`Error::NotSealed`], [`Error::LikeTink`], [`Error::Version`], [`Error::DamagedHeader`]; [`Error::WrongKey`],
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

/// Opens the bytes `range` of a sealed message: only the segments that hold them are read.
///
/// # Errors
/// As [`open`], and [`Error::Range`].
pub fn open_range(
    engine: &Engine,
    secret: Secret<'_>,
    mut input: impl Read + Seek + Send,
    range: Range<u64>,
    output: impl Write,
) -> Result<u64, Error> {
    input.seek(SeekFrom::Start(0))?;
    let start = read_start(&mut input, Opening::START)?;
    Opening::new(engine, secret, &start)?.run_range(input, range, output)
}
