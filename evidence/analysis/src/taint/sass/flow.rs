//! How secrets flow through machine code: a rule for every opcode that is allowed.

use super::opcodes::{Effect, effect};
use crate::ptx::Variable;
use crate::sass::{Instruction, Listing, Operand, REGISTERS};
use crate::taint::finding::{Finding, Report};
use crate::taint::secrets::Secrets;
use crate::taint::solve::{Code, solve};
use crate::taint::value::{At, Value};
use std::collections::BTreeSet;

/// The start of the parameters in constant bank 0, by generation.
const PARAMETERS_AT: [u64; 3] = [0x160, 0x210, 0x380];
/// The space that compilers reserve for the system at the start of shared memory, by generation.
const SHARED_AT: [u64; 2] = [0, 0x400];

/// What is known of a register.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fact {
    value: Value,
    /// If it was last written under a predicate: its value while that predicate holds. Instructions under the same predicate see this
    /// value.
    under: Option<((usize, bool), Value)>,
    /// For a predicate: it is true only in the thread of the warp whose lane is in this register. So one thread is elected to act for all,
    /// and a shuffle from its lane returns what it wrote under this predicate.
    elects: Option<usize>,
}

impl From<Value> for Fact {
    fn from(value: Value) -> Self {
        Self { value, under: None, elects: None }
    }
}

/// Stands for the lane of a thread, as an address that nothing has.
const LANE: At = At::Exactly(Some(usize::MAX), 0);
/// Stands for the highest bit of a uniform register, the same in all threads of a warp.
const LEADER: At = At::Exactly(Some(usize::MAX - 1), 0);

struct Flow<'a> {
    listing: &'a Listing,
    secrets: &'a Secrets,
    /// The start of each parameter in constant bank 0.
    parameters: Vec<u64>,
    /// The start of each object in shared memory; the first is everything before the others.
    objects: Vec<u64>,
    /// Whether a secret may be in each.
    shared: Vec<bool>,
    /// Bytes of local memory that may be secret, by offset, and whether all of it may be.
    local: BTreeSet<i64>,
    all_local: bool,
    /// Whether more of memory became secret.
    changed: bool,
    /// The calls, by instruction. The callee is analysed separately for each call: instruction i, reached by call c, has the number
    /// (c + 1) * instructions + i.
    calls: Vec<usize>,
    report: Report,
}

pub fn check(listing: &Listing, entry: &str, secrets: &Secrets, shared: &[Variable]) -> Result<Report, String> {
    let (parameters, bytes) = laid_out((0..secrets.count()).map(|n| {
        let bytes = secrets.bytes(n) as u64;
        (bytes, if bytes == 8 { 8 } else { 4 })
    }));
    let base = listing.constant_bytes.checked_sub(bytes).filter(|base| PARAMETERS_AT.contains(base));
    let base = base.ok_or_else(|| {
        format!(
            "the parameters of `{entry}` are not the {bytes} last bytes of {} in its constant bank",
            listing.constant_bytes
        )
    })?;
    let (objects, bytes) = laid_out(shared.iter().map(|shared| (shared.bytes, shared.align)));
    let first = if shared.is_empty() {
        0
    } else {
        listing.shared_bytes.checked_sub(bytes).filter(|base| SHARED_AT.contains(base)).ok_or_else(|| {
            format!(
                "the variables of `{entry}` in shared memory, {bytes} bytes, are not what it has there, {}",
                listing.shared_bytes
            )
        })?
    };
    let objects: Vec<u64> = std::iter::once(0).chain(objects.into_iter().map(|at| at + first)).collect();
    let is_call = |instruction: &Instruction| is_call(listing, instruction);
    let calls = listing.instructions.iter().enumerate().filter(|(_, i)| is_call(i)).map(|(n, _)| n).collect();
    let mut flow = Flow {
        listing,
        secrets,
        parameters: parameters.into_iter().map(|at| at + base).collect(),
        shared: vec![false; objects.len()],
        objects,
        local: BTreeSet::new(),
        all_local: false,
        changed: true,
        calls,
        report: Report::default(),
    };
    while flow.changed {
        flow.changed = false;
        flow.report = Report::default();
        solve(&mut flow, &[Fact::from(Value::PUBLIC); REGISTERS]);
    }
    flow.report.findings.sort();
    flow.report.findings.dedup();
    Ok(flow.report)
}

