//! Tink's AES-GCM-HKDF streams alone: what any Tink library writes is opened, and the other way round.

use crate::error::Error;
use crate::pipeline;
use crate::start::is_sealed;
use crate::stream::{Places, Stream, StreamKey, TAG};
use aes_bitslice_runtime::Engine;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use zeroize::Zeroizing;

pub use crate::keyset::Keyset;

/// Encrypts `input` to `output` as one stream, with the primary key of a keyset. Decryption needs the same associated
/// data, which may be empty. Returns the bytes of `input`.
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
    encrypt_stream(engine, &keyset.keys()[0], associated_data, input, output)
}

/// Decrypts a stream from `input` to `output`, with whichever key of a keyset opens it. Returns the bytes of the message. Nothing
/// of a segment is written before its tag was checked; what was written before an error is the beginning of the message.
///
/// # Errors
/// [`Error::NoKeyOpens`], [`Error::Sealed`], [`Error::Damaged`], [`Error::CutOff`], and what reading, writing and the engine report.
pub fn decrypt(
    engine: &Engine,
    keyset: &Keyset,
    associated_data: &[u8],
    mut input: impl Read + Send,
    output: impl Write,
) -> Result<u64, Error> {
    let (key, start) = opener(engine, keyset, associated_data, &mut input)?;
    decrypt_stream(engine, key, associated_data, start.chain(input), output)
}

/// The bytes `range` of the message of a stream, with whichever key of a keyset opens it: only the segments that hold them are
/// read, and, where the keyset has several keys, the first, which tells the key.
///
/// # Errors
/// As [`decrypt`], and [`Error::Range`].
pub fn decrypt_range(
    engine: &Engine,
    keyset: &Keyset,
    associated_data: &[u8],
    mut input: impl Read + Seek + Send,
    range: Range<u64>,
    output: impl Write,
) -> Result<u64, Error> {
    input.seek(SeekFrom::Start(0))?;
    let (key, _) = opener(engine, keyset, associated_data, &mut input)?;
    range_of_stream(engine, key, associated_data, input, 0, range, output)
}

/// The key of a keyset that opens the stream which `input` begins with, and the bytes that were read to find it: none where there
/// is one key only.
fn opener<'a>(
    engine: &Engine,
    keyset: &'a Keyset,
    associated_data: &[u8],
    input: &mut impl Read,
) -> Result<(&'a StreamKey, Vec<u8>), Error> {
    let mut start = Vec::new();
    if let [key] = keyset.keys() {
        return Ok((key, start));
    }
    // The first segment tells which key it is.
    let longest = keyset.keys().iter().map(|key| key.segment).max().expect("a keyset has a key");
    input.take(longest as u64 + 1).read_to_end(&mut start)?;
    let opens = |key: &&StreamKey| {
        let first = start.len().min(key.segment);
        let is_last = start.len() <= key.segment;
        let Some((header, segment)) = start[..first].split_at_checked(key.header_bytes()) else { return false };
        let mut segment = Zeroizing::new(segment.to_vec());
        let stream = key.stream(engine, header, associated_data);
        stream.is_ok_and(|stream| stream.decrypt(0, is_last, &mut segment).is_ok())
    };
    let refusal = if is_sealed(&start) { Error::Sealed } else { Error::NoKeyOpens };
    let key = keyset.keys().iter().find(opens).ok_or(refusal)?;
    Ok((key, start))
}

pub(crate) fn encrypt_stream(
    engine: &Engine,
    key: &StreamKey,
    associated_data: &[u8],
    input: impl Read + Send,
    mut output: impl Write,
) -> Result<u64, Error> {
    let (header, stream) = key.begin(engine, associated_data)?;
    output.write_all(&header)?;
    let mut bytes = 0;
    pipeline::run(
        input,
        output,
        0,
        |index| stream.places.plaintext_bytes(index),
        TAG,
        |segment| stream.encrypt(segment.index, segment.is_last, &mut segment.bytes),
        |output, segment| {
            bytes += (segment.bytes.len() - TAG) as u64;
            Ok(output.write_all(&segment.bytes)?)
        },
    )?;
    Ok(bytes)
}

pub(crate) fn decrypt_stream(
    engine: &Engine,
    key: &StreamKey,
    associated_data: &[u8],
    mut input: impl Read + Send,
    output: impl Write,
) -> Result<u64, Error> {
    let stream = read_header(engine, key, associated_data, &mut input)?;
    let mut bytes = 0;
    pipeline::run(
        input,
        output,
        0,
        |index| stream.places.plaintext_bytes(index) + TAG,
        0,
        |segment| stream.decrypt(segment.index, segment.is_last, &mut segment.bytes),
        |output, segment| {
            bytes += segment.bytes.len() as u64;
            Ok(output.write_all(&segment.bytes)?)
        },
    )?;
    Ok(bytes)
}

/// The bytes `range` of the message of a stream that begins at byte `start` of `input`: only the segments that hold them are read.
pub(crate) fn range_of_stream(
    engine: &Engine,
    key: &StreamKey,
    associated_data: &[u8],
    mut input: impl Read + Seek + Send,
    start: u64,
    range: Range<u64>,
    output: impl Write,
) -> Result<u64, Error> {
    let end = input.seek(SeekFrom::End(0))?;
    input.seek(SeekFrom::Start(start))?;
    let stream = read_header(engine, key, associated_data, &mut input)?;
    let places: Places = stream.places;
    let (segments, len) = places.message(end.saturating_sub(start))?;
    if range.start > range.end || range.end > len {
        return Err(Error::Range { start: range.start, end: range.end, len });
    }
    if range.is_empty() {
        return Ok(0);
    }
    let (first, last) = (places.segment_of(range.start), places.segment_of(range.end - 1));
    input.seek(SeekFrom::Start(start + places.place(first)))?;
    let wanted = places.place(last + 1).min(end - start) - places.place(first);
    let mut at = places.first_byte(first);
    pipeline::run(
        input.take(wanted),
        output,
        first,
        |index| places.plaintext_bytes(index) + TAG,
        0,
        |segment| stream.decrypt(segment.index, segment.index + 1 == segments, &mut segment.bytes),
        |output, segment| {
            let end = at + segment.bytes.len() as u64;
            let (from, to) = (range.start.clamp(at, end), range.end.clamp(at, end));
            output.write_all(&segment.bytes[(from - at) as usize..(to - at) as usize])?;
            at = end;
            Ok(())
        },
    )?;
    if at < range.end {
        return Err(Error::CutOff("it has become shorter meanwhile"));
    }
    Ok(range.end - range.start)
}

fn read_header(
    engine: &Engine,
    key: &StreamKey,
    associated_data: &[u8],
    input: &mut impl Read,
) -> Result<Stream, Error> {
    let mut header = Vec::with_capacity(key.header_bytes());
    input.take(key.header_bytes() as u64).read_to_end(&mut header)?;
    key.stream(engine, &header, associated_data)
}
