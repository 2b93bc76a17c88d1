//! A grid that runs PTX on formal bits: one thread block after the other, and its threads one by one, each up to where it waits for
//! others.
//!
//! Numbers that divide the work, such as indices, addresses and counters, are known; keys and data are not. A branch, an address or a lane
//! that depends on an unknown value ends the run: it would be a leak, and nothing follows from a run that goes one of two ways. Between
//! two barriers threads run in the order of their indices, or in the other ([`Turns`]). Only what an atomic operation returns depends on that
//! order, because a race ends the run, too (`order`), and so do atomic operations of two kinds in one place.

use crate::proof::anf::Cells;
use crate::proof::context::{Context, Grid};
use crate::proof::instruction::{MOST_STEPS, Next, operand};
use crate::proof::memory::{Byte, Memory};
use crate::proof::opcode::OPCODES;
use crate::proof::order::{WARP, WARPGROUP};
use crate::proof::thread::{State, Thread};
use crate::proof::value::{Value, Why};
use crate::proof::word;
use crate::ptx::{Function, Program, Statement};

/// Why a run ended early.
#[derive(Debug)]
pub struct Stuck {
    /// The line of the PTX.
    pub line: usize,
    /// The instruction.
    pub instruction: String,
    /// What is wrong with it.
    pub why: Why,
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: `{}`: {}", self.line, self.instruction, self.why)
    }
}

/// Whether an operand has a sign, which no rule looks at; that of a predicate is not one.
fn has_sign(statement: &Statement) -> bool {
    let text = statement.text.trim_start_matches("@!");
    text.contains(['!', '~']) || text.contains("-%")
}

/// The order in which thread blocks have their turns, and the threads of each between two barriers: by their indices. In one of the two orders, an
/// operation comes before any other that is not ordered with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turns {
    /// The first has the first turn.
    Ascending,
    /// The last has the first turn.
    Descending,
}

impl Turns {
    fn of<T>(self, all: impl DoubleEndedIterator<Item = T>) -> impl Iterator<Item = T> {
        let (up, down) = if self == Self::Ascending { (Some(all), None) } else { (None, Some(all.rev())) };
        up.into_iter().flatten().chain(down.into_iter().flatten())
    }
}

/// A grid, and all that its threads reach.
pub struct Machine<'a> {
    pub(crate) function: &'a Function,
    pub(crate) context: Context<'a>,
    /// The run is stopped before these statements.
    pub(crate) stops: Vec<usize>,
    pub(crate) turns: Turns,
}

impl<'a> Machine<'a> {
    /// For an entry point of a module, with bytes of shared memory besides its variables of known size.
    ///
    /// # Errors
    /// If there is no such entry point, or one of its instructions has no rule.
    pub fn new(
        program: &'a Program,
        entry: &str,
        grid: Grid,
        shared_bytes: u64,
        cells: &'a mut Cells,
    ) -> Result<Self, Why> {
        let number = program.function(entry).ok_or_else(|| format!("there is no entry point `{entry}`"))?;
        let function = &program.functions[number];
        let called = program.functions.iter().filter(|function| !function.is_entry);
        let statements = || called.clone().chain([function]).flat_map(|function| &function.statements);
        if let Some(other) = statements().find(|statement| !OPCODES.contains(&&*statement.opcode)) {
            return Err(format!("line {}: `{}`: no rule for this instruction", other.line, other.text));
        }
        if let Some(other) = statements().find(|statement| has_sign(statement)) {
            return Err(format!("line {}: `{}`: an operand with a sign", other.line, other.text));
        }
        let context = Context::new(program, grid, shared_bytes, cells)?;
        Ok(Self { function, context, stops: vec![], turns: Turns::Ascending })
    }

    /// Gives the bytes of a parameter.
    ///
    /// # Errors
    /// If there is no such parameter, or it is declared with another size.
    pub fn parameter(&mut self, number: usize, bytes: &[Byte]) -> Result<(), Why> {
        self.context.parameter(self.function, number, bytes)
    }

    /// Memory, to prepare it for the launch.
    pub(crate) fn memory(&mut self) -> &mut Memory {
        &mut self.context.memory
    }

