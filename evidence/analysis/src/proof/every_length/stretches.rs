//! What is proved between cuts in XTS: of the way to the first stretch, from a stretch's number to its tiles, from there to its first tile, and
//! of a tile, the last one of its stretch or one that another one follows.
//!
//! | cut | invariant |
//! |---|---|
//! | loop over stretches | the stretch has any number; the planes of the round keys are in shared memory |
//! | within it, where its tiles are known | they are any from `from` up to but not including `to`: one at least, and as many as a stretch can have at most |
//! | tile | `tile` is any of these, and begins with a known block of any unit of the stretch; the tweaks of the stretch's units and of the tile's blocks are in the warp's shared memory; registers have what they have in other modes, and where the lane's row begins |
//!
//! Between the second and the third, the run is stopped once more where the kernel has divided: there the block with which the stretch begins is
//! put in place of the form that it is.
//!
//! In the entry point for any alignment a turn of the loop over tiles makes the tweaks of its own tile, not those of the next. So all turns but
//! the first of a stretch find those of the tile before theirs; and the turn after the last tile finds no tile. What the kernel knows of the
//! blocks of a stretch depends on whether it ends with the data: these two are proved one by one.
//!
//! Where ciphertext is stolen, there is no cut at a tile: from where its tiles are known a stretch is followed as a whole
//! ([`ends`](crate::proof::every_length::ends)).
//!
//! A warp's first stretch has the warp's number, and the next one the next number of an atomic counter that began with the number of warps: so
//! every number is taken once, up to the first whose stretch has no tiles.
//!
//! # Argument on paper
//!
//! With `w` warps and at most `l` tiles in a stretch, stretches `w k` to `w k + w - 1` are turn `k`. While a share has `w l` tiles or more left,
//! each stretch of a turn has `l` of them, one after the other. Then `r < w l` tiles are left, and each stretch of the turn has the next `e` of
//! them that exist, where `e` is `r` divided by `w`, rounded up: `e <= l`, and `w e >= r`. Stretches of later turns have none. So each tile of the
//! share is in one stretch, none follows a stretch that has no tiles, and no number exceeds the end of the share by `w` or more, so that none
//! wraps.

use crate::proof::accesses::{Reached, Taken};
use crate::proof::aes::Block;
use crate::proof::context::Context;
use crate::proof::every_length::units::{Begin, Turn, Units};
use crate::proof::every_length::walk::{Cut, Proof, Snapshot};
use crate::proof::form::{Condition, Form};
use crate::proof::kernel_cells::TILE;
use crate::proof::memory::Contents;
use crate::proof::thread::State;
use crate::proof::value::Value;
use crate::ptx::Operand;

/// The smaller of two numbers, where it is known which that is.
fn smaller(context: &mut Context<'_>, a: &Form, b: &Form) -> Result<Form, String> {
    let is_first = context.compare("le", a, b, 32)?;
    let is_first = context.unknowns.decide(&is_first).ok_or("a stretch is not what it should be")?;
    Ok(if is_first { a.clone() } else { b.clone() })
}

