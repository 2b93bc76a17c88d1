//! An entry point of a listing: instructions with their operands, labels, and the sizes of its sections.

use std::collections::HashMap;

/// The registers of a state: general, uniform, predicates, uniform predicates.
pub(crate) const REGISTERS: usize = UNIFORM_PREDICATES + 8;
/// The number of the first uniform register.
pub const UNIFORM: usize = 256;
/// The number of the first predicate.
pub const PREDICATES: usize = 512;
/// The number of the first uniform predicate.
pub const UNIFORM_PREDICATES: usize = PREDICATES + 8;

/// An operand, as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A register, negated or not. `is_wide` where the listing says that it is the first of two.
    #[expect(missing_docs, reason = "named above")]
    Register { number: usize, is_negative: bool, is_wide: bool },
    /// A predicate.
    Predicate(usize),
    /// Zero, or a predicate that is true: as a destination, nothing.
    #[expect(missing_docs, reason = "named above")]
    Constant { is_predicate: bool },
    /// A number.
    Number(i64),
    /// A place in a constant bank.
    #[expect(missing_docs, reason = "named above")]
    Bank { bank: u32, terms: Vec<Operand> },
    /// A place in memory, or a descriptor of one.
    Memory(Vec<Operand>),
    /// A label of the listing.
    Label(String),
    /// All predicates: `PR`.
    Predicates,
    /// The special register of this name, which is public.
    Special(String),
}

impl Operand {
    /// Whether it is a predicate, or the constant one.
    pub fn is_predicate(&self) -> bool {
        matches!(self, Self::Predicate(_) | Self::Constant { is_predicate: true })
    }

    /// Whether it is a register, or the constant one.
    pub fn is_register(&self) -> bool {
        matches!(self, Self::Register { .. } | Self::Constant { is_predicate: false })
    }
}

/// What is done with an operand before it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// Nothing.
    Plus,
    /// It is subtracted from zero.
    Minus,
    /// All its bits change; a predicate is negated.
    Not,
    /// Anything else, such as an absolute value or a part of a register.
    Other,
}

impl Sign {
    fn of(operand: &str) -> Self {
        // Of a register, `reuse` is for its cache, and `64` says that it is the first of two.
        let is_plain = |name: &str| name.split('.').skip(1).all(|part| ["reuse", "64"].contains(&part));
        match operand.as_bytes() {
            [b'`' | b'S', b'(' | b'R', ..] => Self::Plus,
            _ if operand.contains('|') || !operand.split(['[', ']', '+']).all(is_plain) => Self::Other,
            [b'-', first, ..] if !first.is_ascii_digit() => Self::Minus,
            [b'~' | b'!', ..] => Self::Not,
            _ => Self::Plus,
        }
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The line of the listing, from 1.
    pub line: usize,
    /// The number of bytes before it in the entry point.
    pub address: i64,
    /// As it is written, with single spaces.
    pub text: String,
    /// The predicate, and the value that it must have.
    pub guard: Option<(usize, bool)>,
    /// Split at dots.
    pub opcode: Vec<String>,
    /// What it writes and reads.
    pub operands: Vec<Operand>,
    /// The sign of each operand.
    pub signs: Vec<Sign>,
}

/// An entry point.
#[derive(Debug, Default)]
pub struct Listing {
    /// Its code.
    pub instructions: Vec<Instruction>,
    /// The number of the instruction after each.
    pub labels: HashMap<String, usize>,
    /// Bytes of the entry point's shared memory.
    pub shared_bytes: u64,
    /// Bytes of its constant bank, which ends with the parameters.
    pub constant_bytes: u64,
    /// Constant bank 2: numbers that the compiler keeps there.
    pub numbers: Vec<u8>,
}

impl Listing {
    /// Reads an entry point from what the disassembler prints.
    ///
    /// # Errors
    /// In words: the line that is not understood, or that there is no such entry point.
    pub fn read(text: &str, entry: &str) -> Result<Self, String> {
        let mut listing = Self::default();
        let mut section = "";
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix(".section").filter(|rest| rest.starts_with([' ', '\t'])) {
                let name = name.trim();
                section = name.split(',').next().unwrap_or(name);
                continue;
            }
            let is_of = |kind: &str| section.strip_prefix(kind).is_some_and(|rest| rest == entry);
            if let Some(zeros) = line.strip_prefix(".zero") {
                let bytes = zeros.trim().parse::<u64>().map_err(|_| format!("line {}: `{line}`", number + 1))?;
                if is_of(".nv.shared.") {
                    listing.shared_bytes += bytes;
                } else if is_of(".nv.constant0.") {
                    listing.constant_bytes += bytes;
                }
            } else if is_of(".nv.constant2.") && line.contains(".byte") {
                let bytes = line.split_once(".byte").map_or("", |(_, bytes)| bytes).split(',');
                let byte = |text: &str| u8::from_str_radix(text.trim().trim_start_matches("0x"), 16);
                let bytes = bytes.map(byte).collect::<Result<Vec<_>, _>>();
                listing.numbers.extend(bytes.map_err(|_| format!("line {}: `{line}`", number + 1))?);
            } else if is_of(".text.") {
                if let Some(label) = line.strip_suffix(':') {
                    listing.labels.insert(label.into(), listing.instructions.len());
                } else if let Some((address, rest)) = line.strip_prefix("/*").and_then(|line| line.split_once("*/")) {
                    let wrong = || format!("line {}: `{line}` is not understood", number + 1);
                    let address = i64::from_str_radix(address, 16).map_err(|_| wrong())?;
                    let text = rest.trim().trim_matches(['{', '}']).trim().trim_end_matches(';').trim();
                    if !text.is_empty() {
                        listing.instructions.push(instruction(number + 1, address, text).ok_or_else(wrong)?);
                    }
                }
            }
        }
        if listing.instructions.is_empty() {
            Err(format!("there is no machine code of `{entry}`"))
        } else {
            Ok(listing)
        }
    }
}

