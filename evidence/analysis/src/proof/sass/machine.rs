//! A grid that runs machine code on formal bits: one thread block after the other, and its warps one by one, each up to where it waits for
//! others. A branch, an address or a lane that depends on an unknown value ends the run, and so does a race.

use crate::proof::anf::Cells;
use crate::proof::context::Grid;
use crate::proof::machine::Stuck;
use crate::proof::memory::{Byte, Memory, number};
use crate::proof::order::{Access, WARP};
use crate::proof::sass::rules::{Given, Outcome, Rule, high, joined, low, rule};
use crate::proof::sass::warp::{Group, Lanes, State, Warp, each};
use crate::proof::value::{Value, Why};
use crate::proof::word;
use crate::sass::{Instruction, Listing, Operand, PREDICATES, Sign};
use std::ops::Range;

/// The most instructions that a warp may carry out: one that takes more is assumed not to end.
const MOST_STEPS: usize = 1 << 20;

/// Where constant bank 0 is in the machine's memory, after shared memory, and from where on addresses are those of the device.
const BANK: u64 = 1 << 20;
const DEVICE: u64 = 1 << 24;

/// Places in constant bank 0: threads of a thread block and thread blocks, of each in three dimensions; the stack, and the descriptor of
/// device memory; parameters.
const THREADS: u64 = 0;
const BLOCKS: u64 = 0xc;
const STACK: u64 = 0x28;
const DESCRIPTOR: u64 = 0x208;
const PARAMETERS: u64 = 0x210;

/// Where shared memory begins, after what is the system's.
const SHARED: u64 = 0x400;

/// What an instruction does that is not only a [rule](crate::proof::sass::rules).
#[derive(Clone, Copy)]
enum Action {
    Computes(&'static Rule),
    Nothing,
    Branches,
    Ends,
    /// Notes who must meet.
    Parts,
    /// Waits for those.
    Meets,
    /// Waits for the thread block.
    Waits,
    /// All threads of the warp must be together.
    IsTogether,
    /// Waits for the launches before.
    Follows,
    Shuffles,
    /// Gathers words or predicates of threads in a uniform register.
    Unites,
    Votes,
    /// Puts predicates into the bits of a word.
    Packs,
    /// Of some memory; the bytes.
    Loads(Space, u64),
    Stores(Space, u64),
    Adds,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Shared,
    Device,
    /// Of the device, and not written by the launch.
    Constant,
}

#[rustfmt::skip]
const ACTIONS: [(&str, Action); 29] = [
    ("NOP", Action::Nothing), ("PREEXIT", Action::Nothing), ("ACQBULK", Action::Follows),
    ("BRA", Action::Branches), ("EXIT", Action::Ends), ("BSSY", Action::Parts), ("BSYNC", Action::Meets),
    ("BAR.SYNC.DEFER_BLOCKING", Action::Waits), ("WARPSYNC.ALL", Action::IsTogether), ("BRA.DIV", Action::IsTogether),
    ("SHFL.IDX", Action::Shuffles), ("REDUX.OR", Action::Unites), ("VOTEU.ANY", Action::Votes),
    ("P2R", Action::Packs),
    ("LDS", Action::Loads(Space::Shared, 4)), ("LDS.64", Action::Loads(Space::Shared, 8)),
    ("LDS.128", Action::Loads(Space::Shared, 16)),
    ("STS", Action::Stores(Space::Shared, 4)), ("STS.64", Action::Stores(Space::Shared, 8)),
    ("STS.128", Action::Stores(Space::Shared, 16)),
    ("LDG.E", Action::Loads(Space::Device, 4)), ("LDG.E.U8", Action::Loads(Space::Device, 1)),
    ("LDG.E.128", Action::Loads(Space::Device, 16)), ("LDG.E.CONSTANT", Action::Loads(Space::Constant, 4)),
    ("LDG.E.64.CONSTANT", Action::Loads(Space::Constant, 8)), ("LDG.E.128.CONSTANT", Action::Loads(Space::Constant, 16)),
    ("STG.E", Action::Stores(Space::Device, 4)), ("STG.E.U8", Action::Stores(Space::Device, 1)),
    ("ATOMS.ADD", Action::Adds),
];

/// Whether there is a rule for an instruction, with these modifiers.
pub fn has_rule(instruction: &Instruction) -> bool {
    action(instruction).is_some()
}

/// What an instruction does, if there is a rule for it.
fn action(instruction: &Instruction) -> Option<Action> {
    let opcode = instruction.opcode.join(".");
    let known = ACTIONS.iter().find(|(name, _)| *name == opcode).map(|(_, action)| *action);
    known.or_else(|| rule(&opcode).map(Action::Computes))
}

/// A grid, and all that its threads reach.
pub struct Machine<'a> {
    listing: &'a Listing,
    actions: Vec<Option<Action>>,
    /// How many instructions from each on only compute registers of their thread, or load: threads carry them out one after the other.
    straight: Vec<usize>,
    grid: Grid,
    /// The index of the running thread block.
    block: u64,
    shared: Range<u64>,
    memory: Memory,
    cells: &'a mut Cells,
}

