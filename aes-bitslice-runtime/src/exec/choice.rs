//! The kernels that a caller allows ([`Kernels`]), and the one that a call uses, with its geometry ([`Choice`]).

use crate::base::error::Error;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::named::UnknownName;
use std::fmt;
use std::str::FromStr;

/// The kernels that a GPU engine may use. Written `auto`, `bitsliced`, `tbox`, `co-resident` or `auto-any`.
///
/// Table kernels perform look-ups at addresses that depend on key and data. They are used only on request: with `Tbox`,
/// `CoResident` or `AutoAny`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Kernels {
    /// The fastest kernels in which no branch, address or table index depends on key or data.
    #[default]
    Auto,
    /// The bitsliced kernels.
    Bitsliced,
    /// The table kernels: SubBytes, ShiftRows and MixColumns as look-ups in T-boxes (Daemen and Rijmen, *The Design of
    /// Rijndael*, section 4.2).
    Tbox,
    /// A table kernel and a bitsliced kernel, co-resident, each on its share of the data.
    CoResident,
    /// The fastest of all kernels.
    AutoAny,
}

impl Kernels {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Bitsliced, Self::Tbox, Self::CoResident, Self::AutoAny];

    /// The name used on command lines and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Bitsliced => "bitsliced",
            Self::Tbox => "tbox",
            Self::CoResident => "co-resident",
            Self::AutoAny => "auto-any",
        }
    }

    /// Whether a call may use this choice.
    pub fn allow(self, choice: Choice) -> bool {
        match self {
            Self::Auto | Self::Bitsliced => choice == Choice::Bitsliced,
            Self::Tbox => matches!(choice, Choice::Tbox),
            Self::CoResident => matches!(choice, Choice::CoResident { .. }),
            Self::AutoAny => true,
        }
    }

    /// The kernels that a call may use, as their manifests say.
    pub(crate) fn choices(self) -> Vec<Choice> {
        [Choice::Bitsliced, Choice::Tbox, Choice::CO_RESIDENT]
            .into_iter()
            .filter(|&choice| self.allow(choice))
            .collect()
    }
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kernels {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let unknown = || UnknownName::new("kernel", name, &Self::ALL.map(Self::name));
        Self::ALL.into_iter().find(|kernels| kernels.name() == name).ok_or_else(unknown)
    }
}

/// A kernel, with its remaining parameters. Written `bitsliced`, `tbox` or `co-resident:THOUSANDTHS`.
///
/// A call with a choice whose number is out of bounds fails with [`Error::NoSuchKernel`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Choice {
    /// The bitsliced kernel.
    Bitsliced,
    /// The table kernel.
    Tbox,
    /// The table kernel and the bitsliced kernel at the same time.
    CoResident {
        /// The bitsliced kernel's share of the data, in thousandths: 1 to 999.
        bitsliced: u32,
    },
}

impl Choice {
    /// Both kernels, with shares that take equal times, as measured on an H200.
    pub const CO_RESIDENT: Self = Self::CoResident { bitsliced: 240 };

    /// The kernel's name, without the geometry.
    pub(crate) fn kernel_name(self) -> &'static str {
        match self {
            Self::Bitsliced { .. } => "bitsliced",
            Self::Tbox => "tbox",
            Self::CoResident { .. } => "co-resident",
        }
    }

    fn is_within_bounds(self) -> bool {
        match self {
            Self::Bitsliced | Self::Tbox => true,
            Self::CoResident { bitsliced } => (1..1000).contains(&bitsliced),
        }
    }

    /// Returns this choice if its number is within bounds.
    pub(crate) fn checked(self) -> Result<Self, Error> {
        let what = || format!("`{self}` has a number out of bounds: use 1 to 999 for a co-resident kernel's share");
        if self.is_within_bounds() { Ok(self) } else { Err(Error::NoSuchKernel { what: what() }) }
    }

    /// Whether this is the kernel of another choice, with whatever share.
    pub fn is_kernel_of(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// The choices worth measuring for calls of a given size: every kernel with every share that makes a difference
    /// there. The first choice of each kernel is the built-in one.
    pub fn candidates(bytes: u64) -> Vec<Self> {
        /// Below this the second launch costs more than it can gain.
        const SMALLEST_CO_RESIDENT: u64 = 1 << 20;
        let shares = (bytes >= SMALLEST_CO_RESIDENT)
            .then_some([150, 180, 200, 215, 225, 235, 245, 255, 265, 275, 285, 300, 330]);
        let co_resident = shares.into_iter().flatten().map(|bitsliced| Self::CoResident { bitsliced });
        let mut all = vec![Self::Bitsliced, Self::Tbox];
        all.extend(shares.map(|_| Self::CO_RESIDENT));
        all.extend(co_resident);
        all
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CoResident { bitsliced } => write!(f, "{}:{bitsliced}", self.kernel_name()),
            Self::Bitsliced | Self::Tbox => f.write_str(self.kernel_name()),
        }
    }
}

