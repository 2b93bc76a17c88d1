//! The ways that a kernel can go from one cut to the next, and what its loops hand from turn to turn.

use crate::proof::accesses::{Reached, Symbolic, Taken};
use crate::proof::aes::Block;
use crate::proof::anf::Bit;
use crate::proof::every_length::Proved;
use crate::proof::every_length::chain::Chain;
use crate::proof::every_length::data::Data;
use crate::proof::every_length::ends::Stretch;
use crate::proof::every_length::shares::Shares;
use crate::proof::every_length::units::{Begin, Units};
use crate::proof::form::{Form, Unknowns};
use crate::proof::loops::Loop;
use crate::proof::machine::Machine;
use crate::proof::memory::{Byte, Memory};
use crate::proof::order::WARP;
use crate::proof::thread::{State, Thread};
use crate::proof::value::Value;
use crate::ptx::{Function, Operand};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// A loop that is cut at its head, and what each turn of it is handed.
#[derive(Clone)]
pub(super) struct Cut {
    pub of: Loop,
    /// The registers that it writes, and those of them that the next turn reads.
    pub written: BTreeSet<usize>,
    handed: BTreeSet<usize>,
    /// The register of these that has the number of the turn's tile, and what that is counted from.
    pub number: Option<usize>,
    pub from: Form,
    /// What the others have, by lane.
    others: BTreeMap<(usize, usize), Handed>,
}

/// What a register has at the beginning of a turn besides a number, by where the turn's tile begins.
#[derive(Clone, PartialEq, Eq)]
enum Handed {
    /// A word of the data, this many bytes after that.
    Word(i128),
    /// That, in bytes, and this more: an address.
    Address(Form),
    /// One of the numbers that say where in units the turn begins.
    Place(usize),
}

impl Cut {
    pub fn new(function: &Function, of: &Loop, live: &[HashSet<usize>]) -> Self {
        let written = of.written(function);
        let handed = written.iter().copied().filter(|register| live[of.head].contains(register)).collect();
        Self { of: of.clone(), written, handed, number: None, from: Form::default(), others: BTreeMap::new() }
    }

    /// Likewise, where tiles are counted from this one on, in the register that each turn adds one to.
    pub fn counting(self, function: &Function, from: Form) -> Self {
        let number = self.handed.iter().copied().find(|register| self.of.counts(function, *register));
        Self { number, from, ..self }
    }
}

/// The state of a launch, and what it has reached in device memory and taken since the last cut.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub threads: Vec<Thread>,
    memory: Memory,
    unknowns: Unknowns,
    reached: Vec<Reached>,
    taken: Vec<Taken>,
}

/// All that the proof of a launch has in hand.
pub(super) struct Proof<'a> {
    pub machine: Machine<'a>,
    pub threads: Vec<Thread>,
    /// The warp that is followed.
    pub warp: usize,
    /// The loop over tiles, and that over runs, if there is one.
    pub tile_cut: Cut,
    pub run_cut: Option<Cut>,
    pub data: Data,
    pub shares: Shares,
    /// The block before a share, if a tile depends on the one before it.
    pub chain: Option<Chain>,
    /// The units of XTS, the statements at which the tiles of a stretch are known, and its first unit; and where in the units of the stretch the
    /// turn begins that is handed on, or begun.
    pub units: Option<Units>,
    pub tiles_known: Option<usize>,
    pub unit_known: Option<usize>,
    pub place: Begin,
    /// The stretch that is followed as a whole, where ciphertext is stolen.
    pub stretch: Option<Stretch>,
    /// The input of a tile, by its blocks, the block before it, and what the tile must become.
    pub input: Vec<Block>,
    pub before: Block,
    pub output: Vec<Block>,
    /// The end of the share, and that of the run.
    pub to: Form,
    pub run_end: Form,
    /// What is known of the launch.
    pub of_launch: Vec<Form>,
    pub proved: Proved,
}

