//! What the instructions of machine code compute that only read and write registers: one rule for each opcode, with all its modifiers. With
//! other modifiers it is a different instruction, and has no rule.
//!
//! No manual states these rules. They follow NVIDIA's names of instructions (CUDA Binary Utilities, Instruction Set Reference) and what the
//! compiler must mean by its code; the tests below state each one once more, on integers. Arithmetic works on numbers, and on formal bits
//! where these do not carry.

use crate::proof::anf::{Bit, Cells};
use crate::proof::value::{Value, Why};
use crate::proof::word;
use std::ops::RangeInclusive;

/// The opcodes, how many operands they read, which of those (bit `n` is the `n`-th) are pairs of registers, whether the result is a pair,
/// and what they compute. What an instruction has before the operands that it reads is written.
pub(super) struct Rule {
    opcodes: &'static [&'static str],
    pub sources: usize,
    pub pairs: u8,
    pub is_pair: bool,
    /// Whether a negative operand is its complement plus 1, whose carry counts.
    pub carries: bool,
    pub compute: Compute,
}

pub(super) type Compute = fn(&mut Given<'_>, &[Value]) -> Result<Outcome, Why>;

/// What an instruction is given besides operands: the cells of the computation, and by how many units in the last place a reciprocal is
/// not the nearest.
pub(super) struct Given<'a> {
    pub cells: &'a mut Cells,
    pub error: i32,
}

/// The result, and predicates in the order in which they are written; those that depend on unknown bits are not known.
pub(super) struct Outcome {
    pub value: Value,
    pub predicates: [Option<bool>; 2],
}

impl From<Value> for Outcome {
    fn from(value: Value) -> Self {
        Self { value, predicates: [None; 2] }
    }
}

impl Outcome {
    fn of_number(number: u64) -> Self {
        Value::Number(number & 0xffff_ffff).into()
    }

    fn of_predicates(first: bool, second: bool) -> Self {
        Self { value: Value::Number(0), predicates: [Some(first), Some(second)] }
    }
}

/// The rule of an opcode.
pub(super) fn rule(opcode: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.opcodes.contains(&opcode))
}

const fn rule_of(opcodes: &'static [&'static str], sources: usize, compute: Compute) -> Rule {
    Rule { opcodes, sources, pairs: 0, is_pair: false, carries: false, compute }
}

const fn sum_of(opcodes: &'static [&'static str], sources: usize, compute: Compute) -> Rule {
    Rule { carries: true, ..rule_of(opcodes, sources, compute) }
}

