//! What a kernel is to compute, and where its round keys are.

use crate::aes::{Direction, KeyBits, KeySchedule};
use crate::basis::Basis;
use crate::layout::Layout;
use crate::sbox::Sbox;
use std::fmt;
use std::str::FromStr;

/// A mode of operation (SP 800-38A) in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// Electronic codebook, encryption.
    EcbEncrypt,
    /// Electronic codebook, decryption.
    EcbDecrypt,
    /// Counter mode; encryption and decryption are the same.
    Ctr,
    /// Cipher block chaining, decryption: all blocks at once. (Encryption has to do one after the other.)
    CbcDecrypt,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::EcbEncrypt, Self::EcbDecrypt, Self::Ctr, Self::CbcDecrypt];

    /// The name used on command lines, in file names and in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::EcbEncrypt => "ecb-encrypt",
            Self::EcbDecrypt => "ecb-decrypt",
            Self::Ctr => "ctr",
            Self::CbcDecrypt => "cbc-decrypt",
        }
    }

    /// Electronic codebook in a direction.
    pub fn ecb(direction: Direction) -> Self {
        match direction {
            Direction::Encrypt => Self::EcbEncrypt,
            Direction::Decrypt => Self::EcbDecrypt,
        }
    }

    /// Which way the block cipher runs.
    pub fn direction(self) -> Direction {
        match self {
            Self::EcbEncrypt | Self::Ctr => Direction::Encrypt,
            Self::EcbDecrypt | Self::CbcDecrypt => Direction::Decrypt,
        }
    }
}

/// Where a kernel has its round keys; the names of [`RoundKeys`] without the keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyStrategy {
    /// Handed over at launch and spread over bit-planes; one kernel for every key of every length.
    Planes,
    /// Baked in; picked by one-hot selectors instead of branches (Hajihassani et al. 2019, section 4.6): where a thread
    /// holds the state, inside the rolled round loop; where it holds a column, before it, into shared memory.
    OneHotMux,
    /// Baked in; rounds unrolled, every key bit folded into a truth table.
    Immediate,
}

impl KeyStrategy {
    /// All strategies.
    pub const ALL: [Self; 3] = [Self::Planes, Self::OneHotMux, Self::Immediate];

    /// The name used on command lines, in file names and in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planes => "planes",
            Self::OneHotMux => "one-hot-mux",
            Self::Immediate => "immediate",
        }
    }

    /// The layout that a kernel has unless another is asked for: the faster one, where there is a choice.
    pub fn layout(self) -> Layout {
        match self {
            Self::Planes | Self::OneHotMux => Layout::Column,
            Self::Immediate => Layout::State,
        }
    }
}

/// A name that is none of the known ones; the message lists those.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown {what} `{name}`; known: {known}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: String,
}

macro_rules! named {
    ($type:ty, $what:literal) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;
            fn from_str(name: &str) -> Result<Self, UnknownName> {
                Self::ALL.into_iter().find(|v| v.name() == name).ok_or_else(|| UnknownName {
                    what: $what,
                    name: name.into(),
                    known: Self::ALL.map(Self::name).join(", "),
                })
            }
        }
    };
}
named!(Mode, "mode");
named!(KeyStrategy, "key strategy");
named!(Layout, "layout");

/// Where a kernel has its round keys, with the keys where they are baked in.
#[derive(Clone, Debug)]
pub enum RoundKeys {
    /// See [`KeyStrategy::Planes`].
    Planes,
    /// See [`KeyStrategy::OneHotMux`].
    OneHotMux(KeySchedule),
    /// See [`KeyStrategy::Immediate`].
    Immediate(KeySchedule),
}

impl RoundKeys {
    /// The strategy without the keys.
    pub fn strategy(&self) -> KeyStrategy {
        match self {
            Self::Planes => KeyStrategy::Planes,
            Self::OneHotMux(_) => KeyStrategy::OneHotMux,
            Self::Immediate(_) => KeyStrategy::Immediate,
        }
    }

