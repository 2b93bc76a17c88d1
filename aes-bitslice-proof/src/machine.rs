//! A grid that runs PTX on formal bits: thread blocks one after the other, and of each its threads, each up to where it waits for others.
//!
//! Numbers that the work is divided by, such as indices, addresses and counters, are known; keys and data are not. A branch, an address or
//! a lane that depends on what is unknown ends the run: it would be a leak, and nothing follows from a run that goes one of two ways.
//! Between two barriers threads run in the order of their indices. Nothing depends on that order, for a race ends the run, too (`order`).

use crate::anf::Cells;
use crate::memory::{Byte, Memory};
use crate::opcode::OPCODES;
use crate::order::{Moment, WARP};
use crate::value::{Value, Why};
use aes_bitslice_taint::ptx::program::{Declared, Function, Operand, Program, Space, Statement};
use std::ops::Range;

/// Distance of addresses of declared variables: none reaches into the next.
const APART: u64 = 1 << 20;

/// Statements that a thread takes at most: one that takes more is taken for one that does not end.
const MOST_STEPS: usize = 1 << 17;

/// Device memory begins here, behind all that is declared.
pub const DEVICE: u64 = 1 << 40;

/// Where a buffer of device memory begins, of each number another: at a multiple of 16 bytes, and of no more, below one of 2^32, so that
/// addresses carry from their lower word to the upper one, and bit 31 is set in some.
pub const fn buffer(number: u64) -> u64 {
    number * DEVICE + (1 << 32) - 0x2f0
}

/// Why a run ended before its end.
#[derive(Debug)]
pub struct Stuck {
    /// The line of the PTX.
    pub line: usize,
    /// The instruction.
    pub instruction: String,
    /// What of it.
    pub why: Why,
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: `{}`: {}", self.line, self.instruction, self.why)
    }
}

/// What a thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
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
    next: usize,
    steps: usize,
    state: State,
    /// Barriers of the thread block and of the warp that it has passed.
    block_barriers: u32,
    warp_barriers: u32,
}

/// A grid, and all that its threads reach.
pub struct Machine<'a> {
    function: &'a Function,
    /// The address of each variable and parameter that is declared.
    addresses: Vec<u64>,
    /// Their bytes.
    sizes: Vec<u64>,
    /// Where variables in shared memory are.
    shared: Vec<Range<u64>>,
    grid: Grid,
    /// The index of the thread block that runs.
    block: u64,
    /// Memory, with the parameters.
    pub memory: Memory,
    /// What is computed with.
    pub cells: &'a mut Cells,
}

/// How many threads there are.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Thread blocks.
    pub blocks: u64,
    /// Threads of each.
    pub threads: usize,
}

/// Where a statement leads.
pub(crate) enum Next {
    Following,
    To(usize),
    Shuffle,
    Warp,
    Block,
    End,
}

impl<'a> Machine<'a> {
    /// For an entry point of a module, with bytes of shared memory besides those of variables of known size.
    ///
    /// # Errors
    /// If there is no such entry point.
    pub fn new(
        program: &'a Program,
        entry: &str,
        grid: Grid,
        shared_bytes: u64,
        cells: &'a mut Cells,
    ) -> Result<Self, Why> {
        let number = program.function(entry).ok_or_else(|| format!("there is no entry point `{entry}`"))?;
        let function = &program.functions[number];
        if let Some(other) = function.statements.iter().find(|statement| !OPCODES.contains(&&*statement.opcode)) {
            return Err(format!("line {}: `{}`: no rule for this instruction", other.line, other.text));
        }
        let has_no_size = |object: &&Declared| object.space == Space::Shared && object.shared.bytes == 0;
        if program.objects.iter().filter(has_no_size).count() > 1 {
            return Err("several arrays in shared memory have no size: they are one".into());
        }
        if program.objects.iter().any(|object| object.shared.bytes + object.shared.align >= APART) {
            return Err("a variable or parameter is too large".into());
        }
        // At multiples of what each is declared to be aligned to, and of no more.
        let addresses: Vec<u64> = (1..).zip(&program.objects).map(|(n, of)| n * APART + of.shared.align).collect();
        let shared = |(object, address): (&Declared, &u64)| {
            let bytes = if object.shared.bytes == 0 { shared_bytes } else { object.shared.bytes };
            (object.space == Space::Shared).then_some(*address..*address + bytes)
        };
        let shared: Vec<Range<u64>> = program.objects.iter().zip(&addresses).filter_map(shared).collect();
        let mut memory = Memory::default();
        shared.iter().cloned().for_each(|region| memory.allow(region));
        let sizes = program.objects.iter().map(|object| object.shared.bytes).collect();
        Ok(Self { function, addresses, sizes, shared, grid, block: 0, memory, cells })
    }