impl<'a> Machine<'a> {
    /// For an entry point with the bytes of its parameters, and bytes of shared memory besides its variables of known size.
    ///
    /// # Errors
    /// If the parameters are not what the entry point has.
    pub(crate) fn new(
        listing: &'a Listing,
        grid: Grid,
        shared_bytes: u64,
        parameters: &[Vec<Byte>],
        cells: &'a mut Cells,
    ) -> Result<Self, Why> {
        if !grid.threads.is_multiple_of(WARP) {
            return Err("a warp that lacks threads".into());
        }
        let mut memory = Memory::default();
        let size = |count: u64| [number(count, 4), number(1, 4), number(1, 4)].concat();
        memory.put(BANK + THREADS, size(grid.threads as u64));
        memory.put(BANK + BLOCKS, size(grid.blocks));
        for at in [STACK, DESCRIPTOR, DESCRIPTOR + 4] {
            memory.put(BANK + at, (0..4).map(|_| std::array::from_fn(|_| cells.unknown())));
        }
        let mut end = PARAMETERS;
        for bytes in parameters {
            // Addresses and numbers of 64 bits are at multiples of 8, all else is words.
            let at = end.next_multiple_of(if bytes.len() == 8 { 8 } else { 4 });
            memory.put(BANK + at, bytes.iter().copied());
            end = at + bytes.len() as u64;
        }
        if end != listing.constant_bytes {
            return Err(format!(
                "parameters end at {end:#x} in the constant bank, and not at {:#x}",
                listing.constant_bytes
            ));
        }
        let shared = SHARED..listing.shared_bytes.max(SHARED) + shared_bytes;
        memory.allow(shared.clone());
        let actions: Vec<Option<Action>> = listing.instructions.iter().map(action).collect();
        let mut straight = vec![0; actions.len() + 1];
        for (n, (action, instruction)) in actions.iter().zip(&listing.instructions).enumerate().rev() {
            let is_straight = match action {
                // Those that write uniform registers have a U in their name.
                Some(Action::Computes(_)) => !instruction.opcode[0].contains('U'),
                Some(Action::Loads(..) | Action::Nothing) => true,
                _ => false,
            };
            straight[n] = if is_straight { 1 + straight[n + 1] } else { 0 };
        }
        Ok(Self { listing, actions, straight, grid, block: 0, shared, memory, cells })
    }

    /// Memory, to prepare it for the launch.
    pub(crate) fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// The contents of memory.
    pub(crate) fn into_memory(self) -> Memory {
        self.memory
    }

