//! What is compared of data in GPU memory that is too large to be brought to the host: pieces of it.

use std::ops::Range;

use aes_bitslice_runtime::Cipher;

use super::case::{IV, counter};
use crate::args::BenchMode;
use crate::error::Result;

/// The largest size of which all is compared.
pub const WHOLE: usize = 4 << 30;
/// Of a larger one as many pieces of so many bytes, and more around cuts.
const PIECES: usize = 64;
const PIECE: usize = 1 << 20;

/// What the `reference` makes of a range of an input, which is read by `input` from a byte on.
pub fn expected(
    reference: &Cipher,
    mode: BenchMode,
    range: Range<usize>,
    input: impl Fn(usize, &mut [u8]) -> Result<()>,
) -> Result<Vec<u8>> {
    let (at, mut data) = (range.start, vec![0; range.len()]);
    input(at, &mut data)?;
    match mode {
        BenchMode::EcbEncrypt => reference.ecb_encrypt(&mut data)?,
        BenchMode::EcbDecrypt => reference.ecb_decrypt(&mut data)?,
        BenchMode::CbcDecrypt => {
            let mut previous = IV;
            if let Some(before) = at.checked_sub(previous.len()) {
                input(before, &mut previous)?;
            }
            reference.cbc_decrypt(&previous, &mut data)?;
        }
        BenchMode::Ctr => reference.ctr_apply(&counter(), at as u64, &mut data)?,
    }
    Ok(data)
}

/// Pieces of so many bytes, [`WHOLE`] at least, at whole blocks: from the first byte to the last, and on both sides of `cuts`.
pub fn pieces(bytes: usize, cuts: &[usize]) -> Vec<Range<usize>> {
    let start = |i: usize| (bytes - PIECE) / 16 * i / (PIECES - 1) * 16;
    let around = |&cut: &usize| (cut / 16 * 16).saturating_sub(PIECE / 2).min(start(PIECES - 1));
    let starts = (0..PIECES).map(start).chain(cuts.iter().map(around));
    starts.map(|start| start..start + PIECE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_reach_from_start_to_end_and_around_cuts() {
        for bytes in [WHOLE, WHOLE + 16, 16 << 30] {
            let cuts = [0, bytes / 4, bytes / 2, bytes - 1, bytes];
            let pieces = pieces(bytes, &cuts);
            assert_eq!((pieces[0].start, pieces[PIECES - 1].end), (0, bytes));
            assert!(pieces.iter().all(|p| p.start.is_multiple_of(16) && p.end <= bytes && p.len() == PIECE));
            for cut in &cuts[1..4] {
                assert!(pieces.iter().any(|p| p.start < *cut && p.contains(cut)), "{cut} of {bytes}");
            }
        }
    }
}
