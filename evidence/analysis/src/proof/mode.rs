//! Modes as their standards define them, on formal bits: the reference for launches.

use crate::proof::aes::{self, Block};
use crate::proof::anf::{Bit, Cells, NoCell};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::reference::Units;

/// A number of 128 bits that is this much less than a multiple of 2^`bits`: adding that carries into bit `bits`, or wraps to 0 for 128.
/// Bits above are neither all set nor all clear.
pub const fn before_wrap(bits: u32, by: u128) -> u128 {
    let above = if bits < 128 { 0x0123_4567_89ab_cdef_0011_2233_4455_6677 >> bits << bits } else { 0 };
    above | ((u128::MAX >> (128 - bits)) - (by - 1))
}

/// Where a mode begins.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The first counter block as a big-endian number, or the number of the first unit of XTS.
    pub number: u128,
    /// Bytes of a unit of XTS.
    pub unit_bytes: usize,
    /// Blocks of the first unit of XTS that come before the data.
    pub before: usize,
}

impl Start {
    /// The units of XTS.
    pub(crate) fn units(&self) -> Units {
        Units { bytes: self.unit_bytes as u64, first: self.number, before: self.before as u64 }
    }

    /// The number as kernels take it, the first word and bit first: for the counter mode of AES-GCM-SIV the block as it is in memory.
    pub fn argument(&self, mode: Mode) -> Block {
        of_number(swap_if(mode, self.number))
    }
}

/// The inputs of a mode besides data.
pub struct Given<'a> {
    /// The mode.
    pub mode: Mode,
    /// Where it begins.
    pub start: Start,
    /// The round keys.
    pub keys: &'a [Block],
    /// The round keys of tweaks.
    pub tweak_keys: &'a [Block],
    /// The IV of CBC.
    pub iv: &'a Block,
}

/// The block whose bytes are a number, least significant first.
pub(crate) fn of_number(number: u128) -> Block {
    aes::known(number.to_le_bytes())
}

/// A counter block of AES-GCM-SIV counts in its first bytes, least significant first; others in their last.
pub(crate) fn swap_if(mode: Mode, block: u128) -> u128 {
    if mode == Mode::CtrLe32 { block.swap_bytes() } else { block }
}

/// The block times α (IEEE 1619, section 5.2).
pub(crate) fn times_alpha(block: &Block) -> Block {
    std::array::from_fn(|i| {
        let below = if i == 0 { Bit::ZERO } else { block[i - 1] };
        if 0x87u128 >> i & 1 == 1 { below ^ block[127] } else { below }
    })
}

pub(crate) fn no_cell(_: NoCell) -> String {
    "the definition is no sum of products within S-boxes".into()
}

impl Given<'_> {
    pub(crate) fn cipher(&self, cells: &mut Cells, block: &Block) -> Result<Block, String> {
        aes::process(cells, block, self.keys, self.mode.direction()).map_err(no_cell)
    }

    /// Block `n` of the counters.
    fn counter(&self, n: usize) -> Block {
        let start = self.start.number;
        of_number(match self.mode {
            // RFC 8452, section 4: the first four bytes count, and wrap.
            Mode::CtrLe32 => {
                let block = start.swap_bytes();
                block >> 32 << 32 | u128::from((block as u32).wrapping_add(n as u32))
            }
            // SP 800-38A, section 6.5.
            _ => start.wrapping_add(n as u128).swap_bytes(),
        })
    }

    /// The output of the mode for blocks; of XTS it is [`of_units`](Self::of_units).
    ///
    /// # Errors
    /// In words, if it has no form as sums of products within S-boxes.
    pub fn of_blocks(&self, cells: &mut Cells, input: &[Block]) -> Result<Vec<Block>, String> {
        let mut output = Vec::with_capacity(input.len());
        for (n, block) in input.iter().enumerate() {
            output.push(match self.mode {
                Mode::EcbEncrypt | Mode::EcbDecrypt => self.cipher(cells, block)?,
                // Matyas, Meyer, Oseas 1985.
                Mode::Prg => aes::sum(&self.cipher(cells, block)?, block),
                // SP 800-38A, section 6.2.
                Mode::CbcDecrypt => {
                    let before = if n == 0 { self.iv } else { &input[n - 1] };
                    aes::sum(&self.cipher(cells, block)?, before)
                }
                Mode::Ctr | Mode::CtrLe32 => aes::sum(&self.cipher(cells, &self.counter(n))?, block),
                Mode::Keystream => self.cipher(cells, &self.counter(n))?,
                other => return Err(format!("{other} has no definition here")),
            });
        }
        Ok(output)
    }

    fn with_tweak(&self, cells: &mut Cells, block: &Block, tweak: &Block) -> Result<Block, String> {
        Ok(aes::sum(&self.cipher(cells, &aes::sum(block, tweak))?, tweak))
    }

    /// The output of XTS for the bits of its data, of which each unit has at least 16 bytes (IEEE 1619, sections 5.3 and 5.4).
    ///
    /// # Errors
    /// In words, if it has no form as sums of products within S-boxes.
    pub fn of_units(&self, cells: &mut Cells, input: &[Bit]) -> Result<Vec<Bit>, String> {
        let Start { number, unit_bytes, before } = self.start;
        let mut output = Vec::with_capacity(input.len());
        let (first, others) = input.split_at(input.len().min(8 * (unit_bytes - 16 * before)));
        for (n, unit) in [first].into_iter().chain(others.chunks(8 * unit_bytes)).enumerate() {
            let number = of_number(number.wrapping_add(n as u128));
            let first = aes::process(cells, &number, self.tweak_keys, Direction::Encrypt).map_err(no_cell)?;
            let tweak = (0..if n == 0 { before } else { 0 }).fold(first, |tweak, _| times_alpha(&tweak));
            output.extend(self.of_unit(cells, unit, tweak)?);
        }
        Ok(output)
    }

    /// The output of a unit of XTS, or of a part of one, whose first block has this tweak.
    ///
    /// # Errors
    /// In words, if it has no form as sums of products within S-boxes.
    pub(crate) fn of_unit(&self, cells: &mut Cells, unit: &[Bit], mut tweak: Block) -> Result<Vec<Bit>, String> {
        let mut output = Vec::with_capacity(unit.len());
        let (blocks, ragged) = unit.as_chunks::<128>();
        let whole = blocks.len() - usize::from(!ragged.is_empty());
        for block in &blocks[..whole] {
            output.extend(self.with_tweak(cells, block, &tweak)?);
            tweak = times_alpha(&tweak);
        }
        if !ragged.is_empty() {
            // Encryption goes through the last two tweaks in their order, decryption the other way.
            let mut tweaks = [tweak, times_alpha(&tweak)];
            if self.mode.direction() == Direction::Decrypt {
                tweaks.reverse();
            }
            let stolen = self.with_tweak(cells, &blocks[whole], &tweaks[0])?;
            let joined = std::array::from_fn(|i| *ragged.get(i).unwrap_or(&stolen[i]));
            output.extend(self.with_tweak(cells, &joined, &tweaks[1])?);
            output.extend(&stolen[..ragged.len()]);
        }
        Ok(output)
    }
}
