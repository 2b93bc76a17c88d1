//! A thread: its registers, its position, and what it waits for.

use crate::proof::anf::Bit;
use crate::proof::form::{Condition, Form};
use crate::proof::value::{Value, Why};
use crate::ptx::Operand;
use std::collections::{HashMap, HashSet};

/// The next step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Runs,
    /// At an instruction that all threads of a warp execute together, which is the next one.
    Together,
    WaitsForWarp,
    WaitsForBlock,
    /// Where the way is not decided, which another warp may do.
    Undecided,
    /// At a statement at which the run is stopped.
    Stopped,
    Ended,
}

/// Statements that are executed if a condition holds, which is not decided: they are followed as if it held. Registers that are needed after them
/// are 0 before, and moved from words that are 0 if the condition does not hold, so that they have their values in both cases. There may be
/// others among them, which are executed if a second condition holds, too.
#[derive(Clone)]
pub(crate) struct Region {
    /// The statement after them.
    pub end: usize,
    pub condition: Condition,
    /// The registers that they write and that are needed after them.
    pub written: Vec<usize>,
    /// Bits that they load, which are taken for 0 if the condition does not hold.
    pub loaded: HashSet<Bit>,
}

#[derive(Clone)]
pub(crate) struct Thread {
    pub index: usize,
    registers: Vec<Option<Value>>,
    /// The next statement.
    pub next: usize,
    /// The number of statements taken so far.
    pub steps: usize,
    pub state: State,
    /// Barriers of the thread block and of the warp that it has passed.
    pub block_barriers: u32,
    pub warp_barriers: u32,
    /// Parameters of calls, by their address, with their number of bytes.
    pub parameters: HashMap<u64, (u64, Value)>,
    /// The statements of this kind that it is among, from the outside in.
    pub regions: Vec<Region>,
    /// It goes past the next statement, although the run is stopped there.
    pub goes_on: bool,
}

impl Thread {
    /// A thread at the beginning of a function with this many registers.
    pub(crate) fn new(index: usize, registers: usize) -> Self {
        let registers = vec![None; registers];
        Self {
            index,
            registers,
            next: 0,
            steps: 0,
            state: State::Runs,
            block_barriers: 0,
            warp_barriers: 0,
            parameters: HashMap::new(),
            regions: vec![],
            goes_on: false,
        }
    }

    /// The value of a register, if it was written.
    pub(crate) fn written(&self, register: usize) -> Option<Value> {
        self.registers[register].clone()
    }

    pub(crate) fn register(&self, register: usize) -> Result<Value, Why> {
        self.registers[register].clone().ok_or_else(|| "a register that was not written".into())
    }

    /// Puts another number in place of one, in those of these registers that hold this, or what differs from this by a known number.
    pub(crate) fn replace(&mut self, registers: impl Fn(usize) -> bool, number: &Form, instead: &Form) {
        for (n, register) in self.registers.iter_mut().enumerate() {
            if let Some(value) = register.as_mut().filter(|_| registers(n)) {
                value.replace(number, instead);
            }
        }
    }

    /// Forgets registers.
    pub(crate) fn forget(&mut self, registers: impl IntoIterator<Item = usize>) {
        registers.into_iter().for_each(|register| self.registers[register] = None);
    }

    /// Writes a destination; of two, whose second is a predicate, the first.
    pub(crate) fn write(&mut self, operand: &Operand, value: Value) -> Result<(), Why> {
        match operand {
            Operand::Register(register) => self.registers[*register] = Some(value),
            Operand::Several(several) => {
                if let Some(first) = several.first() {
                    self.write(first, value)?;
                }
                for predicate in several.iter().skip(1) {
                    if let Operand::Register(register) = predicate {
                        self.registers[*register] = None;
                    }
                }
            }
            _ => return Err("a destination of this kind".into()),
        }
        Ok(())
    }
}