#[rustfmt::skip]
const RULES: [Rule; 44] = [
    // Copies; a uniform register takes what all threads have.
    rule_of(&["MOV", "UMOV", "R2UR", "S2R", "S2UR", "LDC", "ULDC"], 1, |_, v| Ok(v[0].clone().into())),
    Rule { pairs: 1, is_pair: true, ..rule_of(&["CS2R", "LDC.64", "ULDC.64"], 1, |_, v| Ok(v[0].clone().into())) },
    rule_of(&["SEL", "USEL"], 3, |_, v| Ok(v[if v[2].number()? == 1 { 0 } else { 1 }].clone().into())),
    // Bit by bit. The predicate says whether any bit of the result is set.
    rule_of(&["LOP3.LUT", "ULOP3.LUT"], 5, |given, v| logic(given.cells, v)),
    rule_of(&["PLOP3.LUT"], 5, |_, v| predicates(v)),
    rule_of(&["PRMT"], 3, |_, v| Ok(word::permute(&v[0], &v[2], v[1].number()?).into())),
    rule_of(&["POPC"], 1, |_, v| Ok(Outcome::of_number(v[0].number()?.count_ones().into()))),
    rule_of(&["FLO.U32"], 1, |_, v| Ok(Outcome::of_number(v[0].number()?.checked_ilog2().map_or(u64::MAX, u64::from)))),
    // Shifts of the lower word, the distance, and the higher word: the lower or the higher word of the result.
    rule_of(&["SHF.L.U32", "USHF.L.U32"], 3, |_, v| Ok(low(&left(&v[0], distance(&v[1], 32)?)).into())),
    rule_of(&["SHF.L.U32.HI"], 3, |_, v| Ok(high(&left(&joined(&v[0], &v[2]), distance(&v[1], 32)?)).into())),
    rule_of(&["SHF.L.U64.HI", "USHF.L.U64.HI"], 3, |_, v| Ok(high(&left(&joined(&v[0], &v[2]), distance(&v[1], 64)?)).into())),
    rule_of(&["SHF.R.U64", "USHF.R.U64"], 3, |_, v| Ok(low(&right(&joined(&v[0], &v[2]), distance(&v[1], 64)?)).into())),
    rule_of(&["SHF.R.U32.HI", "USHF.R.U32.HI"], 3, |_, v| Ok(right(&v[2], distance(&v[1], 32)?).into())),
    rule_of(&["SHF.R.S32.HI"], 3, |_, v| Ok(signed_right(&v[2], distance(&v[1], 32)?).into())),
    // Sums, with predicates for carries: in and out. Two that come out are 1 for a carry of at least 1, and of 2.
    sum_of(&["VIADD"], 2, |_, v| sum(v)),
    sum_of(&["IADD3", "UIADD3"], 3, |_, v| sum(v)),
    sum_of(&["IADD3.X", "UIADD3.X"], 5, |_, v| sum(v)),
    // Products plus a word, or a pair, and a carry.
    rule_of(&["IMAD", "IMAD.MOV", "IMAD.MOV.U32", "IMAD.IADD", "IMAD.SHL.U32", "IMAD.U32", "UIMAD"], 3, |_, v| {
        Ok(low(&product_and_sum(v)?).into())
    }),
    rule_of(&["IMAD.X"], 4, |_, v| Ok(low(&product_and_sum(v)?).into())),
    Rule { pairs: 4, ..rule_of(&["IMAD.HI.U32"], 3, |_, v| Ok(high(&product_and_sum(v)?).into())) },
    Rule { pairs: 4, is_pair: true, ..rule_of(&["IMAD.WIDE.U32", "UIMAD.WIDE.U32"], 3, |_, v| Ok(product_and_sum(v)?.into())) },
    rule_of(&["IDP.4A.S8.S8"], 3, |_, v| Ok(word::dot(&v[0], &v[1], &v[2])?.into())),
    // A word shifted to the left, or what a shift of a pair leaves above, plus another.
    sum_of(&["LEA", "ULEA"], 3, |_, v| sum(&[low(&left(&v[0], distance(&v[2], 32)?)), v[1].clone()])),
    sum_of(&["LEA.HI"], 4, |_, v| sum(&[high(&left(&joined(&v[0], &v[2]), distance(&v[3], 32)?)), v[1].clone()])),
    sum_of(&["LEA.HI.X", "ULEA.HI.X"], 5, |_, v| sum(&[high(&left(&joined(&v[0], &v[2]), distance(&v[3], 32)?)), v[1].clone(), v[4].clone()])),
    // The lesser or the greater, of numbers without a sign.
    rule_of(&["VIMNMX.U32"], 3, |_, v| extreme(v[0].number()?, &v[1..])),
    rule_of(&["VIADDMNMX.U32"], 4, |_, v| extreme(low(&sum(&v[..2])?.value).number()?, &v[2..])),
    // Comparisons, combined with a predicate; `EX` of words whose lower words were compared before.
    rule_of(&["ISETP.EQ.AND", "ISETP.EQ.U32.AND"], 3, |_, v| compare(v, |a, b| a == b, AND)),
    rule_of(&["ISETP.NE.AND", "ISETP.NE.U32.AND", "UISETP.NE.AND", "UISETP.NE.U32.AND"], 3, |_, v| compare(v, |a, b| a != b, AND)),
    rule_of(&["ISETP.GE.U32.AND", "UISETP.GE.U32.AND"], 3, |_, v| compare(v, |a, b| a >= b, AND)),
    rule_of(&["ISETP.GT.U32.AND", "UISETP.GT.U32.AND"], 3, |_, v| compare(v, |a, b| a > b, AND)),
    rule_of(&["ISETP.LE.U32.AND"], 3, |_, v| compare(v, |a, b| a <= b, AND)),
    rule_of(&["ISETP.LT.U32.AND", "UISETP.LT.U32.AND"], 3, |_, v| compare(v, |a, b| a < b, AND)),
    rule_of(&["ISETP.EQ.OR"], 3, |_, v| compare(v, |a, b| a == b, OR)),
    rule_of(&["ISETP.NE.OR"], 3, |_, v| compare(v, |a, b| a != b, OR)),
    rule_of(&["ISETP.GE.U32.OR", "UISETP.GE.U32.OR"], 3, |_, v| compare(v, |a, b| a >= b, OR)),
    rule_of(&["ISETP.GT.U32.OR"], 3, |_, v| compare(v, |a, b| a > b, OR)),
    rule_of(&["ISETP.LT.U32.OR"], 3, |_, v| compare(v, |a, b| a < b, OR)),
    rule_of(&["ISETP.NE.AND.EX"], 4, |_, v| compare_more(v, |a, b| a != b)),
    rule_of(&["ISETP.GE.U32.AND.EX", "ISETP.GT.U32.AND.EX"], 4, |_, v| compare_more(v, |a, b| a > b)),
    rule_of(&["ISETP.LT.U32.AND.EX"], 4, |_, v| compare_more(v, |a, b| a < b)),
    // Numbers with a floating point, in divisions: from 1 to 2^32, their reciprocals, and what a word can hold of their products.
    rule_of(&["I2F.U32.RP"], 1, |_, v| Ok(Outcome::of_number(rounded_up(v[0].number()? as u32).to_bits().into()))),
    rule_of(&["MUFU.RCP"], 1, |given, v| {
        let nearest = within(&v[0], 1.0..=4_294_967_296.0)?.recip().to_bits();
        Ok(Outcome::of_number(nearest.wrapping_add_signed(given.error).into()))
    }),
    rule_of(&["F2I.FTZ.U32.TRUNC.NTZ"], 1, |_, v| {
        Ok(Outcome::of_number((within(&v[0], 0.0..=4_294_967_040.0)? as u32).into()))
    }),
];