/// Whether it calls a function. A call of a label in the same function, as the disassembler prints it, is a far jump.
fn is_call(listing: &Listing, instruction: &Instruction) -> bool {
    let is_near = |operand: &Operand| matches!(operand, Operand::Label(label) if label.starts_with(".L") && listing.labels.contains_key(label));
    instruction.opcode[0] == "CALL" && !instruction.operands.iter().any(is_near)
}

/// The positions of things of these sizes and alignments, one after the other, and the end of the last.
fn laid_out(things: impl Iterator<Item = (u64, u64)>) -> (Vec<u64>, u64) {
    let mut end = 0u64;
    let places = things.map(|(bytes, align)| {
        let place = end.next_multiple_of(align.max(1));
        end = place + bytes;
        place
    });
    (places.collect(), end)
}

impl Code for Flow<'_> {
    type Fact = Fact;

    fn len(&self) -> usize {
        self.listing.instructions.len() * (1 + self.calls.len())
    }

    fn next(&self, number: usize) -> Vec<usize> {
        let length = self.listing.instructions.len();
        let (by, number) = (number / length, number % length);
        let instruction = &self.listing.instructions[number];
        let here = |target: usize| length * by + target;
        let targets = || instruction.operands.iter().filter_map(|operand| self.label(operand));
        // A branch has its own condition, too; nothing follows the last instruction.
        let may_stay = instruction.guard.is_some() || instruction.operands.iter().any(Operand::is_predicate);
        let following = (number + 1 < length).then_some(here(number + 1));
        let following_if = |may_stay: bool| following.filter(|_| may_stay);
        match instruction.opcode[0].as_str() {
            "BRX" => targets().map(here).chain(following_if(instruction.guard.is_some())).collect(),
            "BRA" | "CALL" if !is_call(self.listing, instruction) => {
                let may_stay = may_stay || instruction.opcode.iter().any(|part| part == "DIV" || part == "ANY");
                targets().map(here).chain(following_if(may_stay)).collect()
            }
            // After a collective, threads may continue at its label.
            "WARPSYNC" => targets().map(here).chain(following).collect(),
            "CALL" => {
                let call = self.calls.iter().position(|&call| call == number).unwrap_or_default();
                targets().map(|target| length * (call + 1) + target).chain(following_if(may_stay)).collect()
            }
            "RET" => {
                let back = by.checked_sub(1).map(|call| self.calls[call] + 1);
                back.into_iter().chain(following_if(may_stay)).collect()
            }
            "EXIT" | "KILL" => following_if(may_stay).into_iter().collect(),
            _ => following.into_iter().collect(),
        }
    }

    fn step(&mut self, number: usize, registers: &mut [Fact], is_known: bool) {
        let length = self.listing.instructions.len();
        let instruction = &self.listing.instructions[number % length];
        Step { by: number / length, number: number % length, flow: self, registers, instruction, is_known }.step();
    }

    fn join(&self, one: Fact, other: Fact, give_up: bool) -> Fact {
        let value = self.either(one.value, other.value).given_up(give_up);
        let under = match (one.under, other.under) {
            (Some((p, one)), Some((q, other))) if p == q => Some((p, self.either(one, other).given_up(give_up))),
            _ => None,
        };
        let elects = one.elects.filter(|_| one.elects == other.elects);
        Fact { value, under, elects }
    }
}