impl Proof<'_> {
    fn units(&self) -> Result<&Units, String> {
        self.units.as_ref().ok_or_else(|| "no units".into())
    }

    /// Whole turns of a share, in each of which every warp has a stretch of as many tiles as a stretch can have.
    fn whole_turns(&mut self, tiles: &Form) -> Result<Form, String> {
        let turn = self.units()?.longest * self.shares.warps;
        let unknowns = &mut self.machine.context.unknowns;
        let tiles = unknowns.integer(tiles, 32);
        Ok(unknowns.divided(&tiles, turn as i128))
    }

    /// Follows a warp from the beginning of a launch through its stretches.
    pub fn follow_stretches(&mut self) -> Result<(), String> {
        if !self.shares.warps.is_power_of_two() {
            return Err("it is for a power of two of warps".into());
        }
        self.first_stretch()?;
        self.any_stretch()?;
        if self.stretch.is_some() {
            return self.whole_stretch();
        }
        let at_stretch = self.snapshot();
        let before_stretch = self.machine.context.memory.contents();
        let kinds = if self.tile_cut.from == Form::default() { vec![None] } else { vec![Some(false), Some(true)] };
        for ends_data in kinds {
            self.restore(at_stretch.clone());
            let of_stretch = self.of_stretch(ends_data)?;
            self.first_tile(&of_stretch, &before_stretch)?;
            let at_tile = self.snapshot();
            for turn in 0..self.units()?.turns.len() {
                self.restore(at_tile.clone());
                self.turn_of_stretch(turn, &of_stretch, &at_stretch, &before_stretch)?;
            }
        }
        Ok(())
    }

    /// Up to the loop over stretches, of which a warp takes that of its number first.
    fn first_stretch(&mut self) -> Result<(), String> {
        let mut cut = self.run_cut.clone().ok_or("no loop over stretches")?;
        let (number, threads) = (Form::constant(self.warp as i128), self.of_warp());
        let (share, to) = (self.units()?.share.clone(), self.to.clone());
        let tiles_instead = to.plus(-1, &share);
        self.machine.context.unknowns.assume(tiles_instead.clone());
        let turns_instead = self.whole_turns(&tiles_instead)?;
        let at_cut = self.ways(&threads, |proof, reached| {
            let [begin, end] = proof.shares.of(&mut proof.machine.context, proof.warp)?;
            proof.only_reads(&reached, None)?;
            let stopped = proof.stopped()?;
            proof.hand(&mut cut, proof.of_warp(), &number, &reached, None)?;
            let tiles = end.plus(-1, &begin);
            let turns = proof.whole_turns(&tiles)?;
            let numbers = [(&begin, &share), (&end, &to), (&tiles, &tiles_instead), (&turns, &turns_instead)];
            numbers.iter().for_each(|(number, instead)| proof.replace(|_| true, number, instead));
            Ok(stopped)
        })?;
        self.run_cut = Some(cut);
        self.restore(at_cut.ok_or("there is no stretch")?);
        Ok(())
    }

    /// The tiles of a stretch, or nothing if it has none. In turns each warp has a stretch of as many tiles as a stretch can have; the warps
    /// of the last turn have equal shares of the rest, which is fewer tiles than a turn has.
    fn tiles_of_stretch(&mut self) -> Result<Option<[Form; 2]>, String> {
        let warps = self.shares.warps;
        let Units { longest, share, stretch, .. } = self.units()?;
        let (longest, share, stretch, to) = (*longest as i128, share.clone(), stretch.clone(), self.to.clone());
        let whole_turns = self.whole_turns(&to.plus(-1, &share))?;
        let context = &mut self.machine.context;
        let constant = |number: usize| Form::constant(number as i128);
        let turns = context.unknowns.shifted(&stretch, warps.ilog2());
        let turns = smaller(context, &turns, &whole_turns)?;
        let begin = turns.times(longest * warps as i128).plus(1, &share);
        let number = stretch.plus(-(warps as i128), &turns);
        let rest = context.unknowns.integer(&to.plus(1, &constant(warps - 1)).plus(-1, &begin), 32);
        let each = context.unknowns.shifted(&rest, warps.ilog2());
        let each = smaller(context, &each, &Form::constant(longest))?;
        let is_of_turn = context.compare("lt", &number, &constant(warps), 32)?;
        let from = match context.unknowns.decide(&is_of_turn) {
            Some(true) if each.terms.is_empty() => number.times(each.constant).plus(1, &begin),
            Some(true) => context.product(&number, &each, 32).plus(1, &begin),
            Some(false) => to.clone(),
            None => return Err("a stretch is not what it should be".into()),
        };
        let end = smaller(context, &from.plus(1, &each), &to)?;
        let is_none = [&to, &end].map(|end| context.compare("ge", &from, end, 32).map(Box::new));
        let [a, b] = is_none;
        match context.unknowns.decide(&Condition::Or(a?, b?)) {
            Some(true) => Ok(None),
            Some(false) => Ok(Some([from, end])),
            None => Err("a stretch is not what it should be".into()),
        }
    }

    /// A stretch, by any number, up to where its tiles are known.
    fn any_stretch(&mut self) -> Result<(), String> {
        let cut = self.run_cut.clone().ok_or("no loop over stretches")?;
        let Units { share, stretch, from, to, .. } = self.units()?;
        let (share, stretch, from, to) = (share.clone(), stretch.clone(), from.clone(), to.clone());
        self.know(&[self.to.plus(-1, &share), self.shares.all.plus(-1, &self.to)]);
        self.whole_turns(&self.to.plus(-1, &share))?;
        self.begin(&cut, self.of_warp(), &stretch)?;
        let at_tiles = self.ways(&self.of_warp(), |proof, reached| {
            proof.only_reads(&reached, None)?;
            let (tiles, stopped) = (proof.tiles_of_stretch()?, proof.stopped()?);
            if tiles.is_some() != stopped.is_some() || stopped.is_some_and(|at| Some(at) != proof.tiles_known) {
                return Err("a warp goes on with a stretch that has no tiles, or ends before one that has some".into());
            }
            let Some(tiles) = tiles else { return Ok(None) };
            let of_warp = proof.of_warp();
            for thread in &mut proof.threads[of_warp] {
                for &register in &cut.written {
                    let Some(Value::Form(form, 32)) = thread.written(register) else { continue };
                    if let Some(n) = tiles.iter().position(|number| *number == *form) {
                        let instead = [&from, &to][n].clone();
                        thread.write(&Operand::Register(register), Value::of_form(instead, 32))?;
                    }
                }
            }
            Ok(stopped)
        })?;
        self.restore(at_tiles.ok_or("no stretch has tiles")?);
        Ok(())
    }

    /// What is known of the tiles of a stretch; and whether it ends with the data, or before, if that matters.
    fn of_stretch(&self, ends_data: Option<bool>) -> Result<Vec<Form>, String> {
        let Units { longest, from, to, .. } = self.units()?;
        let tiles = to.plus(-1, from);
        let most = Form::constant(*longest as i128).plus(-1, &tiles);
        let mut facts = vec![tiles.plus(-1, &Form::constant(1)), most, self.shares.all.plus(-1, to)];
        let left = self.data.pieces.count.plus(-(TILE as i128), to);
        facts.extend(ends_data.map(|ends| if ends { left.times(-1) } else { left.plus(-1, &Form::constant(1)) }));
        Ok(facts)
    }

    /// Has the threads of the warp go on from where they are stopped.
    fn go_on(&mut self) {
        let of_warp = self.of_warp();
        for thread in &mut self.threads[of_warp] {
            (thread.state, thread.goes_on) = (State::Runs, true);
        }
    }

    /// Goes on from where the tiles of a stretch are known to where the block of a unit is with which they begin: the known one.
    pub fn find_unit(&mut self) -> Result<(), String> {
        let Units { rest, place, .. } = self.units()?;
        let (rest, block) = (rest.clone(), Form::constant(place.block as i128));
        self.go_on();
        let at_unit = self.ways(&self.of_warp(), |proof, reached| {
            proof.only_reads(&reached, None)?;
            let stopped = proof.stopped()?;
            if stopped.is_none() || stopped != proof.unit_known {
                return Err("the tweaks of a stretch's units are not computed first".into());
            }
            proof.replace(|_| true, &rest, &block);
            Ok(stopped)
        })?;
        self.restore(at_unit.ok_or("no stretch has units")?);
        self.go_on();
        Ok(())
    }

    /// From the beginning of a stretch, with the tweaks of its units, to its first tile.
    fn first_tile(&mut self, of_stretch: &[Form], before_stretch: &Contents) -> Result<(), String> {
        let mut cut = self.tile_cut.clone();
        let Units { from, of_first, place, .. } = self.units()?;
        let (from, tweaks) = (from.clone(), of_first.clone());
        let begin = Begin { unit: Form::default(), rows: place.block, tile: place.block };
        self.know(of_stretch);
        self.find_unit()?;
        let at_tile = self.ways(&self.of_warp(), |proof, reached| {
            proof.only_reads(&reached, Some(&from))?;
            proof.hand_tile(&mut cut, &from, &begin, &tweaks, &reached)?;
            proof.own(before_stretch);
            Ok(Some(cut.of.head))
        })?;
        self.tile_cut = cut;
        self.restore(at_tile.ok_or("no stretch has a tile")?);
        Ok(())
    }

    /// Checks that a warp goes on with the next number of a stretch, of those that it has taken.
    pub fn next_stretch(&mut self, run: &Cut, taken: &[Taken]) -> Result<(), String> {
        let [taken] = taken else { return Err("a warp does not take one stretch after a stretch".into()) };
        if taken.first != Form::constant(self.shares.warps as i128) || taken.step != 1 {
            return Err("the numbers of stretches do not begin after the warps' own, or leave some out".into());
        }
        self.hand(&mut run.clone(), self.of_warp(), &taken.number, &[], None)
    }

    /// Goes on with another stretch, from where its tiles are known, any way up to the next cut.
    pub fn begin_again(&mut self, at_stretch: &Snapshot, of_stretch: &[Form]) -> Result<(), String> {
        for n in self.of_warp() {
            let barriers = self.threads[n].barriers;
            self.threads[n] = at_stretch.threads[n].clone();
            self.threads[n].barriers = barriers;
        }
        self.know(of_stretch);
        self.find_unit()?;
        self.go_any_way()
    }

    /// Checks what the loop over tiles hands to a turn: a tile, where it begins in the units, and its tweaks.
    fn hand_tile(
        &mut self,
        cut: &mut Cut,
        tile: &Form,
        begin: &Begin,
        tweaks: &[Block],
        reached: &[Reached],
    ) -> Result<(), String> {
        self.place = begin.clone();
        self.hand(cut, self.of_warp(), tile, reached, None)?;
        Units::compare(&self.machine.context, self.warp, tweaks)
    }

    /// What is known in a turn of this kind.
    fn of_turn(&self, turn: &Turn, of_stretch: &[Form]) -> Result<Vec<Form>, String> {
        let tile = &self.data.tiles.tile;
        let Units { from, to, .. } = self.units()?;
        let mut facts = of_stretch.to_vec();
        for (count, range) in [(tile.plus(-1, from), &turn.before), (to.plus(-1, tile), &turn.left)] {
            facts.push(count.plus(-1, &Form::constant(range.start)));
            facts.extend(range.end.map(|end| Form::constant(end).plus(-1, &count)));
        }
        facts.push(Form::constant(turn.most as i128).plus(-1, &turn.begin.unit));
        facts.push(Form::constant(u32::MAX.into()).plus(-1, tile).plus(-1, &Form::constant(1)));
        Ok(facts)
    }

    /// A turn of the loop over tiles, of one of the kinds.
    fn turn_of_stretch(
        &mut self,
        number: usize,
        of_stretch: &[Form],
        at_stretch: &Snapshot,
        before_stretch: &Contents,
    ) -> Result<(), String> {
        let tile = self.data.tiles.tile.clone();
        let next_tile = tile.plus(1, &Form::constant(1));
        let turns = &self.units()?.turns;
        let turn = turns[number].clone();
        // A first turn is not followed by another.
        let again = turns[if turn.before.end == Some(0) { number + 1 } else { number }].clone();
        let facts = self.of_turn(&turn, of_stretch)?;
        let facts_again = self.of_turn(&again, of_stretch)?;
        let reads_next = self.tile_cut.from == Form::default() && turn.next.is_some();
        self.know(&facts);
        self.output = turn.output.clone().unwrap_or_default();
        Units::put(&mut self.machine.context, self.warp, &turn.tweaks)?;
        let mut cut = self.tile_cut.clone();
        let run = self.run_cut.clone().ok_or("no loop over stretches")?;
        let before_tile = self.machine.context.memory.contents();
        self.place = turn.begin.clone();
        self.begin(&cut, self.of_warp(), &tile)?;
        let handed = self.handed_loads()?;
        let mut is_again = false;
        self.ways(&self.of_warp(), |proof, reached| {
            let stopped = proof.stopped()?;
            let taken = std::mem::take(&mut proof.symbolic()?.taken);
            let reached = [&handed[..], &reached].concat();
            let tiles = [Some(&tile).filter(|_| turn.output.is_some()), Some(&next_tile).filter(|_| reads_next)];
            let stored = proof.data.stores(&mut proof.machine.context.unknowns, &reached, tiles)?;
            proof.data.compare(proof.unknowns(), &stored, &proof.output)?;
            proof.proved.tiles += usize::from(turn.output.is_some());
            proof.own(before_stretch);
            if stopped != Some(if turn.next.is_some() { cut.of.head } else { run.of.head }) {
                return Err("a warp goes on after its stretch, or leaves a tile of it".into());
            }
            match (&taken[..], &turn.next) {
                ([], Some((begin, tweaks))) => {
                    proof.hand_tile(&mut cut, &next_tile, begin, tweaks, &reached)?;
                    Units::put(&mut proof.machine.context, proof.warp, &turn.tweaks)?;
                }
                (_, None) => proof.next_stretch(&run, &taken)?,
                _ => return Err("a stretch is taken before the last one ends".into()),
            }
            let contents = if turn.next.is_some() { &before_tile } else { before_stretch };
            if !proof.machine.context.memory.return_to(contents) {
                return Err("a tile changes what the next needs".into());
            }
            // Accesses to shared memory in one turn must be ordered with those in the next: any will do, so the one that was.
            if std::mem::replace(&mut is_again, true) {
                return Ok(None);
            }
            if turn.next.is_some() {
                proof.know(&facts_again);
                Units::put(&mut proof.machine.context, proof.warp, &again.tweaks)?;
                proof.place = again.begin.clone();
                proof.begin(&cut, proof.of_warp(), &tile)?;
            } else {
                return proof.begin_again(at_stretch, of_stretch).map(|()| None);
            }
            proof.go_any_way()?;
            Ok(None)
        })?;
        if is_again { Ok(()) } else { Err("there is no next tile, or no next stretch".into()) }
    }
}

