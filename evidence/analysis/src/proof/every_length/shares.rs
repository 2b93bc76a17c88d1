//! The shares of all tiles: who takes which of them, and in which order.

use crate::proof::context::Context;
use crate::proof::form::{Condition, Form};

/// Whose the shares are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A thread block's, whose warps take a tile by their index first, then each the next one that is left, by an atomic counter.
    ThreadBlock,
    /// A warp's, which takes one tile after the other.
    Warp,
}

/// The shares of all tiles.
pub(super) struct Shares {
    pub owner: Owner,
    /// All tiles.
    pub all: Form,
    /// The index of the thread block, and how many there are.
    pub thread_block: Form,
    pub thread_blocks: Form,
    /// Warps of a thread block.
    pub warps: usize,
}

impl Shares {
    /// The number of a warp among those of all thread blocks.
    pub fn number_of(&self, warp: usize) -> Form {
        self.thread_block.times(self.warps as i128).plus(1, &Form::constant(warp as i128))
    }

    /// Where the share of a warp begins and ends if there are tiles enough: every warp has as many as it takes for all to cover all.
    ///
    /// Of `n` warps and `t` tiles each has `q`, the quotient of `t + n - 1` and `n`. So `q` is at least 1, and no share ends after
    /// `n q <= t + n - 1`: products of unknowns, so this is assumed.
    pub fn of_warp(&self, context: &mut Context<'_>, warp: usize) -> [Form; 2] {
        let warps = self.thread_blocks.times(self.warps as i128);
        let rounded_up = self.all.plus(1, &warps).plus(-1, &Form::constant(1));
        let each = context.unknowns.result("quotient", vec![rounded_up.clone(), warps], (0, u32::MAX.into()));
        let begin = context.product(&each, &self.number_of(warp), 32);
        let end = begin.plus(1, &each);
        context.unknowns.assume(each.plus(-1, &Form::constant(1)));
        context.unknowns.assume(rounded_up.plus(-1, &end));
        [begin, end]
    }

    /// Where the share begins and ends to which the tiles of a warp belong, in a state that says which shares are larger.
    ///
    /// # Errors
    /// If it does not say so.
    pub fn of(&self, context: &mut Context<'_>, warp: usize) -> Result<[Form; 2], String> {
        let unknown = "a share is not what it should be";
        if self.owner == Owner::Warp {
            let [begin, end] = self.of_warp(context, warp);
            let is_whole = context.unknowns.decide(&Condition::NotNegative(self.all.plus(-1, &end)));
            return Ok([begin, if is_whole.ok_or(unknown)? { end } else { self.all.clone() }]);
        }
        let both = vec![self.all.clone(), self.thread_blocks.clone()];
        let each = context.unknowns.result("quotient", both, (0, u32::MAX.into()));
        let more = self.all.plus(-1, &context.product(&each, &self.thread_blocks, 32));
        let has_more = context.compare("lt", &self.thread_block, &more, 32)?;
        let has_more = context.unknowns.decide(&has_more).ok_or(unknown)?;
        let before = if has_more { &self.thread_block } else { &more };
        let begin = context.product(&each, &self.thread_block, 32).plus(1, before);
        let end = begin.plus(1, &each).plus(has_more.into(), &Form::constant(1));
        Ok([begin, end])
    }

    /// The first tile that a warp takes of a share, or of a run, that begins with `from`.
    pub fn first(&self, from: &Form, warp: usize) -> Form {
        let before = if self.owner == Owner::Warp { 0 } else { warp };
        from.plus(1, &Form::constant(before as i128))
    }
}
