//! What a kernel is to compute, and where its round keys are.

use crate::sbox::Sbox;
use aes_bitslice_core::aes::{KeyBits, KeySchedule};
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::kernel_name;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::strategy::{BakedStrategy, KeyStrategy};

/// Where a kernel has its round keys, with the keys where they are baked in.
#[derive(Clone, Debug)]
pub enum RoundKeys {
    /// See [`KeyStrategy::Planes`].
    Planes,
    /// See [`KeyStrategy::Bits`].
    Bits,
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
            Self::Bits => KeyStrategy::Bits,
            Self::OneHotMux(_) => KeyStrategy::OneHotMux,
            Self::Immediate(_) => KeyStrategy::Immediate,
        }
    }

    /// The keys that are baked in, if any.
    pub fn baked(&self) -> Option<&KeySchedule> {
        match self {
            Self::Planes | Self::Bits => None,
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

/// A kernel that cannot be; see [`KeyStrategy::has`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("with the strategy `{strategy}` there is no kernel by {layout}: use the layout `{}`", .strategy.layout())]
pub struct NoSuchLayout {
    strategy: KeyStrategy,
    layout: Layout,
}

impl KernelSpec {
    /// A kernel that takes its round keys at launch.
    pub fn planes(mode: Mode, sbox: &'static Sbox) -> Self {
        Self::new(mode, sbox, RoundKeys::Planes)
    }

    /// A kernel to run on the same multiprocessors as one that keeps shared memory busy.
    pub fn co_resident(mode: Mode, sbox: &'static Sbox) -> Self {
        Self::new(mode, sbox, RoundKeys::Bits)
    }

    /// The layout of the strategy, and the basis of the S-box.
    fn new(mode: Mode, sbox: &'static Sbox, round_keys: RoundKeys) -> Self {
        let layout = round_keys.strategy().layout();
        Self { mode, sbox, round_keys, layout, basis: sbox.basis(mode.direction()) }
    }

    /// The same in another layout.
    pub fn with_layout(self, layout: Layout) -> Result<Self, NoSuchLayout> {
        match self.round_keys.strategy() {
            strategy if strategy.has(layout) => Ok(Self { layout, ..self }),
            strategy => Err(NoSuchLayout { strategy, layout }),
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
