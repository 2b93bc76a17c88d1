//! Which bytes of an entry point's parameters are secret.

use std::ops::Range;

/// The parameters of an entry point, in order: how large each is and which of its bytes are secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    parameters: Vec<(usize, Range<usize>)>,
    /// Those that point to tables.
    tables: Vec<usize>,
    /// Whether one points to a count of arrivals.
    counts_arrivals: bool,
}

impl Secrets {
    /// Adds a parameter of this many bytes, of which these are secret.
    ///
    /// # Panics
    /// If the range ends past the parameter.
    pub fn parameter(mut self, bytes: usize, secret: Range<usize>) -> Self {
        assert!(secret.end <= bytes, "a range of the parameter's bytes");
        self.parameters.push((bytes, secret));
        self
    }

    /// Adds a pointer to a table: memory that is never written, such as a description of the work. Values that non-coherent loads read
    /// there are public, and others are secret.
    pub fn table(mut self) -> Self {
        self.tables.push(self.parameters.len());
        self.parameter(8, 0..0)
    }

    /// Adds a pointer to a count of thread blocks that have arrived: memory that only atomic increments write. What these return is public,
    /// and there are no others.
    pub fn arrivals(mut self) -> Self {
        self.counts_arrivals = true;
        self.parameter(8, 0..0)
    }

    /// Whether a parameter points to a count of arrivals.
    pub(crate) fn count_arrivals(&self) -> bool {
        self.counts_arrivals
    }

    /// Whether a parameter points to a table.
    pub(crate) fn is_table(&self, parameter: usize) -> bool {
        self.tables.contains(&parameter)
    }

    /// Whether any parameter does.
    pub(crate) fn has_tables(&self) -> bool {
        !self.tables.is_empty()
    }

    /// The number of parameters.
    pub(crate) fn count(&self) -> usize {
        self.parameters.len()
    }

    /// Bytes of a parameter.
    pub(crate) fn bytes(&self, parameter: usize) -> usize {
        self.parameters[parameter].0
    }

    /// Whether bytes of a parameter overlap with its secret bytes; the whole parameter where the bytes are not known.
    pub(crate) fn overlap(&self, parameter: usize, bytes: Option<Range<i64>>) -> bool {
        let secret = &self.parameters[parameter].1;
        let secret = secret.start as i64..secret.end as i64;
        !secret.is_empty() && bytes.is_none_or(|bytes| bytes.start < secret.end && secret.start < bytes.end)
    }
}