    /// Gives the bytes of a parameter.
    ///
    /// # Errors
    /// If there is no such parameter, or it is declared with another size.
    pub fn parameter(&mut self, number: usize, bytes: &[Byte]) -> Result<(), Why> {
        let object = *self.function.parameters.get(number).ok_or_else(|| format!("there is no parameter {number}"))?;
        if self.sizes[object] != bytes.len() as u64 {
            return Err(format!(
                "parameter {number} has {} bytes, and {} are declared",
                bytes.len(),
                self.sizes[object]
            ));
        }
        self.memory.put(self.addresses[object], bytes.iter().copied());
        Ok(())
    }

    /// Runs all threads to their end.
    ///
    /// # Errors
    /// At the first instruction that cannot be followed, or where threads wait for one another for ever.
    pub fn run(&mut self) -> Result<(), Stuck> {
        for block in 0..self.grid.blocks {
            self.block = block;
            // What a thread block has left in shared memory is not there for the next one.
            self.memory.forget(&self.shared);
            self.run_block()?;
        }
        Ok(())
    }

    fn run_block(&mut self) -> Result<(), Stuck> {
        let registers = self.function.registers;
        let mut threads: Vec<Thread> = (0..self.grid.threads)
            .map(|index| Thread {
                index,
                registers: vec![None; registers],
                next: 0,
                steps: 0,
                state: State::Runs,
                block_barriers: 0,
                warp_barriers: 0,
            })
            .collect();
        while threads.iter().any(|thread| thread.state != State::Ended) {
            for warp in threads.chunks_mut(WARP) {
                for thread in &mut *warp {
                    self.run_thread(thread)?;
                }
                let same = warp.iter().all(|thread| thread.next == warp[0].next && thread.state == warp[0].state);
                match warp[0].state {
                    State::Shuffles if same => self.shuffle(warp)?,
                    State::WaitsForWarp if same => warp.iter_mut().for_each(|thread| {
                        thread.state = State::Runs;
                        thread.warp_barriers += 1;
                    }),
                    _ => {}
                }
            }
            let live = || threads.iter().filter(|thread| thread.state != State::Ended);
            if live().all(|thread| thread.state == State::WaitsForBlock) {
                // `bar.sync` is `barrier.sync.aligned`: all threads of a warp are at the same one.
                let apart = threads.chunks(WARP).find(|warp| {
                    warp.iter().any(|thread| (thread.state, thread.next) != (warp[0].state, warp[0].next))
                });
                if let Some(warp) = apart {
                    return Err(self.stuck(warp[0].next, "threads of a warp are not at the same barrier".into()));
                }
                for thread in threads.iter_mut().filter(|thread| thread.state == State::WaitsForBlock) {
                    thread.state = State::Runs;
                    thread.block_barriers += 1;
                }
            } else if let Some(thread) = live().next()
                && live().all(|thread| thread.state != State::Runs)
            {
                return Err(self.stuck(thread.next, "threads wait for one another for ever".into()));
            }
        }
        Ok(())
    }

    /// Where in its run a thread is.
    pub(crate) fn moment(&self, thread: &Thread) -> Moment {
        let Thread { index, block_barriers, warp_barriers, .. } = *thread;
        Moment { block: self.block, thread: index, block_barriers, warp_barriers }
    }

    fn stuck(&self, statement: usize, why: Why) -> Stuck {
        let Statement { line, text, .. } = &self.function.statements[statement];
        Stuck { line: *line, instruction: text.clone(), why }
    }

    fn run_thread(&mut self, thread: &mut Thread) -> Result<(), Stuck> {
        while thread.state == State::Runs {
            let at = thread.next;
            let Some(statement) = self.function.statements.get(at) else {
                thread.state = State::Ended;
                break;
            };
            thread.steps += 1;
            if thread.steps > MOST_STEPS {
                return Err(self.stuck(at, "the thread does not end".into()));
            }
            let next = self.guarded(thread, statement).map_err(|why| self.stuck(at, why))?;
            thread.next = at + 1;
            match next {
                Next::Following => {}
                Next::To(statement) => thread.next = statement,
                Next::Shuffle => (thread.next, thread.state) = (at, State::Shuffles),
                Next::Warp => thread.state = State::WaitsForWarp,
                Next::Block => thread.state = State::WaitsForBlock,
                Next::End => thread.state = State::Ended,
            }
        }
        Ok(())
    }

