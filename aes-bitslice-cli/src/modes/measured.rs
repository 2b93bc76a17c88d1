//! A mode in a direction that engines have kernels for: what `bench` and `tune` measure.

use std::fmt;
use std::sync::LazyLock;

use aes_bitslice_runtime::{self as runtime, Direction, Key, KeyBits};
use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::ctr::CTR;
use super::keystream::KEYSTREAM;
use super::mode::{Lengths, Mode, Place};
use super::operation::AnyOperation;
use crate::modes;

/// A mode in a direction, which is [`Direction::Encrypt`] if both are the same.
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

    /// Whether there are keys of this length for it: XTS has none of 192 bits.
    pub fn has_keys_of(self, bits: KeyBits) -> bool {
        !self.kernels.has_tweaks() || bits != KeyBits::Aes192
    }

    /// Whether it takes a key like this: an XTS key is two.
    pub fn takes(self, key: &Key) -> bool {
        self.kernels.has_tweaks() == key.is_xts()
    }

    /// A new random key for it, of a length that it has.
    pub fn generate_key(self, bits: KeyBits) -> Result<Key, runtime::Error> {
        match self.kernels.has_tweaks() {
            true => Key::generate_xts(bits),
            false => Key::generate(bits),
        }
    }

    /// Whether its data is sectors.
    pub fn has_sectors(self) -> bool {
        self.mode.lengths == Lengths::Sectors
    }

    /// Whether it reads data. Otherwise it only writes.
    pub fn reads(self) -> bool {
        self.operation(&Place::start([0; 16])).reads()
    }

    /// The operation on a chunk of a stream.
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
        let names = "ecb-encrypt,ecb-decrypt,cbc-decrypt,ctr,xts-encrypt,xts-decrypt,keystream";
        assert_eq!(MeasuredMode::names(), names);
        // Counter mode of AES-GCM-SIV is not an operation of its own.
        for kernels in runtime::Mode::ALL.into_iter().filter(|&mode| mode != runtime::Mode::CtrLe32) {
            assert!(MeasuredMode::all().iter().any(|mode| mode.kernels == kernels), "{kernels}");
        }
        assert!(MeasuredMode::all().contains(&MeasuredMode::CTR));
        for mode in MeasuredMode::all() {
            assert_eq!(mode.reads(), mode.kernels != runtime::Mode::Keystream, "{mode:?}");
        }
    }

    #[test]
    fn keys_are_those_that_a_mode_takes() {
        for &mode in MeasuredMode::all() {
            for bits in KeyBits::ALL {
                let Ok(key) = mode.generate_key(bits) else {
                    assert!(!mode.has_keys_of(bits), "{mode:?} has no key of {bits:?}");
                    continue;
                };
                assert!(mode.has_keys_of(bits) && key.bits() == bits, "{mode:?}, {bits:?}");
                let takes: Vec<_> = MeasuredMode::all().iter().filter(|mode| mode.takes(&key)).collect();
                assert!(takes.contains(&&mode) && takes.iter().all(|other| other.has_sectors() == mode.has_sectors()));
            }
        }
    }
}
