//! How secrets flow through a program.

use crate::finding::{Finding, Report};
use crate::secrets::Secrets;
use crate::solve::{Code, solve};
use crate::value::{At, Value};
use aes_bitslice_ptx::{Object, Operand, Program, Space, Statement};
use std::collections::BTreeSet;

/// Instructions that compute their first operand from the others and from nothing else.
const COMPUTE: [&str; 43] = [
    "abs",
    "activemask",
    "add",
    "addc",
    "and",
    "bfe",
    "bfi",
    "bfind",
    "brev",
    "clz",
    "cnot",
    "cvt",
    "cvta",
    "dp2a",
    "dp4a",
    "elect",
    "fns",
    "lop3",
    "mad",
    "mad24",
    "mapa",
    "max",
    "min",
    "mov",
    "mul",
    "mul24",
    "neg",
    "not",
    "or",
    "popc",
    "prmt",
    "redux",
    "sad",
    "selp",
    "set",
    "setp",
    "shf",
    "shl",
    "shr",
    "slct",
    "sub",
    "subc",
    "xor",
];

/// Instructions that access no memory by an address and compute nothing: their operands must be public.
const CONTROL: [&str; 16] = [
    "bar",
    "barrier",
    "bra",
    "brkpt",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group",
    "exit",
    "fence",
    "griddepcontrol",
    "membar",
    "nanosleep",
    "pmevent",
    "ret",
    "trap",
    "wgmma.fence",
    "setmaxnreg",
];

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
        let parts: Vec<&str> = opcode.split('.').collect();
        let guarded = guard.is_some_and(|(register, _)| self.registers[register].secret);
        let values: Vec<Value> = operands.iter().map(|operand| self.value(operand)).collect();
        let any = |values: &[Value]| values.iter().any(|value| value.secret);
        self.flow.report.instructions += usize::from(self.is_known);
        self.flow.report.secret += usize::from(self.is_known && (guarded || any(&values)));
        let space = parts.iter().find_map(|part| match part.split(':').next()? {
            "shared" => Some(Space::Shared),
            "local" => Some(Space::Local),
            "global" | "const" => Some(Space::Global),
            "param" => Some(Space::Parameter),
            _ => None,
        });
        let is_control = CONTROL
            .iter()
            .any(|name| opcode == name || opcode.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
        let is_call = parts[0] == "call";
        let computes = COMPUTE.contains(&parts[0]);
        let is_slow = ["div", "rem", "sqrt", "rsqrt", "rcp", "sin", "cos", "lg2", "ex2", "tanh", "fma"]
            .contains(&parts[0])
            || parts[1..].iter().any(|part| ["f16", "f32", "f64", "bf16"].contains(part));
        if guarded && !(computes || is_slow) {
            self.find("its predicate is secret");
        }
        // An undefined name, or memory that does not exist.
        let is_lost = |operand: &Operand| matches!(operand, Operand::Name(_));
        let is_lost = operands.iter().any(is_lost) && !is_call;
        let is_nowhere = space.is_some_and(|space| space != Space::Global && !self.flow.has(space));
        if is_lost || (is_nowhere && parts[0] != "cvta") {
            self.find("there is no rule for this instruction");
        }
        if is_control {
            if any(&values) {
                self.find("control or a barrier depends on a secret");
            }
            if parts[0] == "bra" && !matches!(operands.first(), Some(Operand::Label(_))) {
                self.find("there is no rule for this instruction");
            }
        } else if is_call {
            self.call();
        } else if computes || is_slow {
            if is_slow && any(&values[1..]) {
                self.find("its time may depend on a secret");
            }
            self.compute(&values, guarded);
        } else {
            self.access(&values, space, guarded);
        }
    }

    fn compute(&mut self, values: &[Value], guarded: bool) {
        let parts: Vec<&str> = self.statement.opcode.split('.').collect();
        let secret = guarded || values.iter().skip(1).any(|value| value.secret);
        let value = match (parts[0], values) {
            ("mov" | "cvta" | "cvt", [_, value]) => *value,
            ("add", [_, a, b]) => a.plus(*b),
            ("sub", [_, a, b]) => a.minus(*b),
            ("mul", [_, a, b]) => a.times(*b),
            ("mad", [_, a, b, c]) => a.times(*b).plus(*c),
            ("selp", [_, a, b, _]) => a.or(*b, |_, _| false),
            _ => Value::some(secret),
        };
        if let Some(to) = self.statement.operands.first() {
            self.write(to, value.tainted(secret));
        }
    }

    /// Loads, stores and everything else that takes an address or a lane.
    fn access(&mut self, values: &[Value], space: Option<Space>, guarded: bool) {
        let Statement { opcode, operands, .. } = self.statement;
        let parts: Vec<&str> = opcode.split('.').collect();
        let address = "an address depends on a secret";
        let width = parts.iter().rev().find_map(|part| part.get(1..)?.parse::<i64>().ok()).unwrap_or(64) / 8;
        let elements = if parts.contains(&"v4") { 4 } else { 1 + i64::from(parts.contains(&"v2")) };
        match (parts[0], operands.as_slice()) {
            ("ld" | "ldu" | "ldmatrix", [to, _, rest @ ..]) => {
                if values[1].secret || (!rest.is_empty() && values[2].secret) {
                    self.find(address);
                }
                let bytes = if parts[0] == "ldmatrix" { 1 << 20 } else { width * elements };
                // Of a table, only what non-coherent loads read is public.
                let coherent = matches!(space, None | Some(Space::Global)) && !parts.contains(&"nc");
                let secret = values[1].secret || guarded || coherent || self.flow.is_secret(space, values[1].at, bytes);
                let pointer = match values[1].at {
                    At::Exactly(Some(object), 0) if space == Some(Space::Parameter) => Some(object),
                    _ => None,
                };
                // In machine code only such a load identifies a table.
                if parts.contains(&"nc") && secret {
                    self.find("a non-coherent load is of no table");
                }
                match pointer.filter(|&object| self.flow.is_table(object) && !secret) {
                    Some(table) => self.write(to, Value::address(table)),
                    None => self.write(to, Value::some(secret)),
                }
            }
            ("st", [_, _]) => {
                if values[0].secret {
                    self.find(address);
                }
                self.store(space, values[0].at, values[1].secret || guarded);
            }
            ("atom", [to, _, ..]) => {
                if values[1].secret {
                    self.find(address);
                }
                let secret = values[2..].iter().any(|value| value.secret) || guarded;
                self.store(space, values[1].at, secret);
                let read = secret || self.flow.is_secret(space, values[1].at, width);
                self.write(to, Value::some(read));
            }
            ("red", [_, _, ..]) => {
                if values[0].secret {
                    self.find(address);
                }
                self.store(space, values[0].at, values[1..].iter().any(|value| value.secret) || guarded);
            }
            // To shared memory, from where the secrets are; the rest gives the size, and the barrier to notify.
            ("cp", [_, _, ..]) => {
                if values.iter().any(|value| value.secret) {
                    self.find(address);
                }
                self.store(Some(Space::Shared), values[0].at, true);
                if opcode.starts_with("cp.async.bulk.global") || opcode.starts_with("cp.reduce") {
                    self.store(Some(Space::Global), At::Anywhere, true);
                }
            }
            ("mbarrier", _) => {
                if values.iter().any(|value| value.secret) {
                    self.find("control or a barrier depends on a secret");
                }
                // The progress of copies.
                if let Some(to @ (Operand::Register(_) | Operand::Several(_))) = operands.first() {
                    self.write(to, Value::PUBLIC);
                }
            }
            ("shfl", [to, _, ..]) => {
                if values[2..].iter().any(|value| value.secret) {
                    self.find("a lane depends on a secret");
                }
                self.write(to, Value::some(values[1..].iter().any(|value| value.secret) || guarded));
            }
            ("vote" | "match", [to, _, ..]) => {
                if values.last().is_some_and(|mask| mask.secret) {
                    self.find("a mask of threads depends on a secret");
                }
                self.write(to, Value::some(values[1..].iter().any(|value| value.secret) || guarded));
            }
            ("mma", [to, ..]) => {
                self.write(to, Value::some(values[1..].iter().any(|value| value.secret) || guarded));
            }
            ("wgmma", []) => {}
            ("wgmma", _) if opcode.contains("commit_group") || opcode.contains("wait_group") => {}
            ("wgmma", [to, a, ..]) => {
                // The second matrix is in shared memory, given by its descriptor; the first, too, or in registers. The switches
                // follow.
                let is_descriptor = !matches!(a, Operand::Several(_));
                if values[2..].iter().any(|value| value.secret) || (is_descriptor && values[1].secret) {
                    self.find(address);
                }
                self.write(to, Value::SECRET);
            }
            ("prefetch" | "prefetchu" | "discard" | "applypriority", _) => {
                if values.iter().any(|value| value.secret) {
                    self.find(address);
                }
            }
            _ => {
                self.find("there is no rule for this instruction");
                if let Some(to) = operands.first() {
                    self.write(to, Value::SECRET);
                }
            }
        }
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
