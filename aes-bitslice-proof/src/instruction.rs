//! What an instruction does to a thread (PTX ISA). Arithmetic is done on numbers; on formal bits, what moves them, what is done bit by bit,
//! and what spreads one bit over a word.

use crate::anf::Bit;
use crate::machine::{Machine, Next, Thread};
use crate::value::{Value, Why};
use aes_bitslice_taint::ptx::program::{Operand, Statement};

/// The type of an instruction, such as `.u32`.
#[derive(Clone, Copy)]
struct Type {
    bits: u32,
    is_signed: bool,
}

impl Type {
    fn of(name: &str) -> Option<Self> {
        let (kind, bits) = name.split_at_checked(1)?;
        let bits = if name == "pred" { 1 } else { bits.parse().ok()? };
        matches!(kind, "u" | "s" | "b" | "p").then_some(Self { bits, is_signed: kind == "s" })
    }

    fn cut(self, number: u64) -> u64 {
        if self.bits < 64 { number & ((1 << self.bits) - 1) } else { number }
    }

    /// A number of this type, with its sign if it has one.
    fn wide(self, number: u64) -> i128 {
        let number = self.cut(number);
        let is_negative = self.is_signed && number >> (self.bits - 1) & 1 == 1;
        i128::from(number) - if is_negative { 1 << self.bits } else { 0 }
    }
}

const OF_THIS_TYPE: &str = "unknown bits of this type";

/// Instructions that have a rule, with how many modifiers they have; with others they are other instructions.
const MODIFIERS: [(&str, &[usize]); 32] = [
    ("add", &[1]),
    ("and", &[1]),
    ("atom", &[3]),
    ("bar", &[1, 2]),
    ("bfi", &[1]),
    ("bra", &[0, 1]),
    ("cvt", &[2]),
    ("cvta", &[1, 3]),
    ("div", &[1]),
    ("dp4a", &[2]),
    ("ld", &[2, 3, 4]),
    ("lop3", &[1]),
    ("mad", &[2]),
    ("max", &[1]),
    ("min", &[1]),
    ("mov", &[1]),
    ("mul", &[2]),
    ("neg", &[1]),
    ("not", &[1]),
    ("or", &[1]),
    ("prmt", &[1]),
    ("rem", &[1]),
    ("ret", &[0]),
    ("selp", &[1]),
    ("setp", &[2]),
    ("shf", &[3]),
    ("shfl", &[3]),
    ("shl", &[1]),
    ("shr", &[1]),
    ("st", &[2, 3]),
    ("sub", &[1]),
    ("xor", &[1]),
];

/// A word all bits of which are the lowest one of a word that has no other.
fn spread(word: &Value) -> Result<Value, Why> {
    let bits = word.bits();
    match bits[1..].iter().all(|bit| *bit == Bit::ZERO) {
        true => Ok(Value::of_bits([bits[0]; 32])),
        false => Err("the negative of a word with unknown bits, other than its lowest".into()),
    }
}

