//! A launch whose numbers are not known: its grid, its buffers, and what its threads have accessed.

use crate::proof::anf::Bit;
use crate::proof::form::{Condition, Form, Unknown};
use std::collections::HashMap;

/// An access to a buffer of device memory.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub thread: usize,
    pub is_store: bool,
    /// The buffer, by the unknown that is its address.
    pub buffer: Unknown,
    /// Bytes from its beginning.
    pub offset: Form,
    /// Number of bytes.
    pub bytes: u64,
    /// It takes place if this holds; without it, always.
    pub under: Option<Condition>,
    /// What was read or written. Of a load that does not take place, zeros.
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
    /// The buffers of device memory.
    pub buffers: Vec<Unknown>,
    pub reached: Vec<Reached>,
    pub taken: Vec<Taken>,
    /// What a first load found, by its buffer, offset and condition: another one finds it again.
    pub read: HashMap<(Unknown, Form, Option<Condition>), [Bit; 64]>,
}

impl Symbolic {
    pub(crate) fn new(block: Form, blocks: Form, buffers: Vec<Unknown>) -> Self {
        let (reached, taken, read) = (vec![], vec![], HashMap::new());
        Self { warp: 0, answer: None, block, blocks, buffers, reached, taken, read }
    }
}
