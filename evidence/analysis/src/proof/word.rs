//! Operations that PTX and machine code share, on values: numbers, or formal bits, which are only moved, combined bit by bit, or spread
//! from one bit over a word.

use crate::proof::anf::{Bit, Cells};
use crate::proof::value::{Value, Why};

/// A function of three values, bit by bit, by its table: bit `4a + 2b + c` is the output for `a, b, c`. The values and the result have this
/// many bits.
///
/// # Errors
/// If it multiplies bits that have not gone into one S-box together.
pub(crate) fn lut3(cells: &mut Cells, table: u8, words: [&Value; 3], bits: u32) -> Result<Value, Why> {
    let [Value::Number(a), Value::Number(b), Value::Number(c)] = words else {
        return Ok(Value::lut3(cells, table, words, bits == 64)?.first(bits));
    };
    let minterm = |i: u8| {
        let literal = |word: &u64, bit: u8| if i >> bit & 1 == 1 { *word } else { !word };
        literal(a, 2) & literal(b, 1) & literal(c, 0)
    };
    let minterms = (0..8).filter(|i| table >> i & 1 == 1);
    let word = minterms.fold(0, |word, i| word | minterm(i));
    Ok(Value::Number(if bits < 64 { word & ((1 << bits) - 1) } else { word }))
}

/// The four bytes of a word, each chosen from the eight of two by four bits of the selector: three are the number of the byte, and if the
/// highest is set, it is the sign of that byte instead.
pub(crate) fn permute(a: &Value, b: &Value, selector: u64) -> Value {
    let (a, b) = (a.bits(), b.bits());
    Value::of_bits(std::array::from_fn(|i| {
        let choice = selector as usize >> (4 * (i / 8));
        let from = 8 * (choice & 7) + if choice & 8 == 0 { i % 8 } else { 7 };
        if from < 32 { a[from] } else { b[from - 32] }
    }))
}

/// A word whose bits all equal the lowest bit of a word that has no other: its negative.
///
/// # Errors
/// If it has others.
pub(crate) fn spread(word: &Value) -> Result<Value, Why> {
    let bits = word.bits();
    if bits[1..].iter().all(|bit| *bit == Bit::ZERO) {
        Ok(Value::of_bits([bits[0]; 32]))
    } else {
        Err("the negative of a word with unknown bits, other than its lowest".into())
    }
}

/// The sum of products of the four signed bytes of two words, and a third word.
///
/// # Errors
/// If unknown bits are multiplied, except a byte of 0 or 1 by -1.
pub(crate) fn dot(a: &Value, b: &Value, c: &Value) -> Result<Value, Why> {
    let byte = |word: u64, i: usize| i64::from((word >> (8 * i)) as i8);
    match (a, b.number()?, c.number()?) {
        (Value::Number(a), b, c) => {
            let products = (0..4).map(|i| byte(*a, i) * byte(b, i));
            Ok(Value::Number((products.sum::<i64>() as u64).wrapping_add(c) & 0xffff_ffff))
        }
        (bits, b, 0) if (0..4).any(|i| b == 0xff << (8 * i)) => {
            let from = b.trailing_zeros() as usize;
            spread(&bits.moved(|i| Some(i + from).filter(|_| i < 8)))
        }
        _ => Err("a product of unknown bits".into()),
    }
}

/// The lane that a shuffle takes its value from, by the lane that it is asked for: within a segment, and not above the highest lane. These
/// two come as one number, the first in bits 8 to 12, the second in bits 0 to 4.
pub(crate) fn source_lane(lane: usize, from: usize, clamp: usize) -> usize {
    let segment = clamp >> 8 & 31;
    let (most, source) = (lane & segment | clamp & 31 & !segment, lane & segment | from & 31 & !segment);
    if source <= most { source } else { lane }
}