impl Flow<'_> {
    fn label(&self, operand: &Operand) -> Option<usize> {
        match operand {
            Operand::Label(label) => self.listing.labels.get(label).copied(),
            _ => None,
        }
    }

    /// Whether control goes where [`next`](Code::next) says: known labels, a call of a function that calls none, a return to after the
    /// call, and threads that wait for others where these arrive.
    fn is_plain_control(&self, by: usize, number: usize, address: Option<i64>) -> bool {
        let instruction = &self.listing.instructions[number];
        let leads = |operand: &Operand| !matches!(operand, Operand::Label(_)) || self.label(operand).is_some();
        let known = instruction.operands.iter().all(leads);
        let target = instruction.operands.iter().find_map(|operand| self.label(operand));
        let at = |number: usize| self.listing.instructions.get(number);
        match instruction.opcode[0].as_str() {
            "CALL" if !is_call(self.listing, instruction) => known,
            "CALL" => known && by == 0 && instruction.opcode.iter().any(|part| part == "REL"),
            "RET" => {
                let back = by.checked_sub(1).and_then(|call| at(self.calls[call] + 1));
                back.is_some_and(|back| Some(back.address) == address)
            }
            "BSSY" => {
                let before = target.and_then(|target| at(target.checked_sub(1)?));
                before.is_some_and(|before| {
                    before.opcode[0] == "BSYNC" && before.operands.first() == instruction.operands.first()
                })
            }
            "BRA" | "BRX" => known && target.is_some(),
            _ => known,
        }
    }

    /// One value or the other.
    fn either(&self, one: Value, other: Value) -> Value {
        one.or(other, |m, n| self.object(m) == self.object(n))
    }

    /// The object that contains a byte of shared memory.
    fn object(&self, offset: i64) -> Option<usize> {
        self.objects.iter().rposition(|&begin| begin as i64 <= offset)
    }

    fn shared_objects(&self, at: At) -> Vec<usize> {
        match at {
            At::Exactly(None, offset) | At::Near(None, offset) if self.object(offset).is_some() => {
                self.object(offset).into_iter().collect()
            }
            _ => (0..self.objects.len()).collect(),
        }
    }

    fn store_shared(&mut self, at: At, secret: bool) {
        for object in if secret { self.shared_objects(at) } else { vec![] } {
            self.changed |= !self.shared[object];
            self.shared[object] = true;
        }
    }

    fn is_secret_shared(&self, at: At) -> bool {
        self.shared_objects(at).into_iter().any(|object| self.shared[object])
    }

    fn store_local(&mut self, at: At, bytes: i64, secret: bool) {
        match at {
            _ if !secret => {}
            At::Exactly(None, offset) => {
                for byte in offset..offset + bytes {
                    self.changed |= self.local.insert(byte);
                }
            }
            _ => {
                self.changed |= !self.all_local;
                self.all_local = true;
            }
        }
    }

    fn is_secret_local(&self, at: At, bytes: i64) -> bool {
        self.all_local
            || match at {
                At::Exactly(None, offset) => self.local.range(offset..offset + bytes).next().is_some(),
                _ => !self.local.is_empty(),
            }
    }

    /// The value read from a constant bank.
    fn constant(&self, bank: u32, place: Value, bytes: i64) -> Value {
        if let (2, At::Exactly(None, offset)) = (bank, place.at) {
            let word =
                usize::try_from(offset).ok().and_then(|at| self.listing.numbers.get(at..at + 4)?.try_into().ok());
            return word.map_or(Value::PUBLIC, |word| Value::number(i32::from_le_bytes(word).into()));
        }
        if bank != 0 {
            return Value::some(place.secret);
        }
        let range = match place.at {
            At::Exactly(None, offset) => Some(offset..offset + bytes),
            _ => None,
        };
        let secret = self.parameters.iter().enumerate().any(|(n, &begin)| {
            let begin = begin as i64;
            self.secrets.overlap(n, range.clone().map(|range| range.start - begin..range.end - begin))
        });
        Value::some(secret || place.secret)
    }
}

/// An instruction, and what is known before it.
struct Step<'a, 'b> {
    /// The call that led here and the instruction, as numbers.
    by: usize,
    number: usize,
    flow: &'a mut Flow<'b>,
    registers: &'a mut [Fact],
    instruction: &'a Instruction,
    is_known: bool,
}

