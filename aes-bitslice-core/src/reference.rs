//! The modes by their definitions (SP 800-38A, sections 6.1, 6.2 and 6.5; RFC 8452, section 4; IEEE 1619, section 5), over the cipher of
//! FIPS 197: the reference that kernels are checked against.

use crate::aes::{Direction, KeySchedule, cipher};
use crate::mode::Mode;

/// A mode by its definition, block by block. For CTR, `start` is the counter of the first block as a big-endian number, and the data begins
/// `skip` bytes into its key stream; for the counter of AES-GCM-SIV, it is that block as a little-endian number. For CBC, `start` is the IV
/// as a big-endian number. For ECB and `prg`, both are ignored. Except for CTR, the data consists of whole blocks. For key stream, only the length of
/// the data counts.
///
/// # Panics
/// For modes with tweaks, which have two keys: use [`xts`].
pub fn reference(mode: Mode, schedule: &KeySchedule, start: u128, skip: usize, data: &[u8]) -> Vec<u8> {
    let direction = mode.direction();
    let blocks = data.as_chunks::<16>().0;
    match mode {
        Mode::EcbEncrypt | Mode::EcbDecrypt => {
            blocks.iter().flat_map(|block| cipher::process(*block, schedule, direction)).collect()
        }
        Mode::Prg => {
            let encrypted = blocks.iter().flat_map(|block| cipher::process(*block, schedule, direction));
            encrypted.zip(data).map(|(y, x)| y ^ x).collect()
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

/// Data units of XTS. The last of the data may be shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Units {
    /// Bytes per unit, at least 16.
    pub bytes: u64,
    /// The number of the first unit.
    pub first: u128,
    /// Blocks of 16 bytes of the first unit that precede the data.
    pub before: u64,
}

impl Units {
    /// The number of whole blocks in `bytes` bytes of data, of which each unit has at least 16, and the number of bytes after the last one.
    pub fn blocks(&self, bytes: u64) -> (u64, u64) {
        let blocks = |bytes: u64| bytes / self.bytes * (self.bytes / 16) + bytes % self.bytes / 16;
        let end = 16 * self.before + bytes;
        let last = if end.is_multiple_of(self.bytes) { self.bytes } else { end % self.bytes };
        (blocks(end) - self.before, last % 16)
    }
}

/// XTS by its definition (IEEE 1619, section 5), block by block, with the round keys of the mode's direction and the tweak round keys,
/// which encrypt. Each unit of the data has at least 16 bytes there.
pub fn xts(
    direction: Direction,
    data_key: &KeySchedule,
    tweak_key: &KeySchedule,
    units: Units,
    data: &[u8],
) -> Vec<u8> {
    let block = |data: [u8; 16], tweak: u128| {
        let masked = (u128::from_le_bytes(data) ^ tweak).to_le_bytes();
        (u128::from_le_bytes(cipher::process(masked, data_key, direction)) ^ tweak).to_le_bytes()
    };
    let mut output = Vec::with_capacity(data.len());
    let (first, others) = data.split_at(data.len().min((units.bytes - 16 * units.before) as usize));
    for (n, unit) in [first].into_iter().chain(others.chunks(units.bytes as usize)).enumerate() {
        // Section 5.2: the tweak of a unit's first block is the unit number, encrypted; any other tweak is the previous one times alpha.
        let number = units.first.wrapping_add(n as u128).to_le_bytes();
        let first = u128::from_le_bytes(cipher::process(number, tweak_key, Direction::Encrypt));
        let next = |tweak: &u128| Some((tweak << 1) ^ if tweak >> 127 == 1 { 0x87 } else { 0 });
        let tweaks = std::iter::successors(Some(first), next).skip(if n == 0 { units.before as usize } else { 0 });
        let tweaks: Vec<u128> = tweaks.take(unit.len().div_ceil(16)).collect();
        let (blocks, ragged) = unit.as_chunks::<16>();
        let whole = blocks.len() - usize::from(!ragged.is_empty());
        output.extend(blocks[..whole].iter().zip(&tweaks).flat_map(|(data, tweak)| block(*data, *tweak)));
        if !ragged.is_empty() {
            // Sections 5.3.2 and 5.4.2: decryption uses the last two tweaks in reverse order.
            let [one, two] = match direction {
                Direction::Encrypt => [whole, whole + 1],
                Direction::Decrypt => [whole + 1, whole],
            };
            let stolen = block(blocks[whole], tweaks[one]);
            let mut rest = stolen;
            rest[..ragged.len()].copy_from_slice(ragged);
            output.extend(block(rest, tweaks[two]));
            output.extend(&stolen[..ragged.len()]);
        }
    }
    output
}
