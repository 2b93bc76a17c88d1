//! A thread: its registers, its position, and what it waits for.

use crate::proof::value::{Value, Why};
use crate::ptx::Operand;

/// The next step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Runs,
    /// At a shuffle, whose statement is the next one.
    Shuffles,
    WaitsForWarp,
    WaitsForBlock,
    Ended,
}

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
}

impl Thread {
    /// A thread at the beginning of a function with this many registers.
    pub(crate) fn new(index: usize, registers: usize) -> Self {
        let registers = vec![None; registers];
        Self { index, registers, next: 0, steps: 0, state: State::Runs, block_barriers: 0, warp_barriers: 0 }
    }

    pub(crate) fn register(&self, register: usize) -> Result<Value, Why> {
        self.registers[register].clone().ok_or_else(|| "a register that was not written".into())
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
