//! Tink's AES-GCM-HKDF streams alone: opens what any Tink library writes, and the other way round.

use crate::error::Error;
use crate::sealing::{Opening, Sealing, read_at, read_start};
use crate::stream::{Stream, StreamKey};
use aes_bitslice_runtime::Engine;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::RangeBounds;
use zeroize::Zeroizing;

pub use crate::keyset::Keyset;

/// A new stream, with the primary key of a keyset. Decryption needs this associated data, too; it may be empty.
///
/// # Errors
/// What the engine reports, and [`Error::Random`].
pub fn sealing(engine: &Engine, keyset: &Keyset, associated_data: &[u8]) -> Result<Sealing, Error> {
    let (header, stream) = keyset.keys()[0].begin(engine, associated_data, 0)?;
    Ok(Sealing::of_stream(header, stream))
}

/// The stream that begins with `start`, of [`Keyset::start_bytes`] bytes, or all of a shorter stream, with whichever key of a keyset opens
/// it.
///
/// # Errors
/// [`Error::NoKeyOpens`], [`Error::Sealed`], [`Error::OfOpenssl`], [`Error::CutOff`], and what the engine reports.
pub fn opening(engine: &Engine, keyset: &Keyset, associated_data: &[u8], start: &[u8]) -> Result<Opening, Error> {
    let of_key = |key: &StreamKey| {
        let header = &start[..start.len().min(key.header_bytes())];
        key.stream(engine, header, associated_data, 0)
    };
    if let [key] = keyset.keys() {
        return of_key(key).map(Opening::of_stream);
    }
    // The first segment tells which key it is.
    let open_first = |stream: &Stream| {
        let places = stream.places;
        let first = start.len().min(places.segment_bytes());
        let segment =
            start.get(places.header_bytes()..first).ok_or(Error::CutOff("it is cut off in its first segment"))?;
        let mut segment = Zeroizing::new(segment.to_vec());
        let bytes = segment.len();
        stream.open(0, start.len() <= places.segment_bytes(), &mut segment, bytes)
    };
    for key in keyset.keys() {
        match of_key(key).and_then(|stream| open_first(&stream).map(|_| stream)) {
            Ok(stream) => return Ok(Opening::of_stream(stream)),
            // It belongs to another key.
            Err(Error::Damaged { .. } | Error::CutOff(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Err(Error::NoKeyOpens)
}

/// Encrypts `input` to `output` as one stream, with the primary key of a keyset. Decryption needs this associated data, too; it may be
/// empty. Returns the number of bytes of `input`.
///
/// # Errors
/// What reading, writing and the engine report, [`Error::TooLong`].
pub fn encrypt(
    engine: &Engine,
    keyset: &Keyset,
    associated_data: &[u8],
    input: impl Read + Send,
    output: impl Write,
) -> Result<u64, Error> {
    sealing(engine, keyset, associated_data)?.run(input, output)
}

/// Decrypts a stream from `input` to `output`, with whichever key of a keyset opens it. Returns the bytes of the message. No byte of a
/// segment is written before its tag is checked; what was written before an error is the beginning of the message.
///
/// # Errors
/// [`Error::NoKeyOpens`], [`Error::Sealed`], [`Error::OfOpenssl`], [`Error::Damaged`], [`Error::CutOff`], and what reading, writing and the
/// engine report.
pub fn decrypt(
    engine: &Engine,
    keyset: &Keyset,
    associated_data: &[u8],
    mut input: impl Read + Send,
    output: impl Write,
) -> Result<u64, Error> {
    let start = read_start(&mut input, keyset.start_bytes())?;
    let opening = opening(engine, keyset, associated_data, &start)?;
    opening.run(start[opening.places().header_bytes()..].chain(input), output)
}

/// Decrypts the bytes `range` of the message of a stream, such as `5000..6000` or `5000..`, with whichever key of a keyset opens it. Reads
/// only the segments that hold them and, if the keyset has several keys, the first, which tells the key. Returns how many bytes they are.
///
/// # Errors
/// [`Error::NoKeyOpens`], [`Error::Sealed`], [`Error::OfOpenssl`], [`Error::Damaged`], [`Error::CutOff`], [`Error::Range`], and what
/// reading, writing and the engine report.
pub fn decrypt_range(
    engine: &Engine,
    keyset: &Keyset,
    associated_data: &[u8],
    mut input: impl Read + Seek + Send,
    range: impl RangeBounds<u64>,
    output: impl Write,
) -> Result<u64, Error> {
    opening_of(engine, keyset, associated_data, &mut input)?.open_range(input, range, output)
}

/// The number of bytes of the message of a stream, with whichever key of a keyset opens it. It is authentic: the last segment is opened.
///
/// # Errors
/// [`Error::NoKeyOpens`], [`Error::Sealed`], [`Error::OfOpenssl`], [`Error::Damaged`], [`Error::CutOff`], and what reading and the engine
/// report.
pub fn message_bytes(
    engine: &Engine,
    keyset: &Keyset,
    associated_data: &[u8],
    mut input: impl Read + Seek,
) -> Result<u64, Error> {
    let opening = opening_of(engine, keyset, associated_data, &mut input)?;
    opening.message_bytes(input.seek(SeekFrom::End(0))?, read_at(&mut input))
}

fn opening_of(
    engine: &Engine,
    keyset: &Keyset,
    associated_data: &[u8],
    input: &mut (impl Read + Seek),
) -> Result<Opening, Error> {
    input.seek(SeekFrom::Start(0))?;
    opening(engine, keyset, associated_data, &read_start(input, keyset.start_bytes())?)
}
