//! A warp: its threads in groups of those that are together, their registers, and the uniform registers that they share.

use crate::proof::anf::Cells;
use crate::proof::order::{Access, Barriers, History, Moment, WARP};
use crate::proof::value::{Value, Why};
use crate::sass::{PREDICATES, REGISTERS, UNIFORM, UNIFORM_PREDICATES};

/// The lanes of a warp: bit `n` is lane `n`.
pub(super) type Lanes = u32;

/// The lanes in a set.
pub(super) fn each(lanes: Lanes) -> impl Iterator<Item = usize> {
    (0..WARP).filter(move |lane| lanes >> lane & 1 == 1)
}

/// What a group does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Runs,
    /// At a `BSYNC`, for those of this register.
    Converges(usize),
    WaitsForBlock,
}

/// Threads that are together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub lanes: Lanes,
    /// The next instruction.
    pub next: usize,
    pub state: State,
}

/// A warp.
pub(super) struct Warp {
    /// The index of its first thread in the thread block.
    pub first: usize,
    /// Groups of threads that have not ended.
    pub groups: Vec<Group>,
    /// For each lane, its registers and predicates; uniform ones are in the first lane's.
    registers: Vec<[Option<Value>; REGISTERS]>,
    /// Who accessed uniform registers while threads were apart.
    histories: Vec<History>,
    /// Threads that were together at the `BSSY` of each register, and where they meet.
    pub meetings: [Option<(Lanes, usize)>; 16],
    /// Instructions that all threads have carried out together: these order accesses as barriers of a warp do.
    pub together: u32,
    /// Instructions that any have carried out.
    pub steps: usize,
    /// Barriers of the thread block that it has passed.
    pub block_barriers: u32,
    /// Whether it may access device memory.
    pub may_reach_device: bool,
}

fn is_uniform(register: usize) -> bool {
    (UNIFORM..PREDICATES).contains(&register) || register >= UNIFORM_PREDICATES
}

impl Warp {
    /// A warp at the beginning of a function.
    pub(super) fn new(first: usize, may_reach_device: bool) -> Self {
        Self {
            first,
            groups: vec![Group { lanes: Lanes::MAX, next: 0, state: State::Runs }],
            registers: vec![[const { None }; REGISTERS]; WARP],
            histories: vec![History::default(); REGISTERS],
            meetings: [None; 16],
            together: 0,
            steps: 0,
            block_barriers: 0,
            may_reach_device,
        }
    }

    /// The threads that have not ended.
    pub(super) fn live(&self) -> Lanes {
        self.groups.iter().fold(0, |lanes, group| lanes | group.lanes)
    }

    /// The point that a thread has reached in its run, in this thread block.
    pub(super) fn moment(&self, block: u64, lane: usize) -> Moment {
        let Self { first, block_barriers, together, .. } = *self;
        Moment {
            block,
            thread: first + lane,
            barriers: Barriers { block: block_barriers, warpgroup: 0, warp: together },
        }
    }

    /// Notes an access of a group to a uniform register. While threads are apart, no group may see what another writes.
    fn note(&mut self, lanes: Lanes, register: usize, access: Access) -> Result<(), Why> {
        if lanes != Lanes::MAX && is_uniform(register) {
            let moment = self.moment(0, lanes.trailing_zeros() as usize);
            if !self.histories[register].add(access, moment) {
                return Err("a uniform register that threads which are apart access, too".into());
            }
        }
        Ok(())
    }

    /// What a register, or a predicate, holds for a thread of a group: any bits if it was not written.
    pub(super) fn read(&mut self, cells: &mut Cells, lanes: Lanes, lane: usize, register: usize) -> Result<Value, Why> {
        self.note(lanes, register, Access::Read)?;
        let lane = if is_uniform(register) { 0 } else { lane };
        if register >= PREDICATES {
            return self.registers[lane][register].clone().ok_or_else(|| "a predicate that is not known".into());
        }
        let any = || Value::of_bits(std::array::from_fn(|_| cells.unknown()));
        Ok(self.registers[lane][register].get_or_insert_with(any).clone())
    }

    /// Writes a register, or a predicate, of threads of a group; `None` is for what is not known. A uniform register takes what is the same
    /// for all of them.
    pub(super) fn write(
        &mut self,
        lanes: Lanes,
        register: usize,
        values: &[(usize, Option<Value>)],
    ) -> Result<(), Why> {
        if !is_uniform(register) {
            values.iter().for_each(|(lane, value)| self.registers[*lane][register] = value.clone());
            return Ok(());
        }
        let Some((_, first)) = values.first() else { return Ok(()) };
        if values.len() != lanes.count_ones() as usize || values.iter().any(|(_, value)| value != first) {
            return Err("a uniform register for threads that differ".into());
        }
        let is_new = self.registers[0][register] != *first;
        self.note(lanes, register, if is_new { Access::Write } else { Access::Rewrite })?;
        self.registers[0][register] = first.clone();
        Ok(())
    }
}
