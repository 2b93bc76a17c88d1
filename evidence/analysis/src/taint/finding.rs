//! The outcome of an analysis.

use std::fmt;

/// An instruction that depends on a secret in a measurable way, or for which there is no rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The line of the text, from 1.
    pub line: usize,
    /// The instruction.
    pub instruction: String,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: `{}`", self.line, self.what, self.instruction)
    }
}

/// The findings for an entry point and the functions that it calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of instructions analysed.
    pub instructions: usize,
    /// How many of these compute with a secret. An analysis that has lost track of its secrets finds nothing: this shows it.
    pub secret: usize,
    /// Stores of secrets to global memory: a kernel that encrypts has some.
    pub secret_stores: usize,
    /// All findings, in text order, each instruction once for each thing that is wrong with it.
    pub findings: Vec<Finding>,
}