impl Step<'_, '_> {
    fn has(&self, modifier: &str) -> bool {
        self.instruction.opcode.iter().any(|part| part == modifier)
    }

    fn find(&mut self, what: &'static str) {
        if self.is_known {
            let Instruction { line, text, .. } = self.instruction;
            self.flow.report.findings.push(Finding { line: *line, instruction: text.clone(), what });
        }
    }

    /// The value of a register, under the instruction's predicate.
    fn register(&self, number: usize) -> Value {
        match self.registers[number] {
            Fact { under: Some((guard, value)), .. } if Some(guard) == self.instruction.guard => value,
            Fact { value, .. } => value,
        }
    }

    fn sum(&mut self, terms: &[Operand]) -> Value {
        terms.iter().map(|term| self.value(term, 1)).fold(Value::number(0), Value::plus)
    }

    /// The value of an operand that occupies this many registers.
    fn value(&mut self, operand: &Operand, width: usize) -> Value {
        match operand {
            Operand::Register { number, is_negative, is_wide } => {
                let width = width.max(1 + usize::from(*is_wide));
                let secret = (1..width).any(|n| number + n < REGISTERS && self.register(number + n).secret);
                let value = self.register(*number).tainted(secret);
                if *is_negative { Value::number(0).minus(value) } else { value }
            }
            Operand::Predicate(number) => self.register(*number),
            Operand::Constant { .. } => Value::number(0),
            Operand::Number(number) => Value::number(*number),
            Operand::Bank { bank, terms } => {
                let place = self.sum(terms);
                if place.secret {
                    self.find("an address depends on a secret");
                }
                self.flow.constant(*bank, place, 4 * width as i64)
            }
            Operand::Memory(terms) => self.sum(terms),
            // A thread block that was launched without a cluster is the first in its own.
            Operand::Special(name) if name == "SR_CgaCtaId" => Value::number(0),
            Operand::Special(name) if name == "SR_LANEID" => Value { at: LANE, ..Value::PUBLIC },
            Operand::Label(_) | Operand::Special(_) => Value::PUBLIC,
            Operand::Predicates => {
                let mask = self.instruction.operands.iter().rev().find_map(|operand| match operand {
                    Operand::Number(mask) => Some(*mask),
                    _ => None,
                });
                let mask = mask.unwrap_or(-1);
                Value::some((0..8).any(|n| mask >> n & 1 == 1 && self.is_secret_predicate(n)))
            }
        }
    }

    fn write(&mut self, operand: &Operand, width: usize, value: Value) {
        let first = match operand {
            Operand::Register { number, .. } => *number,
            Operand::Predicate(number) => *number,
            _ => return,
        };
        let width = if operand.is_predicate() { 1 } else { width };
        for number in first..(first + width).min(REGISTERS) {
            let value = if number == first { value } else { Value::some(value.secret) };
            self.registers[number] = match (self.instruction.guard, self.registers[number]) {
                (None, _) => value.into(),
                // It was written under the opposite predicate before: then it is one of the two.
                (Some((p, is)), Fact { under: Some(((q, was), other)), .. }) if p == q && is != was => {
                    Fact { value: self.flow.either(value, other), under: Some(((p, is), value)), elects: None }
                }
                // It may keep its old value.
                (Some(guard), old) => {
                    Fact { value: self.flow.either(old.value, value), under: Some((guard, value)), elects: None }
                }
            };
            self.registers.iter_mut().filter(|fact| fact.elects == Some(number)).for_each(|fact| fact.elects = None);
            if operand.is_predicate() {
                self.registers
                    .iter_mut()
                    .filter(|fact| fact.under.is_some_and(|((p, _), _)| p == number))
                    .for_each(|fact| fact.under = None);
            }
        }
    }