impl FromStr for Choice {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let mut parts = name.split(':');
        let kernel = parts.next();
        let numbers: Option<Vec<u32>> = parts.map(|text| text.parse().ok()).collect();
        let choice = match (kernel, numbers.as_deref()) {
            (Some("bitsliced"), Some([])) => Some(Self::Bitsliced),
            (Some("tbox"), Some([])) => Some(Self::Tbox),
            (Some("co-resident"), Some(&[bitsliced])) => Some(Self::CoResident { bitsliced }),
            _ => None,
        };
        let known = "bitsliced, tbox, co-resident:THOUSANDTHS";
        choice
            .filter(|choice| choice.is_within_bounds())
            .ok_or_else(|| UnknownName::new("choice of a kernel", name, &[known]))
    }
}

/// The properties of one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Its mode.
    pub mode: Mode,
    /// The length of its key.
    pub key_bits: KeyBits,
    /// Bytes of data.
    pub bytes: u64,
    /// Whether input and output are at multiples of 16 bytes.
    pub aligned: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for kernels in Kernels::ALL {
            assert_eq!(kernels.to_string().parse(), Ok(kernels));
        }
        assert!(
            "any".parse::<Kernels>().unwrap_err().to_string().contains("auto, bitsliced, tbox, co-resident, auto-any")
        );
        for choice in [Choice::Bitsliced, Choice::Tbox, Choice::CoResident { bitsliced: 1 }, Choice::CO_RESIDENT] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        for bad in [
            "",
            "bitsliced:",
            "bitsliced:8",
            "bitsliced:8:64",
            "tbox:0",
            "tbox:1",
            "tbox:x",
            "tbox:1:x",
            "co-resident",
            "co-resident:0",
            "co-resident:1000",
            "Tbox",
            " tbox",
        ] {
            assert!(bad.parse::<Choice>().is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_out_of_bounds_are_an_error() {
        let pair = |bitsliced| Choice::CoResident { bitsliced };
        for good in [pair(1), pair(999), Choice::Tbox, Choice::Bitsliced] {
            assert_eq!(good.checked().unwrap(), good);
        }
        for bad in [pair(0), pair(1000), pair(5000)] {
            assert!(matches!(bad.checked(), Err(Error::NoSuchKernel { .. })), "{bad}");
        }
    }

    #[test]
    fn a_kernel_is_the_same_with_any_share() {
        let all = [Choice::Bitsliced, Choice::Tbox, Choice::CO_RESIDENT];
        for (i, one) in all.into_iter().enumerate() {
            assert_eq!(all.map(|other| one.is_kernel_of(other)), [0, 1, 2].map(|other| other == i), "{one}");
        }
        assert!(Choice::CO_RESIDENT.is_kernel_of(Choice::CoResident { bitsliced: 1 }));
    }

    /// Table kernels, alone or beside others, have to be asked for.
    #[test]
    fn what_kernels_allow() {
        for (kernels, allowed) in [
            (Kernels::Auto, [true, false, false]),
            (Kernels::default(), [true, false, false]),
            (Kernels::Bitsliced, [true, false, false]),
            (Kernels::Tbox, [false, true, false]),
            (Kernels::CoResident, [false, false, true]),
            (Kernels::AutoAny, [true; 3]),
        ] {
            let choices = [Choice::Bitsliced, Choice::Tbox, Choice::CoResident { bitsliced: 1 }];
            assert_eq!(choices.map(|choice| kernels.allow(choice)), allowed, "{kernels}");
        }
    }

    #[test]
    fn candidates_are_distinct_and_cover_what_is_allowed() {
        for power in 12..=32 {
            let all = Choice::candidates(1 << power);
            for (i, choice) in all.iter().enumerate() {
                assert!(!all[..i].contains(choice), "{choice} twice for 2^{power} bytes");
                assert_eq!(choice.to_string().parse(), Ok(*choice));
            }
            assert!(all.contains(&Choice::Bitsliced) && all.contains(&Choice::Tbox));
        }
        // A small call is not worth a second launch.
        assert!(Choice::candidates(4096).len() < Choice::candidates(4 << 30).len());
    }
}
