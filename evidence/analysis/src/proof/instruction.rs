//! What an instruction of `opcode` does to a thread (PTX ISA). Arithmetic works on numbers. Formal bits are only moved, combined bit by
//! bit, or spread from one bit over a word.

use crate::proof::arithmetic;
use crate::proof::context::Context;
use crate::proof::form::Form;
use crate::proof::order::{Access, Seen, WARPGROUP};
use crate::proof::thread::Thread;
use crate::proof::value::{Type, Value, Why};
use crate::proof::word;
use crate::ptx::{Operand, Statement};

/// The most statements that a thread may take: one that takes more is assumed not to end.
pub(crate) const MOST_STEPS: usize = 1 << 20;

/// Where execution continues after a statement.
pub(crate) enum Next {
    Following,
    To(usize),
    Together,
    Warp,
    TogetherInWarpgroup,
    Warpgroup,
    Block,
    /// The way is not decided yet.
    Undecided,
    End,
}

impl Context<'_> {
    /// Executes a statement on a thread, if its predicate holds, and returns where execution continues.
    pub(crate) fn step(&mut self, thread: &mut Thread, statements: &[Statement]) -> Result<Next, Why> {
        let next = self.step_if_known(thread, statements)?;
        let past = if matches!(next, Next::Undecided) { self.past_idle(thread, statements) } else { None };
        Ok(past.map_or(next, Next::To))
    }

    fn step_if_known(&mut self, thread: &mut Thread, statements: &[Statement]) -> Result<Next, Why> {
        let statement = &statements[thread.next];
        if let Some((register, is_negated)) = statement.guard {
            let holds = match thread.register(register)? {
                Value::Condition(condition) => {
                    // Also where it is known that nothing is accessed: then each way has the same loads, of which a proof sees the condition.
                    let may_skip = self.unknowns.decide(&condition) != Some(false);
                    if !is_negated && self.enter_region(thread, statements, &condition, may_skip) {
                        return Ok(Next::Following);
                    }
                    match self.resolve(thread, &condition)? {
                        Some(holds) => holds,
                        None => return Ok(Next::Undecided),
                    }
                }
                predicate => predicate.number()? == 1,
            };
            if holds == is_negated {
                return Ok(Next::Following);
            }
        }
        self.execute(thread, statement)
    }

    /// Executes a statement on a thread, whatever its predicate.
    pub(crate) fn execute(&mut self, thread: &mut Thread, statement: &Statement) -> Result<Next, Why> {
        let parts: Vec<&str> = statement.opcode.split('.').collect();
        let operands = &statement.operands;
        if ["bar", "ret", "st", "atom", "mbarrier", "cp"].contains(&parts[0]) && !thread.has_waited() {
            return Err("products of matrices were not waited for".into());
        }
        match (parts[0], &operands[..]) {
            // All threads of a warp go there: with a predicate, each would have to be looked at.
            ("bra", _) if parts.len() > 1 && statement.guard.is_some() => return Err("no rule with a predicate".into()),
            ("bra", [Operand::Label(target)]) => return Ok(Next::To(*target)),
            ("ret", []) => return Ok(Next::End),
            // Of masks, only all lanes; of a thread block's numbered barriers, the first with all threads, and others with a warpgroup.
            ("bar", [Operand::Number(-1)]) if parts[1] == "warp" => return Ok(Next::Warp),
            ("bar", [Operand::Number(0)]) if parts[1] == "sync" => return Ok(Next::Block),
            ("bar", [number, Operand::Number(threads)]) if *threads == WARPGROUP as i64 => {
                let number = self.value(thread, number)?.number()?;
                let warpgroup = thread.index / WARPGROUP;
                let of_number = *self.numbered_barriers.entry(number).or_insert(warpgroup);
                return if number == 0 || number > 15 || of_number != warpgroup {
                    Err("a barrier that others have, or that is not there".into())
                } else {
                    Ok(Next::Warpgroup)
                };
            }
            ("bra" | "ret" | "bar", _) => return Err("no rule for these operands".into()),
            ("shfl" | "mma" | "redux", _) => return Ok(Next::Together),
            ("wgmma", _) => match (parts[1], &operands[..]) {
                ("mma_async", _) => return Ok(Next::TogetherInWarpgroup),
                ("fence", []) => thread.fence(),
                ("commit_group", []) => thread.commit_products(),
                ("wait_group", [Operand::Number(0)]) => thread.wait_for_products(),
                _ => return Err("no rule for these operands".into()),
            },
            ("fence", []) => self.publish(thread),
            ("membar", []) => {
                thread.device_fence = Some(thread.barriers.block);
                if let Some(counter) = thread.counter.take() {
                    let arrived = self.arrived.get(&counter).cloned().unwrap_or_default();
                    self.memory.seen = Seen { arrived, by: Some(self.moment(thread)) };
                }
            }
            ("mbarrier", _) => return self.barrier_in_memory(thread, statement),
            ("cp", _) => return self.copy(thread, operands),
            // Of launches there is one.
            ("griddepcontrol", []) => {}
            ("call", _) => return self.call(thread, operands),
            _ => return self.compute(thread, &parts, operands),
        }
        Ok(Next::Following)
    }

    /// Executes an instruction that takes values.
    fn compute(&mut self, thread: &mut Thread, parts: &[&str], operands: &[Operand]) -> Result<Next, Why> {
        for register in operands.iter().flat_map(each) {
            if let Operand::Register(number) = register
                && let Some(Value::Count(lowest, most)) = thread.written(*number)
            {
                thread.write(register, arithmetic::word_of_count(self.cells, lowest, most))?;
            }
        }
        let of_type = Type::of(parts[parts.len() - 1]).ok_or("no rule for this type")?;
        match parts[0] {
            "ld" => return self.load(thread, parts, operands, of_type),
            "st" => return self.store(thread, parts, operands, of_type),
            _ => {}
        }
        if parts[0] == "atom"
            && self.symbolic.is_some()
            && let Value::Number(at) = self.value(thread, operand(operands, 1)?)?
        {
            let step = self.value(thread, operand(operands, 2)?)?.number()?;
            self.reaches(parts[1], at, 4)?;
            let taken = self.take(thread, at, step)?;
            thread.write(operand(operands, 0)?, taken)?;
            return Ok(Next::Following);
        }
        if let Some(value) = self.selected(thread, parts, operands)? {
            thread.write(operand(operands, 0)?, value)?;
            return Ok(Next::Following);
        }
        if let Some(word) = self.chosen_word(thread, parts, operands)? {
            thread.write(operand(operands, 0)?, word)?;
            return Ok(Next::Following);
        }
        if let Some(condition) = self.choice(thread, parts, operands, of_type)? {
            let Some(holds) = self.resolve(thread, &condition)? else { return Ok(Next::Undecided) };
            let chosen = self.value(thread, operand(operands, if holds { 1 } else { 2 })?)?;
            thread.write(operand(operands, 0)?, chosen)?;
            return Ok(Next::Following);
        }
        if self.symbolic.is_some()
            && parts[0] != "atom"
            && let Some(result) = self.on_forms(thread, parts, operands, of_type)?
        {
            thread.write(operand(operands, 0)?, result)?;
            return Ok(Next::Following);
        }
        let value = |n: usize| self.word(self.value(thread, operand(operands, n)?)?);
        let number = |n: usize| value(n)?.number();
        let integer = |n: usize| Ok::<_, Why>(of_type.integer(number(n)?));
        let low = |integer: i128| Value::Number(of_type.cut(integer as u64));
        let cut = |value| if let Value::Number(number) = value { Value::Number(of_type.cut(number)) } else { value };
        let result = match parts[0] {
            "mov" if operands.iter().any(|one| matches!(one, Operand::Several(_))) => {
                return Err("several registers".into());
            }
            "mov" | "cvta" => cut(value(1)?),
            "cvt" if of_type.is_signed => Value::Number(integer(1)? as u64),
            // Between unsigned types.
            "cvt" => value(1)?.first(of_type.bits.min(Type::of(parts[1]).ok_or("no rule for this type")?.bits)),
            "add" if number(1).is_err() || number(2).is_err() => {
                let (a, b) = (value(1)?, value(2)?);
                arithmetic::sum(self.cells, &a, &b).first(of_type.bits)
            }
            "add" => low(integer(1)? + integer(2)?),
            "sub" => low(integer(1)? - integer(2)?),
            "neg" if number(1).is_err() => word::spread(&value(1)?)?,
            "neg" => low(-integer(1)?),
            "min" => low(integer(1)?.min(integer(2)?)),
            "max" => low(integer(1)?.max(integer(2)?)),
            "mul" if parts[1] == "wide" && !of_type.is_signed && (number(1).is_err() || number(2).is_err()) => {
                let [a, b] = [value(1)?, value(2)?].map(|value| value.first(of_type.bits));
                arithmetic::product(self.cells, &a, &b).first(2 * of_type.bits)
            }
            "mul" if parts[1] == "wide" => {
                let twice = Type { bits: 2 * of_type.bits, ..of_type };
                Value::Number(twice.cut((integer(1)? * integer(2)?) as u64))
            }
            "mul" if number(1).is_err() || number(2).is_err() => {
                let (a, b) = (value(1)?, value(2)?);
                arithmetic::product(self.cells, &a, &b).first(of_type.bits)
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
            "selp" => {
                let chosen = operand(operands, if number(3)? == 1 { 1 } else { 2 })?;
                cut(self.value(thread, chosen)?)
            }
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
                word::lut3(self.cells, table, words.each_ref(), of_type.bits)?
            }
            "brev" => value(1)?.moved(|i| Some(31 - i)),
            "prmt" => word::permute(&value(1)?, &value(2)?, number(3)?),
            "bfi" => {
                let (at, count) = (number(3)? as usize & 0xff, number(4)? as usize & 0xff);
                let (from, into) = (value(1)?.bits64(), value(2)?.bits64());
                let bit = |i: usize| if (at..at + count).contains(&i) { from[i - at] } else { into[i] };
                match of_type.bits {
                    32 => Value::of_bits(std::array::from_fn(bit)),
                    _ => Value::of_bits64(std::array::from_fn(bit)),
                }
            }
            "dp4a" => word::dot(&value(1)?, &value(2)?, &value(3)?)?,
            "atom" => {
                let (at, more, bytes) = (number(1)?, value(2)?, u64::from(of_type.bits / 8));
                self.reaches(parts[1], at, bytes)?;
                if parts[1] == "shared" {
                    self.note_shared(thread, at, bytes, true)?;
                }
                if parts[2] != "exch" && self.atomics.entry(at).or_insert_with(|| parts[2].into()) != parts[2] {
                    return Err("atomic operations of two kinds in one place".into());
                }
                if parts[2] == "inc" {
                    let block = self.moment(thread).block;
                    let arrived = self.arrived.entry(at).or_default();
                    arrived.extend(thread.device_fence.take().map(|barriers| (block, barriers)));
                    thread.counter = Some(at);
                }
                let change = |before: &Value| match parts[2] {
                    "inc" => {
                        let before = before.number()?;
                        Ok(Value::Number(if before >= more.number()? { 0 } else { before + 1 }))
                    }
                    "exch" => Ok(more.clone()),
                    "add" => Ok(Value::Number((before.number()? + more.number()?) & 0xffff_ffff)),
                    "max" => Ok(Value::Number(before.number()?.max(more.number()?))),
                    _ => Ok(Value::of_bits(std::array::from_fn(|i| before.bits()[i] ^ more.bits()[i]))),
                };
                // Each takes what all before it have left.
                let access = if parts[2] == "exch" { Access::Write } else { Access::Atomic };
                self.memory.change(at, bytes, access, self.moment(thread), change)?
            }
            _ => return Err("no rule for this instruction".into()),
        };
        thread.write(operand(operands, 0)?, result)?;
        Ok(Next::Following)
    }

    /// `call.uni (result), function, (parameters)`: the function runs to its end at once, so it may not wait for other threads.
    fn call(&mut self, thread: &mut Thread, operands: &[Operand]) -> Result<Next, Why> {
        let [Operand::Several(results), Operand::Name(name), Operand::Several(given)] = operands else {
            return Err("no rule for these operands".into());
        };
        let called = self.functions.iter().find(|function| !function.is_entry && function.name == *name);
        let called = called.ok_or_else(|| format!("there is no function `{name}`"))?;
        let mut inner = Thread::new(thread.index, called.registers);
        inner.steps = thread.steps;
        inner.barriers = thread.barriers;
        self.hand_over(thread, &objects(given)?, &mut inner, &called.parameters)?;
        while inner.next < called.statements.len() {
            inner.steps += 1;
            if inner.steps > MOST_STEPS {
                return Err("the called function does not end".into());
            }
            match self.step(&mut inner, &called.statements)? {
                Next::Following => inner.next += 1,
                Next::To(statement) => inner.next = statement,
                Next::End => break,
                Next::Together
                | Next::Warp
                | Next::TogetherInWarpgroup
                | Next::Warpgroup
                | Next::Block
                | Next::Undecided => {
                    return Err("a called function that waits for other threads".into());
                }
            }
        }
        thread.steps = inner.steps;
        self.hand_over(&mut inner, &called.results, thread, &objects(results)?)?;
        Ok(Next::Following)
    }

    /// Moves parameters of a thread to others of another, which then has none from an earlier call in their place.
    fn hand_over(&self, from: &mut Thread, given: &[usize], to: &mut Thread, taken: &[usize]) -> Result<(), Why> {
        if given.len() != taken.len() {
            return Err("another number of parameters".into());
        }
        for (&given, &taken) in given.iter().zip(taken) {
            if self.sizes[given] != self.sizes[taken] {
                return Err("a parameter of another size".into());
            }
            let range = |object: usize| self.addresses[object]..self.addresses[object] + self.sizes[object];
            to.parameters.retain(|at, _| !range(taken).contains(at));
            let parts = from.parameters.extract_if(|at, _| range(given).contains(at));
            to.parameters.extend(parts.map(|(at, part)| (at - range(given).start + range(taken).start, part)));
        }
        Ok(())
    }

    fn load(&mut self, thread: &mut Thread, parts: &[&str], operands: &[Operand], of_type: Type) -> Result<Next, Why> {
        let at = self.value(thread, operand(operands, 1)?)?;
        let (to, bytes) = (each(operand(operands, 0)?), u64::from(of_type.bits / 8));
        let all = bytes * to.len() as u64;
        if let Value::Form(at, _) = &at {
            if parts.contains(&"nc") {
                return Err("memory is read as if it were constant, and the launch may write it".into());
            }
            self.is_aligned(at, all)?;
            for (to, after) in to.iter().zip((0..).step_by(bytes as usize)) {
                let read = self.reach_any(thread, parts[1], &at.plus(1, &Form::constant(after)), bytes, None)?;
                thread.regions.iter_mut().for_each(|region| region.loaded.extend(read.bits()));
                thread.write(to, read)?;
            }
            return Ok(Next::Following);
        }
        if !thread.regions.is_empty() {
            return Err("a load that may not take place, at a known address".into());
        }
        let at = at.number()?;
        // Without a memory space, addresses of device memory are what they are.
        self.reaches(if parts.len() == 2 { "global" } else { parts[1] }, at, all)?;
        if let Some((count, value)) = thread.parameters.get(&at).cloned() {
            if count != all {
                return Err("a part of a parameter of a call, or of what the thread has stored".into());
            }
            thread.write(operand(operands, 0)?, value)?;
            return Ok(Next::Following);
        }
        if parts[1] == "shared" {
            self.note_shared(thread, at, all, false)?;
        }
        if parts.contains(&"nc") && (at..at + all).any(|at| self.memory.is_writable(at)) {
            return Err("memory is read as if it were constant, and the launch may write it".into());
        }
        for (to, at) in to.iter().zip((at..).step_by(bytes as usize)) {
            thread.write(to, self.memory.read(at, bytes, self.moment(thread))?)?;
        }
        Ok(Next::Following)
    }

    fn store(&mut self, thread: &mut Thread, parts: &[&str], operands: &[Operand], of_type: Type) -> Result<Next, Why> {
        let at = self.value(thread, operand(operands, 0)?)?;
        let (from, bytes) = (each(operand(operands, 1)?), u64::from(of_type.bits / 8));
        let all = bytes * from.len() as u64;
        if let Value::Form(at, _) = &at {
            self.is_aligned(at, all)?;
            for (from, after) in from.iter().zip((0..).step_by(bytes as usize)) {
                let stored = self.value(thread, from)?;
                self.reach_any(thread, parts[1], &at.plus(1, &Form::constant(after)), bytes, Some(stored))?;
            }
            return Ok(Next::Following);
        }
        if !thread.regions.is_empty() {
            return Err("a store that may not take place, at a known address".into());
        }
        let at = at.number()?;
        self.reaches(parts[1], at, all)?;
        if ["param", "local"].contains(&parts[1]) {
            let stored = self.word(self.value(thread, operand(operands, 1)?)?)?;
            thread.parameters.retain(|other, (count, _)| *other + *count <= at || *other >= at + all);
            thread.parameters.insert(at, (all, stored));
            return Ok(Next::Following);
        }
        if parts[1] == "shared" {
            self.note_shared(thread, at, all, true)?;
        }
        for (from, at) in from.iter().zip((at..).step_by(bytes as usize)) {
            self.memory.write(at, bytes, &self.value(thread, from)?, self.moment(thread))?;
        }
        Ok(Next::Following)
    }
}