type Combined = fn(bool, bool) -> bool;
const AND: Combined = |a, b| a && b;
const OR: Combined = |a, b| a || b;

/// The lower word of a value.
pub(super) fn low(value: &Value) -> Value {
    if let Value::Number(number) = value { Value::Number(number & 0xffff_ffff) } else { value.first(32) }
}

/// The word above it.
pub(super) fn high(value: &Value) -> Value {
    right(value, 32)
}

/// The 64 bits of two words.
pub(super) fn joined(lower: &Value, higher: &Value) -> Value {
    match (lower, higher) {
        (Value::Number(lower), Value::Number(higher)) => Value::Number(lower | higher << 32),
        _ => {
            let (lower, higher) = (lower.bits(), higher.bits());
            Value::of_bits64(std::array::from_fn(|i| if i < 32 { lower[i] } else { higher[i - 32] }))
        }
    }
}

/// A distance of a shift, below this many bits: what others do is not stated.
fn distance(by: &Value, bits: u64) -> Result<usize, Why> {
    match by.number()? {
        by if by < bits => Ok(by as usize),
        by => Err(format!("a shift by {by} bits")),
    }
}

/// 64 bits shifted to the left.
fn left(value: &Value, by: usize) -> Value {
    match value {
        Value::Number(number) => Value::Number(number << by),
        bits => bits.moved64(|i| i.checked_sub(by)),
    }
}

/// 64 bits shifted to the right.
fn right(value: &Value, by: usize) -> Value {
    match value {
        Value::Number(number) => Value::Number(number >> by),
        bits => bits.moved64(|i| Some(i + by).filter(|&i| i < 64)),
    }
}

/// A word with a sign shifted to the right.
fn signed_right(word: &Value, by: usize) -> Value {
    match word {
        Value::Number(number) => Value::Number((*number as u32 as i32 >> by) as u32 as u64),
        bits => bits.moved(|i| Some((i + by).min(31))),
    }
}

/// A number with a floating point, within these: what becomes of others is not stated.
fn within(value: &Value, range: RangeInclusive<f32>) -> Result<f32, Why> {
    let number = f32::from_bits(value.number()? as u32);
    if range.contains(&number) { Ok(number) } else { Err(format!("{number} with a floating point")) }
}