    /// How many of the leading operands are written.
    fn destinations(&self) -> usize {
        let Instruction { opcode, operands, .. } = self.instruction;
        let predicates = |operands: &[Operand]| operands.iter().take_while(|operand| operand.is_predicate()).count();
        match opcode[0].as_str() {
            "ISETP" | "UISETP" | "FSETP" | "PLOP3" | "UPLOP3" | "ELECT" | "SHFL" => 2,
            "VOTE" | "VOTEU" | "VOTED" => operands.len().saturating_sub(1).min(2),
            _ => match operands.first() {
                Some(first) if first.is_predicate() => {
                    let predicates = predicates(operands);
                    predicates + usize::from(operands.get(predicates).is_some_and(Operand::is_register))
                }
                Some(first) if first.is_register() => 1 + predicates(&operands[1..]),
                Some(Operand::Predicates) => 1,
                _ => 0,
            },
        }
    }

    fn step(mut self) {
        let Instruction { opcode, operands, guard, .. } = self.instruction;
        let guarded = guard.is_some_and(|(predicate, _)| self.registers[predicate].value.secret);
        let effect = effect(&opcode[0]);
        let computes = matches!(effect, Some(Effect::Compute | Effect::Slow));
        if guarded && !computes {
            self.find("its predicate is secret");
        }
        let secret = if effect == Some(Effect::Control) {
            let secret = operands.iter().any(|operand| self.value(operand, 1).secret);
            if secret {
                self.find("control or a barrier depends on a secret");
            }
            // Threads may arrive here from elsewhere, where others were elected.
            self.registers.iter_mut().for_each(|fact| fact.elects = None);
            let address = operands.first().and_then(|operand| self.value(operand, 2).known());
            if !self.flow.is_plain_control(self.by, self.number, address) {
                self.find("there is no rule for this instruction");
            }
            secret
        } else if computes {
            self.compute(effect == Some(Effect::Slow), guarded)
        } else {
            self.access(effect, guarded)
        };
        if self.is_known {
            self.flow.report.instructions += 1;
            self.flow.report.secret += usize::from(secret || guarded);
        }
    }

