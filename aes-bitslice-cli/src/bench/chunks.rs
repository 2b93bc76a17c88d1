//! What is compared of data in GPU memory that is too large to be brought to the host: chunks of it.

use std::ops::Range;

use aes_bitslice_runtime::{Buffers, Cipher};

use super::start::start;
use crate::error::Result;
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::{Place, Sectors};

/// The largest size of which all is compared, in bytes.
pub const WHOLE: usize = 4 << 30;
/// Chunks that are compared of a larger one, besides those around cuts, and the bytes of each.
const CHUNKS: usize = 64;
const CHUNK: usize = 1 << 20;

/// What the `reference` makes of a range of an input, which is read by `input` from a byte on.
pub fn expected(
    reference: &Cipher,
    mode: MeasuredMode,
    sectors: Sectors,
    range: Range<usize>,
    input: impl Fn(usize, &mut [u8]) -> Result<()>,
) -> Result<Vec<u8>> {
    // A sector is computed from its beginning on.
    let front = if mode.has_sectors() { range.start % sectors.bytes as usize } else { 0 };
    let (at, mut data) = (range.start - front, vec![0; front + range.len()]);
    input(at, &mut data)?;
    let mut place = Place { offset: at as u64, ..start(sectors) };
    if let Some(before) = at.checked_sub(place.before.len()) {
        input(before, &mut place.before)?;
    }
    mode.operation(&place).on_host(reference, Buffers::from(&mut data))?;
    Ok(data.split_off(front))
}

/// Chunks of `bytes` bytes, [`WHOLE`] at least, at whole blocks: from the first byte to the last, and on both sides of `cuts`.
pub fn chunks(bytes: usize, cuts: &[usize]) -> Vec<Range<usize>> {
    let start = |i: usize| (bytes - CHUNK) / 16 * i / (CHUNKS - 1) * 16;
    let around = |&cut: &usize| (cut / 16 * 16).saturating_sub(CHUNK / 2).min(start(CHUNKS - 1));
    let starts = (0..CHUNKS).map(start).chain(cuts.iter().map(around));
    starts.map(|start| start..start + CHUNK).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_runtime::{Backend, Engine, KeyBits};

    #[test]
    fn chunks_reach_from_start_to_end_and_around_cuts() {
        for bytes in [WHOLE, WHOLE + 16, 16 << 30] {
            let cuts = [0, bytes / 4, bytes / 2, bytes - 1, bytes];
            let chunks = chunks(bytes, &cuts);
            assert_eq!((chunks[0].start, chunks[CHUNKS - 1].end), (0, bytes));
            assert!(chunks.iter().all(|c| c.start.is_multiple_of(16) && c.end <= bytes && c.len() == CHUNK));
            for cut in &cuts[1..4] {
                assert!(chunks.iter().any(|c| c.start < *cut && c.contains(cut)), "{cut} of {bytes}");
            }
        }
    }

    #[test]
    fn a_chunk_of_the_output_is_what_the_chunk_of_the_input_becomes() {
        let (cpu, sectors) = (Engine::open(Backend::Cpu).unwrap(), Sectors { bytes: 48, first: 0 });
        let input: Vec<u8> = (0..160).collect();
        for &mode in MeasuredMode::all() {
            let reference = cpu.cipher(&mode.generate_key(KeyBits::Aes128).unwrap()).unwrap();
            let read = |at: usize, data: &mut [u8]| {
                data.copy_from_slice(&input[at..][..data.len()]);
                Ok(())
            };
            let whole = expected(&reference, mode, sectors, 0..160, read).unwrap();
            assert!(whole != input);
            for range in [0..16, 16..48, 32..160] {
                assert_eq!(expected(&reference, mode, sectors, range.clone(), read).unwrap(), whole[range], "{mode:?}");
            }
        }
    }
}
