//! What a paper is.

use crate::case::{Case, Kernel};
use crate::papers::claim::{Claim, Rates, Sentence};

/// A paper, in the words of its first page, and what is measured of it.
pub struct Paper {
    /// Its name on the command line; its tables' names begin with it.
    pub name: &'static str,
    /// Authors and year.
    pub authors: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Where it appeared.
    pub at: &'static str,
    /// Through which interface its kernels are measured.
    pub api: Api,
    /// The cases to measure on a machine with this number of CUDA GPUs.
    pub cases: fn(usize) -> Vec<Case>,
    /// The kernels among them whose instructions are counted where there is a profiler, in words.
    pub counted: fn() -> Vec<(&'static str, Kernel)>,
    /// Its claims about its kernels.
    pub claims: fn() -> Vec<Claim>,
    /// Its other sentences, with the rates that were measured.
    pub sentences: fn(Rates) -> Vec<Sentence>,
    /// Bits that its Gbit are, in 10^9: its own figures are in that unit.
    pub gbit: f64,
}

/// A figure as a paper prints it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quoted(pub &'static str);

impl Quoted {
    /// The number.
    pub fn value(self) -> f64 {
        self.0.parse().expect("a figure is a number")
    }
}

/// A Gbit of 2^30 bits, in 10^9 bits.
pub const BINARY_GBIT: f64 = (1 << 30) as f64 / 1e9;

/// An interface to devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Api {
    /// NVIDIA's.
    Cuda,
    /// The interface of all vendors.
    OpenCl,
}