    /// Runs all threads to their end.
    ///
    /// # Errors
    /// At the first instruction that cannot be followed, or where threads wait for each other for ever.
    pub(crate) fn run(&mut self) -> Result<(), Stuck> {
        let follows = self.actions.iter().any(|action| matches!(action, Some(Action::Follows)));
        for block in 0..self.grid.blocks {
            self.block = block;
            self.memory.forget(std::slice::from_ref(&self.shared));
            let mut warps: Vec<Warp> =
                (0..self.grid.threads).step_by(WARP).map(|first| Warp::new(first, !follows)).collect();
            while warps.iter().any(|warp| warp.live() != 0) {
                for warp in &mut warps {
                    self.run_warp(warp)?;
                }
                for warp in &mut warps {
                    warp.block_barriers += 1;
                    warp.groups.iter_mut().for_each(|group| group.state = State::Runs);
                }
            }
        }
        Ok(())
    }

    /// Runs a warp to its end, or to where all its threads wait for the thread block.
    fn run_warp(&mut self, warp: &mut Warp) -> Result<(), Stuck> {
        loop {
            if let Some(at) = warp.groups.iter().position(|group| group.state == State::Runs) {
                if warp.steps > MOST_STEPS {
                    return Err(self.stuck(warp.groups[at].next, "the warp does not end".into()));
                }
                self.step(warp, at)?;
                warp.groups.retain(|group| group.lanes != 0);
                continue;
            }
            let [first, others @ ..] = &warp.groups[..] else { return Ok(()) };
            let (first, live) = (*first, warp.live());
            if first.state == State::WaitsForBlock && others.is_empty() {
                return Ok(());
            }
            let meets = |&(register, meeting): &(usize, &Option<(Lanes, usize)>)| {
                let waiting = warp.groups.iter().filter(|group| group.state == State::Converges(register));
                meeting.is_some_and(|(lanes, _)| {
                    lanes & live != 0 && lanes & live == waiting.fold(0, |lanes, group| lanes | group.lanes)
                })
            };
            let Some(register) = warp.meetings.iter().enumerate().find(meets).map(|(register, _)| register) else {
                return Err(self.stuck(first.next, "threads wait for one another for ever".into()));
            };
            let (lanes, next) = warp.meetings[register].take().expect("those that meet");
            warp.groups.retain(|group| group.state != State::Converges(register));
            warp.groups.push(Group { lanes: lanes & live, next, state: State::Runs });
        }
    }

    fn stuck(&self, instruction: usize, why: Why) -> Stuck {
        let (line, instruction) = match self.listing.instructions.get(instruction) {
            Some(Instruction { line, text, .. }) => (*line, text.clone()),
            None => (0, "the end of the code".into()),
        };
        Stuck { line, instruction, why }
    }

    /// Carries out the next instruction of a group, or as many as its threads can one after the other.
    fn step(&mut self, warp: &mut Warp, at: usize) -> Result<(), Stuck> {
        let Group { lanes, next, .. } = warp.groups[at];
        let count = self.straight.get(next).copied().unwrap_or(0);
        let (before, is_full) = (warp.together, u32::from(lanes == Lanes::MAX));
        warp.steps += count.max(1);
        warp.groups[at].next = next + count.max(1);
        for lane in each(lanes).filter(|_| count > 0) {
            for n in next..next + count {
                warp.together = before + is_full * (n - next + 1) as u32;
                self.carry_out(warp, at, lanes, 1 << lane, n).map_err(|why| self.stuck(n, why))?;
            }
        }
        if count == 0 {
            warp.together += is_full;
            self.carry_out(warp, at, lanes, lanes, next).map_err(|why| self.stuck(next, why))?;
        }
        Ok(())
    }

