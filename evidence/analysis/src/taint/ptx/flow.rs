//! How secrets flow through a program.

use super::opcodes::{Effect, Role, rule};
use crate::ptx::{Object, Operand, Program, Space, Statement};
use crate::taint::finding::{Finding, Report};
use crate::taint::secrets::Secrets;
use crate::taint::solve::{Code, solve};
use crate::taint::value::{At, Value};
use std::collections::BTreeSet;

/// How the names of types of floating-point numbers begin.
const FLOATS: [&str; 7] = ["f16", "f32", "f64", "bf16", "tf32", "e4m3", "e5m2"];

/// The state of an analysis in progress.
struct Flow<'a> {
    program: &'a Program,
    secrets: &'a Secrets,
    entry: usize,
    /// Whether a secret may be in an object.
    objects: Vec<bool>,
    reached: BTreeSet<usize>,
    /// Whether an object became secret, or a function was reached.
    changed: bool,
    report: Report,
}

/// One of its functions.
struct OneFunction<'a, 'b> {
    flow: &'a mut Flow<'b>,
    number: usize,
}

pub fn check(program: &Program, entry: &str, secrets: &Secrets) -> Result<Report, String> {
    let number = program.function(entry).filter(|&function| program.functions[function].is_entry);
    let number = number.ok_or_else(|| format!("there is no entry point `{entry}`"))?;
    let parameters = &program.functions[number].parameters;
    let sizes = || parameters.iter().map(|&object| program.objects[object].variable.bytes as usize);
    if parameters.len() != secrets.count() || !sizes().enumerate().all(|(n, bytes)| bytes == secrets.bytes(n)) {
        let sizes: Vec<_> = sizes().collect();
        return Err(format!("`{entry}` takes parameters of {sizes:?} bytes, others than were named"));
    }
    let mut flow = Flow {
        program,
        secrets,
        entry: number,
        objects: vec![false; program.objects.len()],
        reached: BTreeSet::from([number]),
        changed: true,
        report: Report::default(),
    };
    while flow.changed {
        flow.changed = false;
        flow.report = Report::default();
        for number in flow.reached.clone() {
            let registers = vec![Value::PUBLIC; program.functions[number].registers];
            solve(&mut OneFunction { flow: &mut flow, number }, &registers);
        }
    }
    flow.report.findings.sort();
    flow.report.findings.dedup();
    Ok(flow.report)
}

impl Code for OneFunction<'_, '_> {
    type Fact = Value;

    fn len(&self) -> usize {
        self.flow.program.functions[self.number].statements.len()
    }

    fn next(&self, statement: usize) -> Vec<usize> {
        let function = &self.flow.program.functions[self.number];
        let Statement { opcode, operands, guard, .. } = &function.statements[statement];
        let opcode = opcode.split('.').next().unwrap_or_default();
        let target = match (opcode, operands.first()) {
            ("bra", Some(Operand::Label(target))) => Some(*target),
            _ => None,
        };
        let ends = target.is_some() || ["ret", "exit", "trap"].contains(&opcode);
        target.into_iter().chain((!ends || guard.is_some()).then_some(statement + 1)).collect()
    }

    fn step(&mut self, statement: usize, registers: &mut [Value], is_known: bool) {
        let statement = &self.flow.program.functions[self.number].statements[statement];
        Step { flow: self.flow, registers, statement, is_known }.step();
    }

    fn join(&self, one: Value, other: Value, give_up: bool) -> Value {
        one.or(other, |_, _| false).given_up(give_up)
    }
}

/// A statement, and what is known before it.
struct Step<'a, 'b> {
    flow: &'a mut Flow<'b>,
    registers: &'a mut [Value],
    statement: &'a Statement,
    is_known: bool,
}

impl Flow<'_> {
    /// The objects of a space that an address can be in.
    fn objects_at(&self, space: Option<Space>, at: At) -> Vec<Object> {
        match at {
            At::Exactly(Some(object), _) | At::Near(Some(object), _) => vec![object],
            _ => {
                let is_of = |object: &usize| space.is_none_or(|space| self.program.objects[*object].space == space);
                (0..self.objects.len()).filter(is_of).collect()
            }
        }
    }

    /// Whether there is a variable in this space.
    fn has(&self, space: Space) -> bool {
        self.program.objects.iter().any(|object| object.space == space)
    }

    /// Whether what is read there may be secret.
    fn is_secret(&self, space: Option<Space>, at: At, bytes: i64) -> bool {
        let parameters = &self.program.functions[self.entry].parameters;
        let given = |object: &Object| parameters.iter().position(|parameter| parameter == object);
        let range = match at {
            At::Exactly(_, offset) => Some(offset..offset + bytes),
            _ => None,
        };
        if matches!(space, None | Some(Space::Global)) {
            return match at {
                At::Exactly(Some(object), _) | At::Near(Some(object), _) if self.is_table(object) => {
                    self.objects[object]
                }
                _ => true,
            };
        }
        self.objects_at(space, at).iter().any(|object| {
            self.objects[*object] || given(object).is_some_and(|n| self.secrets.overlap(n, range.clone()))
        })
    }

    /// Whether it is a parameter that points to a table. The parameter stands for the table, too.
    fn is_table(&self, object: Object) -> bool {
        let parameters = &self.program.functions[self.entry].parameters;
        parameters.iter().position(|&parameter| parameter == object).is_some_and(|n| self.secrets.is_table(n))
    }

    fn store(&mut self, space: Option<Space>, at: At, secret: bool) {
        if secret {
            for object in self.objects_at(space, at) {
                self.changed |= !self.objects[object];
                self.objects[object] = true;
            }
        }
    }
}