    fn compute(&mut self, is_slow: bool, guarded: bool) -> bool {
        let Instruction { opcode, operands, .. } = self.instruction;
        let name = opcode[0].as_str();
        let destinations = self.destinations();
        let (to, from) = operands.split_at(destinations);
        let is_double = name != "SHF" && name != "USHF" && ["64", "U64", "S64"].iter().any(|bits| self.has(bits));
        let (is_wide, is_product) = (self.has("WIDE"), name == "BMMA" || name == "IMMA");
        let width = |n: usize| match () {
            () if is_product => 4,
            () if is_double || (is_wide && n == 2) => 2,
            () => 1,
        };
        let values: Vec<Value> = from.iter().enumerate().map(|(n, operand)| self.value(operand, width(n))).collect();
        let secret = guarded || values.iter().any(|value| value.secret);
        if is_slow && secret {
            self.find("its time may depend on a secret");
        }
        let is_plain = !["X", "HI", "EX", "WIDE"].iter().any(|modifier| self.has(modifier));
        let shifted = |value: Value, by: Value| match by.known() {
            Some(by @ 0..32) => value.times(Value::number(1 << by)),
            _ => Value::some(value.secret),
        };
        let moves = ["MOV", "UMOV", "R2UR", "S2R", "S2UR", "IMAD", "UIMAD", "CS2R"].contains(&name);
        let value = match (name, values.as_slice()) {
            // The stack begins where constant bank 0 says.
            _ if moves && matches!(to, [Operand::Register { number: 1, .. }]) && self.is_stack(from) => {
                Value::number(0)
            }
            ("MOV" | "UMOV" | "R2UR" | "S2R" | "S2UR" | "CS2R", [value, ..]) => *value,
            ("IADD3" | "UIADD3" | "VIADD" | "IADD" | "UVIADD", values) if is_plain => {
                let summands = values.iter().zip(from).filter(|(_, operand)| !operand.is_predicate());
                summands.fold(Value::number(0), |sum, (value, _)| sum.plus(*value))
            }
            ("IMAD" | "UIMAD", [a, b, c, ..]) if is_plain => a.times(*b).plus(*c),
            ("LEA" | "ULEA", [a, b, by, ..]) if is_plain => shifted(*a, *by).plus(*b),
            ("FLO", [_]) if matches!(from, [Operand::Register { number: 256..512, is_negative: false, .. }]) => {
                Value { at: LEADER, ..Value::some(secret) }
            }
            ("SEL" | "USEL", [a, b, _]) => self.flow.either(*a, *b),
            ("SHF" | "USHF", [a, by, ..]) if self.has("L") && is_plain => shifted(*a, *by),
            ("LOP3" | "ULOP3", [a, b, c, table, ..]) if !is_double => logic([*a, *b, *c], *table),
            ("P2R" | "P2UR", [_, rest, mask]) if from[0] == Operand::Predicates => self.packed(*rest, *mask),
            _ => Value::some(secret),
        };
        // What these compute depends on their operands bit by bit.
        let tainted = match name {
            "LOP3" | "ULOP3" if !is_double => guarded,
            "P2R" | "P2UR" if from[0] == Operand::Predicates => guarded,
            _ => secret,
        };
        let width =
            if is_product { 4 } else { 1 + usize::from(is_double || is_wide || (name == "CS2R" && !self.has("32"))) };
        let copied = self.copied(from);
        for to in to {
            match to {
                Operand::Predicates => self.unpack(&values, guarded),
                // Whether the result is zero, combined with a predicate.
                to if to.is_predicate() && matches!(name, "LOP3" | "ULOP3") => {
                    let combined = values.get(4).is_some_and(|predicate| predicate.secret);
                    self.write(to, 1, Value::some(value.secret || combined || guarded));
                }
                to if to.is_predicate() => self.write(to, 1, Value::some(secret)),
                to => self.write(to, width, value.tainted(tainted)),
            }
        }
        if let (Some(under), [Operand::Register { number, .. }]) = (copied, to) {
            self.registers[*number].under = Some(under);
        }
        if let (
            "ISETP",
            None,
            [Operand::Predicate(predicate), Operand::Constant { .. }],
            [a, b, Operand::Constant { .. }],
        ) = (name, self.instruction.guard, to, from)
            && self.has("EQ")
        {
            let leader = [(a, b), (b, a)].into_iter().find_map(|(lane, leader)| match (lane, leader) {
                (Operand::Register { number: lane, .. }, Operand::Register { number, .. })
                    if (self.registers[*lane].value.at, self.registers[*number].value.at) == (LANE, LEADER) =>
                {
                    Some(*number)
                }
                _ => None,
            });
            self.registers[*predicate].elects = leader;
        }
        secret
    }

    /// The predicates in the bits of a word, those in the mask, and the bits of `rest` elsewhere.
    fn packed(&self, rest: Value, mask: Value) -> Value {
        let Some(mask) = mask.known().filter(|_| !self.names_a_byte()) else {
            return Value::some(rest.secret || self.any_predicate());
        };
        let mask = mask as u32 & 0xff;
        let secret = (0..8).filter(|&n| self.is_secret_predicate(n)).fold(0, |bits, n| bits | 1 << n);
        Value::with_open((rest.open & !mask) | (mask & !secret))
    }

    /// Writes the predicates in a mask from the bits of a word.
    fn unpack(&mut self, values: &[Value], guarded: bool) {
        let first = if self.instruction.opcode[0].starts_with('U') { 520 } else { 512 };
        match values {
            [word, mask] if mask.known().is_some() && !self.names_a_byte() => {
                let mask = mask.known().unwrap_or_default();
                for n in (0..8).filter(|n| mask >> n & 1 == 1) {
                    self.write(&Operand::Predicate(first + n), 1, Value::some(word.open >> n & 1 == 0 || guarded));
                }
            }
            _ => {
                let secret = guarded || values.iter().any(|value| value.secret);
                for n in 512..528 {
                    let value = self.registers[n].value.tainted(secret);
                    self.write(&Operand::Predicate(n), 1, value);
                }
            }
        }
    }