/// A function of three words, and whether any bit of the result is set; combined with no predicate.
fn logic(cells: &mut Cells, v: &[Value]) -> Result<Outcome, Why> {
    if v[4].number()? != 0 {
        return Err("a predicate in a function of words".into());
    }
    let value = word::lut3(cells, v[3].number()? as u8, [&v[0], &v[1], &v[2]], 32)?;
    let is_set = if let Value::Number(number) = &value { Some(*number != 0) } else { None };
    Ok(Outcome { value, predicates: [is_set, None] })
}

/// Two functions of three predicates.
fn predicates(v: &[Value]) -> Result<Outcome, Why> {
    let row = 4 * v[0].number()? + 2 * v[1].number()? + v[2].number()?;
    let of = |table: &Value| Ok::<_, Why>(table.number()? >> row & 1 == 1);
    Ok(Outcome::of_predicates(of(&v[3])?, of(&v[4])?))
}

/// The 64 bits of a sum. Of formal bits, only such sums have a form as do not carry.
fn total(v: &[Value]) -> Result<Value, Why> {
    let mut sum = v[0].clone();
    for more in &v[1..] {
        sum = match (&sum, more) {
            (Value::Number(a), Value::Number(b)) => Value::Number(a.wrapping_add(*b)),
            (bits, Value::Number(0)) | (Value::Number(0), bits) => bits.clone(),
            (a, b) => {
                let (a, b) = (a.bits64(), b.bits64());
                if a.iter().zip(&b).any(|(a, b)| *a != Bit::ZERO && *b != Bit::ZERO) {
                    return Err("a sum of unknown bits".into());
                }
                Value::of_bits64(std::array::from_fn(|i| a[i] ^ b[i]))
            }
        };
    }
    Ok(sum)
}

/// The word of a sum of words, and its carries.
fn sum(v: &[Value]) -> Result<Outcome, Why> {
    let total = total(v)?;
    let carries = if let Value::Number(total) = &total { [1, 2].map(|n| Some(total >> 32 >= n)) } else { [None; 2] };
    Ok(Outcome { value: low(&total), predicates: carries })
}

/// The 64 bits of a product of two words, and of everything else added to that. Of formal bits, only products with a power of two.
fn product_and_sum(v: &[Value]) -> Result<Value, Why> {
    let product = match (&v[0], &v[1]) {
        (Value::Number(a), Value::Number(b)) => Value::Number(a * b),
        (Value::Number(0), _) | (_, Value::Number(0)) => Value::Number(0),
        (Value::Number(factor), bits) | (bits, Value::Number(factor)) if factor.is_power_of_two() => {
            left(bits, factor.trailing_zeros() as usize)
        }
        _ => return Err("a product of unknown bits".into()),
    };
    total(&[&[product], &v[2..]].concat())
}

/// The lesser of two numbers if a predicate holds, else the greater.
fn extreme(a: u64, v: &[Value]) -> Result<Outcome, Why> {
    let (b, is_least) = (v[0].number()?, v[1].number()? == 1);
    Ok(Outcome::of_number(if is_least { a.min(b) } else { a.max(b) }))
}

/// A comparison of two words and its contrary, each combined with a predicate.
fn compare(v: &[Value], holds: impl Fn(u64, u64) -> bool, combined: Combined) -> Result<Outcome, Why> {
    let (holds, other) = (holds(v[0].number()?, v[1].number()?), v[2].number()? == 1);
    Ok(Outcome::of_predicates(combined(holds, other), combined(!holds, other)))
}

/// A comparison of two words, by the comparison of the words below them where they are equal, combined with a predicate by AND.
fn compare_more(v: &[Value], holds: impl Fn(u64, u64) -> bool) -> Result<Outcome, Why> {
    let of_lower = v[3].number()? == 1;
    compare(&v[..3], |a, b| if a == b { of_lower } else { holds(a, b) }, AND)
}

