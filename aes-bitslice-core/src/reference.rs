//! The modes by their definitions (SP 800-38A, sections 6.1, 6.2 and 6.5; RFC 8452, section 4; IEEE 1619, section 5), over the cipher as
//! FIPS 197 writes it: what kernels are checked against.

use crate::aes::{Direction, KeySchedule, cipher};
use crate::mode::Mode;

/// A mode by its definition, block by block. For CTR `start` is the counter of the first block, as a big-endian number, and the data begins
/// `skip` bytes into its key stream; as AES-GCM-SIV counts, it is that block as a little-endian number. For CBC `start` is the IV, as a
/// big-endian number. For ECB both are ignored. But for CTR the data is whole blocks. Of key stream, only the length of the data counts.
///
/// # Panics
/// For modes with tweaks, which have two keys: that is [`xts`].
pub fn reference(mode: Mode, schedule: &KeySchedule, start: u128, skip: usize, data: &[u8]) -> Vec<u8> {
    let direction = mode.direction();
    let blocks = data.as_chunks::<16>().0;
    match mode {
        Mode::EcbEncrypt | Mode::EcbDecrypt => {
            blocks.iter().flat_map(|block| cipher::process(*block, schedule, direction)).collect()
        }
        Mode::Keystream => reference(Mode::Ctr, schedule, start, skip, &vec![0; data.len()]),
        Mode::Ctr => {
            let stream =
                (0..).flat_map(|n: u128| cipher::process(start.wrapping_add(n).to_be_bytes(), schedule, direction));
            data.iter().zip(stream.skip(skip)).map(|(byte, key)| byte ^ key).collect()
        }
        Mode::CtrLe32 => {
            const COUNTS: u128 = u32::MAX as u128;
            let counter = |n| start & !COUNTS | start.wrapping_add(n) & COUNTS;
            let stream = (0..).flat_map(|n| cipher::process(counter(n).to_le_bytes(), schedule, direction));
            data.iter().zip(stream.skip(skip)).map(|(byte, key)| byte ^ key).collect()
        }
        Mode::CbcDecrypt => {
            let previous = [start.to_be_bytes()].into_iter().chain(blocks.iter().copied());
            let deciphered =
                blocks.iter().map(|block| u128::from_be_bytes(cipher::process(*block, schedule, direction)));
            deciphered.zip(previous).flat_map(|(x, p)| (x ^ u128::from_be_bytes(p)).to_be_bytes()).collect()
        }
        Mode::XtsEncrypt | Mode::XtsDecrypt => unreachable!("the mode has two keys"),
    }
}

/// Data units of XTS that are whole blocks, but for the last one of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Units {
    /// Blocks of 16 bytes of a unit.
    pub blocks: u64,
    /// The number of the first one.
    pub first: u128,
    /// Blocks of it that come before the data.
    pub before: u64,
}

/// XTS by its definition (IEEE 1619, section 5), block by block, with the round keys of the mode's direction and those of the tweaks,
/// which encrypt. If the last block has fewer than 16 bytes, it is in a unit with the one before.
pub fn xts(
    direction: Direction,
    data_key: &KeySchedule,
    tweak_key: &KeySchedule,
    units: Units,
    data: &[u8],
) -> Vec<u8> {
    // Section 5.2: that of the first block of a unit is the number, encrypted; any other is the one before, times alpha.
    let mut tweaks = Vec::with_capacity(data.len().div_ceil(16));
    let mut tweak = 0;
    for at in 0..units.before + data.len().div_ceil(16) as u64 {
        tweak = if at.is_multiple_of(units.blocks) {
            let number = units.first.wrapping_add((at / units.blocks).into());
            u128::from_le_bytes(cipher::process(number.to_le_bytes(), tweak_key, Direction::Encrypt))
        } else {
            (tweak << 1) ^ if tweak >> 127 == 1 { 0x87 } else { 0 }
        };
        if at >= units.before {
            tweaks.push(tweak);
        }
    }
    let block = |data: [u8; 16], tweak: u128| {
        let masked = (u128::from_le_bytes(data) ^ tweak).to_le_bytes();
        (u128::from_le_bytes(cipher::process(masked, data_key, direction)) ^ tweak).to_le_bytes()
    };
    let (blocks, ragged) = data.as_chunks::<16>();
    let mut output: Vec<u8> = blocks.iter().zip(&tweaks).flat_map(|(data, tweak)| block(*data, *tweak)).collect();
    if !ragged.is_empty() {
        // Sections 5.3.2 and 5.4.2: decryption takes the last two tweaks in the other order.
        let last = blocks.len();
        let [one, two] = match direction {
            Direction::Encrypt => [last - 1, last],
            Direction::Decrypt => [last, last - 1],
        };
        let whole = block(blocks[last - 1], tweaks[one]);
        let mut rest = whole;
        rest[..ragged.len()].copy_from_slice(ragged);
        output.truncate(16 * (last - 1));
        output.extend(block(rest, tweaks[two]));
        output.extend(&whole[..ragged.len()]);
    }
    output
}
