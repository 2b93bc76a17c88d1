//! The function that a kernel computes, and where its round keys are.

use crate::linear;
use crate::sbox::Sbox;
use aes_bitslice_core::aes::{KeyBits, KeySchedule};
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::column_basis::ColumnBasis;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::kernel_name;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::strategy::KeyStrategy;
use std::ops::Range;

/// Where a kernel keeps its round keys, including the keys where they are baked in.
#[derive(Clone, Debug)]
pub enum RoundKeys {
    /// See [`KeyStrategy::Planes`].
    Planes,
    /// See [`KeyStrategy::PlanesInMemory`].
    PlanesInMemory,
    /// See [`KeyStrategy::Bits`].
    Bits,
    /// See [`KeyStrategy::OneHotMux`].
    OneHotMux(KeySchedule),
}

impl RoundKeys {
    /// The strategy without the keys.
    pub fn strategy(&self) -> KeyStrategy {
        match self {
            Self::Planes => KeyStrategy::Planes,
            Self::PlanesInMemory => KeyStrategy::PlanesInMemory,
            Self::Bits => KeyStrategy::Bits,
            Self::OneHotMux(_) => KeyStrategy::OneHotMux,
        }
    }

    /// The baked-in keys, if any.
    pub fn baked(&self) -> Option<&KeySchedule> {
        match self {
            Self::Planes | Self::PlanesInMemory | Self::Bits => None,
            Self::OneHotMux(keys) => Some(keys),
        }
    }
}

/// The circuits of a round's layers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Layers {
    /// The fewest known LUT3s, with MixColumns and AddRoundKey as one circuit.
    Fewest,
    /// As Hajihassani et al. 2019 describe them (sections 4.3 to 4.6): two-input gates, which the compiler may merge, the S-box as
    /// published, MixColumns by equation 5 and algorithm 1, and a separate AddRoundKey.
    Published,
}

/// How a thread that holds the state of 32 blocks reaches its data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DataPath {
    /// From and to device memory.
    Direct,
    /// Through shared memory: the thread block copies its data there and back (Hajihassani et al. 2019, sections 6.3 and 6.4).
    Staged,
}

/// Which round keys one-hot selectors pick, where a thread holds the state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Selected {
    /// Those between the first and the last, which are constants in the code.
    Middle,
    /// All of them: the cipher is a loop over one round, which adds the key of its number, whichever it is.
    All,
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
    /// The part of the state that a thread holds.
    pub layout: Layout,
    /// The basis of every byte between rounds.
    pub basis: Basis,
    /// The circuits of the layers.
    pub layers: Layers,
    /// How threads reach their data; by column, directly.
    pub data: DataPath,
    /// Which round keys selectors pick: all of them only with layers as published.
    pub selected: Selected,
}

/// There is no such kernel; see [`KeyStrategy::has`].
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

    /// A kernel that fetches one round key at a time from device memory into shared memory.
    pub fn planes_in_memory(mode: Mode, sbox: &'static Sbox) -> Self {
        Self::new(mode, sbox, RoundKeys::PlanesInMemory)
    }

    /// A kernel to run on the same multiprocessors as one that keeps shared memory busy.
    pub fn co_resident(mode: Mode, sbox: &'static Sbox) -> Self {
        Self::new(mode, sbox, RoundKeys::Bits)
    }

    /// With the layout of the strategy and the basis of the S-box.
    fn new(mode: Mode, sbox: &'static Sbox, round_keys: RoundKeys) -> Self {
        let layout = round_keys.strategy().layout();
        let basis = sbox.basis(mode.direction());
        let (layers, data, selected) = (Layers::Fewest, DataPath::Direct, Selected::Middle);
        Self { mode, sbox, round_keys, layout, basis, layers, data, selected }
    }

    /// This kernel in another layout.
    pub fn with_layout(self, layout: Layout) -> Result<Self, NoSuchLayout> {
        match self.round_keys.strategy() {
            strategy if strategy.has(layout) => Ok(Self { layout, ..self }),
            strategy => Err(NoSuchLayout { strategy, layout }),
        }
    }

    /// This kernel with another S-box: between rounds, bytes are in its basis, except with layers as published.
    pub fn with_sbox(self, sbox: &'static Sbox) -> Self {
        let basis = match self.layers {
            Layers::Fewest => sbox.basis(self.mode.direction()),
            Layers::Published => self.basis,
        };
        Self { sbox, basis, ..self }
    }

    /// This kernel with bytes in another basis between rounds.
    pub fn with_basis(self, basis: Basis) -> Self {
        Self { basis, ..self }
    }

    /// This kernel with layers as published, by state and in the standard basis.
    pub fn published(self) -> Self {
        Self { layout: Layout::State, basis: Basis::STANDARD, layers: Layers::Published, ..self }
    }

    /// This kernel with layers as published and, if selectors pick its round keys, with all of them picked in one generic round.
    pub fn generic(self) -> Self {
        match self.round_keys {
            RoundKeys::OneHotMux(_) => Self { selected: Selected::All, ..self.published() },
            _ => self.published(),
        }
    }

    /// The round keys that selectors pick in a cipher with this number of rounds.
    pub fn selected_keys(&self, rounds: usize) -> Range<usize> {
        match self.selected {
            Selected::Middle => 1..rounds,
            Selected::All => 0..rounds + 1,
        }
    }

    /// This kernel with data that goes through shared memory, by state.
    pub fn staged(self) -> Self {
        Self { layout: Layout::State, data: DataPath::Staged, ..self }
    }

    /// A kernel with a key of 16, 24 or 32 bytes baked in; `None` for other lengths.
    pub fn baked(mode: Mode, sbox: &'static Sbox, key: &[u8]) -> Option<Self> {
        Some(Self::new(mode, sbox, RoundKeys::OneHotMux(KeySchedule::new(key, mode.direction())?)))
    }

    /// The basis of round keys between the first and the last: the basis of bytes, or another where AddRoundKey is part of MixColumns.
    pub fn key_basis(&self) -> ColumnBasis {
        match self.layers {
            Layers::Published => self.basis.into(),
            Layers::Fewest => linear::key_basis(self.mode.direction(), self.basis),
        }
    }

    /// The tweak cipher of a kernel whose mode has tweaks: it encrypts, in the best basis for encryption.
    pub fn of_tweaks(&self) -> Self {
        let mode = Mode::XtsEncrypt;
        Self { mode, basis: self.sbox.basis(mode.direction()), ..self.clone() }
    }

    /// The key length, if the kernel is for one length only.
    pub fn key_bits(&self) -> Option<KeyBits> {
        self.round_keys.baked().map(KeySchedule::key_bits)
    }

    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(&self) -> String {
        kernel_name(self.mode, self.round_keys.strategy(), self.key_bits().map(KeyBits::bits), self.layout)
    }
}
