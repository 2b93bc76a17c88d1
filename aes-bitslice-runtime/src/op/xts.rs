//! XTS: data units, such as the sectors of a disk, each under a tweak (IEEE 1619; SP 800-38E).
//!
//! ```text
//! T = E(key 2, number of the data unit)        block j:  C = E(key 1, P + T·α^j) + T·α^j
//! ```
//!
//! If a unit is not a whole number of blocks, its last two blocks share bytes (ciphertext stealing).
//!
//! | argument | value |
//! |---|---|
//! | `blocks` | whole blocks of 16 bytes, of all units |
//! | `ragged` | bytes after the last of them |
//! | `unit_bytes` | bytes of a data unit |
//! | `before`, `first_unit` | blocks of the first unit that come before the data, and the unit's number, least significant word first |

use crate::base::error::Error;
use crate::cpu::block::{Block, BlockCipher};
use crate::cpu::key::CpuKey;
use crate::cpu::portable::BATCH;
use crate::cpu::portable::{next_tweak, process_masked, put_tweaks};
use crate::op::buffers::{Access, Buffers};
use crate::op::kernels::{KernelsNeeded, OnHost};
use crate::op::launch::{Entry, Launch, Shape, Value, counter_words};
use crate::op::operation::{Cut, Keys, Operation, Pass, Place, Ready, needed, one_pass, returns_nothing};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::count::counted;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::reference::Units;
use cipher::inout::InOutBuf;

/// The maximum number of blocks in a data unit (IEEE 1619, section 5.1).
const MOST_BLOCKS: u64 = 1 << 20;

/// XTS of consecutive data units, with a [key for XTS](crate::Key::xts).
///
/// It encrypts data at rest. It does not authenticate: changes are not detected. A key whose
/// [halves are equal](crate::Key::halves_are_equal) decrypts; encryption with it is [`Error::XtsKey`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Xts {
    direction: Direction,
    unit_bytes: u64,
    first_unit: u128,
    /// Bytes of the first unit that come before the data: whole blocks.
    before: u64,
}

impl Xts {
    /// XTS in the given direction, on data units of `unit_bytes` bytes, numbered consecutively from `first_unit`. The
    /// last may be shorter, down to 16 bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for units of fewer than 16 bytes or of more than 2^20 blocks of 16 bytes.
    pub fn new(direction: Direction, unit_bytes: u64, first_unit: u128) -> Result<Self, Error> {
        if !(16..=16 * MOST_BLOCKS).contains(&unit_bytes) {
            let what = format!("a data unit has 16 to {} bytes, not {unit_bytes}", 16 * MOST_BLOCKS);
            return Err(Error::Length { operation: "XTS", what });
        }
        Ok(Self { direction, unit_bytes, first_unit, before: 0 })
    }

    /// Encrypts data units of `unit_bytes` bytes, numbered consecutively from `first_unit`. The last may be shorter, down to 16 bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for units of fewer than 16 bytes or of more than 2^20 blocks of 16 bytes.
    pub fn encrypt(unit_bytes: u64, first_unit: u128) -> Result<Self, Error> {
        Self::new(Direction::Encrypt, unit_bytes, first_unit)
    }

    /// Decrypts data units of `unit_bytes` bytes, numbered consecutively from `first_unit`. The last may be shorter, down to 16 bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for units of fewer than 16 bytes or of more than 2^20 blocks of 16 bytes.
    pub fn decrypt(unit_bytes: u64, first_unit: u128) -> Result<Self, Error> {
        Self::new(Direction::Decrypt, unit_bytes, first_unit)
    }

    /// XTS of these units.
    pub(crate) fn of_units(direction: Direction, Units { bytes, first, before }: Units) -> Self {
        Self { direction, unit_bytes: bytes, first_unit: first, before: 16 * before }
    }

    fn units(&self) -> Units {
        Units { bytes: self.unit_bytes, first: self.first_unit, before: self.before / 16 }
    }

    /// The number of units of whole blocks to process at a time out of `bytes` bytes; 0 if these begin within a unit.
    fn whole_units_of_a_batch(&self, cipher: &CpuKey, bytes: usize) -> usize {
        let is_small = self.unit_bytes.is_multiple_of(16) && self.unit_bytes < 16 * BATCH as u64;
        if self.before == 0 && is_small && cipher.batches_small_units() {
            ((16 * BATCH).min(bytes) as u64 / self.unit_bytes) as usize
        } else {
            0
        }
    }

    /// Processes units of whole blocks, at most a batch, each from its first tweak on. Its buffers are not on the stack of those who do not
    /// call it.
    #[inline(never)]
    fn whole_units(&self, cipher: &CpuKey, first_tweaks: &[Block], data: Buffers<'_>) {
        let blocks = data.into_blocks();
        let mut tweaks = [Block::default(); BATCH];
        let tweaks = &mut tweaks[..blocks.len()];
        for (unit, first) in tweaks.chunks_exact_mut((self.unit_bytes / 16) as usize).zip(first_tweaks) {
            put_tweaks(unit, u128::from_le_bytes((*first).into()));
        }
        process_masked(cipher, self.direction, tweaks, blocks);
    }
}

