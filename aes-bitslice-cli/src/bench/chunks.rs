//! The chunks that are compared of data in GPU memory that is too large to copy to the host.

use std::ops::Range;

use aes_bitslice_runtime::{Buffers, Cipher};

use super::start::start;
use crate::error::Result;
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::{Place, Sectors};

/// The largest size that is compared as a whole, in bytes.
pub const WHOLE: usize = 4 << 30;
/// Chunks that are compared of a larger size, besides those around cuts.
pub const CHUNKS: usize = 64;
/// Bytes of each.
const CHUNK: usize = 1 << 20;

/// What the `reference` makes of a range of an input, which `input` reads from a byte on.
pub fn expected(
    reference: &Cipher,
    mode: MeasuredMode,
    sectors: Sectors,
    range: Range<usize>,
    input: impl Fn(usize, &mut [u8]) -> Result<()>,
) -> Result<Vec<u8>> {
    // A sector is computed from its beginning.
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

/// Chunks of `bytes` bytes, at least [`WHOLE`], at whole blocks: from the first byte to the last, and on both sides of `cuts`.
pub fn chunks(bytes: usize, cuts: &[usize]) -> Vec<Range<usize>> {
    let last = (bytes - CHUNK) / 16 * 16;
    let around = |&cut: &usize| (cut / 16 * 16).saturating_sub(CHUNK / 2).min(last);
    let around = cuts.iter().map(around).map(|start| start..start + CHUNK);
    from_start_to_end(bytes, CHUNK).chain(around).collect()
}

/// [`CHUNKS`] chunks of `each` bytes, at whole blocks, of `bytes` bytes: at the beginning, at the end, and between them. The last has up to 15
/// bytes more, if the end is no whole block.
pub fn from_start_to_end(bytes: usize, each: usize) -> impl Iterator<Item = Range<usize>> {
    let start = move |i: usize| (bytes - each) / 16 * i / (CHUNKS - 1) * 16;
    (0..CHUNKS).map(move |i| start(i)..if i + 1 == CHUNKS { bytes } else { start(i) + each })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_runtime::{Backend, Engine, KeyBits};

    #[test]
    fn chunks_reach_from_start_to_end_and_around_cuts() {
        for bytes in [WHOLE, WHOLE + 16, WHOLE + 31, 16 << 30] {
            let cuts = [0, bytes / 4, bytes / 2, bytes - 1, bytes];
            let chunks = chunks(bytes, &cuts);
            assert_eq!((chunks[0].start, chunks[CHUNKS - 1].end), (0, bytes));
            assert!(chunks.iter().all(|c| c.start.is_multiple_of(16) && c.end <= bytes && c.len() & !15 == CHUNK));
            for cut in &cuts[1..4] {
                assert!(chunks.iter().any(|c| c.start < *cut && c.contains(cut)), "{cut} of {bytes}");
            }
        }
    }

    #[test]
    fn a_chunk_of_the_output_is_what_the_chunk_of_the_input_becomes() {
        let (cpu, sectors) = (Engine::open(Backend::Cpu).unwrap(), Sectors { bytes: 48, first: 0 });
        let input: Vec<u8> = (0..160).collect();
        for (mode, _) in MeasuredMode::with_kernels() {
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