impl Step<'_, '_> {
    fn store(&mut self, space: Option<Space>, at: At, secret: bool) {
        let is_global = matches!(space, None | Some(Space::Global));
        self.flow.report.secret_stores += usize::from(self.is_known && secret && is_global);
        self.flow.store(space, at, secret);
    }

    fn find(&mut self, what: &'static str) {
        if !self.is_known {
            return;
        }
        let Statement { line, text, .. } = self.statement;
        self.flow.report.findings.push(Finding { line: *line, instruction: text.clone(), what });
    }

    fn value(&self, operand: &Operand) -> Value {
        match operand {
            Operand::Register(register) => self.registers[*register],
            Operand::Special(_) | Operand::Name(_) | Operand::Label(_) | Operand::Float => Value::PUBLIC,
            Operand::Number(number) => Value::number(*number),
            Operand::Object(object) => Value::address(*object),
            Operand::Address(terms) => {
                let terms = terms.iter().map(|term| self.value(term));
                terms.fold(Value::number(0), Value::plus)
            }
            Operand::Several(several) => {
                let secret = several.iter().any(|one| self.value(one).secret);
                Value::some(secret)
            }
        }
    }

    fn write(&mut self, operand: &Operand, value: Value) {
        match operand {
            Operand::Register(register) => {
                let register = &mut self.registers[*register];
                // With a predicate it may keep its old value.
                *register = if self.statement.guard.is_some() { register.or(value, |_, _| false) } else { value };
            }
            Operand::Several(several) => several.iter().for_each(|one| self.write(one, Value::some(value.secret))),
            _ => {}
        }
    }

    fn step(mut self) {
        let Statement { opcode, operands, guard, .. } = self.statement;
        let guarded = guard.is_some_and(|(register, _)| self.registers[register].secret);
        let values: Vec<Value> = operands.iter().map(|operand| self.value(operand)).collect();
        self.flow.report.instructions += usize::from(self.is_known);
        self.flow.report.secret += usize::from(self.is_known && (guarded || values.iter().any(|value| value.secret)));
        let parts: Vec<&str> = opcode.split('.').collect();
        let space = parts.iter().find_map(|part| match part.split(':').next()? {
            "shared" => Some(Space::Shared),
            "local" => Some(Space::Local),
            "global" | "const" => Some(Space::Global),
            "param" => Some(Space::Parameter),
            _ => None,
        });
        let Some((effect, roles)) = rule(opcode).filter(|(effect, roles)| self.is_covered(*effect, roles, space))
        else {
            self.find("there is no rule for this instruction");
            return operands.iter().for_each(|operand| self.write(operand, Value::SECRET));
        };
        if guarded && effect != Effect::Compute {
            self.find("its predicate is secret");
        }
        let computes = matches!(effect, Effect::Compute | Effect::Collective);
        let is_float = computes && parts.iter().any(|part| FLOATS.iter().any(|float| part.starts_with(float)));
        let mut secret = guarded;
        for (n, (operand, value)) in operands.iter().zip(&values).enumerate() {
            let role = match roles[n.min(roles.len() - 1)] {
                Role::From if is_float => Role::Time,
                role => role,
            };
            let is_vector = matches!(operand, Operand::Several(_));
            if let Some(what) = role.must_be_public(is_vector).filter(|_| value.secret) {
                self.find(what);
            }
            secret |= value.secret && role != Role::To;
        }
        let at = roles.iter().position(|role| *role == Role::Address).map_or(Value::PUBLIC, |n| values[n]);
        let to = operands.first().filter(|_| roles[0] == Role::To);
        match effect {
            Effect::Nothing => {}
            Effect::Call => self.call(),
            Effect::Load => self.load(space, at, secret),
            Effect::Store => self.store(space, at.at, secret),
            Effect::Transfer => {
                self.store(Some(Space::Shared), at.at, true);
                if opcode.starts_with("cp.async.bulk.global") || opcode.starts_with("cp.reduce") {
                    self.store(Some(Space::Global), At::Anywhere, true);
                }
            }
            Effect::Update => {
                self.store(space, at.at, secret);
                let is_increment = self.statement.opcode.split('.').any(|part| part == "inc");
                let counts = is_increment && space == Some(Space::Global) && self.flow.secrets.count_arrivals();
                let read = secret || (!counts && self.flow.is_secret(space, at.at, self.bytes()));
                to.into_iter().for_each(|to| self.write(to, Value::some(read)));
            }
            Effect::Compute => self.compute(&values, secret),
            Effect::Collective => to.into_iter().for_each(|to| self.write(to, Value::some(secret))),
            Effect::Product => to.into_iter().for_each(|to| self.write(to, Value::SECRET)),
        }
    }