    /// The keys that are baked in, if any.
    pub fn baked(&self) -> Option<&KeySchedule> {
        match self {
            Self::Planes => None,
            Self::OneHotMux(keys) | Self::Immediate(keys) => Some(keys),
        }
    }
}

/// A kernel to generate.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    /// The mode and direction.
    pub mode: Mode,
    /// The S-box circuits.
    pub sbox: &'static Sbox,
    /// Where the round keys are.
    pub round_keys: RoundKeys,
    /// What of the state a thread holds.
    pub layout: Layout,
    /// The basis of every byte between rounds.
    pub basis: Basis,
}

/// A kernel that cannot be.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "with the strategy `immediate` every column has code of its own, which threads of one warp cannot run side by side: use the layout `state`"
)]
pub struct ImmediateByColumn;

impl KernelSpec {
    /// A kernel that takes its round keys at launch.
    pub fn planes(mode: Mode, sbox: &'static Sbox) -> Self {
        Self::new(mode, sbox, RoundKeys::Planes)
    }

    /// The layout of the strategy, and the basis of the S-box.
    fn new(mode: Mode, sbox: &'static Sbox, round_keys: RoundKeys) -> Self {
        let layout = round_keys.strategy().layout();
        Self { mode, sbox, round_keys, layout, basis: sbox.basis(mode.direction()) }
    }

    /// The same in another layout.
    pub fn with_layout(self, layout: Layout) -> Result<Self, ImmediateByColumn> {
        match (&self.round_keys, layout) {
            (RoundKeys::Immediate(_), Layout::Column) => Err(ImmediateByColumn),
            _ => Ok(Self { layout, ..self }),
        }
    }

    /// The same with bytes in another basis between rounds.
    pub fn with_basis(self, basis: Basis) -> Self {
        Self { basis, ..self }
    }

    /// A kernel with a key of 16, 24 or 32 bytes baked in; `None` for other lengths.
    pub fn baked(mode: Mode, sbox: &'static Sbox, strategy: BakedStrategy, key: &[u8]) -> Option<Self> {
        let schedule = KeySchedule::new(key, mode.direction())?;
        let round_keys = match strategy {
            BakedStrategy::OneHotMux => RoundKeys::OneHotMux(schedule),
            BakedStrategy::Immediate => RoundKeys::Immediate(schedule),
        };
        Some(Self::new(mode, sbox, round_keys))
    }

    /// The key length, if the kernel is for one only.
    pub fn key_bits(&self) -> Option<KeyBits> {
        self.round_keys.baked().map(KeySchedule::key_bits)
    }

    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(&self) -> String {
        kernel_name(self.mode, self.round_keys.strategy(), self.key_bits().map(KeyBits::bits), self.layout)
    }
}

/// The name of a kernel, by what it is; `key_bits` if it is for one length only.
pub(crate) fn kernel_name(mode: Mode, strategy: KeyStrategy, key_bits: Option<usize>, layout: Layout) -> String {
    let key = key_bits.map(|bits| format!("-{bits}")).unwrap_or_default();
    let layout = if layout == strategy.layout() { String::new() } else { format!("-{layout}") };
    format!("aes{key}-{mode}-{strategy}{layout}")
}

/// The strategies that bake a key in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BakedStrategy {
    /// See [`KeyStrategy::OneHotMux`].
    OneHotMux,
    /// See [`KeyStrategy::Immediate`].
    Immediate,
}

impl BakedStrategy {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::OneHotMux, Self::Immediate];

    /// The name, as the strategy's.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneHotMux => KeyStrategy::OneHotMux.name(),
            Self::Immediate => KeyStrategy::Immediate.name(),
        }
    }
}
named!(BakedStrategy, "key strategy for a baked key");

impl From<BakedStrategy> for KeyStrategy {
    fn from(strategy: BakedStrategy) -> Self {
        match strategy {
            BakedStrategy::OneHotMux => Self::OneHotMux,
            BakedStrategy::Immediate => Self::Immediate,
        }
    }
}