impl Proof<'_> {
    /// A stretch as a whole, from where its tiles are known to the next one.
    pub(super) fn whole_stretch(&mut self) -> Result<(), String> {
        let (Some(run), Some(units), Some(stretch)) = (self.run_cut.clone(), &self.units, self.stretch.take()) else {
            return Err("no stretch".into());
        };
        let (first, from) = (stretch.first.clone(), &units.from);
        let constant = |n: usize| Form::constant(n as i128);
        let to = from.plus(1, &constant(stretch.ends.tiles));
        let mut known = vec![(units.to.clone(), to.clone(), 32)];
        let mut facts = vec![self.shares.all.plus(-1, &to)];
        let count = &self.data.pieces.count;
        if let Some([_, ragged]) = stretch.ends.last {
            let blocks = from.times(TILE as i128).plus(1, &constant(stretch.ends.blocks()));
            facts.extend([count.plus(-1, &blocks), blocks.plus(-1, count)]);
            known.extend([(count.clone(), blocks, 64), (stretch.ragged.clone(), constant(ragged), 32)]);
        } else {
            facts.push(count.plus(-(TILE as i128), &to).plus(-1, &constant(1)));
        }
        for (number, instead, bits) in known {
            self.threads.iter_mut().for_each(|thread| thread.replace(|_| true, &number, &instead, bits));
            self.machine.context.memory.replace(&number, &instead, bits);
        }
        let input = self.data.input;
        let given = (0..).zip(&stretch.input).map(|(at, byte)| ((input, first.plus(1, &Form::constant(at))), *byte));
        self.symbolic()?.read.extend(given);
        let (at_stretch, before_stretch) = (self.snapshot(), self.machine.context.memory.contents());
        self.know(&facts);
        self.find_unit()?;
        let tiles = self.tile_cut.of.head;
        self.machine.stops.retain(|stop| *stop != tiles);
        let mut is_again = false;
        self.ways(&self.of_warp(), |proof, reached| {
            if proof.stopped()? != Some(run.of.head) {
                return Err("a warp does not go on after its stretch".into());
            }
            stretch.check(&proof.data, proof.unknowns(), &reached)?;
            proof.proved.tiles += stretch.ends.tiles;
            proof.own(&before_stretch);
            let taken = std::mem::take(&mut proof.symbolic()?.taken);
            proof.next_stretch(&run, &taken)?;
            if !proof.machine.context.memory.return_to(&before_stretch) {
                return Err("a stretch changes what the next needs".into());
            }
            // Before its tiles a stretch has barriers.
            if !std::mem::replace(&mut is_again, true) {
                proof.machine.stops.push(tiles);
                proof.begin_again(&at_stretch, &facts)?;
                proof.machine.stops.pop();
            }
            Ok(None)
        })?;
        self.machine.stops.push(tiles);
        self.stretch = Some(stretch);
        Ok(())
    }
}