/// Units whose tweaks are encrypted at a time.
const UNITS: usize = 64;

/// Multiplies by α^n; n is a number of blocks and not secret.
fn times_alpha(tweak: u128, n: u64) -> u128 {
    // 64 shifts at once: of the 64 bits that go out, the 8 bits of the polynomial come back in.
    let by_64 = |tweak: u128| {
        let out = tweak >> 64;
        (tweak << 64) ^ out ^ (out << 1) ^ (out << 2) ^ (out << 7)
    };
    let tweak = (0..n / 64).fold(tweak, |tweak, _| by_64(tweak));
    (0..n % 64).fold(tweak, |tweak, _| next_tweak(tweak))
}

impl Xts {
    /// This operation for the data that begins `bytes` bytes later.
    fn after(&self, bytes: u64) -> Self {
        let position = self.before + bytes;
        let units = position / self.unit_bytes;
        Self { first_unit: self.first_unit.wrapping_add(units.into()), before: position % self.unit_bytes, ..*self }
    }

    /// Where `len` bytes may be cut ([`Cut::place`]): the last whole block of a unit stays with the bytes after it.
    fn place(&self, at: u64, len: u64) -> u64 {
        if at >= len {
            return len;
        }
        let position = self.before + at;
        let unit = position / self.unit_bytes * self.unit_bytes;
        let end = (unit + self.unit_bytes).min(self.before + len);
        let place = unit + (position - unit).min(end - unit - 16) / 16 * 16;
        if place > self.before { place - self.before } else { end - self.before }
    }
}

impl Operation for Xts {
    type Output = ();
    const NAME: &'static str = "XTS";
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::Two;

    fn check(&self, bytes: u64) -> Result<(), Error> {
        let refused = |what: String| Err(Error::Length { operation: "XTS", what });
        let last = bytes % self.unit_bytes;
        if (1..16).contains(&last) {
            return refused(format!(
                "the last data unit would have {}, and none has fewer than 16",
                counted(last, "byte")
            ));
        }
        match self.first_unit.checked_add((bytes.div_ceil(self.unit_bytes)).saturating_sub(1).into()) {
            Some(_) => Ok(()),
            None => refused("the numbers of the data units would run past 2^128 - 1".into()),
        }
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded { on_host: OnHost::DeviceOrCpu, ..KernelsNeeded::of(Mode::xts(self.direction)) }
    }

    one_pass!();
}

impl Pass for Xts {
    type Ready = Self;

    /// Equal keys decrypt what was encrypted with them, and encrypt nothing.
    fn ready(self, key: Option<&CpuKey>) -> Result<Self, Error> {
        if self.direction == Direction::Encrypt && needed::<Self>(key)?.halves_are_equal {
            let what = "its halves are equal, and XTS encrypts with two independent keys: make a new key; this one only decrypts";
            return Err(Error::XtsKey { what: what.into() });
        }
        Ok(self)
    }
}

impl Ready for Xts {
    returns_nothing!();

