//! A thread: its registers, its position, and what it waits for.

use crate::proof::anf::Bit;
use crate::proof::form::{Condition, Form};
use crate::proof::order::Barriers;
use crate::proof::value::{Value, Why};
use crate::ptx::Operand;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The next step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Runs,
    /// At an instruction that all threads of a warp execute together, which is the next one.
    Together,
    WaitsForWarp,
    /// At an instruction that all threads of a warpgroup execute together, which is the next one.
    TogetherInWarpgroup,
    WaitsForWarpgroup,
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
    /// Those of these that are loaded only if another condition holds, too.
    pub loaded_if: HashMap<Bit, Condition>,
    /// The bits that they have loaded or stored, by whether it was a store, the address, and the number of bytes: a thread that does it again does
    /// nothing.
    pub accessed: HashMap<(bool, Form, u64), [Bit; 64]>,
}

impl Region {
    /// Statements up to this one, which are executed if a condition holds.
    pub(crate) fn new(end: usize, condition: Condition, written: Vec<usize>) -> Self {
        Self { end, condition, written, loaded: HashSet::new(), loaded_if: HashMap::new(), accessed: HashMap::new() }
    }
}

/// Products of matrices that a thread has not waited for: the registers that they read, and those that they write, with the results.
#[derive(Clone, Default)]
struct Products {
    read: HashSet<usize>,
    written: HashMap<usize, Value>,
}

/// The state of a thread. Copies share their registers until one of them writes to these: of a launch that is copied, most threads stay where they
/// are.
#[derive(Clone)]
pub(crate) struct Thread {
    pub index: usize,
    registers: Rc<Vec<Option<Value>>>,
    /// The step at which each was written last.
    written_at: Rc<Vec<usize>>,
    /// The step of the last fence between registers and products of matrices, once there was one.
    fenced_at: Option<usize>,
    /// Products of a warpgroup that are not committed yet, and those that are.
    products: [Products; 2],
    /// The next statement.
    pub next: usize,
    /// The number of statements taken so far.
    pub steps: usize,
    pub state: State,
    /// Barriers that it has passed.
    pub barriers: Barriers,
    /// How often each barrier for copies, by its address, was complete when it last waited there.
    pub arrivals: HashMap<u64, u32>,
    /// It has tried to wait, in vain, for what has arrived.
    pub has_tried: bool,
    /// Barriers of the thread block that it had passed at its last fence of device memory, until it came to a counter; and that counter.
    pub device_fence: Option<u32>,
    pub counter: Option<u64>,
    /// Parameters of calls, and what it has stored in memory of its own, by their address, with their number of bytes.
    pub parameters: HashMap<u64, (u64, Value)>,
    /// The statements of this kind that it is among, from the outside in.
    pub regions: Vec<Region>,
    /// It goes past the next statement, although the run is stopped there.
    pub goes_on: bool,
}

impl Thread {
    /// A thread at the beginning of a function with this many registers.
    pub(crate) fn new(index: usize, registers: usize) -> Self {
        Self {
            index,
            registers: Rc::new(vec![None; registers]),
            written_at: Rc::new(vec![0; registers]),
            fenced_at: None,
            products: Default::default(),
            next: 0,
            steps: 0,
            state: State::Runs,
            barriers: Barriers::default(),
            arrivals: HashMap::new(),
            has_tried: false,
            device_fence: None,
            counter: None,
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

    /// Puts another number of 32 or 64 bits in place of one, in those of these registers that hold this, or what differs from this by a known
    /// number.
    pub(crate) fn replace(&mut self, registers: impl Fn(usize) -> bool, number: &Form, instead: &Form, bits: u32) {
        for (n, register) in Rc::make_mut(&mut self.registers).iter_mut().enumerate() {
            if let Some(value) = register.as_mut().filter(|_| registers(n)) {
                value.replace(number, instead, bits);
            }
        }
    }

    /// Puts a fence between what registers hold now and products of matrices.
    pub(crate) fn fence(&mut self) {
        self.fenced_at = Some(self.steps);
    }

    /// What a product of matrices finds in a register: what a fence has made ready, or what the product before it will write.
    pub(crate) fn factor(&self, register: usize) -> Result<Value, Why> {
        if let Some(value) = self.products.iter().find_map(|products| products.written.get(&register)) {
            return Ok(value.clone());
        }
        self.is_ready(register)?;
        self.register(register)
    }

    /// Whether a product of matrices may use a register.
    fn is_ready(&self, register: usize) -> Result<(), Why> {
        let is_ready = self.fenced_at.is_some_and(|fence| self.written_at[register] < fence);
        if is_ready { Ok(()) } else { Err("no fence lies between a register and a product of matrices".into()) }
    }

    /// Begins a product of matrices, by the registers that it reads and by those that it writes, with the results.
    pub(crate) fn begin_product(
        &mut self,
        read: &[usize],
        written: impl IntoIterator<Item = (usize, Value)>,
    ) -> Result<(), Why> {
        self.products[0].read.extend(read);
        for (register, value) in written {
            if !self.products.iter().any(|products| products.written.contains_key(&register)) {
                self.is_ready(register)?;
            }
            Rc::make_mut(&mut self.registers)[register] = None;
            self.products[0].written.insert(register, value);
        }
        Ok(())
    }

    /// Makes the products that were begun a group that can be waited for.
    pub(crate) fn commit_products(&mut self) {
        let Products { read, written } = std::mem::take(&mut self.products[0]);
        self.products[1].read.extend(read);
        self.products[1].written.extend(written);
    }

    /// Waits for all groups of products.
    pub(crate) fn wait_for_products(&mut self) {
        for (register, value) in std::mem::take(&mut self.products[1]).written {
            if !self.products[0].written.contains_key(&register) {
                self.put(register, value);
            }
        }
    }

    /// Whether all products were waited for.
    pub(crate) fn has_waited(&self) -> bool {
        self.products.iter().all(|products| products.written.is_empty())
    }

    fn put(&mut self, register: usize, value: Value) {
        Rc::make_mut(&mut self.registers)[register] = Some(value);
        Rc::make_mut(&mut self.written_at)[register] = self.steps;
    }

    /// Forgets registers.
    pub(crate) fn forget(&mut self, registers: impl IntoIterator<Item = usize>) {
        let forgotten = Rc::make_mut(&mut self.registers);
        registers.into_iter().for_each(|register| forgotten[register] = None);
    }

    /// The conditions of the regions that it is in.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        self.regions.iter().map(|region| region.condition.clone()).collect()
    }

    /// Writes a destination; of two, whose second is a predicate, the first.
    pub(crate) fn write(&mut self, operand: &Operand, value: Value) -> Result<(), Why> {
        match operand {
            Operand::Register(register) => {
                let uses =
                    |products: &Products| products.read.contains(register) || products.written.contains_key(register);
                if self.products.iter().any(uses) {
                    return Err("a register that a product of matrices uses, which was not waited for".into());
                }
                self.put(*register, value);
            }
            Operand::Several(several) => {
                if let Some(first) = several.first() {
                    self.write(first, value)?;
                }
                for predicate in several.iter().skip(1) {
                    if let Operand::Register(register) = predicate {
                        self.forget([*register]);
                    }
                }
            }
            _ => return Err("a destination of this kind".into()),
        }
        Ok(())
    }
}