    /// Whether an operand is one byte of a register, as in `R0.B1`.
    fn names_a_byte(&self) -> bool {
        self.instruction.text.contains(".B")
    }

    /// Whether a predicate of this number, of a thread or of a warp, is secret.
    fn is_secret_predicate(&self, number: usize) -> bool {
        [512, 520].into_iter().any(|first| self.register(first + number).secret)
    }

    fn any_predicate(&self) -> bool {
        (0..8).any(|number| self.is_secret_predicate(number))
    }

    /// The fact under a predicate about a register that is moved unchanged to another, whatever the predicate: it moves along.
    fn copied(&self, from: &[Operand]) -> Option<((usize, bool), Value)> {
        let Instruction { opcode, guard, .. } = self.instruction;
        match (opcode[0].as_str(), from) {
            ("MOV", [Operand::Register { number, is_negative: false, is_wide: false }])
            | (
                "IMAD",
                [
                    Operand::Constant { .. },
                    Operand::Constant { .. },
                    Operand::Register { number, is_negative: false, is_wide: false },
                ],
            ) if guard.is_none() => self.registers[*number].under,
            _ => None,
        }
    }

    /// The value that a shuffle takes from the elected thread, if it takes from that.
    fn elected(&self, from: &[Operand]) -> Option<Value> {
        match (from, self.instruction.guard) {
            ([Operand::Register { number, .. }, Operand::Register { number: lane, .. }, ..], None)
                if self.has("IDX") =>
            {
                let ((predicate, is), value) = self.registers[*number].under?;
                (is && self.registers[predicate].elects == Some(*lane)).then_some(value)
            }
            _ => None,
        }
    }

    /// Whether the moved value is a word of the constant bank before the parameters.
    fn is_stack(&mut self, from: &[Operand]) -> bool {
        let first = self.flow.parameters.first().copied().unwrap_or(u64::MAX);
        from.iter().any(|operand| match operand {
            Operand::Bank { bank: 0, terms } => matches!(terms.as_slice(), [Operand::Number(n)] if (*n as u64) < first),
            _ => false,
        })
    }