    /// The contents of memory.
    pub fn into_memory(self) -> Memory {
        self.context.memory
    }

    /// Runs all threads to their end.
    ///
    /// # Errors
    /// At the first instruction that cannot be followed, or where threads wait for each other for ever.
    pub fn run(&mut self) -> Result<(), Stuck> {
        let fence = self.function.statements.iter().position(|statement| statement.opcode == "membar.gl");
        if let Some(fence) = fence.filter(|_| self.turns != Turns::Ascending) {
            return Err(self.stuck(fence, "what thread blocks see of others is known in ascending order only".into()));
        }
        for block in self.turns.of(0..self.context.grid.blocks) {
            self.context.begin(block);
            self.run_block()?;
        }
        Ok(())
    }

    fn run_block(&mut self) -> Result<(), Stuck> {
        let mut threads = self.threads();
        while let Some(waits) = threads.iter().find(|thread| thread.state != State::Ended).map(|thread| thread.next) {
            if !self.round(&mut threads)? {
                return Err(self.stuck(waits, "threads wait for one another for ever".into()));
            }
        }
        Ok(())
    }

    /// The threads of a thread block, at its beginning.
    pub(crate) fn threads(&self) -> Vec<Thread> {
        (0..self.context.grid.threads).map(|index| Thread::new(index, self.function.registers)).collect()
    }

    /// Runs each thread up to where it waits for others, and those that wait for each other past that. Returns whether any has moved.
    pub(crate) fn round(&mut self, threads: &mut [Thread]) -> Result<bool, Stuck> {
        let steps = |threads: &[Thread]| threads.iter().map(|thread| thread.steps).sum::<usize>();
        let before = steps(threads);
        for warp in self.turns.of(threads.chunks_mut(WARP)) {
            for thread in self.turns.of(warp.iter_mut()) {
                self.run_thread(thread)?;
            }
            let same = warp.iter().all(|thread| thread.next == warp[0].next && thread.state == warp[0].state);
            match warp[0].state {
                State::Together if same => self.together(warp)?,
                State::WaitsForWarp if same => warp.iter_mut().for_each(|thread| {
                    thread.state = State::Runs;
                    thread.barriers.warp += 1;
                }),
                _ => {}
            }
        }
        for warpgroup in threads.chunks_mut(WARPGROUP) {
            let first = &warpgroup[0];
            let same = warpgroup.len() == WARPGROUP
                && warpgroup.iter().all(|thread| thread.next == first.next && thread.state == first.state);
            match first.state {
                State::TogetherInWarpgroup if same => self.together(warpgroup)?,
                State::WaitsForWarpgroup if same => warpgroup.iter_mut().for_each(|thread| {
                    thread.state = State::Runs;
                    thread.barriers.warpgroup += 1;
                }),
                _ => {}
            }
        }
        let live = || threads.iter().filter(|thread| thread.state != State::Ended);
        if live().all(|thread| thread.state == State::WaitsForBlock) {
            // `bar.sync` is `barrier.sync.aligned`: all threads of a warp are at one barrier.
            let at = |thread: &Thread| (thread.state == State::WaitsForBlock).then_some(thread.next);
            let apart = threads.chunks(WARP).find(|warp| warp.iter().any(|thread| at(thread) != at(&warp[0])));
            if let Some(warp) = apart {
                let one = warp.iter().find_map(at).unwrap_or_default();
                return Err(self.stuck(one, "threads of a warp are not at the same barrier".into()));
            }
            for thread in threads.iter_mut().filter(|thread| thread.state == State::WaitsForBlock) {
                thread.state = State::Runs;
                thread.barriers.block += 1;
            }
        }
        let has_moved = steps(threads) != before;
        Ok(has_moved || threads.iter().any(|thread| thread.state == State::Runs))
    }

    pub(crate) fn stuck(&self, statement: usize, why: Why) -> Stuck {
        let Statement { line, text, .. } = &self.function.statements[statement];
        Stuck { line: *line, instruction: text.clone(), why }
    }

