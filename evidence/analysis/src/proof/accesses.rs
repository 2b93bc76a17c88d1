//! A launch whose numbers are not known: its grid, its buffers, and what its threads have accessed.

use crate::proof::anf::Bit;
use crate::proof::form::{Condition, Form, Unknown};
use crate::proof::memory::Byte;
use crate::proof::order::Moment;
use std::collections::{BTreeMap, HashMap, HashSet};

/// An access to a buffer of device memory.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    /// The thread, and the point in its run.
    pub moment: Moment,
    pub is_store: bool,
    /// The buffer, by the unknown that is its address.
    pub buffer: Unknown,
    /// Bytes from its beginning.
    pub offset: Form,
    /// Number of bytes.
    pub bytes: u64,
    /// It takes place if all of these hold.
    pub under: Vec<Condition>,
    /// What was read or written. Of a load that does not take place, zeros: so a proof must see that all loads of one place have one condition.
    pub bits: [Bit; 64],
}

/// A number that an atomic addition took from shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    /// What was stored there before any was taken.
    pub first: Form,
    /// What each addition adds.
    pub step: u64,
    /// The number.
    pub number: Form,
}

/// A launch whose numbers are not known.
pub(crate) struct Symbolic {
    /// The warp whose way is followed. Others wait where the way is not decided.
    pub warp: usize,
    /// Which way the next branch goes that is not decided.
    pub answer: Option<bool>,
    /// The index of the thread block, and their number.
    pub block: Form,
    pub blocks: Form,
    /// The buffers of device memory, and what their addresses are multiples of.
    pub buffers: BTreeMap<Unknown, i128>,
    pub reached: Vec<Reached>,
    pub taken: Vec<Taken>,
    /// The bytes that loads have found, or will find, by buffer and offset.
    pub read: HashMap<(Unknown, Form), Byte>,
    /// Words that are numbers, and have bits of their own.
    pub words: HashMap<Form, [Bit; 32]>,
    /// Bits that are one of two, the first if a condition holds.
    pub chosen: HashMap<Bit, (Condition, [Bit; 2])>,
    /// The registers that are still needed at each statement.
    pub live: Vec<HashSet<usize>>,
    /// Statements after which registers are known to be written that are still needed, so that what follows cannot be left out.
    pub not_idle: HashSet<usize>,
}

impl Symbolic {
    pub(crate) fn new([block, blocks]: [Form; 2], buffers: BTreeMap<Unknown, i128>, live: Vec<HashSet<usize>>) -> Self {
        let (reached, taken, read, words) = (vec![], vec![], HashMap::new(), HashMap::new());
        let (chosen, not_idle) = (HashMap::new(), HashSet::new());
        Self { warp: 0, answer: None, block, blocks, buffers, reached, taken, read, words, chosen, live, not_idle }
    }

    /// What a bit is if a condition holds.
    pub(crate) fn if_so(&self, bit: Bit, condition: &Condition) -> Bit {
        match self.chosen.get(&bit) {
            Some((which, [first, _])) if which == condition => *first,
            Some((which, [_, second])) if which.clone().negated() == *condition => *second,
            _ => bit,
        }
    }
}
