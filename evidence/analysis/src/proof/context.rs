//! What a thread reaches besides its registers: parameters, memory, its place in the grid, and the bits of the computation.

use crate::proof::accesses::Symbolic;
use crate::proof::anf::Cells;
use crate::proof::async_proxy::AsyncProxy;
use crate::proof::form::{Form, Unknowns};
use crate::proof::memory::{Byte, Memory, known};
use crate::proof::order::{Moment, Seen};
use crate::proof::thread::Thread;
use crate::proof::value::{Value, Why};
use crate::ptx::{Declared, Function, Operand, Program, Space, Statement};
use std::collections::HashMap;
use std::ops::Range;

/// The distance between addresses of declared variables: none reaches into the next.
const APART: u64 = 1 << 20;

/// Device memory begins here, after everything that is declared.
pub const DEVICE: u64 = 1 << 40;

/// The address of a buffer of device memory, by its number: a multiple of 16 bytes, and of no more, below a multiple of 2^32, so that
/// addresses carry from their lower word to the upper one, and bit 31 is set in some.
pub const fn buffer(number: u64) -> u64 {
    number * DEVICE + (1 << 32) - 0x2f0
}

/// The number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Thread blocks.
    pub blocks: u64,
    /// Threads in each.
    pub threads: usize,
}

/// State that all threads of a grid reach.
pub(crate) struct Context<'a> {
    /// The functions of the module.
    pub functions: &'a [Function],
    /// The address of each declared variable and parameter.
    pub addresses: Vec<u64>,
    /// Their sizes in bytes.
    pub sizes: Vec<u64>,
    /// Where variables in shared memory are, and those of a thread.
    shared: Vec<Range<u64>>,
    local: Vec<Range<u64>>,
    pub grid: Grid,
    /// The index of the running thread block.
    block: u64,
    /// Memory, with the parameters.
    pub memory: Memory,
    /// The cells of the computation.
    pub cells: &'a mut Cells,
    /// Numbers that are not known, if there are any, and what a launch with them needs besides.
    pub unknowns: Unknowns,
    pub symbolic: Option<Symbolic>,
    /// Shared memory beside the threads, if the module has instructions that reach it in that way.
    pub proxy: Option<AsyncProxy>,
    /// The thread blocks that have come to counters, with the barriers that preceded a fence before that.
    pub arrived: HashMap<u64, HashMap<u64, u32>>,
    /// The warpgroup that meets at each numbered barrier.
    pub numbered_barriers: HashMap<u64, usize>,
    /// The atomic operation on each place. Those of one kind may come in any order; others change what these leave.
    pub atomics: HashMap<u64, String>,
}

impl<'a> Context<'a> {
    /// For a module, with bytes of shared memory besides its variables of known size.
    ///
    /// # Errors
    /// If its variables cannot be given addresses.
    pub(crate) fn new(program: &'a Program, grid: Grid, shared_bytes: u64, cells: &'a mut Cells) -> Result<Self, Why> {
        let has_no_size = |object: &&Declared| object.space == Space::Shared && object.variable.bytes == 0;
        let align = program.objects.iter().filter(has_no_size).map(|object| object.variable.align).max();
        if program.objects.iter().any(|object| object.variable.bytes + object.variable.align >= APART) {
            return Err("a variable or parameter is too large".into());
        }
        // Each at a multiple of its declared alignment, and of no more. Arrays that have no size are one (CUDA C++ Programming Guide, section on
        // `__shared__`). It is the first: operands of tensor cores have 18 bits of an address.
        let place = |(n, object): (u64, &Declared)| match align.filter(|_| has_no_size(&object)) {
            Some(align) => align,
            None => n * APART + object.variable.align,
        };
        let addresses: Vec<u64> = (1..).zip(&program.objects).map(place).collect();
        let all_in = |space: Space| -> Vec<Range<u64>> {
            let of_space = |(object, address): (&Declared, &u64)| {
                let bytes = if object.variable.bytes == 0 { shared_bytes } else { object.variable.bytes };
                (object.space == space).then_some(*address..*address + bytes)
            };
            program.objects.iter().zip(&addresses).filter_map(of_space).collect()
        };
        let [shared, local] = [Space::Shared, Space::Local].map(all_in);
        let mut memory = Memory::default();
        shared.iter().cloned().for_each(|region| memory.allow(region));
        for (object, address) in
            program.objects.iter().zip(&addresses).filter(|(object, _)| object.space == Space::Global)
        {
            memory.put(*address, object.bytes.iter().map(|byte| known(*byte)));
        }
        let sizes = program.objects.iter().map(|object| object.variable.bytes).collect();
        let (unknowns, symbolic) = (Unknowns::default(), None);
        let mut statements = program.functions.iter().flat_map(|function| &function.statements);
        let uses_proxy =
            |one: &Statement| ["cp.async.", "mbarrier.", "wgmma."].iter().any(|name| one.opcode.starts_with(name));
        let proxy = statements.any(uses_proxy).then(AsyncProxy::default);
        Ok(Self {
            functions: &program.functions,
            addresses,
            sizes,
            shared,
            local,
            grid,
            block: 0,
            memory,
            cells,
            unknowns,
            symbolic,
            proxy,
            arrived: HashMap::new(),
            numbered_barriers: HashMap::new(),
            atomics: HashMap::new(),
        })
    }

