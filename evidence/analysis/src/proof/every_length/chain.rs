//! What is special to CBC (SP 800-38A, section 6.2): the ciphertext block before a warp's share, which another warp may replace.

use crate::proof::accesses::Reached;
use crate::proof::aes::Block;
use crate::proof::context::Context;
use crate::proof::form::{Condition, Form, Unknown};

/// The blocks before shares. The block before the share of warp `n` of all is at `previous + n stride`; before the first, it is the IV.
pub(super) struct Chain {
    pub previous: Unknown,
    /// Bytes from the block before one share to that before the next.
    pub stride: Form,
    pub iv: Block,
    /// The block before the share of the warp that is followed, if that is not the first.
    pub before: Block,
}

impl Chain {
    /// Where the block before a share is, from the beginning of the buffer: below 2^62, so that no address wraps.
    fn place(&self, context: &mut Context<'_>, number: &Form) -> Form {
        let place = context.product(number, &self.stride, 64);
        context.unknowns.assume(Form::constant(1 << 62).plus(-1, &place));
        place
    }

    /// Gives the block before a share to the launch.
    pub fn give(&self, context: &mut Context<'_>, number: &Form) {
        let place = self.place(context, number);
        let Some(symbolic) = &mut context.symbolic else { return };
        for (n, byte) in (0..).zip(self.before.as_chunks::<8>().0) {
            symbolic.read.insert((self.previous, place.plus(1, &Form::constant(n))), *byte);
        }
    }

    /// The block before a share, where its number is known to be 0 or not to be. Takes the loads of it away.
    ///
    /// # Errors
    /// If it is not known, or other bytes are read than those of the block.
    pub fn before(
        &self,
        context: &mut Context<'_>,
        number: &Form,
        reached: &mut Vec<Reached>,
    ) -> Result<Block, String> {
        let place = self.place(context, number);
        let is_first = context.unknowns.decide(&Condition::Zero(number.clone()));
        let is_first = is_first.ok_or("the block before a share does not depend on its number")?;
        let is_of_block = |one: &Reached| {
            let at = one.offset.plus(-1, &place);
            !one.is_store
                && one.bytes == 1
                && one.under.is_empty()
                && at.terms.is_empty()
                && (0..16).contains(&at.constant)
        };
        let taken: Vec<Reached> = reached.extract_if(.., |one| one.buffer == self.previous).collect();
        match taken.iter().all(|one| !is_first && is_of_block(one)) {
            true => Ok(if is_first { self.iv } else { self.before }),
            false => Err("other bytes are read than those of the block before the share".into()),
        }
    }
}
