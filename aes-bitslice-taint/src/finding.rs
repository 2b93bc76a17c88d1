//! What an analysis says.

use std::fmt;

/// An instruction that depends on a secret in a way that can be measured, or that there is no rule for.
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

/// What was found in an entry point and the functions that it calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Instructions that were analysed.
    pub instructions: usize,
    /// Of these, how many compute with a secret. An analysis that has lost its secrets on the way finds nothing: this tells.
    pub secret: usize,
    /// Stores of something secret to global memory: a kernel that encrypts has some.
    pub secret_stores: usize,
    /// Whatever is wrong, in the order of the text, each instruction once for each thing that is wrong with it.
    pub findings: Vec<Finding>,
}
