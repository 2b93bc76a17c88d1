//! What is proved between cuts: of the way to the first turn of a share, of a run, and of a tile.

use crate::proof::accesses::Reached;
use crate::proof::every_length::shares::Owner;
use crate::proof::every_length::walk::{Cut, Proof};
use crate::proof::form::Form;
use crate::proof::memory::Contents;

impl Proof<'_> {
    /// Follows a warp from the beginning of a launch through its share.
    pub fn follow(&mut self) -> Result<(), String> {
        self.symbolic()?.warp = self.warp;
        if self.units.is_some() {
            return self.follow_stretches();
        }
        self.share()?;
        let before_run = self.run_cut.is_some().then(|| self.machine.context.memory.contents());
        self.run(before_run.as_ref())?;
        self.tile(before_run.as_ref())
    }

    /// Up to the first run, or the first tile where a share is a run.
    fn share(&mut self) -> Result<(), String> {
        let context = &mut self.machine.context;
        let number = self.shares.number_of(self.warp);
        if self.shares.owner == Owner::Warp {
            self.shares.of_warp(context, self.warp);
        }
        if let Some(chain) = &self.chain {
            chain.give(context, &number);
        }
        let (mut cut, threads) = match &self.run_cut {
            Some(cut) => (cut.clone(), self.of_all()),
            None => (self.tile_cut.clone(), self.of_warp()),
        };
        let at_cut = self.ways(&threads, |proof, mut reached| {
            let context = &mut proof.machine.context;
            let [begin, end] = proof.shares.of(context, proof.warp)?;
            let first = match proof.run_cut {
                Some(_) => begin.clone(),
                None => proof.shares.first(&begin, proof.warp),
            };
            let first = proof.machine.context.unknowns.integer(&first, 32);
            let stopped = proof.stopped()?;
            if proof.is_below(&first, &end)? != Some(stopped.is_some()) {
                return Err("tiles are taken although a share has none, or none although it has some".into());
            }
            let chain = proof.chain.as_ref().filter(|_| stopped.is_some());
            let before =
                chain.map(|chain| chain.before(&mut proof.machine.context, &number, &mut reached)).transpose()?;
            proof.only_reads(&reached, Some(&first).filter(|_| proof.run_cut.is_none() && stopped.is_some()))?;
            if stopped.is_none() {
                return Ok(None);
            }
            if stopped != Some(cut.of.head) {
                return Err("a share does not begin with a run, or a tile".into());
            }
            proof.hand(&mut cut, threads.clone(), &first, &reached, before.as_ref())?;
            let (from, to) = (proof.data.tiles.from.clone(), proof.to.clone());
            for (number, instead) in [(&begin, &from), (&end, &to)] {
                proof.replace(|_| true, number, instead);
                proof.machine.context.memory.replace(number, instead, 32);
            }
            Ok(stopped)
        })?;
        *self.run_cut.as_mut().unwrap_or(&mut self.tile_cut) = cut;
        self.restore(at_cut.ok_or("there is no share")?);
        Ok(())
    }

    /// A run, from any tile of the share on, up to its first tile.
    fn run(&mut self, before_run: Option<&Contents>) -> Result<(), String> {
        let Some((run, before_run)) = self.run_cut.clone().zip(before_run) else { return Ok(()) };
        let [from, to, run_end] = [&self.data.tiles.from, &self.to, &self.run_end].map(Form::clone);
        let next_run = self.data.tiles.next_run.clone().ok_or("a share has runs without ends")?;
        self.know(&[to.plus(-1, &from).plus(-1, &Form::constant(1))]);
        self.begin(&run, self.of_all(), &from)?;
        let own = self.shares.first(&from, self.warp);
        let mut cut = self.tile_cut.clone();
        let at_tile = self.ways(&self.of_warp(), |proof, reached| {
            proof.only_reads(&reached, None)?;
            let is_last = proof.unknowns().is_not_negative(&next_run.plus(-1, &to));
            let end = if is_last { &to } else { &next_run };
            let stopped = proof.stopped()?;
            let has_tile = stopped == Some(cut.of.head);
            let is_first = proof.unknowns().is_not_negative(&to.plus(-1, end));
            if !is_first || proof.is_below(&own, end)? != Some(has_tile) {
                return Err("a run does not end with the share, or where 32 bits of the counter wrap".into());
            }
            if !has_tile {
                proof.leave(&run, stopped, end, before_run)?;
                return Ok(None);
            }
            proof.hand(&mut cut, proof.of_warp(), &own, &[], None)?;
            proof.replace(|register| run.written.contains(&register), end, &run_end);
            Ok(stopped)
        })?;
        self.tile_cut = cut;
        self.restore(at_tile.ok_or("there is no tile")?);
        Ok(())
    }

    /// A tile: any of the run.
    fn tile(&mut self, before_run: Option<&Contents>) -> Result<(), String> {
        let before_tile = self.machine.context.memory.contents();
        let [from, tile] = [&self.data.tiles.from, &self.data.tiles.tile].map(Form::clone);
        let (to, run_end) = (self.to.clone(), self.run_end.clone());
        let mut facts = tile.in_word().to_vec();
        facts.extend([tile.plus(-1, &from), run_end.plus(-1, &tile).plus(-1, &Form::constant(1))]);
        facts.extend([to.plus(-1, &run_end), self.shares.all.plus(-1, &to)]);
        facts.extend(self.data.tiles.next_run.iter().map(|next_run| next_run.plus(-1, &run_end)));
        self.know(&facts);
        let mut cut = self.tile_cut.clone();
        let run = self.run_cut.clone().zip(before_run);
        self.begin(&cut, self.of_warp(), &tile)?;
        let handed = self.handed_loads()?;
        let (mut is_again, mut is_next_run) = (false, run.is_none());
        self.ways(&self.of_warp(), |proof, reached| {
            let next = proof.next_tile()?;
            let stopped = proof.stopped()?;
            let goes_on = stopped == Some(cut.of.head);
            let reached = [&handed[..], &reached].concat();
            let tiles = [Some(&tile), Some(&next).filter(|_| goes_on)];
            let stored = proof.data.stores(&mut proof.machine.context.unknowns, &reached, tiles)?;
            proof.data.compare(proof.unknowns(), &stored, &proof.output)?;
            proof.proved.tiles += 1;
            proof.own(&before_tile);
            if !proof.machine.context.memory.return_to(&before_tile) {
                return Err("a tile changes what the next needs".into());
            }
            if proof.is_below(&next, &run_end)? != Some(goes_on) {
                return Err("a warp goes on with another tile than it took, or leaves one of the run".into());
            }
            if goes_on {
                proof.hand(&mut cut, proof.of_warp(), &next, &reached, None)?;
                // Accesses to shared memory in one turn must be ordered with those in the next: any will do, so the one that was.
                if !std::mem::replace(&mut is_again, true) {
                    proof.begin(&cut, proof.of_warp(), &tile)?;
                    proof.go_any_way()?;
                }
                return Ok(None);
            }
            let Some((run, before_run)) = &run else {
                return if stopped.is_none() { Ok(None) } else { Err("a warp goes on after its share".into()) };
            };
            is_next_run |= stopped.is_some();
            proof.leave(run, stopped, &run_end, before_run)?;
            Ok(None)
        })?;
        if is_again && is_next_run { Ok(()) } else { Err("there is no next tile, or no next run".into()) }
    }

    /// The tile that a warp takes after its tile.
    fn next_tile(&mut self) -> Result<Form, String> {
        let taken = std::mem::take(&mut self.symbolic()?.taken);
        let tiles = &self.data.tiles;
        match (&taken[..], self.shares.owner) {
            ([], Owner::Warp) => Ok(tiles.tile.plus(1, &Form::constant(1))),
            ([next], Owner::ThreadBlock) => {
                let first = tiles.from.plus(1, &Form::constant(self.shares.warps as i128));
                let is_first = self.unknowns().exact(&next.first.plus(-1, &first), 32) == Some(Form::default());
                if next.step == 1 && is_first {
                    return Ok(next.number.clone());
                }
                Err("the numbers of tiles do not begin after the warps' own, or leave some out".into())
            }
            _ => Err("a warp does not take one tile after a tile".into()),
        }
    }

    /// Notes where the warp writes to shared memory, elsewhere than these contents were.
    pub(super) fn own(&mut self, contents: &Contents) {
        self.proved.shared.extend(self.machine.context.memory.elsewhere(contents));
    }

    /// Checks that nothing was accessed in device memory, except for words of the tile that comes next, and no tile taken.
    pub(super) fn only_reads(&mut self, reached: &[Reached], next: Option<&Form>) -> Result<(), String> {
        self.data.stores(&mut self.machine.context.unknowns, reached, [None, next])?;
        if self.symbolic()?.taken.is_empty() {
            Ok(())
        } else {
            Err("a tile is taken outside the loop over tiles".into())
        }
    }

    /// Checks that a warp that leaves a run goes on with the tile after its end, if that is in the share, and ends if it is not; that shared
    /// memory is as it was before the run; and that accesses to it are ordered with those of all warps in the next run.
    fn leave(&mut self, run: &Cut, stopped: Option<usize>, end: &Form, before_run: &Contents) -> Result<(), String> {
        let goes_on = stopped == Some(run.of.head);
        if (!goes_on && stopped.is_some()) || self.is_below(end, &self.to.clone())? != Some(goes_on) {
            return Err("a thread block goes on after its share, or ends before".into());
        }
        if goes_on {
            self.hand(&mut run.clone(), self.of_warp(), end, &[], None)?;
        }
        if !self.machine.context.memory.return_to(before_run) {
            return Err("a run changes what the next needs".into());
        }
        if goes_on {
            self.begin(run, self.of_all(), &self.data.tiles.from.clone())?;
            self.go_any_way()?;
        }
        Ok(())
    }
}