impl Machine<'_> {
    pub(crate) fn step(&mut self, thread: &mut Thread, statement: &Statement) -> Result<Next, Why> {
        let parts: Vec<&str> = statement.opcode.split('.').collect();
        let operands = &statement.operands;
        let of_type = parts.last().and_then(|name| Type::of(name)).unwrap_or(Type { bits: 64, is_signed: false });
        if !MODIFIERS.iter().any(|(name, counts)| *name == parts[0] && counts.contains(&(parts.len() - 1))) {
            return Err("no rule for this instruction".into());
        }
        match parts[0] {
            "bra" => {
                let Some(Operand::Label(target)) = operands.first() else { return Err("no label".into()) };
                return Ok(Next::To(*target));
            }
            "ret" => return Ok(Next::End),
            "bar" if parts == ["bar", "warp", "sync"] => return Ok(Next::Warp),
            "bar" if parts == ["bar", "sync"] => return Ok(Next::Block),
            "shfl" if parts == ["shfl", "sync", "idx", "b32"] => return Ok(Next::Shuffle),
            "ld" => return self.load(thread, operands, of_type),
            "st" => return self.store(thread, operands, of_type),
            _ => {}
        }
        let value = |n: usize| self.value(thread, operands.get(n).ok_or("too few operands")?);
        let number = |n: usize| value(n)?.number();
        let wide = |n: usize| Ok::<_, Why>(of_type.wide(number(n)?));
        let low = |wide: i128| Value::Number(of_type.cut(wide as u64));
        let cut = |value| if let Value::Number(number) = value { Value::Number(of_type.cut(number)) } else { value };
        let result = match parts[0] {
            "mov" if operands.iter().any(|one| matches!(one, Operand::Several(_))) => {
                return Err("several registers".into());
            }
            "mov" | "cvta" => cut(value(1)?),
            "cvt" => {
                let from = Type::of(parts[parts.len() - 1]).ok_or("a type")?;
                let to = Type::of(parts[parts.len() - 2]).ok_or("a type")?;
                match value(1)? {
                    Value::Number(number) => Value::Number(to.cut(from.wide(number) as u64)),
                    _ if from.is_signed => return Err(OF_THIS_TYPE.into()),
                    bits => bits.first(from.bits.min(to.bits)),
                }
            }
            "add" => low(wide(1)? + wide(2)?),
            "sub" => low(wide(1)? - wide(2)?),
            "neg" if number(1).is_err() => spread(&value(1)?)?,
            "neg" => low(-wide(1)?),
            "min" => low(wide(1)?.min(wide(2)?)),
            "max" => low(wide(1)?.max(wide(2)?)),
            "mul" if parts[1] == "wide" && number(1).is_err() && !of_type.is_signed && of_type.bits < 64 => {
                let factor = number(2)?;
                if !factor.is_power_of_two() {
                    return Err("a product of unknown bits".into());
                }
                let by = factor.trailing_zeros() as usize;
                value(1)?.moved_wide(|i| i.checked_sub(by)).first(2 * of_type.bits)
            }
            "mul" | "mad" if parts[1] == "wide" => {
                let sum = if parts[0] == "mad" { number(3)? } else { 0 };
                let twice = Type { bits: 2 * of_type.bits, ..of_type };
                Value::Number(twice.cut((wide(1)? * wide(2)?) as u64).wrapping_add(sum))
            }
            "mul" if parts[1] == "hi" => low((wide(1)? * wide(2)?) >> of_type.bits),
            "mul" => low(wide(1)? * wide(2)?),
            "mad" => low(wide(1)? * wide(2)? + wide(3)?),
            "div" => low(wide(1)?.checked_div(wide(2)?).ok_or("a division by 0")?),
            "rem" => low(wide(1)?.checked_rem(wide(2)?).ok_or("a division by 0")?),
            "setp" => {
                let (a, b) = (wide(1)?, wide(2)?);
                Value::Number(u64::from(match parts[1] {
                    "eq" => a == b,
                    "ne" => a != b,
                    "lt" | "lo" => a < b,
                    "le" | "ls" => a <= b,
                    "gt" | "hi" => a > b,
                    "ge" | "hs" => a >= b,
                    _ => return Err("a comparison of this kind".into()),
                }))
            }
            "selp" => cut(value(if number(3)? == 1 { 1 } else { 2 })?),
            "shl" | "shr" => {
                let distance = number(2)?.min(64) as usize;
                match value(1)? {
                    Value::Number(_) if distance >= 64 => low(if wide(1)? < 0 { -1 } else { 0 }),
                    Value::Number(_) if parts[0] == "shl" => low(wide(1)? << distance),
                    Value::Number(_) => low(wide(1)? >> distance),
                    _ if of_type.is_signed && of_type.bits != 32 => return Err(OF_THIS_TYPE.into()),
                    bits if of_type.is_signed => bits.moved(|i| Some((i + distance).min(31))),
                    bits if parts[0] == "shl" => bits.moved_wide(|i| i.checked_sub(distance)).first(of_type.bits),
                    bits => bits.moved_wide(|i| Some(i + distance).filter(|&i| i < 64)).first(of_type.bits),
                }
            }
            "shf" => {
                let (below, above) = (value(1)?.bits(), value(2)?.bits());
                let distance = number(3)? as usize;
                let distance = if parts[2] == "wrap" { distance % 32 } else { distance.min(32) };
                let from = if parts[1] == "l" { 32 - distance } else { distance };
                let all = |i: usize| if i < 32 { below[i] } else { above[i - 32] };
                Value::of_bits(std::array::from_fn(|i| all(i + from)))
            }
            "and" | "or" | "xor" | "not" | "lop3" => {
                let (table, count) = match parts[0] {
                    "and" => (0xc0, 2),
                    "or" => (0xfc, 2),
                    "xor" => (0x3c, 2),
                    "not" => (0x0f, 1),
                    _ => (number(4)? as u8, 3),
                };
                let mut words = [const { Value::Number(0) }; 3];
                for (n, word) in words.iter_mut().enumerate().take(count) {
                    *word = value(1 + n)?;
                }
                match &words {
                    [Value::Number(a), Value::Number(b), Value::Number(c)] => {
                        let minterm = |i: u8| {
                            let literal = |word: &u64, bit: u8| if i >> bit & 1 == 1 { *word } else { !word };
                            literal(a, 2) & literal(b, 1) & literal(c, 0)
                        };
                        let minterms = (0..8).filter(|i| table >> i & 1 == 1);
                        Value::Number(of_type.cut(minterms.fold(0, |word, i| word | minterm(i))))
                    }
                    words => Value::lut3(self.cells, table, words.each_ref(), of_type.bits == 64)?.first(of_type.bits),
                }
            }
            "prmt" if parts == ["prmt", "b32"] => {
                let (a, b, selector) = (value(1)?.bits(), value(2)?.bits(), number(3)? as usize);
                Value::of_bits(std::array::from_fn(|i| {
                    let choice = selector >> (4 * (i / 8));
                    // With the highest bit of its choice a byte is the sign of the one chosen.
                    let from = 8 * (choice & 7) + if choice & 8 == 0 { i % 8 } else { 7 };
                    if from < 32 { a[from] } else { b[from - 32] }
                }))
            }
            "bfi" => {
                let (at, count) = (number(3)? as usize & 0xff, number(4)? as usize & 0xff);
                let (from, into) = (value(1)?.wide(), value(2)?.wide());
                let bit = |i: usize| if (at..at + count).contains(&i) { from[i - at] } else { into[i] };
                match of_type.bits {
                    32 => Value::of_bits(std::array::from_fn(bit)),
                    _ => Value::of_wide(std::array::from_fn(bit)),
                }
            }
            "dp4a" => {
                let (a, b, c) = (value(1)?, value(2)?, value(3)?);
                let types = [parts[1], parts[2]].map(|name| name == "s32");
                let byte = |word: u64, i: usize, is_signed| Type { bits: 8, is_signed }.wide(word >> (8 * i));
                match (&a, b.number()?, c.number()?) {
                    (Value::Number(a), b, c) => {
                        let products = (0..4).map(|i| byte(*a, i, types[0]) * byte(b, i, types[1]));
                        Value::Number((products.sum::<i128>() + i128::from(c)) as u64 & 0xffff_ffff)
                    }
                    // A byte of 0 or 1, times -1.
                    (bits, b, 0) if (0..4).any(|i| b == 0xff << (8 * i)) && types[1] => {
                        let from = b.trailing_zeros() as usize;
                        spread(&bits.moved(|i| Some(i + from).filter(|_| i < 8)))?
                    }
                    _ => return Err("a product of unknown bits".into()),
                }
            }
            "atom" if parts == ["atom", "shared", "add", "u32"] => {
                let (at, more) = (number(1)?, number(2)?);
                let before = self.memory.read(at, 4)?;
                self.memory.write(at, 4, &low(i128::from(before.number()? + more)))?;
                before
            }
            _ => return Err("no rule for this instruction".into()),
        };
        thread.write(&operands[0], result)?;
        Ok(Next::Following)
    }

    fn load(&mut self, thread: &mut Thread, operands: &[Operand], of_type: Type) -> Result<Next, Why> {
        let at = self.value(thread, &operands[1])?.number()?;
        let bytes = u64::from(of_type.bits / 8);
        for (i, to) in each(&operands[0]).iter().enumerate() {
            if of_type.is_signed && of_type.bits < 32 {
                return Err("a load with a sign".into());
            }
            thread.write(to, self.memory.read(at + i as u64 * bytes, bytes)?)?;
        }
        Ok(Next::Following)
    }

    fn store(&mut self, thread: &Thread, operands: &[Operand], of_type: Type) -> Result<Next, Why> {
        let at = self.value(thread, &operands[0])?.number()?;
        let bytes = u64::from(of_type.bits / 8);
        for (i, from) in each(&operands[1]).iter().enumerate() {
            self.memory.write(at + i as u64 * bytes, bytes, &self.value(thread, from)?)?;
        }
        Ok(Next::Following)
    }
}

/// The elements of a vector, or what is none.
fn each(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Several(several) => several,
        one => std::slice::from_ref(one),
    }
}
