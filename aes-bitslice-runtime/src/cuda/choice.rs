//! Which kernel a call on the GPU takes, and how its work is laid over the device.
//!
//! [`Kernels`] is what a user allows, [`Choice`] what one call gets. What is fastest was measured
//! ([`Tuning`](super::Tuning)) or, where nothing was, is in the table here.

use crate::{Error, KeyBits, Mode};
use std::fmt;
use std::str::FromStr;

/// Which kernels a GPU engine may use. Written `auto`, `bitsliced`, `tbox`, `pair` or `auto-any`.
///
/// Table kernels look tables up at addresses that depend on key and data. They are used only if asked for: by `Tbox`,
/// `Pair` or `AutoAny`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Kernels {
    /// The fastest of those in which no branch, no address and no table index depends on key or data.
    #[default]
    Auto,
    /// The bitsliced kernels.
    Bitsliced,
    /// The table kernels: SubBytes, ShiftRows and MixColumns as look-ups in T-boxes (Daemen and Rijmen, *The Design of
    /// Rijndael*, section 4.2).
    Tbox,
    /// A table kernel and a bitsliced kernel side by side, each on its share of the data.
    Pair,
    /// The fastest of all.
    AutoAny,
}

impl Kernels {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Bitsliced, Self::Tbox, Self::Pair, Self::AutoAny];

    /// The name used on command lines and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Bitsliced => "bitsliced",
            Self::Tbox => "tbox",
            Self::Pair => "pair",
            Self::AutoAny => "auto-any",
        }
    }

    /// Whether a call may take this choice.
    pub fn allow(self, choice: Choice) -> bool {
        match self {
            Self::Auto | Self::Bitsliced => matches!(choice, Choice::Bitsliced { .. }),
            Self::Tbox => matches!(choice, Choice::Tbox),
            Self::Pair => matches!(choice, Choice::Pair { .. }),
            Self::AutoAny => true,
        }
    }

    /// The kernels that a call may take, as their manifests say.
    pub(super) fn choices(self) -> Vec<Choice> {
        [Choice::BITSLICED, Choice::Tbox, Choice::PAIR].into_iter().filter(|&choice| self.allow(choice)).collect()
    }
}

/// A name that is none of the known ones.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown {what} `{name}`; known: {known}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: String,
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kernels {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let unknown = || UnknownName { what: "kernel", name: name.into(), known: Self::ALL.map(Self::name).join(", ") };
        Self::ALL.into_iter().find(|kernels| kernels.name() == name).ok_or_else(unknown)
    }
}

/// A kernel with its geometry. Written `bitsliced`, `bitsliced:MOST:LEFT`, `tbox` or `pair:THOUSANDTHS`.
///
/// A call by one whose numbers are out of bounds fails with [`Error::NoSuchKernel`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Choice {
    /// The bitsliced kernel.
    Bitsliced {
        /// How many runs a thread block works through; as the kernel's manifest says if `None`.
        runs: Option<Runs>,
    },
    /// The table kernel.
    Tbox,
    /// Both at the same time.
    Pair {
        /// The bitsliced kernel's share of the data, in thousandths: 1 to 999.
        bitsliced: u32,
    },
}

/// How many runs a thread block works through, one after the other: the more, the less weighs what it does once; the
/// fewer, the more thread blocks there are, and the more evenly is the device busy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Runs {
    /// As many at most: 1 to 65,536.
    pub most: u32,
    /// Fewer, if otherwise a multiprocessor would be left with fewer thread blocks than this: 1 to 65,536.
    pub left: u32,
}

impl Choice {
    /// The bitsliced kernel as its manifest says.
    pub const BITSLICED: Self = Self::Bitsliced { runs: None };
    /// Both, each with what it gets done in the time of the other, as measured on an H200.
    pub const PAIR: Self = Self::Pair { bitsliced: 240 };

