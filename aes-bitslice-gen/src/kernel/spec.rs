//! What a kernel is to compute, and where its round keys are.

use crate::aes::{Direction, KeyBits, KeySchedule};
use crate::basis::Basis;
use crate::layout::Layout;
use crate::sbox::{CANRIGHT, Sbox};

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
    /// Bit-planes in device memory, of which a thread block fetches one round key at a time into shared memory
    /// (Hajihassani et al. 2019, section 4.6); one kernel for every key of every length.
    PlanesInMemory,
    /// Handed over at launch, kept as a byte a bit, and spread over a bit-plane whenever it is read: fewer accesses to shared
    /// memory and more instructions than `planes`, for a kernel beside one that keeps shared memory busy.
    Bits,
    /// Baked in; picked by one-hot selectors instead of branches (Hajihassani et al. 2019, section 4.6): where a thread
    /// holds the state, inside the rolled round loop; where it holds a column, before it, into shared memory.
    OneHotMux,
    /// Baked in; rounds unrolled, every key bit folded into a truth table.
    Immediate,
}

impl KeyStrategy {
    /// All strategies.
    pub const ALL: [Self; 5] = [Self::Planes, Self::PlanesInMemory, Self::Bits, Self::OneHotMux, Self::Immediate];

    /// The name used on command lines, in file names and in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planes => "planes",
            Self::PlanesInMemory => "planes-in-memory",
            Self::Bits => "bits",
            Self::OneHotMux => "one-hot-mux",
            Self::Immediate => "immediate",
        }
    }

    /// The layout that a kernel has unless another is asked for: the faster one, where there is a choice.
    pub fn layout(self) -> Layout {
        match self {
            Self::Planes | Self::Bits | Self::OneHotMux => Layout::Column,
            Self::PlanesInMemory | Self::Immediate => Layout::State,
        }
    }

    /// Whether there is a kernel in this layout. With `immediate` every column would have code of its own, which threads of
    /// one warp cannot run side by side; `planes-in-memory` is as it was published, by state.
    pub fn has(self, layout: Layout) -> bool {
        match self {
            Self::Planes | Self::OneHotMux => true,
            Self::Bits => layout == Layout::Column,
            Self::PlanesInMemory | Self::Immediate => layout == Layout::State,
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

impl UnknownName {
    /// For a name that is none of `known`.
    pub(crate) fn new(what: &'static str, name: &str, known: &[&str]) -> Self {
        Self { what, name: name.into(), known: known.join(", ") }
    }
}

/// Writes and reads a type of which there are `ALL` by its `name`.
macro_rules! named {
    ($type:ty, $what:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::kernel::UnknownName;
            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::ALL
                    .into_iter()
                    .find(|v| v.name() == name)
                    .ok_or_else(|| $crate::kernel::UnknownName::new($what, name, &Self::ALL.map(Self::name)))
            }
        }
    };
}
pub(crate) use named;
named!(Mode, "mode");
named!(KeyStrategy, "key strategy");
named!(Layout, "layout");

/// Where a kernel has its round keys, with the keys where they are baked in.
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
    /// See [`KeyStrategy::Immediate`].
    Immediate(KeySchedule),
}

impl RoundKeys {
    /// The strategy without the keys.
    pub fn strategy(&self) -> KeyStrategy {
        match self {
            Self::Planes => KeyStrategy::Planes,
            Self::PlanesInMemory => KeyStrategy::PlanesInMemory,
            Self::Bits => KeyStrategy::Bits,
            Self::OneHotMux(_) => KeyStrategy::OneHotMux,
            Self::Immediate(_) => KeyStrategy::Immediate,
        }
    }

    /// The keys that are baked in, if any.
    pub fn baked(&self) -> Option<&KeySchedule> {
        match self {
            Self::Planes | Self::PlanesInMemory | Self::Bits => None,
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

    /// A kernel to run beside one that keeps shared memory busy, on the same multiprocessors.
    pub fn beside(mode: Mode, sbox: &'static Sbox) -> Self {
        Self::new(mode, sbox, RoundKeys::Bits)
    }

    /// The kernel of O. Hajihassani, S. K. Monfared, S. H. Khasteh and S. Gorgin, *Fast AES Implementation: A
    /// High-throughput Bitsliced Approach* (2019), with the first of its two ways to store the keys: 32 blocks a thread in
    /// 128 registers (section 4.2), Canright's S-box (4.3), ShiftRows by renaming (4.5), round keys as planes in global
    /// memory that are fetched into shared memory one at a time (4.6), 64 threads a thread block and their data in 32 KiB
    /// of shared memory (6.3, 6.4), counters made as planes (6.4).
    ///
    /// As in every kernel here, gates are LUT3s, for which the paper's compiler may have merged two-input gates too, and
    /// the layers that the paper leaves open are ours. The mode `cbc-decrypt` is not in the paper.
    pub fn hajihassani_2019(mode: Mode) -> Self {
        Self::new(mode, &CANRIGHT, RoundKeys::PlanesInMemory)
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
