//! What an instruction of `opcode` does to a thread (PTX ISA). Arithmetic is done on numbers; on formal bits, what moves them, what is done
//! bit by bit, and what spreads one bit over a word.

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
        let is_known = matches!((kind, bits), ("u" | "s" | "b", 8 | 16 | 32 | 64) | ("p", 1));
        is_known.then_some(Self { bits, is_signed: kind == "s" })
    }

    fn cut(self, number: u64) -> u64 {
        if self.bits < 64 { number & ((1 << self.bits) - 1) } else { number }
    }

    /// The integer that a number of this type is, with its sign if it has one.
    fn integer(self, number: u64) -> i128 {
        let number = self.cut(number);
        let is_negative = self.is_signed && number >> (self.bits - 1) & 1 == 1;
        i128::from(number) - if is_negative { 1 << self.bits } else { 0 }
    }
}

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
        match (parts[0], &operands[..]) {
            // All threads of a warp go there: of one with a predicate that would have to be looked at.
            ("bra", _) if parts.len() > 1 && statement.guard.is_some() => return Err("no rule with a predicate".into()),
            ("bra", [Operand::Label(target)]) => return Ok(Next::To(*target)),
            ("ret", []) => return Ok(Next::End),
            // Of a mask, all lanes; of numbered barriers of a thread block, the first, with all threads.
            ("bar", [Operand::Number(-1)]) if parts[1] == "warp" => return Ok(Next::Warp),
            ("bar", [Operand::Number(0)]) if parts[1] == "sync" => return Ok(Next::Block),
            ("bra" | "ret" | "bar", _) => return Err("no rule for these operands".into()),
            ("shfl", _) => return Ok(Next::Shuffle),
            _ => {}
        }
        let of_type = Type::of(parts[parts.len() - 1]).ok_or("no rule for this type")?;
        match parts[0] {
            "ld" => return self.load(thread, &parts, operands, of_type),
            "st" => return self.store(thread, &parts, operands, of_type),
            _ => {}
        }
        let value = |n: usize| self.value(thread, operands.get(n).ok_or("too few operands")?);
        let number = |n: usize| value(n)?.number();
        let integer = |n: usize| Ok::<_, Why>(of_type.integer(number(n)?));
        let low = |integer: i128| Value::Number(of_type.cut(integer as u64));
        let cut = |value| if let Value::Number(number) = value { Value::Number(of_type.cut(number)) } else { value };
        let result = match parts[0] {
            "mov" if operands.iter().any(|one| matches!(one, Operand::Several(_))) => {
                return Err("several registers".into());
            }
            "mov" | "cvta" => cut(value(1)?),
            // Between unsigned types.
            "cvt" => value(1)?.first(of_type.bits.min(Type::of(parts[1]).ok_or("no rule for this type")?.bits)),
            "add" => low(integer(1)? + integer(2)?),
            "sub" => low(integer(1)? - integer(2)?),
            "neg" if number(1).is_err() => spread(&value(1)?)?,
            "neg" => low(-integer(1)?),
            "min" => low(integer(1)?.min(integer(2)?)),
            "max" => low(integer(1)?.max(integer(2)?)),
            "mul" if parts[1] == "wide" && number(1).is_err() && !of_type.is_signed => {
                let factor = number(2)?;
                if !factor.is_power_of_two() {
                    return Err("a product of unknown bits".into());
                }
                let by = factor.trailing_zeros() as usize;
                value(1)?.moved64(|i| i.checked_sub(by)).first(2 * of_type.bits)
            }
            "mul" if parts[1] == "wide" => {
                let twice = Type { bits: 2 * of_type.bits, ..of_type };
                Value::Number(twice.cut((integer(1)? * integer(2)?) as u64))
            }
            "mul" => low(integer(1)? * integer(2)?),
            "mad" => low(integer(1)? * integer(2)? + integer(3)?),
            "div" => low(integer(1)?.checked_div(integer(2)?).ok_or("a division by 0")?),
            "setp" => {
                let (a, b) = (integer(1)?, integer(2)?);
                Value::Number(u64::from(match parts[1] {
                    "eq" => a == b,
                    "ne" => a != b,
                    "lt" => a < b,
                    "le" => a <= b,
                    "gt" => a > b,
                    "ge" => a >= b,
                    _ => return Err("no rule for this comparison".into()),
                }))
            }
            "selp" => cut(value(if number(3)? == 1 { 1 } else { 2 })?),
            "shl" | "shr" => {
                let distance = number(2)?.min(64) as usize;
                match value(1)? {
                    Value::Number(_) if distance >= 64 => low(if integer(1)? < 0 { -1 } else { 0 }),
                    Value::Number(_) if parts[0] == "shl" => low(integer(1)? << distance),
                    Value::Number(_) => low(integer(1)? >> distance),
                    bits if of_type.is_signed => bits.moved(|i| Some((i + distance).min(31))),
                    bits if parts[0] == "shl" => bits.moved64(|i| i.checked_sub(distance)).first(of_type.bits),
                    bits => bits.moved64(|i| Some(i + distance).filter(|&i| i < 64)).first(of_type.bits),
                }
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
            "prmt" => {
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
                let (from, into) = (value(1)?.bits64(), value(2)?.bits64());
                let bit = |i: usize| if (at..at + count).contains(&i) { from[i - at] } else { into[i] };
                match of_type.bits {
                    32 => Value::of_bits(std::array::from_fn(bit)),
                    _ => Value::of_bits64(std::array::from_fn(bit)),
                }
            }
            // Of signed bytes.
            "dp4a" => {
                let (a, b, c) = (value(1)?, value(2)?, value(3)?);
                let byte = |word: u64, i: usize| Type { bits: 8, is_signed: true }.integer(word >> (8 * i));
                match (&a, b.number()?, c.number()?) {
                    (Value::Number(a), b, c) => {
                        let products = (0..4).map(|i| byte(*a, i) * byte(b, i));
                        Value::Number((products.sum::<i128>() + i128::from(c)) as u64 & 0xffff_ffff)
                    }
                    // A byte of 0 or 1, times -1.
                    (bits, b, 0) if (0..4).any(|i| b == 0xff << (8 * i)) => {
                        let from = b.trailing_zeros() as usize;
                        spread(&bits.moved(|i| Some(i + from).filter(|_| i < 8)))?
                    }
                    _ => return Err("a product of unknown bits".into()),
                }
            }
            "atom" => {
                let (at, more) = (number(1)?, number(2)?);
                self.reaches(parts[1], at, 4)?;
                self.memory.add(at, more, self.moment(thread))?
            }
            _ => return Err("no rule for this instruction".into()),
        };
        thread.write(&operands[0], result)?;
        Ok(Next::Following)
    }

    fn load(&mut self, thread: &mut Thread, parts: &[&str], operands: &[Operand], of_type: Type) -> Result<Next, Why> {
        let at = self.value(thread, &operands[1])?.number()?;
        let (to, bytes) = (each(&operands[0]), u64::from(of_type.bits / 8));
        let all = bytes * to.len() as u64;
        self.reaches(parts[1], at, all)?;
        if parts.contains(&"nc") && (at..at + all).any(|at| self.memory.is_writable(at)) {
            return Err("memory is read as if it were constant, and the launch may write it".into());
        }
        for (to, at) in to.iter().zip((at..).step_by(bytes as usize)) {
            thread.write(to, self.memory.read(at, bytes, self.moment(thread))?)?;
        }
        Ok(Next::Following)
    }

    fn store(&mut self, thread: &Thread, parts: &[&str], operands: &[Operand], of_type: Type) -> Result<Next, Why> {
        let at = self.value(thread, &operands[0])?.number()?;
        let (from, bytes) = (each(&operands[1]), u64::from(of_type.bits / 8));
        let all = bytes * from.len() as u64;
        self.reaches(parts[1], at, all)?;
        for (from, at) in from.iter().zip((at..).step_by(bytes as usize)) {
            self.memory.write(at, bytes, &self.value(thread, from)?, self.moment(thread))?;
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