/// The least number with a floating point that is not below an integer.
fn rounded_up(number: u32) -> f32 {
    let nearest = number as f32;
    if f64::from(nearest) < f64::from(number) { nearest.next_up() } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers spread over 64 bits.
    fn noise(seed: u64) -> u64 {
        let z = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (z ^ z >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ z >> 32
    }

    /// What each opcode computes, stated once more: on integers, with Rust's operations. What an opcode reads as a pair has 64 bits.
    fn statement(opcode: &str, v: &[u64]) -> (u64, [Option<bool>; 2]) {
        let word = |n: usize| v[n] as u32;
        let is = |n: usize| v[n] == 1;
        let pair = |lower: usize, higher: usize| u64::from(word(higher)) << 32 | u64::from(word(lower));
        let of = |word: u32| (u64::from(word), [None; 2]);
        let with_carries = |sum: u128| (sum as u64 & 0xffff_ffff, [Some(sum >> 32 >= 1), Some(sum >> 32 >= 2)]);
        let both = |first: bool, second: bool| (0, [Some(first), Some(second)]);
        let compared = |holds: bool, other: bool| both(holds && other, !holds && other);
        let compared_or = |holds: bool, other: bool| both(holds || other, !holds || other);
        let wide = |n: usize| u128::from(v[n]);
        let shifted = |by: usize| (pair(0, 2) as u128) << v[by] >> 32;
        match opcode {
            "MOV" | "UMOV" | "R2UR" | "S2R" | "S2UR" | "LDC" | "ULDC" | "CS2R" | "LDC.64" | "ULDC.64" => {
                (v[0], [None; 2])
            }
            "SEL" | "USEL" => of(if is(2) { word(0) } else { word(1) }),
            "LOP3.LUT" | "ULOP3.LUT" => {
                // The table is the result for these three operands.
                let at = |i: u32| v[3] >> ((word(0) >> i & 1) * 4 + (word(1) >> i & 1) * 2 + (word(2) >> i & 1)) & 1;
                let result: u64 = (0..32).map(|i| at(i) << i).sum();
                (result, [Some(result > 0), None])
            }
            "PLOP3.LUT" => {
                let row = usize::from(is(0)) * 4 + usize::from(is(1)) * 2 + usize::from(is(2));
                both(v[3] >> row & 1 == 1, v[4] >> row & 1 == 1)
            }
            "PRMT" => {
                let bytes = [word(0).to_le_bytes(), word(2).to_le_bytes()].concat();
                let byte = |i: usize| match word(1) >> (4 * i) & 15 {
                    n @ 0..8 => bytes[n as usize],
                    n => (bytes[n as usize - 8] as i8 >> 7) as u8,
                };
                of(u32::from_le_bytes(std::array::from_fn(byte)))
            }
            "POPC" => of((0..32).map(|i| word(0) >> i & 1).sum()),
            "FLO.U32" => of(if word(0) == 0 { u32::MAX } else { 31 - word(0).leading_zeros() }),
            "SHF.L.U32" | "USHF.L.U32" => of(word(0).wrapping_shl(word(1))),
            "SHF.L.U32.HI" | "SHF.L.U64.HI" | "USHF.L.U64.HI" => of(shifted(1) as u32),
            "SHF.R.U64" | "USHF.R.U64" => of((pair(0, 2) >> v[1]) as u32),
            "SHF.R.U32.HI" | "USHF.R.U32.HI" => of(word(2) >> v[1]),
            "SHF.R.S32.HI" => of((word(2) as i32).wrapping_shr(word(1)) as u32),
            "VIADD" => with_carries(wide(0) + wide(1)),
            "IADD3" | "UIADD3" => with_carries(wide(0) + wide(1) + wide(2)),
            "IADD3.X" | "UIADD3.X" => with_carries(wide(0) + wide(1) + wide(2) + wide(3) + wide(4)),
            "IMAD" | "IMAD.MOV" | "IMAD.MOV.U32" | "IMAD.IADD" | "IMAD.SHL.U32" | "IMAD.U32" | "UIMAD" => {
                of(word(0).wrapping_mul(word(1)).wrapping_add(word(2)))
            }
            "IMAD.X" => of(word(0).wrapping_mul(word(1)).wrapping_add(word(2)).wrapping_add(word(3))),
            "IMAD.HI.U32" => of(((wide(0) * wide(1) + wide(2)) >> 32) as u32),
            "IMAD.WIDE.U32" | "UIMAD.WIDE.U32" => ((wide(0) * wide(1) + wide(2)) as u64, [None; 2]),
            "IDP.4A.S8.S8" => {
                let [a, b] = [word(0).to_le_bytes(), word(1).to_le_bytes()];
                let products = a.iter().zip(b).map(|(a, b)| i32::from(*a as i8) * i32::from(b as i8));
                of((word(2) as i32).wrapping_add(products.sum()) as u32)
            }
            "LEA" | "ULEA" => with_carries(u128::from(word(0) << v[2]) + wide(1)),
            "LEA.HI" => with_carries(u128::from(shifted(3) as u32) + wide(1)),
            "LEA.HI.X" | "ULEA.HI.X" => with_carries(u128::from(shifted(3) as u32) + wide(1) + wide(4)),
            "VIMNMX.U32" => of(if is(2) { word(0).min(word(1)) } else { word(0).max(word(1)) }),
            "VIADDMNMX.U32" => {
                let sum = word(0).wrapping_add(word(1));
                of(if is(3) { sum.min(word(2)) } else { sum.max(word(2)) })
            }
            "ISETP.EQ.AND" | "ISETP.EQ.U32.AND" => compared(word(0) == word(1), is(2)),
            "ISETP.NE.AND" | "ISETP.NE.U32.AND" | "UISETP.NE.AND" | "UISETP.NE.U32.AND" => {
                compared(word(0) != word(1), is(2))
            }
            "ISETP.GE.U32.AND" | "UISETP.GE.U32.AND" => compared(word(0) >= word(1), is(2)),
            "ISETP.GT.U32.AND" | "UISETP.GT.U32.AND" => compared(word(0) > word(1), is(2)),
            "ISETP.LE.U32.AND" => compared(word(0) <= word(1), is(2)),
            "ISETP.LT.U32.AND" | "UISETP.LT.U32.AND" => compared(word(0) < word(1), is(2)),
            "ISETP.EQ.OR" => compared_or(word(0) == word(1), is(2)),
            "ISETP.NE.OR" => compared_or(word(0) != word(1), is(2)),
            "ISETP.GE.U32.OR" | "UISETP.GE.U32.OR" => compared_or(word(0) >= word(1), is(2)),
            "ISETP.GT.U32.OR" => compared_or(word(0) > word(1), is(2)),
            "ISETP.LT.U32.OR" => compared_or(word(0) < word(1), is(2)),
            // The lower words compare as the predicate says: as 1 and 0, or as 0 and 1.
            "ISETP.NE.AND.EX" => compared([word(0), v[3] as u32] != [word(1), 0], is(2)),
            "ISETP.GE.U32.AND.EX" => compared((word(0), v[3]) >= (word(1), 1), is(2)),
            "ISETP.GT.U32.AND.EX" => compared((word(0), v[3]) > (word(1), 0), is(2)),
            "ISETP.LT.U32.AND.EX" => compared((word(0), 1 - v[3]) < (word(1), 1), is(2)),
            // The 24 bits from the highest on, rounded up, are exact.
            "I2F.U32.RP" => {
                let below = 8u32.saturating_sub(word(0).leading_zeros());
                of(((word(0).div_ceil(1 << below)) as f32 * (1u32 << below) as f32).to_bits())
            }
            "MUFU.RCP" => of(((1.0 / f64::from(f32::from_bits(word(0)))) as f32).to_bits()),
            // Of numbers from 2^23 to 2^32: the 24 bits of the significand, shifted.
            "F2I.FTZ.U32.TRUNC.NTZ" => of((word(0) & 0x7f_ffff | 0x80_0000) << ((word(0) >> 23) - 150)),
            _ => panic!("{opcode} is not stated here"),
        }
    }

    /// The bits that each operand of an opcode may have: of a word, a pair, a predicate, a table, a distance.
    fn possible(opcode: &str, rule: &Rule) -> Vec<u64> {
        const WORD: u64 = 0xffff_ffff;
        let mut all: Vec<u64> =
            (0..rule.sources).map(|n| if rule.pairs >> n & 1 == 1 { u64::MAX } else { WORD }).collect();
        let last: &[u64] = match opcode {
            "LOP3.LUT" | "ULOP3.LUT" => &[0xff, 0],
            "PLOP3.LUT" => &[1, 1, 1, 0xff, 0xff],
            "PRMT" => &[0xffff, WORD],
            "SHF.R.U64" | "USHF.R.U64" | "SHF.L.U64.HI" | "USHF.L.U64.HI" => &[63, WORD],
            _ if opcode.contains("SHF") => &[31, WORD],
            "LEA" | "ULEA" | "LEA.HI" => &[31],
            "LEA.HI.X" | "ULEA.HI.X" => &[31, 1],
            "IADD3.X" | "UIADD3.X" => &[1, 1],
            _ if opcode.ends_with(".EX") => &[1, 1],
            "SEL" | "USEL" | "IMAD.X" | "VIMNMX.U32" | "VIADDMNMX.U32" => &[1],
            _ if opcode.contains("SETP") => &[1],
            _ => &[],
        };
        let at = all.len() - last.len();
        all[at..].copy_from_slice(last);
        all
    }

    /// Each rule computes what is stated, on numbers, whatever they are.
    #[test]
    fn rules_are_as_stated() {
        for (rule, opcode) in RULES.iter().flat_map(|rule| rule.opcodes.iter().map(move |opcode| (rule, *opcode))) {
            let possible = possible(opcode, rule);
            for n in 0..200 {
                let mut numbers: Vec<u64> =
                    possible.iter().zip(8 * n..).map(|(bits, seed)| noise(seed) & bits).collect();
                match opcode {
                    // Equal numbers; numbers of few bits.
                    _ if n % 4 == 0 && numbers.len() > 1 && possible[0] == possible[1] => numbers[1] = numbers[0],
                    "POPC" | "FLO.U32" | "I2F.U32.RP" => numbers[0] >>= n % 33,
                    // From 2^23 to 2^32.
                    "F2I.FTZ.U32.TRUNC.NTZ" | "MUFU.RCP" => numbers[0] = numbers[0] & 0x7f_ffff | (150 + n % 9) << 23,
                    _ => {}
                }
                let given: Vec<Value> = numbers.iter().map(|number| Value::Number(*number)).collect();
                let outcome = (rule.compute)(&mut Given { cells: &mut Cells::new(), error: 0 }, &given);
                let Outcome { value, predicates } =
                    outcome.unwrap_or_else(|why| panic!("{opcode}, {numbers:x?}: {why}"));
                let found = (value.number().unwrap(), predicates);
                assert_eq!(found, statement(opcode, &numbers), "{opcode}, {numbers:x?}");
            }
        }
    }

    /// Rules for formal bits agree with those for numbers: where some bits of an operand are unknown, each bit of the result is known, or
    /// one of them, or its complement, whatever they are.
    #[test]
    fn rules_for_unknown_bits_agree() {
        const WORD: u64 = 0xffff_ffff;
        // The opcode; which operand has unknown bits, and which bits of all operands may be set.
        let all: [(&str, usize, &[u64]); 26] = [
            ("MOV", 0, &[WORD]),
            ("SEL", 0, &[WORD, WORD, 1]),
            ("SEL", 1, &[WORD, WORD, 1]),
            ("LOP3.LUT", 0, &[WORD, WORD, WORD, 0xff, 0]),
            ("LOP3.LUT", 1, &[WORD, WORD, WORD, 0xff, 0]),
            ("LOP3.LUT", 2, &[WORD, WORD, WORD, 0xff, 0]),
            ("PRMT", 0, &[WORD, 0xffff, WORD]),
            ("PRMT", 2, &[WORD, 0xffff, WORD]),
            ("SHF.L.U32", 0, &[WORD, 31, WORD]),
            ("SHF.L.U32.HI", 0, &[WORD, 31, WORD]),
            ("SHF.L.U32.HI", 2, &[WORD, 31, WORD]),
            ("SHF.L.U64.HI", 0, &[WORD, 63, WORD]),
            ("SHF.R.U64", 0, &[WORD, 63, WORD]),
            ("SHF.R.U64", 2, &[WORD, 63, WORD]),
            ("SHF.R.U32.HI", 2, &[WORD, 31, WORD]),
            ("SHF.R.S32.HI", 2, &[WORD, 31, WORD]),
            ("IADD3", 1, &[0x00ff_0000, 0xff00_ffff, 0]),
            ("IMAD.MOV.U32", 2, &[0, 0, WORD]),
            ("IMAD.SHL.U32", 0, &[WORD, 0x400, 0]),
            ("IMAD.SHL.U32", 1, &[0x8000_0000, WORD, 0]),
            ("IMAD.U32", 0, &[WORD, 0x10, 0xf]),
            ("IMAD.WIDE.U32", 0, &[WORD, 0x100, 0xff]),
            ("LEA", 0, &[WORD >> 4, 0xf, 4]),
            ("LEA.HI", 2, &[WORD, 0, WORD, 31]),
            ("LEA.HI", 1, &[0, WORD, 0, 31]),
            ("IDP.4A.S8.S8", 0, &[0x0101_0101, 0xff00, 0]),
        ];
        let mut cells = Cells::new();
        for (opcode, formal, masks) in all {
            let rule = rule(opcode).unwrap();
            for n in 0..40 {
                // Factors and distances of which a form needs to be known are all that may be set.
                let is_fixed = |i: usize| i != formal && masks[i].count_ones() <= 1 || opcode == "LEA" && i == 2;
                let of = |i: usize| if is_fixed(i) { masks[i] } else { noise(8 * n + i as u64) & masks[i] };
                let mut numbers: Vec<u64> = (0..masks.len()).map(of).collect();
                if opcode == "IDP.4A.S8.S8" {
                    numbers[1] = 0xff00;
                }
                if opcode == "SEL" {
                    numbers[2] = n & 1;
                }
                let mut evaluate = |values: &[Value]| {
                    let outcome = (rule.compute)(&mut Given { cells: &mut cells, error: 0 }, values);
                    outcome.unwrap_or_else(|why| panic!("{opcode}: {why}")).value
                };
                let mut values: Vec<Value> = numbers.iter().map(|number| Value::Number(*number)).collect();
                let known = evaluate(&values).number().unwrap();
                let unknown: [Bit; 32] = std::array::from_fn(|_| cells.unknown());
                let which = masks[formal] & if n % 4 == 0 { u64::MAX } else { noise(1000 + n) };
                let is_unknown = |i: usize| which >> i & 1 == 1;
                values[formal] = Value::of_bits(std::array::from_fn(|i| {
                    if is_unknown(i) { unknown[i] } else { Bit::constant(numbers[formal] >> i & 1 == 1) }
                }));
                let outcome = (rule.compute)(&mut Given { cells: &mut cells, error: 0 }, &values);
                let found = outcome.unwrap_or_else(|why| panic!("{opcode}: {why}")).value;
                for (at, bit) in found.bits64().into_iter().enumerate() {
                    let value = bit.as_constant().or_else(|| {
                        let is_it = |&i: &usize| is_unknown(i) && (bit == unknown[i] || bit == unknown[i] ^ Bit::ONE);
                        let from = (0..32).find(is_it)?;
                        Some((numbers[formal] >> from & 1 == 1) == (bit == unknown[from]))
                    });
                    assert_eq!(value, Some(known >> at & 1 == 1), "bit {at} of `{opcode}`, {numbers:x?}");
                }
            }
        }
    }

    /// What has no form, or no stated result, is refused.
    #[test]
    fn what_is_not_stated_is_refused() {
        let mut cells = Cells::new();
        let bits = Value::of_bits(std::array::from_fn(|_| cells.unknown()));
        let number = Value::Number;
        for (opcode, values, says) in [
            ("IADD3", vec![bits.clone(), number(1), number(0)], "a sum of unknown bits"),
            ("IMAD", vec![bits.clone(), number(3), number(0)], "a product of unknown bits"),
            ("IDP.4A.S8.S8", vec![bits.clone(), number(3), number(0)], "a product of unknown bits"),
            ("SHF.L.U32", vec![bits.clone(), number(32), number(0)], "a shift by 32 bits"),
            ("SHF.R.U64", vec![number(0), bits.clone(), number(0)], "a number was expected"),
            ("MUFU.RCP", vec![number(0)], "0 with a floating point"),
            ("F2I.FTZ.U32.TRUNC.NTZ", vec![number(0x4f80_0000)], "4294967300 with a floating point"),
            ("LOP3.LUT", vec![bits.clone(), number(0), number(0), number(0xf0), number(1)], "a predicate"),
            ("ISETP.NE.AND", vec![bits.clone(), number(0), number(1)], "a number was expected"),
            ("SEL", vec![number(0), number(1), bits], "a number was expected"),
        ] {
            let outcome = (rule(opcode).unwrap().compute)(&mut Given { cells: &mut cells, error: 0 }, &values);
            let why = outcome.err().unwrap_or_else(|| panic!("{opcode} has a result"));
            assert!(why.contains(says), "{opcode}: {why}, not {says}");
        }
        assert!(rule("IADD3.Y").is_none());
    }
}