    /// Carries out an instruction for some threads of a group of all.
    fn carry_out(
        &mut self,
        warp: &mut Warp,
        at: usize,
        all: Lanes,
        mut lanes: Lanes,
        number: usize,
    ) -> Result<(), Why> {
        let listing = self.listing;
        let instruction = listing.instructions.get(number).ok_or("there is no instruction")?;
        let action = self.actions[number].ok_or("no rule for this instruction")?;
        let operands = &instruction.operands[..];
        if let Some((predicate, value)) = instruction.guard {
            for lane in each(lanes) {
                let holds = warp.read(self.cells, all, lane, predicate)?.number()? == 1;
                lanes &= !(Lanes::from(holds != value) << lane);
            }
        }
        let label = |operand: &Operand| match operand {
            Operand::Label(label) => {
                listing.labels.get(label).copied().ok_or_else(|| format!("there is no label {label}"))
            }
            _ => Err("a label was expected".into()),
        };
        let convergence = |operand: &Operand| {
            let name = if let Operand::Special(name) = operand { name } else { "" };
            let number = name.strip_prefix('B').and_then(|number| number.parse::<usize>().ok());
            number.filter(|number| *number < 16).ok_or("a register of threads that meet was expected")
        };
        let has_signs = matches!(action, Action::Computes(_) | Action::Branches);
        if !has_signs && instruction.signs.iter().any(|sign| *sign != Sign::Plus) {
            return Err("an operand with a sign".into());
        }
        let is_whole = lanes == all && all == warp.live();
        match (action, operands) {
            (Action::Nothing, []) => {}
            (Action::Branches, [conditions @ .., target]) if conditions.iter().all(Operand::is_predicate) => {
                let next = label(target)?;
                for (condition, sign) in conditions.iter().zip(&instruction.signs) {
                    for lane in each(lanes) {
                        let holds = self.value(warp, all, lane, condition, false)?;
                        let holds = self.signed(holds, *sign, true)?.number()? == 1;
                        lanes &= !(Lanes::from(!holds) << lane);
                    }
                }
                if lanes == all {
                    warp.groups[at].next = next;
                } else if lanes != 0 {
                    warp.groups[at].lanes &= !lanes;
                    warp.groups.push(Group { lanes, next, state: State::Runs });
                }
            }
            (Action::Ends, []) => warp.groups[at].lanes &= !lanes,
            (Action::Parts, [register, meeting]) if lanes == all => {
                let before = warp.meetings[convergence(register)?].replace((all, label(meeting)?));
                if before.is_some_and(|(lanes, _)| lanes & warp.live() != 0) {
                    return Err("threads that have not met yet are noted in this register".into());
                }
            }
            (Action::Meets, [register]) if lanes == all => {
                let register = convergence(register)?;
                let (noted, meeting) = warp.meetings[register].ok_or("nothing is noted in this register")?;
                if meeting != number + 1 || all & !noted != 0 {
                    return Err("other threads are noted in this register, or meet elsewhere".into());
                }
                warp.groups[at].state = State::Converges(register);
            }
            (Action::Waits, [Operand::Number(0)]) if is_whole => warp.groups[at].state = State::WaitsForBlock,
            (Action::IsTogether, _) if is_whole && all == Lanes::MAX => {}
            (Action::Follows, []) if is_whole => warp.may_reach_device = true,
            (Action::Waits | Action::IsTogether | Action::Follows, _) => {
                return Err("for threads that are apart".into());
            }
            (Action::Shuffles, [Operand::Constant { is_predicate: true }, to, from, lane, clamp]) if lanes == all => {
                self.shuffle(warp, all, to, [from, lane, clamp])?;
            }
            (Action::Unites, [to, from]) if lanes == all => {
                let mut united = 0;
                for lane in each(all) {
                    united |= self.value(warp, all, lane, from, false)?.number()?;
                }
                write(warp, all, to, each(all).map(|lane| (lane, Some(Value::Number(united)))))?;
            }
            (Action::Votes, [to, Operand::Constant { .. }, Operand::Constant { .. }]) if lanes == all => {
                write(warp, all, to, each(all).map(|lane| (lane, Some(Value::Number(all.into())))))?;
            }
            (Action::Packs, [to, Operand::Predicates, rest, Operand::Number(mask @ 0..128)]) => {
                for lane in each(lanes) {
                    let mut packed = self.value(warp, all, lane, rest, false)?.number()? & !(*mask as u64);
                    for n in each(*mask as Lanes) {
                        packed |= warp.read(self.cells, all, lane, PREDICATES + n)?.number()? << n;
                    }
                    write(warp, all, to, [(lane, Some(Value::Number(packed)))])?;
                }
            }
            (Action::Computes(rule), _) => self.compute(warp, all, lanes, instruction, rule)?,
            (Action::Loads(space, bytes), [to, place]) => {
                for lane in each(lanes) {
                    let at = self.address(warp, all, lane, place, space, bytes)?;
                    let moment = warp.moment(self.block, lane);
                    for (n, at) in (at..at + bytes).step_by(4).enumerate() {
                        let value = self.memory.read(at, bytes.min(4), moment)?;
                        write(warp, all, &after(to, n)?, [(lane, Some(value))])?;
                    }
                }
            }
            (Action::Stores(space, bytes), [place, from]) => {
                for lane in each(lanes) {
                    let at = self.address(warp, all, lane, place, space, bytes)?;
                    let moment = warp.moment(self.block, lane);
                    for (n, at) in (at..at + bytes).step_by(4).enumerate() {
                        let value = self.value(warp, all, lane, &after(from, n)?, false)?;
                        self.memory.write(at, bytes.min(4), &value, moment)?;
                    }
                }
            }
            (Action::Adds, [to, place, more]) => {
                for lane in each(lanes) {
                    let at = self.address(warp, all, lane, place, Space::Shared, 4)?;
                    let more = self.value(warp, all, lane, more, false)?.number()?;
                    let sum = |before: &Value| Ok(Value::Number((before.number()? + more) & 0xffff_ffff));
                    let before = self.memory.change(at, 4, Access::Atomic, warp.moment(self.block, lane), sum)?;
                    write(warp, all, to, [(lane, Some(before))])?;
                }
            }
            _ => return Err("no rule for these operands".into()),
        }
        Ok(())
    }

