//! The contents of a register: a known number, or 32 or 64 formal bits.

use crate::proof::anf::{Bit, Cells};
use crate::proof::form::{Condition, Form};
use std::rc::Rc;

/// The contents of a register, or of a word in memory.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A number: an address, an index, a counter, a mask, a predicate.
    Number(u64),
    /// A word with at least one bit that is not constant; bit 0 is the least significant.
    Bits(Rc<[Bit; 32]>),
    /// 64 bits, at least one of which is not constant; bit 0 is the least significant.
    Wide(Rc<[Bit; 64]>),
    /// A word of which only the lowest bit is followed, and the most that it can be: a count of ones.
    Count(Bit, u32),
    /// A number that is not known: a form modulo 2 to the power of this, 32 or 64.
    Form(Rc<Form>, u32),
    /// A predicate that is not known.
    Condition(Rc<Condition>),
}

/// Why an instruction cannot be followed, in words.
pub type Why = String;

/// The type of an instruction, such as `.u32`.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub bits: u32,
    pub is_signed: bool,
}

impl Type {
    pub(crate) fn of(name: &str) -> Option<Self> {
        let (kind, bits) = name.split_at_checked(1)?;
        let bits = if name == "pred" { 1 } else { bits.parse().ok()? };
        let is_known = matches!((kind, bits), ("u" | "s" | "b", 8 | 16 | 32 | 64) | ("p", 1));
        is_known.then_some(Self { bits, is_signed: kind == "s" })
    }

    pub(crate) fn cut(self, number: u64) -> u64 {
        if self.bits < 64 { number & ((1 << self.bits) - 1) } else { number }
    }

    /// The integer that a number of this type stands for, with its sign if it has one.
    pub(crate) fn integer(self, number: u64) -> i128 {
        let number = self.cut(number);
        let is_negative = self.is_signed && number >> (self.bits - 1) & 1 == 1;
        i128::from(number) - if is_negative { 1 << self.bits } else { 0 }
    }
}

fn bits_of<const N: usize>(number: u64) -> [Bit; N] {
    std::array::from_fn(|i| Bit::constant(number >> i & 1 == 1))
}

fn number_of(bits: &[Bit]) -> Option<u64> {
    bits.iter().enumerate().try_fold(0, |number, (i, bit)| Some(number | u64::from(bit.as_constant()?) << i))
}

impl Value {
    /// A word of these bits.
    pub fn of_bits(bits: [Bit; 32]) -> Self {
        number_of(&bits).map_or_else(|| Self::Bits(Rc::new(bits)), Self::Number)
    }

    /// Two words of these bits.
    pub fn of_bits64(bits: [Bit; 64]) -> Self {
        number_of(&bits).map_or_else(|| Self::Wide(Rc::new(bits)), Self::Number)
    }

    /// A form modulo 2^`bits`.
    pub fn of_form(form: Form, bits: u32) -> Self {
        if form.terms.is_empty() {
            Self::Number((form.constant.rem_euclid(1 << bits)) as u64)
        } else {
            Self::Form(Rc::new(form), bits)
        }
    }

    /// A predicate, known if its form is constant.
    pub fn of_condition(condition: Condition) -> Self {
        match &condition {
            Condition::NotNegative(form) if form.terms.is_empty() => Self::Number((form.constant >= 0).into()),
            _ => Self::Condition(Rc::new(condition)),
        }
    }

    /// Puts another number of 32 or 64 bits in place of one, if it is this, or differs from this by a known number.
    pub(crate) fn replace(&mut self, number: &Form, instead: &Form, bits: u32) {
        if let Self::Form(form, width) = self
            && *width == bits
        {
            let rest = form.plus(-1, number);
            if rest.terms.is_empty() {
                *self = Self::of_form(instead.plus(1, &rest), bits);
            }
        }
    }

    /// The unknowns that a number depends on.
    pub(crate) fn unknowns(&self) -> impl Iterator<Item = usize> {
        let form = if let Self::Form(form, _) = self { Some(form) } else { None };
        form.into_iter().flat_map(|form| form.terms.keys().copied())
    }

    /// The bits of a word: the lowest 32. Those of a form are asked for elsewhere.
    pub fn bits(&self) -> [Bit; 32] {
        match self {
            Self::Bits(bits) => **bits,
            Self::Number(number) => bits_of(*number),
            Self::Wide(bits) => std::array::from_fn(|i| bits[i]),
            Self::Count(..) | Self::Form(..) | Self::Condition(_) => unreachable!("no bits before it is a word"),
        }
    }

    /// 64 bits; those above a word are 0.
    pub fn bits64(&self) -> [Bit; 64] {
        match self {
            Self::Wide(bits) => **bits,
            Self::Number(number) => bits_of(*number),
            Self::Bits(bits) => std::array::from_fn(|i| bits.get(i).copied().unwrap_or(Bit::ZERO)),
            Self::Count(..) | Self::Form(..) | Self::Condition(_) => unreachable!("no bits before it is a word"),
        }
    }

    /// The lowest bits, at most 64, and 0 above them.
    pub fn first(&self, count: u32) -> Self {
        let from = |i: usize| Some(i).filter(|i| *i < count as usize);
        if count > 32 { self.moved64(from) } else { self.moved(from) }
    }

    /// The number.
    ///
    /// # Errors
    /// If it depends on an unknown value.
    pub fn number(&self) -> Result<u64, Why> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Bits(_) | Self::Wide(_) | Self::Count(..) => {
                Err("a number was expected, and there are unknown bits".into())
            }
            Self::Form(..) | Self::Condition(_) => Err("a number was expected that is known".into()),
        }
    }

    /// The bits of a word at other places: bit `i` of the result is bit `from(i)` of this, or 0.
    pub fn moved(&self, from: impl Fn(usize) -> Option<usize>) -> Self {
        let bits = self.bits();
        Self::of_bits(std::array::from_fn(|i| from(i).map_or(Bit::ZERO, |from| bits[from])))
    }

    /// The bits of 64 at other places: bit `i` of the result is bit `from(i)` of this, or 0.
    pub fn moved64(&self, from: impl Fn(usize) -> Option<usize>) -> Self {
        let bits = self.bits64();
        Self::of_bits64(std::array::from_fn(|i| from(i).map_or(Bit::ZERO, |from| bits[from])))
    }

    /// A function of three values, bit by bit, by its table: bit `4a + 2b + c` is the output for `a, b, c`. On 64 bits where `is_wide`,
    /// else on a word.
    ///
    /// # Errors
    /// If it multiplies bits that have not gone into one S-box together.
    pub fn lut3(cells: &mut Cells, table: u8, [a, b, c]: [&Self; 3], is_wide: bool) -> Result<Self, Why> {
        let mut each = |i: usize, a: Bit, b: Bit, c: Bit| {
            let why = |_| format!("bit {i} is a product of bits that go through no S-box of the cipher together");
            cells.lut3(table, [a, b, c]).map_err(why)
        };
        if is_wide {
            let [a, b, c] = [a.bits64(), b.bits64(), c.bits64()];
            let mut bits = [Bit::ZERO; 64];
            for (i, bit) in bits.iter_mut().enumerate() {
                *bit = each(i, a[i], b[i], c[i])?;
            }
            Ok(Self::of_bits64(bits))
        } else {
            let [a, b, c] = [a.bits(), b.bits(), c.bits()];
            let mut bits = [Bit::ZERO; 32];
            for (i, bit) in bits.iter_mut().enumerate() {
                *bit = each(i, a[i], b[i], c[i])?;
            }
            Ok(Self::of_bits(bits))
        }
    }
}
