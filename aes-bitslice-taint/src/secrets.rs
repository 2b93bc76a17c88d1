//! Which bytes of an entry point's parameters are secret.

use std::ops::Range;

/// The parameters of an entry point, in order: how large each is and which of its bytes are secret.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    parameters: Vec<(usize, Range<usize>)>,
}

impl Secrets {
    /// Adds a parameter of this many bytes, of which these are secret.
    ///
    /// # Panics
    /// If the range ends behind the parameter.
    pub fn parameter(mut self, bytes: usize, secret: Range<usize>) -> Self {
        assert!(secret.end <= bytes, "a range of the parameter's bytes");
        self.parameters.push((bytes, secret));
        self
    }

    /// How many parameters there are.
    pub(crate) fn count(&self) -> usize {
        self.parameters.len()
    }

    /// Bytes of a parameter.
    pub(crate) fn bytes(&self, parameter: usize) -> usize {
        self.parameters[parameter].0
    }

    /// Whether bytes of a parameter overlap with what is secret; of the whole parameter where it is not known which.
    pub(crate) fn overlap(&self, parameter: usize, bytes: Option<Range<i64>>) -> bool {
        let secret = &self.parameters[parameter].1;
        let secret = secret.start as i64..secret.end as i64;
        !secret.is_empty() && bytes.is_none_or(|bytes| bytes.start < secret.end && secret.start < bytes.end)
    }
}
