//! A mode of one key in a direction that engines have kernels for: what `bench` and `tune` measure.

use std::fmt;
use std::sync::LazyLock;

use aes_bitslice_runtime::{self as runtime, Direction};
use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::ctr::CTR;
use super::keystream::KEYSTREAM;
use super::mode::{Mode, Place};
use super::operation::AnyOperation;
use crate::modes;

/// A mode in a direction, which is [`Direction::Encrypt`] where both are the same.
#[derive(Clone, Copy)]
pub struct MeasuredMode {
    pub mode: &'static Mode,
    pub direction: Direction,
    /// The kernels that do it.
    pub kernels: runtime::Mode,
}

impl MeasuredMode {
    /// CTR.
    pub const CTR: Self = Self { mode: &CTR, direction: Direction::Encrypt, kernels: runtime::Mode::Ctr };

    /// All of them, in the order of the table of modes, and then key stream.
    pub fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<MeasuredMode>> = LazyLock::new(|| {
            let mut all: Vec<MeasuredMode> = Vec::new();
            for mode in modes::ALL.into_iter().chain([&KEYSTREAM]) {
                for direction in [Direction::Encrypt, Direction::Decrypt] {
                    let Some(kernels) = (mode.kernels)(direction) else { continue };
                    if !runtime::Mode::OF_ONE_KEY.contains(&kernels) {
                        continue;
                    }
                    if all.iter().all(|other| other.kernels != kernels) {
                        all.push(MeasuredMode { mode, direction, kernels });
                    }
                }
            }
            all
        });
        &ALL
    }

    /// The names of all, with commas between them.
    pub fn names() -> &'static str {
        static NAMES: LazyLock<String> =
            LazyLock::new(|| MeasuredMode::all().iter().map(|mode| mode.name()).collect::<Vec<_>>().join(","));
        &NAMES
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.kernels.name()
    }

    /// Whether it reads data. Otherwise it only writes.
    pub fn reads(self) -> bool {
        self.operation(&Place::start([0; 16])).reads()
    }

    /// What is done to a chunk of a stream.
    pub fn operation(self, place: &Place) -> Box<dyn AnyOperation> {
        (self.mode.operation)(self.direction, place)
    }
}

impl PartialEq for MeasuredMode {
    fn eq(&self, other: &Self) -> bool {
        self.kernels == other.kernels
    }
}

impl fmt::Debug for MeasuredMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ValueEnum for MeasuredMode {
    fn value_variants<'a>() -> &'a [Self] {
        Self::all()
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match (self.mode.kernels)(Direction::Encrypt) == (self.mode.kernels)(Direction::Decrypt) {
            true => self.mode.title.to_string(),
            false => match self.direction {
                Direction::Encrypt => format!("{} encryption", self.mode.title),
                Direction::Decrypt => format!("{} decryption", self.mode.title),
            },
        };
        Some(PossibleValue::new(self.name()).help(help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_measured_once() {
        assert_eq!(MeasuredMode::names(), "ecb-encrypt,ecb-decrypt,cbc-decrypt,ctr,keystream");
        for kernels in runtime::Mode::OF_ONE_KEY {
            assert!(MeasuredMode::all().iter().any(|mode| mode.kernels == kernels), "{kernels}");
        }
        assert!(MeasuredMode::all().contains(&MeasuredMode::CTR));
        for mode in MeasuredMode::all() {
            assert_eq!(mode.reads(), mode.kernels != runtime::Mode::Keystream, "{mode:?}");
        }
    }
}