    fn guarded(&mut self, thread: &mut Thread, statement: &Statement) -> Result<Next, Why> {
        if let Some((register, is_negated)) = statement.guard
            && (thread.register(register)?.number()? == 1) == is_negated
        {
            return Ok(Next::Following);
        }
        // Signs before operands are not among these.
        let text = statement.text.trim_start_matches("@!");
        if text.contains(['!', '~']) || text.contains("-%") {
            return Err("an operand with a sign".into());
        }
        self.step(thread, statement)
    }

    /// `shfl.sync.idx.b32 d, a, lane, clamp, mask` of all lanes at once (PTX ISA, section on `shfl.sync`).
    fn shuffle(&self, warp: &mut [Thread]) -> Result<(), Stuck> {
        let at = warp[0].next;
        let statement = &self.function.statements[at];
        let all = || -> Result<Vec<Value>, Why> {
            let given: Vec<Value> =
                warp.iter().map(|thread| self.value(thread, &statement.operands[1])).collect::<Result<_, _>>()?;
            let of_lane = |(lane, thread): (usize, &Thread)| {
                let number = |n: usize| self.value(thread, &statement.operands[n])?.number();
                let (from, clamp, mask) = (number(2)? as usize, number(3)? as usize, number(4)?);
                if mask & 0xffff_ffff != 0xffff_ffff {
                    return Err("a shuffle of some lanes only".into());
                }
                let segment = clamp >> 8 & 31;
                let (most, source) = (lane & segment | clamp & 31 & !segment, lane & segment | from & 31 & !segment);
                let source = if source <= most { source } else { lane };
                given.get(source).cloned().ok_or_else(|| "a lane that is not there".into())
            };
            warp.iter().enumerate().map(of_lane).collect()
        };
        let values = all().map_err(|why| self.stuck(at, why))?;
        for (thread, value) in warp.iter_mut().zip(values) {
            thread.write(&statement.operands[0], value).map_err(|why| self.stuck(at, why))?;
            (thread.next, thread.state) = (at + 1, State::Runs);
        }
        Ok(())
    }

    pub(crate) fn value(&self, thread: &Thread, operand: &Operand) -> Result<Value, Why> {
        Ok(match operand {
            Operand::Register(register) => thread.register(*register)?,
            Operand::Number(number) => Value::Number(*number as u64),
            Operand::Object(object) => Value::Number(self.addresses[*object]),
            Operand::Address(terms) => {
                let mut terms = terms.iter().map(|term| self.value(thread, term)?.number());
                Value::Number(terms.try_fold(0u64, |sum, term| Ok::<_, Why>(sum.wrapping_add(term?)))?)
            }
            Operand::Special(name) => Value::Number(match name.as_str() {
                "%tid.x" => thread.index as u64,
                "%ntid.x" => self.grid.threads as u64,
                "%ctaid.x" => self.block,
                "%nctaid.x" => self.grid.blocks,
                _ => return Err(format!("the value of {name}")),
            }),
            Operand::Several(_) | Operand::Name(_) | Operand::Label(_) | Operand::Float => {
                return Err("an operand of this kind".into());
            }
        })
    }

    /// Whether an access of some bytes, a vector's together, may be done from an address on: it is a multiple of their number, and in the
    /// memory that the instruction names.
    pub(crate) fn reaches(&self, space: &str, at: u64, bytes: u64) -> Result<(), Why> {
        let is_shared = self.shared.iter().any(|region| region.contains(&at));
        let is_there = match space {
            "shared" => is_shared,
            "param" => !is_shared && at < DEVICE,
            "global" => at >= DEVICE,
            _ => false,
        };
        match is_there && at.is_multiple_of(bytes) {
            true => Ok(()),
            false => Err(format!("{bytes} bytes of this memory are not accessed at {at:#x}")),
        }
    }
}

impl Thread {
    pub(crate) fn register(&self, register: usize) -> Result<Value, Why> {
        self.registers[register].clone().ok_or_else(|| "a register that was not written".into())
    }

    /// Writes a destination; of two, the second of which is a predicate, the first.
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