    /// Loads, stores and everything else that takes an address or a lane. Returns whether a secret came in.
    fn access(&mut self, effect: Option<Effect>, guarded: bool) -> bool {
        let Instruction { opcode, operands, .. } = self.instruction;
        let words = match () {
            () if self.has("128") => 4,
            () if self.has("64") || self.has("U64") => 2,
            () => 1,
        };
        let bytes = 4 * words as i64;
        let (to, from) = operands.split_at(self.destinations());
        let (places, others): (Vec<&Operand>, Vec<&Operand>) =
            from.iter().partition(|operand| matches!(operand, Operand::Memory(_)));
        let places: Vec<Value> = places.into_iter().map(|place| self.value(place, 1)).collect();
        let others: Vec<Value> = others.into_iter().map(|other| self.value(other, words)).collect();
        let address = places.iter().any(|place| place.secret);
        if address {
            self.find("an address depends on a secret");
        }
        let data = guarded || others.iter().any(|other| other.secret);
        let at = places.first().map_or(At::Anywhere, |place| place.at);
        // How many registers each destination occupies, and whether they are secret.
        let (width, secret) = match effect {
            Some(Effect::SharedLoad) => {
                let width = if self.has("4") { 4 } else { words };
                (width, self.flow.is_secret_shared(at) || guarded || address)
            }
            Some(Effect::LocalLoad) => (words, self.flow.is_secret_local(at, bytes) || guarded || address),
            // PTX shows which memory these loads read.
            Some(Effect::DeviceLoad) => {
                let is_of_table = self.has("CONSTANT") && opcode[0] == "LDG" && self.flow.secrets.has_tables();
                (words, !is_of_table || guarded || address)
            }
            Some(Effect::ConstantLoad) => {
                // The stack begins where constant bank 0 says.
                if matches!(to, [Operand::Register { number: 1, .. }]) && self.is_stack(from) {
                    self.write(&to[0], words, Value::number(0));
                    return data;
                }
                (words, data || others.is_empty())
            }
            Some(Effect::SharedStore) => {
                self.flow.store_shared(at, data);
                (words, data)
            }
            Some(Effect::LocalStore) => {
                self.flow.store_local(at, bytes, data);
                (words, data)
            }
            Some(Effect::DeviceStore | Effect::GenericStore) => {
                if effect == Some(Effect::GenericStore) {
                    self.flow.store_shared(At::Anywhere, data);
                    self.flow.store_local(At::Anywhere, bytes, data);
                }
                self.flow.report.secret_stores += usize::from(data && self.is_known);
                (words, data)
            }
            Some(Effect::SharedUpdate) => {
                self.flow.store_shared(at, data);
                (words, data || self.flow.is_secret_shared(at))
            }
            Some(Effect::DeviceUpdate | Effect::GenericUpdate) => {
                if effect == Some(Effect::GenericUpdate) {
                    self.flow.store_shared(At::Anywhere, data);
                    self.flow.store_local(At::Anywhere, bytes, data);
                }
                self.flow.report.secret_stores += usize::from(data && self.is_known);
                let counts = opcode[0] == "ATOMG" && self.has("INC") && self.flow.secrets.count_arrivals();
                (words, !counts || data || address)
            }
            // From global to shared memory, by the copy engine or by threads.
            Some(Effect::Transfer) => {
                if others.iter().any(|other| other.secret) {
                    self.find("an address depends on a secret");
                }
                self.flow.store_shared(at, true);
                (words, true)
            }
            // Barriers in shared memory: the progress of copies is public.
            Some(Effect::Barrier) => {
                if others.iter().any(|other| other.secret) {
                    self.find("control or a barrier depends on a secret");
                }
                (words, data)
            }
            Some(Effect::Shuffle) => {
                let lane = others.iter().skip(1).any(|other| other.secret);
                if lane {
                    self.find("a lane depends on a secret");
                }
                (1, self.elected(from).map_or(data, |value| value.secret || lane))
            }
            // Products with a matrix in shared memory, into half as many registers as there are columns.
            Some(Effect::Product) => {
                let columns = opcode.get(1).and_then(|shape| shape.split('x').nth(1)?.parse::<usize>().ok());
                (columns.unwrap_or(256) / 2, true)
            }
            Some(Effect::Compute | Effect::Slow | Effect::Control) | None => {
                self.find("there is no rule for this instruction");
                (4, true)
            }
        };
        to.iter().for_each(|to| self.write(to, width, Value::some(secret)));
        secret
    }
}

/// The bits of `table[a, b, c]`, the function of three bits whose values are those of the table: bit 4 a + 2 b + c. A bit of the result depends
/// on a secret if the function does, for some values of what is public and not known.
fn logic(inputs: [Value; 3], table: Value) -> Value {
    let Some(table) = table.known() else { return Value::some(inputs.iter().any(|input| input.secret)) };
    let is_open = |bit: u32| {
        let known = |n: usize| inputs[n].known().map(|number| (number as u32 >> bit & 1) as usize);
        let is_secret = |n: usize| inputs[n].open >> bit & 1 == 0;
        // By the values of what is public: the results that occur.
        let mut results = [[false; 2]; 8];
        for values in 0..8 {
            let value = |n: usize| values >> (2 - n) & 1;
            if (0..3).all(|n| is_secret(n) || known(n).is_none_or(|known| known == value(n))) {
                let public = (0..3).filter(|&n| !is_secret(n)).map(|n| value(n) << n).sum::<usize>();
                results[public][(table >> values & 1) as usize] = true;
            }
        }
        !results.contains(&[true; 2])
    };
    if inputs.iter().all(|input| !input.secret) {
        return Value::PUBLIC;
    }
    Value::with_open((0..32).filter(|&bit| is_open(bit)).fold(0, |open, bit| open | 1 << bit))
}
