//! A mode in a direction: what `bench` measures, and `tune` where there are kernels for exactly this.

use std::fmt;
use std::sync::LazyLock;

use aes_bitslice_runtime::{self as runtime, Direction, Key, KeyBits, Keys};
use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::batch::{Batches, Messages, many_keys};
use super::mode::{Lengths, Mode, Place};
use super::operation::{About, AnyOperation};
use super::table::{CTR, MEASURED};

/// A mode in a direction; [`Direction::Encrypt`] stands for both if they do not differ.
#[derive(Clone, Copy)]
pub struct MeasuredMode {
    pub mode: &'static Mode,
    pub direction: Direction,
    /// The name on the command line.
    pub name: &'static str,
}

impl MeasuredMode {
    /// CTR.
    pub const CTR: Self = Self { mode: &CTR, direction: Direction::Encrypt, name: "ctr" };

    /// All of them.
    pub fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<MeasuredMode>> = LazyLock::new(|| {
            let of = |mode: &'static Mode| {
                mode.measured.iter().map(move |&(direction, name)| MeasuredMode { mode, direction, name })
            };
            MEASURED.into_iter().flat_map(of).collect()
        });
        &ALL
    }

    /// Those with kernels that do this and nothing else, and these kernels.
    pub fn with_kernels() -> impl Iterator<Item = (Self, runtime::Mode)> {
        Self::all().iter().filter_map(|mode| Some((*mode, mode.kernels().filter(|_| !mode.about().has_tag)?)))
    }

    /// Those of this name: a mode's own name stands for both its directions.
    pub fn named(name: &str) -> Vec<Self> {
        Self::all().iter().filter(|mode| mode.mode.name == name || mode.name == name).copied().collect()
    }

    /// The names of all, with commas between them.
    pub fn names() -> &'static str {
        static NAMES: LazyLock<String> =
            LazyLock::new(|| MeasuredMode::all().iter().map(|mode| mode.name).collect::<Vec<_>>().join(","));
        &NAMES
    }

    /// The kernels that it takes; `None` if the CPU does it on every engine.
    pub fn kernels(self) -> Option<runtime::Mode> {
        (self.mode.kernels)(self.direction)
    }

    /// What is true of its operations.
    pub fn about(self) -> About {
        self.operation(&Place::start([0; 16])).about()
    }

    /// Whether there are keys of this length for it: XTS and AES-GCM-SIV have none of 192 bits.
    pub fn has_keys_of(self, bits: KeyBits) -> bool {
        self.about().key_lengths.contains(&bits)
    }

    /// Whether it takes a key like this: an XTS key is two.
    pub fn takes(self, key: &Key) -> bool {
        self.has_two_keys() == key.is_xts() && self.has_keys_of(key.bits())
    }

    /// A new random key for it, of a length that it has.
    pub fn generate_key(self, bits: KeyBits) -> Result<Key, runtime::Error> {
        if self.has_two_keys() { Key::generate_xts(bits) } else { Key::generate(bits) }
    }

    fn has_two_keys(self) -> bool {
        self.about().keys == Keys::Two
    }

    /// Whether its data is sectors.
    pub fn has_sectors(self) -> bool {
        self.mode.lengths == Lengths::Sectors
    }

    /// The operation on a batch, if there are any: keys have `bits` bits, those of messages with keys of their own, too.
    pub fn batch(self, bits: KeyBits, messages: &Messages) -> Result<Option<Box<dyn AnyOperation>>, runtime::Error> {
        match self.mode.batches {
            Batches::None => Ok(None),
            Batches::OneKey(make) | Batches::OneKeyOrMany(make) => make(self.direction, messages).map(Some),
            Batches::ManyKeys => self.kernels().map(|kernels| many_keys(kernels, bits, messages)).transpose(),
        }
    }

    /// The operation on a chunk of a stream.
    pub fn operation(self, place: &Place) -> Box<dyn AnyOperation> {
        (self.mode.operation)(self.direction, place)
    }
}

impl PartialEq for MeasuredMode {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for MeasuredMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl ValueEnum for MeasuredMode {
    fn value_variants<'a>() -> &'a [Self] {
        Self::all()
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let title = self.mode.title;
        let help = match (self.mode.measured.len(), self.direction) {
            (1, _) => title.to_string(),
            (_, Direction::Encrypt) => format!("{title} encryption"),
            (_, Direction::Decrypt) => format!("{title} decryption"),
        };
        Some(PossibleValue::new(self.name).help(help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::table::ALL;

    #[test]
    fn every_mode_is_measured_once() {
        let names = "gcm-encrypt,gcm-decrypt,gcm-siv-encrypt,gcm-siv-decrypt,ecb-encrypt,ecb-decrypt,cbc-encrypt,cbc-decrypt,ctr,\
                     xts-encrypt,xts-decrypt,keystream,prg,cmac,gmac";
        assert_eq!(MeasuredMode::names(), names);
        for mode in ALL {
            assert!(!MeasuredMode::named(mode.name).is_empty(), "{mode:?}");
        }
        assert!(MeasuredMode::all().contains(&MeasuredMode::CTR));
    }

    #[test]
    fn every_kernel_is_that_of_one_measured_mode() {
        // Counter mode of AES-GCM-SIV is not an operation of its own.
        for kernels in runtime::Mode::ALL.into_iter().filter(|&mode| mode != runtime::Mode::CtrLe32) {
            assert_eq!(MeasuredMode::with_kernels().filter(|(_, other)| *other == kernels).count(), 1, "{kernels}");
        }
        assert!(MeasuredMode::with_kernels().all(|(mode, _)| !mode.about().has_tag));
    }

    #[test]
    fn keys_are_those_that_a_mode_takes() {
        for &mode in MeasuredMode::all() {
            for bits in KeyBits::ALL {
                let Some(key) = mode.generate_key(bits).ok().filter(|key| mode.takes(key)) else {
                    assert!(!mode.has_keys_of(bits) && bits == KeyBits::Aes192, "{mode:?} has no key of {bits:?}");
                    continue;
                };
                assert!(mode.has_keys_of(bits) && key.bits() == bits, "{mode:?}, {bits:?}");
                let mut takes = MeasuredMode::all().iter().filter(|mode| mode.takes(&key));
                assert!(takes.all(|other| other.has_sectors() == mode.has_sectors()));
            }
        }
    }
}