    /// An instruction that only reads and writes registers, on some threads of a group.
    fn compute(
        &mut self,
        warp: &mut Warp,
        all: Lanes,
        lanes: Lanes,
        instruction: &Instruction,
        rule: &Rule,
    ) -> Result<(), Why> {
        let Instruction { operands, signs, .. } = instruction;
        let count = operands.len().checked_sub(rule.sources).ok_or("too few operands")?;
        let (to, from) = operands.split_at(count);
        // What a negative number does to the upper word of a product, or to a comparison, is not stated.
        let is_word = !rule.is_pair && rule.pairs == 0 && !to.iter().any(Operand::is_predicate);
        let is_stated = |sign: &Sign| match sign {
            Sign::Plus | Sign::Not => true,
            Sign::Minus => rule.carries || is_word,
            Sign::Other => false,
        };
        if signs[..count].iter().any(|sign| *sign != Sign::Plus) || !signs.iter().all(is_stated) {
            return Err("an operand with a sign".into());
        }
        let mut outcomes = vec![];
        for lane in each(lanes) {
            let mut values = Vec::with_capacity(rule.sources);
            for (n, (operand, sign)) in from.iter().zip(&signs[count..]).enumerate() {
                let value = self.value(warp, all, lane, operand, rule.pairs >> n & 1 == 1)?;
                let value = self.signed(value, *sign, operand.is_predicate())?;
                values.push(if rule.carries || *sign != Sign::Minus { value } else { low(&value) });
            }
            let error = [0, -1, 1][warp.first / WARP % 3];
            outcomes.push((lane, (rule.compute)(&mut Given { cells: self.cells, error }, &values)?));
        }
        let (predicates, words): (Vec<_>, Vec<_>) = to.iter().partition(|to| to.is_predicate());
        let is_lost =
            |outcome: &Outcome| outcome.predicates.iter().skip(predicates.len()).any(|one| *one == Some(true));
        if words.len() > 1
            || predicates.len() > 2
            || !predicates.is_empty() && outcomes.iter().any(|(_, one)| is_lost(one))
        {
            return Err("a result that is not written".into());
        }
        for (n, to) in predicates.into_iter().enumerate() {
            let of = |outcome: &Outcome| outcome.predicates[n].map(|is| Value::Number(is.into()));
            write(warp, all, to, outcomes.iter().map(|(lane, outcome)| (*lane, of(outcome))))?;
        }
        for to in words {
            let of = |outcome: &Outcome| if rule.is_pair { low(&outcome.value) } else { outcome.value.clone() };
            write(warp, all, to, outcomes.iter().map(|(lane, outcome)| (*lane, Some(of(outcome)))))?;
            if rule.is_pair {
                let of = |outcome: &Outcome| high(&outcome.value);
                write(warp, all, &after(to, 1)?, outcomes.iter().map(|(lane, outcome)| (*lane, Some(of(outcome)))))?;
            }
        }
        Ok(())
    }