    fn run_thread(&mut self, thread: &mut Thread) -> Result<(), Stuck> {
        if thread.state == State::Undecided {
            thread.state = State::Runs;
        }
        while thread.state == State::Runs {
            let at = thread.next;
            if at == self.function.statements.len() {
                thread.state = State::Ended;
                break;
            }
            if self.stops.contains(&at) && !std::mem::take(&mut thread.goes_on) {
                thread.state = State::Stopped;
                break;
            }
            self.context.leave_region(thread).map_err(|why| self.stuck(at, why))?;
            thread.steps += 1;
            if thread.steps > MOST_STEPS {
                return Err(self.stuck(at, "the thread does not end".into()));
            }
            let next = self.context.step(thread, &self.function.statements).map_err(|why| self.stuck(at, why))?;
            thread.next = at + 1;
            match next {
                Next::Following => {}
                Next::To(statement) => thread.next = statement,
                Next::Together => (thread.next, thread.state) = (at, State::Together),
                Next::Warp => thread.state = State::WaitsForWarp,
                Next::TogetherInWarpgroup => (thread.next, thread.state) = (at, State::TogetherInWarpgroup),
                Next::Warpgroup => thread.state = State::WaitsForWarpgroup,
                Next::Block => thread.state = State::WaitsForBlock,
                Next::Undecided => {
                    (thread.next, thread.state) = (at, State::Undecided);
                    thread.steps -= 1;
                }
                Next::End => thread.state = State::Ended,
            }
        }
        Ok(())
    }

    /// Executes an instruction of all threads of a warp, or of a warpgroup.
    fn together(&mut self, warp: &mut [Thread]) -> Result<(), Stuck> {
        let at = warp[0].next;
        let statement = &self.function.statements[at];
        let result = match &*statement.opcode {
            "shfl.sync.idx.b32" => self.shuffle(warp, statement),
            "redux.sync.or.b32" => self.reduce(warp, statement),
            opcode if opcode.starts_with("wgmma.") => self.context.multiply_in_warpgroup(warp, &statement.operands),
            _ => self.context.multiply(warp, &statement.operands),
        };
        result.map_err(|why| self.stuck(at, why))?;
        for thread in warp {
            (thread.next, thread.state) = (at + 1, State::Runs);
        }
        Ok(())
    }

    /// `redux.sync.or.b32 d, a, mask` for all lanes at once, of numbers.
    fn reduce(&self, warp: &mut [Thread], statement: &Statement) -> Result<(), Why> {
        let [to, from, mask] = &statement.operands[..] else { return Err("no rule for these operands".into()) };
        let mut all = 0;
        for thread in &*warp {
            all |= self.context.value(thread, from)?.number()?;
            if self.context.value(thread, mask)?.number()? & 0xffff_ffff != 0xffff_ffff {
                return Err("a reduction of some lanes only".into());
            }
        }
        warp.iter_mut().try_for_each(|thread| thread.write(to, Value::Number(all)))
    }

    /// `shfl.sync.idx.b32 d, a, lane, clamp, mask` for all lanes at once (PTX ISA, section on `shfl.sync`).
    fn shuffle(&self, warp: &mut [Thread], statement: &Statement) -> Result<(), Why> {
        let all = || -> Result<Vec<Value>, Why> {
            let given: Vec<Value> = warp
                .iter()
                .map(|thread| self.context.value(thread, operand(&statement.operands, 1)?))
                .collect::<Result<_, _>>()?;
            let of_lane = |(lane, thread): (usize, &Thread)| {
                let number = |n: usize| self.context.value(thread, operand(&statement.operands, n)?)?.number();
                let (from, clamp, mask) = (number(2)? as usize, number(3)? as usize, number(4)?);
                if mask & 0xffff_ffff != 0xffff_ffff {
                    return Err("a shuffle of some lanes only".into());
                }
                given
                    .get(word::source_lane(lane, from, clamp))
                    .cloned()
                    .ok_or_else(|| "a lane that is not there".into())
            };
            warp.iter().enumerate().map(of_lane).collect()
        };
        let values = all()?;
        let to = operand(&statement.operands, 0)?;
        warp.iter_mut().zip(values).try_for_each(|(thread, value)| thread.write(to, value))
    }
}