fn instruction(line: usize, address: i64, text: &str) -> Option<Instruction> {
    let (guard, rest) = match text.strip_prefix('@') {
        Some(rest) => rest.split_once(' ').map(|(guard, rest)| (Some(guard), rest.trim()))?,
        None => (None, text),
    };
    let (opcode, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let guard = match guard {
        Some(guard) => match operand(guard)? {
            Operand::Predicate(number) => Some((number, !guard.starts_with('!'))),
            Operand::Constant { is_predicate: true } => None,
            _ => return None,
        },
        None => None,
    };
    // `R5 `(LABEL)`: a register and a label without a comma.
    let rest = rest.replace(" `(", ", `(");
    // `R5 -0x10 (*"BRANCH_TARGETS .L_1,.L_2"*)`: a register with a distance, and where that leads.
    let (rest, targets) = match rest.split_once("(*\"BRANCH_TARGETS") {
        Some((register, labels)) => (register.split_whitespace().next()?, labels.trim_end_matches("\"*)").trim()),
        None => (rest.as_str(), ""),
    };
    let targets = split(targets).into_iter().map(|label| Operand::Label(label.into()));
    let operands = split(rest);
    let mut signs: Vec<Sign> = operands.iter().map(|operand| Sign::of(operand)).collect();
    let operands: Vec<Operand> = operands.into_iter().map(operand).chain(targets.map(Some)).collect::<Option<_>>()?;
    signs.resize(operands.len(), Sign::Plus);
    let opcode = opcode.split('.').map(String::from).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(Instruction { line, address, text, guard, opcode, operands, signs })
}

fn operand(text: &str) -> Option<Operand> {
    let text = text.trim();
    if let Some(label) = text.strip_prefix("`(") {
        return Some(Operand::Label(label.strip_suffix(')')?.into()));
    }
    if let Some(number) = number(text) {
        return Some(Operand::Number(number));
    }
    let is_negative = text.starts_with(['-', '~']);
    let name = text.trim_start_matches(['-', '~', '!', '|']).trim_end_matches('|');
    if let Some(open) = name.find('[') {
        let list = |text: &str| text.split('+').map(operand).collect::<Option<Vec<_>>>();
        let (kind, places) = (&name[..open], name[open + 1..].strip_suffix(']')?.replace("][", "+"));
        return Some(match kind {
            "c" => {
                let (bank, place) = places.split_once('+')?;
                Operand::Bank { bank: number(bank)? as u32, terms: list(place)? }
            }
            "cx" => return None,
            _ => Operand::Memory(list(&places)?),
        });
    }
    let with_modifiers = name;
    let mut parts = name.split('.');
    let (name, modifiers) = (parts.next()?, parts);
    let is_wide = modifiers.clone().any(|part| part == "64");
    let zero = match name {
        "RZ" | "URZ" | "SRZ" => Some(false),
        "PT" | "UPT" => Some(true),
        _ => None,
    };
    if let Some(is_predicate) = zero {
        return Some(Operand::Constant { is_predicate });
    }
    let digits = name.trim_start_matches(|sign: char| sign.is_ascii_uppercase());
    if let (Ok(number), true) = (digits.parse::<usize>(), digits.len() < 4) {
        // `R0.X4` in an address is multiplied by four: then the number is not known.
        let is_negative = is_negative || modifiers.clone().any(|part| part.starts_with('X'));
        let register = |number| Some(Operand::Register { number, is_negative, is_wide });
        match &name[..name.len() - digits.len()] {
            "R" if number < UNIFORM => return register(number),
            "UR" if number < 256 => return register(UNIFORM + number),
            "P" if number < 8 => return Some(Operand::Predicate(PREDICATES + number)),
            "UP" if number < 8 => return Some(Operand::Predicate(UNIFORM_PREDICATES + number)),
            _ => {}
        }
    }
    match name {
        "PR" | "UPR" => Some(Operand::Predicates),
        _ if name.starts_with(|sign: char| sign.is_ascii_alphabetic()) => Some(Operand::Special(with_modifiers.into())),
        _ => None,
    }
}

fn number(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    if !digits.starts_with(|sign: char| sign.is_ascii_digit()) {
        return (digits.trim_start_matches('+') == "INF" || digits == "QNAN").then_some(0);
    }
    match digits.strip_prefix("0x") {
        // 32 bits, signed.
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|number| sign * i64::from(number as u32 as i32)),
        None => digits.parse::<f64>().ok().map(|number| sign * number as i64),
    }
}

/// The parts between commas.
fn split(list: &str) -> Vec<&str> {
    list.split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
}