    /// A value with a sign; the negative of a number as its complement plus 1, with the carry.
    fn signed(&mut self, value: Value, sign: Sign, is_predicate: bool) -> Result<Value, Why> {
        Ok(match (sign, &value) {
            (Sign::Plus, _) => value,
            (Sign::Minus, Value::Number(number)) => Value::Number((1 << 32) - number),
            (Sign::Minus, bits) => word::spread(bits)?,
            (Sign::Not, value) if is_predicate => Value::Number(1 - value.number()?),
            (Sign::Not, value) => word::lut3(self.cells, 0x0f, [value; 3], 32)?,
            (Sign::Other, _) => return Err("no rule for the form of an operand".into()),
        })
    }

    /// The word, the predicate, or the pair of words that an operand names, for a thread of a group.
    fn value(
        &mut self,
        warp: &mut Warp,
        all: Lanes,
        lane: usize,
        operand: &Operand,
        is_pair: bool,
    ) -> Result<Value, Why> {
        Ok(match operand {
            Operand::Register { number, .. } => {
                let value = warp.read(self.cells, all, lane, *number)?;
                if is_pair { joined(&value, &warp.read(self.cells, all, lane, number + 1)?) } else { value }
            }
            Operand::Predicate(number) => warp.read(self.cells, all, lane, *number)?,
            Operand::Constant { is_predicate } => Value::Number((*is_predicate).into()),
            Operand::Number(number) if !is_pair => Value::Number(u64::from(*number as u32)),
            Operand::Bank { bank: 0, terms } => {
                let at = BANK + self.sum(warp, all, lane, terms)?;
                let bytes = if is_pair { 8 } else { 4 };
                self.memory.read(at, bytes, warp.moment(self.block, lane))?
            }
            Operand::Special(name) => Value::Number(match name.as_str() {
                "SR_TID.X" => (warp.first + lane) as u64,
                "SR_CTAID.X" => self.block,
                "SR_LANEID" => lane as u64,
                "SR_LTMASK" => (1 << lane) - 1,
                "SR_CgaCtaId" => 0,
                _ => return Err(format!("the value of {name}")),
            }),
            _ => return Err("an operand of this kind".into()),
        })
    }

    /// The sum of known words, which is a word: what an address beyond is, is not stated.
    fn sum(&mut self, warp: &mut Warp, all: Lanes, lane: usize, terms: &[Operand]) -> Result<u64, Why> {
        let mut sum = 0;
        for term in terms {
            if matches!(term, Operand::Register { is_negative: true, .. } | Operand::Register { is_wide: true, .. }) {
                return Err("an address of this kind".into());
            }
            sum += match term {
                Operand::Number(offset) => *offset,
                word => self.value(warp, all, lane, word, false)?.number()? as i64,
            };
        }
        u32::try_from(sum).map(u64::from).map_err(|_| "an address beyond 32 bits".into())
    }