    /// The kernel's name, without the geometry.
    pub(super) fn kernel_name(self) -> &'static str {
        match self {
            Self::Bitsliced { .. } => "bitsliced",
            Self::Tbox => "tbox",
            Self::Pair { .. } => "pair",
        }
    }

    /// Whether all numbers are within their bounds: no geometry comes near the largest, and none may overflow what is
    /// computed with it.
    fn is_within_bounds(self) -> bool {
        let number = |n: u32| (1..=1 << 16).contains(&n);
        match self {
            Self::Bitsliced { runs } => runs.is_none_or(|runs| number(runs.most) && number(runs.left)),
            Self::Tbox => true,
            Self::Pair { bitsliced } => (1..1000).contains(&bitsliced),
        }
    }

    /// The same if all numbers are within their bounds.
    pub(super) fn checked(self) -> Result<Self, Error> {
        let what =
            || format!("`{self}` has a number out of bounds: use 1 to 65536 for runs, 1 to 999 for a pair's share");
        if self.is_within_bounds() { Ok(self) } else { Err(Error::NoSuchKernel { what: what() }) }
    }

    /// Whether this is the same kernel, with whatever geometry.
    pub fn is_kernel_of(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// What is worth measuring for calls of a size on a device: every kernel with every geometry that makes a
    /// difference there. Of each kernel, the first is as its manifest says.
    pub fn candidates(bytes: u64, multiprocessors: u32) -> Vec<Self> {
        /// Bytes of a run, where threads hold columns.
        const RUN: u64 = 16 << 10;
        /// Thread blocks that a multiprocessor is left with, so that it does not run dry before the others.
        const LEFT: u32 = 8;
        /// Below this a pair's second launch costs more than it can bring.
        const SMALLEST_PAIR: u64 = 1 << 20;
        let fits = |most: &u32| bytes >= RUN * u64::from(*most) * u64::from(multiprocessors * LEFT);
        let runs = [1, 2, 4, 8, 16, 32].into_iter().filter(|most| *most == 1 || fits(most));
        let bitsliced = runs.map(|most| Self::Bitsliced { runs: Some(Runs { most, left: LEFT }) });
        let shares =
            (bytes >= SMALLEST_PAIR).then_some([150, 180, 200, 215, 225, 235, 245, 255, 265, 275, 285, 300, 330]);
        let pairs = shares.into_iter().flatten().map(|bitsliced| Self::Pair { bitsliced });
        let mut all = vec![Self::BITSLICED];
        all.extend(bitsliced);
        all.push(Self::Tbox);
        all.extend(shares.map(|_| Self::PAIR));
        all.extend(pairs);
        all
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bitsliced { runs: Some(Runs { most, left }) } => write!(f, "{}:{most}:{left}", self.kernel_name()),
            Self::Pair { bitsliced } => write!(f, "{}:{bitsliced}", self.kernel_name()),
            Self::Bitsliced { runs: None } | Self::Tbox => f.write_str(self.kernel_name()),
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
            (Some("bitsliced"), Some([])) => Some(Self::BITSLICED),
            (Some("bitsliced"), Some(&[most, left])) => Some(Self::Bitsliced { runs: Some(Runs { most, left }) }),
            (Some("tbox"), Some([])) => Some(Self::Tbox),
            (Some("pair"), Some(&[bitsliced])) => Some(Self::Pair { bitsliced }),
            _ => None,
        };
        let known = "bitsliced, bitsliced:MOST:LEFT, tbox, pair:THOUSANDTHS";
        choice.filter(|choice| choice.is_within_bounds()).ok_or_else(|| UnknownName {
            what: "choice of a kernel",
            name: name.into(),
            known: known.into(),
        })
    }
}

/// What one call asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Its mode.
    pub mode: Mode,
    /// The length of its key.
    pub key_bits: KeyBits,
    /// Bytes of data.
    pub bytes: u64,
    /// Whether input and output lie at multiples of 16 bytes.
    pub aligned: bool,
}

/// A line of the table of what is fastest where nothing was measured.
struct Row {
    /// Compute capability, as in `sm_90`: 90. Every one if `None`.
    architecture: Option<u32>,
    /// Every mode if `None`.
    mode: Option<Mode>,
    /// From calls of this size on.
    bytes: u64,
    choice: Choice,
}

/// What is fastest where nothing was measured: of the lines that fit, and that are allowed, the last.
const BUILT_IN: &[Row] = &[
    Row { architecture: None, mode: None, bytes: 0, choice: Choice::BITSLICED },
    // Measured on an H200. A table kernel copies its tables to shared memory first: that pays when there is enough to look
    // up. On other devices nobody measured where.
    Row { architecture: Some(90), mode: None, bytes: 16 << 20, choice: Choice::Tbox },
    Row { architecture: Some(90), mode: Some(Mode::EcbEncrypt), bytes: 16 << 20, choice: Choice::PAIR },
    Row { architecture: Some(90), mode: Some(Mode::EcbDecrypt), bytes: 16 << 20, choice: Choice::PAIR },
    // And CTR makes its parts, too, for both kernels of a pair.
    Row { architecture: Some(90), mode: Some(Mode::Ctr), bytes: 128 << 20, choice: Choice::PAIR },
];