    /// Whether the rule of its opcode covers an instruction with its operands.
    fn is_covered(&self, effect: Effect, roles: &[Role], space: Option<Space>) -> bool {
        let Statement { opcode, operands, .. } = self.statement;
        let least = match effect {
            Effect::Nothing | Effect::Call => 0,
            Effect::Compute | Effect::Collective => 1,
            _ => roles.len(),
        };
        let is_place =
            |operand: &Operand| matches!(operand, Operand::Register(_) | Operand::Several(_) | Operand::Special(_));
        let writes_places = roles[0] != Role::To || operands.first().is_some_and(is_place);
        // An undefined name, or memory that does not exist.
        let is_known = |operand: &Operand| !matches!(operand, Operand::Name(_)) || effect == Effect::Call;
        let is_there = space.is_none_or(|space| space == Space::Global || self.flow.has(space));
        let leads_somewhere = opcode.split('.').next() != Some("bra") || matches!(operands[..], [Operand::Label(_)]);
        operands.len() >= least
            && writes_places
            && operands.iter().all(is_known)
            && (is_there || opcode.starts_with("cvta"))
            && leads_somewhere
    }

    /// Bytes of memory that it accesses.
    fn bytes(&self) -> i64 {
        let parts = || self.statement.opcode.split('.');
        let bits = parts().filter_map(|part| part.get(1..)?.parse::<i64>().ok()).next_back().unwrap_or(64);
        let elements = parts().find_map(|part| part.strip_prefix('v')?.parse().ok()).unwrap_or(1);
        elements * bits / 8
    }

    fn load(&mut self, space: Option<Space>, from: Value, secret: bool) {
        let Statement { opcode, operands, .. } = self.statement;
        // Of a table, only what non-coherent loads read is public.
        let is_coherent = !opcode.split('.').any(|part| part == "nc");
        let is_of_device = matches!(space, None | Some(Space::Global));
        let bytes = if opcode.starts_with("ldmatrix") { 1 << 20 } else { self.bytes() };
        let secret = secret || (is_of_device && is_coherent) || self.flow.is_secret(space, from.at, bytes);
        // In machine code only such a load identifies a table.
        if !is_coherent && secret {
            self.find("a non-coherent load is of no table");
        }
        let table = match from.at {
            At::Exactly(Some(object), 0) if space == Some(Space::Parameter) && self.flow.is_table(object) => {
                Some(object)
            }
            _ => None,
        };
        self.write(&operands[0], table.filter(|_| !secret).map_or(Value::some(secret), Value::address));
    }

    fn compute(&mut self, values: &[Value], secret: bool) {
        let value = match (self.statement.opcode.split('.').next().unwrap_or_default(), values) {
            ("mov" | "cvta" | "cvt", [_, value]) => *value,
            ("add", [_, a, b]) => a.plus(*b),
            ("sub", [_, a, b]) => a.minus(*b),
            ("mul", [_, a, b]) => a.times(*b),
            ("mad", [_, a, b, c]) => a.times(*b).plus(*c),
            ("selp", [_, a, b, _]) => a.or(*b, |_, _| false),
            _ => Value::PUBLIC,
        };
        self.write(&self.statement.operands[0], value.tainted(secret));
    }

    /// `call (results), function, (arguments)`: each is an object of the caller, each parameter one of the function.
    fn call(&mut self) {
        let statement = self.statement;
        let mut lists = statement.operands.iter().filter_map(|operand| match operand {
            Operand::Several(objects) => Some(objects.as_slice()),
            _ => None,
        });
        let name = statement.operands.iter().find_map(|operand| match operand {
            Operand::Name(name) => Some(name.as_str()),
            _ => None,
        });
        let Some(called) = name.and_then(|name| self.flow.program.function(name)) else {
            return self.find("there is no rule for this call");
        };
        let function = &self.flow.program.functions[called];
        let results = if function.results.is_empty() { &[][..] } else { lists.next().unwrap_or(&[]) };
        let arguments = lists.next().unwrap_or(&[]);
        if (results.len(), arguments.len()) != (function.results.len(), function.parameters.len()) {
            return self.find("there is no rule for this call");
        }
        self.flow.changed |= self.flow.reached.insert(called);
        let object = |step: &Self, operand: &Operand| match step.value(operand).at {
            At::Exactly(Some(object), 0) => Some(object),
            _ => None,
        };
        let pairs = arguments.iter().zip(&function.parameters).map(|(from, to)| (object(self, from), Some(*to)));
        let back = results.iter().zip(&function.results).map(|(to, from)| (Some(*from), object(self, to)));
        for (from, to) in pairs.chain(back).collect::<Vec<_>>() {
            let (Some(from), Some(to)) = (from, to) else {
                return self.find("there is no rule for this call");
            };
            if self.flow.objects[from] {
                self.flow.changed |= !self.flow.objects[to];
                self.flow.objects[to] = true;
            }
        }
    }
}