    /// The address of some bytes of memory that a thread may access: a multiple of their number.
    fn address(
        &mut self,
        warp: &mut Warp,
        all: Lanes,
        lane: usize,
        place: &Operand,
        space: Space,
        bytes: u64,
    ) -> Result<u64, Why> {
        let Operand::Memory(terms) = place else { return Err("a place in memory was expected".into()) };
        let (at, is_there) = match (space, &terms[..]) {
            (Space::Shared, terms) => {
                let at = self.sum(warp, all, lane, terms)?;
                (at, self.shared.contains(&at))
            }
            (_, [descriptor, base @ Operand::Register { is_wide: true, is_negative: false, .. }, rest @ ..]) => {
                let bank = self.memory.read(BANK + DESCRIPTOR, 8, warp.moment(self.block, lane))?;
                if self.value(warp, all, lane, descriptor, true)? != bank {
                    return Err("another descriptor of memory".into());
                }
                let mut at = self.value(warp, all, lane, base, true)?.number()?;
                match rest {
                    [] => {}
                    [Operand::Number(offset)] => at = at.wrapping_add_signed(*offset),
                    _ => return Err("an address of this kind".into()),
                }
                if !warp.may_reach_device {
                    return Err("device memory is accessed before the launches that precede this one have ended".into());
                }
                if space == Space::Constant && (at..at.saturating_add(bytes)).any(|at| self.memory.is_writable(at)) {
                    return Err("memory is read as if it were constant, and the launch may write it".into());
                }
                (at, at >= DEVICE)
            }
            _ => return Err("an address of this kind".into()),
        };
        if is_there && at.is_multiple_of(bytes) && at.checked_add(bytes).is_some() {
            Ok(at)
        } else {
            Err(format!("{bytes} bytes of this memory are not accessed at {at:#x}"))
        }
    }

    /// Gives each thread of a group the word of another: the word, the lane, and the segment with the highest lane.
    fn shuffle(&mut self, warp: &mut Warp, all: Lanes, to: &Operand, from: [&Operand; 3]) -> Result<(), Why> {
        let mut taken = vec![];
        for lane in each(all) {
            let number = |machine: &mut Self, warp: &mut Warp, operand| -> Result<usize, Why> {
                Ok(machine.value(warp, all, lane, operand, false)?.number()? as usize)
            };
            let (asked, clamp) = (number(self, warp, from[1])?, number(self, warp, from[2])?);
            let source = word::source_lane(lane, asked, clamp);
            if all >> source & 1 == 0 {
                return Err("a lane of a thread that is apart".into());
            }
            taken.push((lane, Some(self.value(warp, all, source, from[0], false)?)));
        }
        write(warp, all, to, taken)
    }
}

/// Writes a register or a predicate; one that is constant takes nothing.
fn write(
    warp: &mut Warp,
    all: Lanes,
    to: &Operand,
    values: impl IntoIterator<Item = (usize, Option<Value>)>,
) -> Result<(), Why> {
    match to {
        Operand::Register { number, .. } | Operand::Predicate(number) => {
            warp.write(all, *number, &values.into_iter().collect::<Vec<_>>())
        }
        Operand::Constant { .. } => Ok(()),
        _ => Err("a destination of this kind".into()),
    }
}

/// The register that many after one; after the register that is 0, this again.
fn after(register: &Operand, count: usize) -> Result<Operand, Why> {
    match register {
        Operand::Register { number, is_negative: false, is_wide } => {
            Ok(Operand::Register { number: number + count, is_negative: false, is_wide: *is_wide })
        }
        Operand::Constant { is_predicate: false } => Ok(register.clone()),
        _ => Err("a register was expected".into()),
    }
}