impl Proof<'_> {
    pub fn snapshot(&self) -> Snapshot {
        let context = &self.machine.context;
        let symbolic = context.symbolic.as_ref();
        Snapshot {
            threads: self.threads.clone(),
            memory: context.memory.clone(),
            unknowns: context.unknowns.clone(),
            reached: symbolic.map(|symbolic| symbolic.reached.clone()).unwrap_or_default(),
            taken: symbolic.map(|symbolic| symbolic.taken.clone()).unwrap_or_default(),
        }
    }

    pub fn restore(&mut self, to: Snapshot) {
        let context = &mut self.machine.context;
        (self.threads, context.memory, context.unknowns) = (to.threads, to.memory, to.unknowns);
        if let Some(symbolic) = &mut context.symbolic {
            (symbolic.reached, symbolic.taken) = (to.reached, to.taken);
        }
    }

    pub fn unknowns(&self) -> &Unknowns {
        &self.machine.context.unknowns
    }

    pub fn symbolic(&mut self) -> Result<&mut Symbolic, String> {
        self.machine.context.symbolic.as_mut().ok_or_else(|| "no launch".into())
    }

    /// Takes what is known of the launch, and these forms, for at least 0, and forgets what else was known.
    pub fn know(&mut self, facts: &[Form]) {
        let all = [&self.of_launch[..], facts].concat();
        self.machine.context.unknowns.set_facts(&all);
    }

    /// Whether a number of 32 bits is known to be below another one.
    pub fn is_below(&mut self, number: &Form, end: &Form) -> Result<Option<bool>, String> {
        let condition = self.machine.context.compare("lt", number, end, 32)?;
        Ok(self.unknowns().decide(&condition))
    }

    fn go(&mut self) -> Result<(), String> {
        while self.machine.round(&mut self.threads).map_err(|stuck| stuck.to_string())? {}
        if self.symbolic()?.answer.is_some() {
            return Err("threads wait for one another for ever".into());
        }
        Ok(())
    }

    fn is_undecided(&self) -> bool {
        self.threads[self.of_warp()].iter().any(|thread| thread.state == State::Undecided)
    }

    /// Goes one of the ways from here.
    pub fn go_any_way(&mut self) -> Result<(), String> {
        self.go()?;
        while self.is_undecided() {
            self.symbolic()?.answer = Some(false);
            self.go()?;
        }
        Ok(())
    }

    /// Goes all ways from here to where the run is stopped next, or ends, and looks at each, with what the warp has accessed in device memory.
    /// Returns the state that those have in common for which `at_end` says that it is a cut, whose registers that are still needed are those
    /// of these threads: where any way leads there, what is needed must be the same.
    pub fn ways(
        &mut self,
        threads: &Range<usize>,
        mut at_end: impl FnMut(&mut Self, Vec<Reached>) -> Result<Option<usize>, String>,
    ) -> Result<Option<Snapshot>, String> {
        let known = self.unknowns().count();
        let symbolic = self.symbolic()?;
        (symbolic.reached, symbolic.taken) = (vec![], vec![]);
        let mut common: Option<Snapshot> = None;
        let mut open = vec![(self.snapshot(), None)];
        while let Some((from, answer)) = open.pop() {
            self.restore(from);
            self.symbolic()?.answer = answer;
            self.go()?;
            if self.is_undecided() {
                open.extend([true, false].map(|answer| (self.snapshot(), Some(answer))));
                continue;
            }
            let of_warp = self.of_warp();
            let mut reached = std::mem::take(&mut self.symbolic()?.reached);
            reached.retain(|one| of_warp.contains(&one.moment.thread));
            let cut = at_end(self, reached)?;
            self.proved.ways += 1;
            let Some(cut) = cut else { continue };
            let found = self.snapshot();
            let Some(common) = &common else {
                common = Some(found);
                continue;
            };
            let live = self.symbolic()?.live[cut].clone();
            let is_common = |(thread, other): (&Thread, &Thread)| {
                live.iter().all(|&register| match (thread.register(register), other.register(register)) {
                    (Ok(a), Ok(b)) => a == b && a.unknowns().all(|unknown| unknown < known),
                    (a, b) => a.is_err() && b.is_err(),
                })
            };
            let [mut these, others] = [&found, common].map(|one| one.threads[threads.clone()].iter());
            let are_common = these.by_ref().zip(others).all(is_common);
            let contents = found.memory.contents();
            let is_known = contents.1.values().all(|(_, form)| form.unknowns().all(|unknown| unknown < known));
            if !are_common || !is_known || contents != common.memory.contents() {
                return Err("what a loop needs depends on the way to it".into());
            }
        }
        Ok(common)
    }

    /// The threads of the warp that is followed.
    pub fn of_warp(&self) -> Range<usize> {
        WARP * self.warp..WARP * self.warp + WARP
    }

    /// The threads of all warps.
    pub fn of_all(&self) -> Range<usize> {
        0..self.threads.len()
    }

    /// Where all threads of the warp are stopped, if not ended.
    pub fn stopped(&self) -> Result<Option<usize>, String> {
        let at = |thread: &Thread| match thread.state {
            State::Ended => Some(None),
            State::Stopped => Some(Some(thread.next)),
            _ => None,
        };
        let warp = &self.threads[self.of_warp()];
        let first = at(&warp[0]);
        if let Some(first) = first.filter(|_| warp.iter().all(|thread| at(thread) == first)) {
            return Ok(first);
        }
        Err(self.machine.stuck(warp[0].next, "threads wait for one another for ever".into()).to_string())
    }

    /// Checks that threads are at the head of a loop, and what they hand to its next turn: this number, and in its other registers addresses that go along with it, and words of the
    /// data, which these loads found, or which are of the block before the tile of this number. All is forgotten: each turn is given it anew.
    pub fn hand(
        &mut self,
        cut: &mut Cut,
        threads: Range<usize>,
        number: &Form,
        reached: &[Reached],
        before: Option<&Block>,
    ) -> Result<(), String> {
        let is_there = |thread: &Thread| thread.state == State::Stopped && thread.next == cut.of.head;
        if !self.threads[threads.clone()].iter().all(is_there) {
            return Err("a warp has not come to the head of a loop with the others".into());
        }
        let mut distances: HashMap<(Option<usize>, Byte), i128> = HashMap::new();
        for load in reached.iter().filter(|one| !one.is_store) {
            let distance = self.data.distance(load, number).into_iter().flat_map(|distance| distance..);
            let bytes = distance.zip(load.bits.as_chunks().0).take(load.bytes as usize);
            distances.extend(bytes.map(|(distance, byte)| ((Some(load.moment.thread), *byte), distance)));
        }
        let of_block = (-16..).zip(before.into_iter().flat_map(|block| block.as_chunks().0));
        distances.extend(of_block.map(|(distance, byte)| ((None, *byte), distance)));
        // What was not written is not handed on: a turn that reads it ends the proof.
        cut.handed.retain(|register| self.threads[threads.clone()].iter().any(|one| one.written(*register).is_some()));
        let counted = number.plus(-1, &cut.from);
        for register in cut.handed.clone() {
            if cut.of == self.tile_cut.of
                && cut.number != Some(register)
                && let Some(handed) = self.place(cut, register, &threads)?
            {
                for thread in threads.clone() {
                    if *cut.others.entry((thread % WARP, register)).or_insert_with(|| handed.clone()) != handed {
                        return Err("a loop hands on another place of a row than before".into());
                    }
                }
                continue;
            }
            for thread in threads.clone() {
                let found = self.threads[thread].register(register)?;
                let form = match &found {
                    Value::Form(form, 32) => Some((**form).clone()),
                    Value::Number(known) if counted.terms.is_empty() => Some(Form::constant((*known).into())),
                    _ => None,
                };
                if let Some(form) = form {
                    let difference = form.plus(-1, &counted);
                    let is_it = self.unknowns().exact(&difference, 32) == Some(Form::default());
                    if !is_it || *cut.number.get_or_insert(register) != register {
                        return Err("a share, a run or a tile does not begin where it should".into());
                    }
                    continue;
                }
                if cut.number == Some(register) || matches!(found, Value::Wide(_)) {
                    return Err("a loop hands on another value in place of its number, or 64 bits".into());
                }
                let handed = if let Value::Form(form, _) = &found {
                    Handed::Address(form.plus(-1, &self.data.beginning(number)))
                } else {
                    let bits = self.machine.context.word(found)?.bits();
                    let place = |of, byte: &Byte| distances.get(&(of, *byte)).copied();
                    let place = |byte| place(Some(thread), byte).or_else(|| place(None, byte));
                    let bytes: Option<Vec<i128>> = bits.as_chunks().0.iter().map(place).collect();
                    let is_word = |bytes: &Vec<i128>| bytes.iter().copied().eq(bytes[0]..bytes[0] + 4);
                    Handed::Word(bytes.filter(is_word).ok_or("a loop hands on what is no word of the data")?[0])
                };
                if *cut.others.entry((thread % WARP, register)).or_insert_with(|| handed.clone()) != handed {
                    return Err("a loop hands on different words, or addresses, than before".into());
                }
            }
        }
        self.threads[threads].iter_mut().for_each(|thread| thread.forget(cut.handed.iter().copied()));
        Ok(())
    }

    /// Begins a turn of a loop in some threads: what it writes is forgotten, except for what it is handed, which belongs to a tile. Other
    /// threads stay where they are.
    pub fn begin(&mut self, cut: &Cut, threads: Range<usize>, tile: &Form) -> Result<(), String> {
        let number = cut.number.ok_or("a loop is not handed one number")?;
        let value = |lane: usize, handed: &Handed| -> Result<Value, String> {
            let place = |n: usize| {
                let places = self.units.as_ref().map(|units| units.places(lane, &self.place));
                places.map(|places| Value::of_form(places[n].clone(), 32)).ok_or("no units")
            };
            Ok(match handed {
                Handed::Word(distance) => Value::of_bits64(self.given(tile, *distance)?).first(32),
                Handed::Address(rest) => Value::of_form(self.data.beginning(tile).plus(1, rest), 64),
                Handed::Place(n) => place(*n)?,
            })
        };
        let given = cut.others.iter().map(|(at, handed)| Ok((*at, value(at.0, handed)?)));
        let given: Vec<((usize, usize), Value)> = given.collect::<Result<_, String>>()?;
        for thread in &mut self.threads {
            if !threads.contains(&thread.index) {
                thread.state = State::Stopped;
                continue;
            }
            thread.forget(cut.written.iter().copied());
            thread.write(&Operand::Register(number), Value::of_form(tile.plus(-1, &cut.from), 32))?;
            for ((lane, register), value) in &given {
                if *lane == thread.index % WARP {
                    thread.write(&Operand::Register(*register), value.clone())?;
                }
            }
            (thread.next, thread.state, thread.goes_on) = (cut.of.head, State::Runs, true);
        }
        Ok(())
    }

    /// What a register has if, in all lanes, it is a place in units that no other register has.
    fn place(&self, cut: &Cut, register: usize, threads: &Range<usize>) -> Result<Option<Handed>, String> {
        let Some(units) = &self.units else { return Ok(None) };
        for n in 0..3 {
            let is_other =
                |((_, other), handed): (&(usize, usize), &Handed)| *other != register && *handed == Handed::Place(n);
            let mut is_it = !cut.others.iter().any(is_other);
            for thread in &self.threads[threads.clone()] {
                let place = units.places(thread.index % WARP, &self.place)[n].clone();
                is_it &= match thread.register(register)? {
                    Value::Form(form, 32) => self.unknowns().exact(&form.plus(-1, &place), 32) == Some(Form::default()),
                    found => found == Value::of_form(place, 32),
                };
            }
            if is_it {
                return Ok(Some(Handed::Place(n)));
            }
        }
        Ok(None)
    }

    /// Gives the input of a tile to the launch, and the block before it.
    pub fn give(&mut self, tile: &Form) -> Result<(), String> {
        let (buffer, first) = (self.data.input, self.data.beginning(tile));
        let given: Vec<Byte> =
            std::iter::once(&self.before).chain(&self.input).flat_map(|block| block.as_chunks().0).copied().collect();
        let given = (-16..).zip(given).map(|(at, byte)| ((buffer, first.plus(1, &Form::constant(at))), byte));
        self.symbolic()?.read.extend(given);
        Ok(())
    }

    /// The word of the data that was given to the launch at a distance in bytes from the beginning of a tile.
    fn given(&self, tile: &Form, distance: i128) -> Result<[Bit; 64], String> {
        let read = self.machine.context.symbolic.as_ref().map(|symbolic| &symbolic.read);
        let mut bits = [Bit::ZERO; 64];
        for (at, byte) in (distance..distance + 4).zip(bits.as_chunks_mut().0) {
            let at = (self.data.input, self.data.beginning(tile).plus(1, &Form::constant(at)));
            let given = read.and_then(|read| read.get(&at));
            *byte = *given.ok_or("a loop hands on a word that is not near the tile")?;
        }
        Ok(bits)
    }

    /// Loads, at the beginning of a turn of the loop over tiles, of the words of the tile that were read before and handed to the turn.
    pub fn handed_loads(&self) -> Result<Vec<Reached>, String> {
        let tile = &self.data.tiles.tile;
        let word = |(&(lane, _), handed): (&(usize, usize), &Handed)| match handed {
            Handed::Word(distance) if *distance >= 0 => Some((lane, *distance)),
            _ => None,
        };
        let load = |(lane, distance): (usize, i128)| {
            Ok(Reached {
                moment: self.machine.context.moment(&self.threads[WARP * self.warp + lane]),
                is_store: false,
                buffer: self.data.input,
                offset: self.data.beginning(tile).plus(1, &Form::constant(distance)),
                bytes: 4,
                under: vec![self.data.condition(tile, distance as usize)],
                bits: self.given(tile, distance)?,
            })
        };
        self.tile_cut.others.iter().filter_map(word).map(load).collect()
    }

    /// Puts another number of 32 bits in place of one, in registers of all threads.
    pub fn replace(&mut self, registers: impl Fn(usize) -> bool, number: &Form, instead: &Form) {
        self.threads.iter_mut().for_each(|thread| thread.replace(&registers, number, instead, 32));
    }
}