    fn cut(&self) -> Option<Cut<Self>> {
        Cut::anywhere(Self::after).map(|cut| Cut { place: Self::place, ..cut })
    }

    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        let launch = |entry, at: u64, len: u64| {
            let units = self.after(at).units();
            let (blocks, ragged) = units.blocks(len);
            let values = vec![
                (Argument::Blocks, Value::U64(blocks)),
                (Argument::Ragged, Value::U32(ragged as u32)),
                (Argument::UnitBytes, Value::U32(units.bytes as u32)),
                (Argument::Before, Value::U32(units.before as u32)),
                (Argument::FirstUnit, Value::Words(counter_words(units.first))),
            ];
            shape.launch(entry, at, blocks, values)
        };
        // Blocks that share bytes go to the entry point for bytes.
        let whole = match shape.entry(0) {
            Entry::Blocks if self.unit_bytes.is_multiple_of(16) => {
                16 * (shape.len / 16 - u64::from(!shape.len.is_multiple_of(16)))
            }
            _ => 0,
        };
        let launches = [launch(Entry::Blocks, 0, whole)?, launch(Entry::Bytes, whole, shape.len - whole)?];
        Ok(launches.into_iter().flatten().collect())
    }

    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) {
        let (mut rest, mut at) = (data, *self);
        let mut tweaks = [Block::default(); UNITS];
        while rest.len() > 0 {
            let units = (at.before + rest.len() as u64).div_ceil(self.unit_bytes).min(UNITS as u64) as usize;
            let numbers = (0..units as u128).map(|i| at.first_unit.wrapping_add(i).to_le_bytes());
            tweaks.iter_mut().zip(numbers).for_each(|(tweak, number)| *tweak = number.into());
            cipher.second().process(Direction::Encrypt, InOutBuf::from(&mut tweaks[..units]));
            let mut tweaks = &tweaks[..units];
            while let [first, ..] = tweaks {
                let n = at.whole_units_of_a_batch(cipher, rest.len()).clamp(1, tweaks.len());
                let len = rest.len().min((n as u64 * self.unit_bytes - at.before) as usize);
                let (data, after) = rest.split_at(len);
                let (these, others) = tweaks.split_at(n);
                match n {
                    1 => {
                        let tweak = times_alpha(u128::from_le_bytes((*first).into()), at.before / 16);
                        cipher.process_unit(self.direction, tweak, data.into_in_out());
                    }
                    _ => self.whole_units(cipher, these, data),
                }
                at = at.after(len as u64);
                (rest, tweaks) = (after, others);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_shifts_are_as_many_single_ones() {
        let mut tweak = 0xf123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978;
        let first = tweak;
        for n in 0..1000 {
            assert_eq!(times_alpha(first, n), tweak, "{n}");
            tweak = next_tweak(tweak);
        }
    }

    #[test]
    fn a_short_last_unit_is_told_by_its_length() {
        let refused = |bytes| Xts::encrypt(32, 0).unwrap().check(bytes).unwrap_err().to_string();
        assert!(refused(33).contains("would have 1 byte,"), "{}", refused(33));
        assert!(refused(47).contains("would have 15 bytes,"), "{}", refused(47));
    }

    #[test]
    fn units_are_numbered_to_the_last_of_128_bits() {
        let check = |first, bytes| Xts::encrypt(32, first).unwrap().check(bytes).is_ok();
        assert!(check(u128::MAX, 32) && check(u128::MAX, 16) && check(u128::MAX, 0) && check(u128::MAX - 1, 48));
        assert!(!check(u128::MAX, 48) && !check(u128::MAX, 64) && !check(u128::MAX - 1, 80));
        // More units than 32 bits count.
        assert!(check(u128::MAX - (1 << 40), 32 << 40) && check(u128::MAX - (1 << 40), (32 << 40) + 32));
        assert!(!check(u128::MAX - (1 << 40), (32 << 40) + 48));
        assert!(!check(0, 1) && !check(0, 33) && !check(0, 47) && check(0, 48));
    }

    #[test]
    fn a_unit_has_as_many_bytes_as_the_standard_allows() {
        let is_ok = |bytes| Xts::encrypt(bytes, 0).is_ok();
        assert!(is_ok(16) && is_ok(17) && is_ok(16 << 20));
        assert!(!is_ok(0) && !is_ok(15) && !is_ok((16 << 20) + 1) && !is_ok(u64::MAX));
    }

    /// Every chunk begins where a block of its unit does, and has at least 16 bytes of each of its units.
    #[test]
    fn the_last_whole_block_of_a_unit_stays_with_what_follows() {
        for (unit, before, len) in
            [(16, 0, 96), (17, 0, 34), (33, 16, 300), (48, 32, 161), (520, 0, 1043), (520, 496, 999)]
        {
            let xts = Xts { before, ..Xts::encrypt(unit, 0).unwrap() };
            let len = if (1..16).contains(&((before + len) % unit)) { len + 16 } else { len };
            let may_be = |at: u64| {
                let place = (before + at) % unit;
                let rest = (unit - place).min(len - at);
                at == len || place.is_multiple_of(16) && rest >= 16
            };
            let mut last = 0;
            for at in (16..=len).step_by(16) {
                let place = xts.place(at, len);
                assert!(may_be(place), "{unit}, {before}, {len}: {at}");
                let expected = (1..=at).rev().find(|&at| may_be(at)).or_else(|| (at..=len).find(|&at| may_be(at)));
                assert_eq!(Some(place), expected, "{unit}, {before}, {len}: {at}");
                assert!(place >= last);
                last = place;
            }
        }
    }

    /// Numbers of units are not cut, and do not depend on where the data is cut.
    #[test]
    fn a_chunk_begins_in_its_unit() {
        let after = |first, bytes| {
            let Xts { first_unit, before, .. } = Xts::encrypt(48, first).unwrap().after(bytes);
            (first_unit, before)
        };
        assert_eq!([0, 16, 47, 48, 80].map(|bytes| after(7, bytes)), [(7, 0), (7, 16), (7, 47), (8, 0), (8, 32)]);
        for units in [1 << 32, (1 << 32) + 1, 1 << 58] {
            for first in [0, u128::from(u32::MAX), u128::from(u64::MAX), u128::from(u64::MAX) << 32] {
                assert_eq!(after(first, 48 * units + 16), (first + u128::from(units), 16));
            }
        }
        // From within a unit.
        let within = Xts { before: 32, ..Xts::encrypt(48, 3).unwrap() };
        let after = |bytes| within.after(bytes);
        assert_eq!(
            [16, 32, 48].map(|bytes| (after(bytes).first_unit, after(bytes).before)),
            [(4, 0), (4, 16), (4, 32)]
        );
    }
}