/// The objects that operands are.
fn objects(operands: &[Operand]) -> Result<Vec<usize>, Why> {
    let object = |operand: &Operand| if let Operand::Object(object) = operand { Some(*object) } else { None };
    operands.iter().map(object).collect::<Option<_>>().ok_or_else(|| "an operand that is no parameter".into())
}

/// One of the operands of a statement.
pub(crate) fn operand(all: &[Operand], n: usize) -> Result<&Operand, Why> {
    all.get(n).ok_or_else(|| "too few operands".into())
}

/// The elements of a vector, or an operand that is not one.
fn each(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Several(several) => several,
        one => std::slice::from_ref(one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::anf::{Bit, Cells};
    use crate::proof::context::Grid;
    use crate::ptx::Program;

    /// The result of an instruction on values: `d` is its destination; `a`, `b` and `c` are the registers that hold them.
    fn result(cells: &mut Cells, instruction: &str, values: &[Value]) -> Result<Value, Why> {
        let text = format!(".entry f()\n{{\n.reg .b64 d, a, b, c;\n{instruction};\nmov.u64 d, d;\n}}");
        let program = Program::read(&text).expect("an instruction");
        let [statement, last] = &program.functions[0].statements[..] else { panic!("two instructions") };
        let registers = program.functions[0].registers;
        let mut context = Context::new(&program, Grid { blocks: 1, threads: 1 }, 0, cells)?;
        let mut thread = Thread::new(0, registers);
        // They are declared in this order.
        for (register, value) in (1..).zip(values) {
            thread.write(&Operand::Register(register), value.clone())?;
        }
        context.step(&mut thread, std::slice::from_ref(statement))?;
        context.value(&thread, &last.operands[1])
    }

    /// Worked out by hand from the PTX ISA.
    #[test]
    fn instructions_do_what_the_manual_says() {
        for (instruction, values, expected) in [
            ("shl.b32 d, a, b", [0xf000_0001, 4, 0], 0x10),
            ("shl.b32 d, a, b", [1, 32, 0], 0),
            ("shr.u32 d, a, b", [0xf000_0001, 4, 0], 0x0f00_0000),
            ("shr.s32 d, a, b", [0xf000_0001, 4, 0], 0xff00_0000),
            ("shr.s32 d, a, b", [0x8000_0000, 40, 0], 0xffff_ffff),
            ("lop3.b32 d, a, b, c, 202", [0xffff_0000, 0x1234_5678, 0x9abc_def0], 0x1234_def0),
            ("lop3.b32 d, a, b, c, 128", [0xff00_ff00, 0xf0f0_f0f0, 0xcccc_cccc], 0xc000_c000),
            ("prmt.b32 d, a, b, c", [0x3322_1100, 0x7766_5544, 0x7531], 0x7755_3311),
            ("prmt.b32 d, a, b, c", [0x80ff_1100, 0x7766_5544, 0xb98c], 0xff00_0000),
            ("bfi.b32 d, a, b, 5, 11", [0xffff_ffff, 0, 0], 0xffe0),
            ("bfi.b32 d, a, b, 20, 12", [0x1234_5abc, 0x1111_1111, 0], 0xabc1_1111),
            ("bfi.b64 d, a, b, 30, 9", [0x155, u64::MAX, 0], 0xffff_ffd5_7fff_ffff),
            ("mul.wide.s32 d, a, b", [0xffff_ffff, 3, 0], 0xffff_ffff_ffff_fffd),
            ("mul.wide.u32 d, a, b", [0xffff_ffff, 3, 0], 0x2_ffff_fffd),
            ("mad.lo.s32 d, a, b, c", [0x1_0001, 0x1_0001, 5], 0x2_0006),
            ("div.u32 d, a, b", [0xffff_ffff, 0x10, 0], 0x0fff_ffff),
            ("neg.s32 d, a", [1, 0, 0], 0xffff_ffff),
            ("brev.b32 d, a", [0x8000_00f2, 0, 0], 0x4f00_0001),
            ("mul.lo.s64 d, a, b", [u64::MAX, 3, 0], 0xffff_ffff_ffff_fffd),
            ("max.u32 d, a, b", [0x8000_0000, 1, 0], 0x8000_0000),
            ("setp.lt.s32 d, a, b", [0x8000_0000, 1, 0], 1),
            ("setp.lt.s64 d, a, b", [1 << 63, 0, 0], 1),
            ("add.u64 d, a, b", [u64::MAX, 3, 0], 2),
            ("mov.pred d, a", [1, 0, 0], 1),
            ("dp4a.s32.s32 d, a, b, c", [0x01ff_0203, 0x02ff_0304, 7], 3 * 4 + 2 * 3 + 1 + 2 + 7),
            ("min.u32 d, a, b", [0x8000_0000, 1, 0], 1),
            ("max.u64 d, a, b", [1 << 63, 1, 0], 1 << 63),
            ("setp.ge.u32 d, a, b", [0x8000_0000, 1, 0], 1),
            ("setp.lt.u64 d, a, b", [1 << 40, 1, 0], 0),
            ("selp.b32 d, a, b, c", [1, 2, 0], 2),
            ("cvt.u16.u32 d, a", [0x1234_5678, 0, 0], 0x5678),
            ("cvt.u32.u16 d, a", [0xfffe, 0, 0], 0xfffe),
            ("sub.s32 d, a, b", [1, 2, 0], 0xffff_ffff),
            ("not.pred d, a", [1, 0, 0], 0),
        ] {
            let found = result(&mut Cells::new(), instruction, &values.map(Value::Number));
            assert_eq!(found.and_then(|value| value.number()), Ok(expected), "{instruction}, {values:x?}");
        }
    }

    /// Numbers spread over 64 bits.
    fn noise(seed: u64) -> u64 {
        let z = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (z ^ z >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ z >> 32
    }

    /// Instructions have a rule for numbers and one for unknown bits. Where some bits of an operand are unknown, each bit of the result is
    /// known, or one of them, or its complement: as with numbers, whatever they are.
    #[test]
    fn both_rules_of_an_instruction_agree() {
        // The instruction, and the mask of possible values of each operand; only the first one has unknown bits.
        let all: [(&str, [u64; 3]); 38] = [
            ("shl.b32 d, a, b", [0xffff_ffff, 0x3f, 0]),
            ("shl.b64 d, a, b", [u64::MAX, 0x7f, 0]),
            ("shr.u32 d, a, b", [0xffff_ffff, 0x3f, 0]),
            ("shr.u64 d, a, b", [u64::MAX, 0x7f, 0]),
            ("shr.s32 d, a, b", [0xffff_ffff, 0x3f, 0]),
            ("and.b32 d, a, b", [0xffff_ffff, 0xffff_ffff, 0]),
            ("and.b64 d, a, b", [u64::MAX, u64::MAX, 0]),
            ("or.b32 d, a, b", [0xffff_ffff, 0xffff_ffff, 0]),
            ("or.b64 d, b, a", [u64::MAX, u64::MAX, 0]),
            ("xor.b32 d, b, a", [0xffff_ffff, 0xffff_ffff, 0]),
            ("xor.b64 d, a, b", [u64::MAX, u64::MAX, 0]),
            ("not.b32 d, a", [0xffff_ffff, 0, 0]),
            ("lop3.b32 d, a, b, c, 202", [0xffff_ffff; 3]),
            ("lop3.b32 d, b, a, c, 202", [0xffff_ffff; 3]),
            ("lop3.b32 d, b, c, a, 202", [0xffff_ffff; 3]),
            ("lop3.b32 d, a, b, c, 150", [0xffff_ffff; 3]),
            ("lop3.b32 d, c, b, a, 23", [0xffff_ffff; 3]),
            ("prmt.b32 d, a, b, c", [0xffff_ffff, 0xffff_ffff, 0xffff]),
            ("prmt.b32 d, b, a, c", [0xffff_ffff, 0xffff_ffff, 0xffff]),
            ("bfi.b32 d, a, b, 5, 11", [0xffff_ffff, 0xffff_ffff, 0]),
            ("bfi.b32 d, b, a, 20, 12", [0xffff_ffff, 0xffff_ffff, 0]),
            ("bfi.b64 d, a, b, 30, 9", [u64::MAX, u64::MAX, 0]),
            ("bfi.b64 d, b, a, 0, 33", [u64::MAX, u64::MAX, 0]),
            ("cvt.u32.u64 d, a", [u64::MAX, 0, 0]),
            ("cvt.u64.u32 d, a", [0xffff_ffff, 0, 0]),
            ("cvt.u16.u32 d, a", [0xffff_ffff, 0, 0]),
            ("cvt.u32.u16 d, a", [0xffff, 0, 0]),
            ("mov.u32 d, a", [0xffff_ffff, 0, 0]),
            ("selp.b32 d, a, b, c", [0xffff_ffff, 0xffff_ffff, 1]),
            ("selp.b64 d, b, a, c", [u64::MAX, u64::MAX, 1]),
            ("mul.wide.u32 d, a, 1024", [0xffff_ffff, 0, 0]),
            ("mul.wide.u16 d, a, 32", [0xffff, 0, 0]),
            ("brev.b32 d, a", [0xffff_ffff, 0, 0]),
            // Where no bits meet in a column, nothing is carried.
            ("add.s32 d, a, b", [0xff00_ff00, 0x00ff_00ff, 0]),
            ("add.s64 d, b, a", [u64::MAX << 32, 0xffff_ffff, 0]),
            ("mul.lo.s64 d, a, 4096", [u64::MAX, 0, 0]),
            ("neg.s32 d, a", [1, 0, 0]),
            ("dp4a.s32.s32 d, a, 65280, 0", [0x0101_0101, 0, 0]),
        ];
        let mut cells = Cells::new();
        for (instruction, masks) in all {
            for n in 0..40 {
                let numbers: [u64; 3] = std::array::from_fn(|i| noise(3 * n + i as u64) & masks[i]);
                let known = result(&mut cells, instruction, &numbers.map(Value::Number)).unwrap().number().unwrap();
                let unknown: [Bit; 64] = std::array::from_fn(|_| cells.unknown());
                let which = masks[0] & if n % 4 == 0 { u64::MAX } else { noise(100 + n) };
                let is_unknown = |i: usize| which >> i & 1 == 1;
                let given = std::array::from_fn(|i| {
                    if is_unknown(i) { unknown[i] } else { Bit::constant(numbers[0] >> i & 1 == 1) }
                });
                let first = Value::of_bits64(given).first(64 - masks[0].leading_zeros());
                let values = [first, Value::Number(numbers[1]), Value::Number(numbers[2])];
                let found =
                    result(&mut cells, instruction, &values).unwrap_or_else(|why| panic!("{instruction}: {why}"));
                for (at, bit) in found.bits64().into_iter().enumerate() {
                    let value = bit.as_constant().or_else(|| {
                        let is_it = |&i: &usize| is_unknown(i) && (bit == unknown[i] || bit == unknown[i] ^ Bit::ONE);
                        let from = (0..64).find(is_it)?;
                        Some((numbers[0] >> from & 1 == 1) == (bit == unknown[from]))
                    });
                    assert_eq!(value, Some(known >> at & 1 == 1), "bit {at} of `{instruction}`, {numbers:x?}");
                }
            }
        }
    }
}