/// What a call takes on a device where nothing was measured. `available` tells what the device can run.
pub(super) fn built_in(architecture: u32, kernels: Kernels, call: &Call, available: impl Fn(Choice) -> bool) -> Choice {
    let fits = |row: &&Row| {
        row.architecture.is_none_or(|a| a == architecture)
            && row.mode.is_none_or(|mode| mode == call.mode)
            && row.bytes <= call.bytes
            && kernels.allow(row.choice)
            && available(row.choice)
    };
    // What was asked for by name is taken whether it is there or not: the call will say that it is not.
    BUILT_IN.iter().rfind(fits).map_or(kernels.choices()[0], |row| row.choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(bytes: u64) -> Call {
        Call { mode: Mode::Ctr, key_bits: KeyBits::Aes128, bytes, aligned: true }
    }

    #[test]
    fn names_read_back() {
        for kernels in Kernels::ALL {
            assert_eq!(kernels.to_string().parse(), Ok(kernels));
        }
        assert!("any".parse::<Kernels>().unwrap_err().to_string().contains("auto, bitsliced, tbox, pair, auto-any"));
        let runs = Some(Runs { most: 16, left: 32 });
        for choice in
            [Choice::BITSLICED, Choice::Bitsliced { runs }, Choice::Tbox, Choice::Pair { bitsliced: 1 }, Choice::PAIR]
        {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        for bad in [
            "",
            "bitsliced:",
            "bitsliced:8",
            "bitsliced:0:8",
            "bitsliced:8:-1",
            "bitsliced:8:64:1",
            "bitsliced:99999:1",
            "bitsliced:8:",
            "tbox:0",
            "tbox:1",
            "tbox:x",
            "tbox:1:x",
            "pair",
            "pair:0",
            "pair:1000",
            "Tbox",
            " tbox",
        ] {
            assert!(bad.parse::<Choice>().is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_out_of_bounds_are_an_error() {
        let runs = |most, left| Choice::Bitsliced { runs: Some(Runs { most, left }) };
        let pair = |bitsliced| Choice::Pair { bitsliced };
        for good in [runs(1, 1), runs(1 << 16, 1 << 16), pair(1), pair(999), Choice::Tbox, Choice::BITSLICED] {
            assert_eq!(good.checked().unwrap(), good);
        }
        for bad in [runs(0, 1), runs(1, 0), runs(1, u32::MAX), runs((1 << 16) + 1, 1), pair(0), pair(1000), pair(5000)]
        {
            assert!(matches!(bad.checked(), Err(Error::NoSuchKernel { .. })), "{bad}");
        }
    }

    /// Whatever the size and the device, code whose addresses depend on secrets has to be asked for.
    #[test]
    fn table_kernels_are_never_taken_unasked() {
        for architecture in [75, 80, 86, 89, 90, 100, 120] {
            for power in 0..64 {
                for mode in Mode::ALL {
                    let call = Call { mode, ..call(1 << power) };
                    for kernels in [Kernels::Auto, Kernels::Bitsliced] {
                        assert_eq!(built_in(architecture, kernels, &call, |_| true), Choice::BITSLICED);
                    }
                    let named = [(Kernels::Tbox, Choice::Tbox), (Kernels::Pair, Choice::PAIR)];
                    for (kernels, choice) in named {
                        assert!(built_in(architecture, kernels, &call, |_| true).is_kernel_of(choice));
                    }
                }
            }
        }
    }

    #[test]
    fn the_fastest_of_all_by_size_and_device() {
        let any = |architecture, bytes| built_in(architecture, Kernels::AutoAny, &call(bytes), |_| true);
        assert_eq!(any(80, 4096), Choice::BITSLICED);
        assert_eq!(any(80, 1 << 30), Choice::BITSLICED);
        assert_eq!(any(90, 16 << 20), Choice::Tbox);
        assert_eq!(any(90, 1 << 30), Choice::PAIR);
        // What the device cannot run is passed over, unless it was asked for by name: then the call says why it fails.
        let bitsliced = |choice| Kernels::Bitsliced.allow(choice);
        assert_eq!(built_in(90, Kernels::AutoAny, &call(1 << 30), bitsliced), Choice::BITSLICED);
        assert_eq!(built_in(90, Kernels::Tbox, &call(1 << 30), bitsliced), Choice::Tbox);
    }

    #[test]
    fn candidates_are_distinct_and_cover_what_is_allowed() {
        for power in 12..=32 {
            let all = Choice::candidates(1 << power, 132);
            for (i, choice) in all.iter().enumerate() {
                assert!(!all[..i].contains(choice), "{choice} twice for 2^{power} bytes");
                assert_eq!(choice.to_string().parse(), Ok(*choice));
            }
            assert!(all.contains(&Choice::BITSLICED) && all.contains(&Choice::Tbox));
        }
        // A small call has no thread blocks to spare.
        assert!(Choice::candidates(4096, 132).len() < Choice::candidates(4 << 30, 132).len());
    }
}