    /// Gives the bytes of a parameter of a function.
    ///
    /// # Errors
    /// If there is no such parameter, or it is declared with another size.
    pub(crate) fn parameter(&mut self, function: &Function, number: usize, bytes: &[Byte]) -> Result<(), Why> {
        let object = *function.parameters.get(number).ok_or_else(|| format!("there is no parameter {number}"))?;
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

    /// Gives the value of a parameter that is a number, or a word of one: a form.
    pub(crate) fn number(&mut self, function: &Function, number: usize, at: u64, bytes: u64, value: Form) {
        let address = self.addresses[function.parameters[number]] + at;
        self.memory.put_form(address, bytes, Value::of_form(value, 8 * bytes as u32));
    }

    /// Begins the thread block of this index: it does not see what another one left in shared memory.
    pub(crate) fn begin(&mut self, block: u64) {
        self.block = block;
        self.memory.forget(&self.shared);
        self.numbered_barriers.clear();
        self.atomics.retain(|at, _| *at >= DEVICE);
        self.memory.seen = Seen::default();
        if let Some(proxy) = &mut self.proxy {
            *proxy = AsyncProxy::default();
        }
    }

    /// The point that a thread has reached in its run.
    pub(crate) fn moment(&self, thread: &Thread) -> Moment {
        let Thread { index, barriers, .. } = *thread;
        Moment { block: self.block, thread: index, barriers }
    }

    pub(crate) fn value(&self, thread: &Thread, operand: &Operand) -> Result<Value, Why> {
        Ok(match operand {
            Operand::Register(register) => thread.register(*register)?,
            Operand::Number(number) => Value::Number(*number as u64),
            Operand::Object(object) => Value::Number(self.addresses[*object]),
            Operand::Address(terms) => {
                let mut sum = Form::default();
                for term in terms {
                    sum = match self.value(thread, term)? {
                        Value::Form(form, 64) => sum.plus(1, &form),
                        known => sum.plus(1, &Form::constant(known.number()?.into())),
                    };
                }
                Value::of_form(sum, 64)
            }
            Operand::Special(name) if name == "%ctaid.x" && self.symbolic.is_some() => {
                self.of_grid(|symbolic| &symbolic.block)
            }
            Operand::Special(name) if name == "%nctaid.x" && self.symbolic.is_some() => {
                self.of_grid(|symbolic| &symbolic.blocks)
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

    fn of_grid(&self, which: impl Fn(&Symbolic) -> &Form) -> Value {
        let form = self.symbolic.as_ref().map(|symbolic| which(symbolic).clone());
        Value::of_form(form.unwrap_or_default(), 32)
    }

    /// Whether some bytes, a vector's together, may be accessed from an address on: it is a multiple of their number, and in the memory
    /// that the instruction names.
    pub(crate) fn reaches(&self, space: &str, at: u64, bytes: u64) -> Result<(), Why> {
        let is_shared = self.shared.iter().any(|region| region.contains(&at));
        let is_there = match space {
            "shared" => is_shared,
            "local" => self.local.iter().any(|region| region.start <= at && at + bytes <= region.end),
            "param" | "const" => !is_shared && at < DEVICE,
            "global" => at >= DEVICE,
            _ => false,
        };
        if is_there && at.is_multiple_of(bytes) && at.checked_add(bytes).is_some() {
            Ok(())
        } else {
            Err(format!("{bytes} bytes of this memory are not accessed at {at:#x}"))
        }
    }
}
