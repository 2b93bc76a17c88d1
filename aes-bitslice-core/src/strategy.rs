//! Where a bitsliced kernel keeps its round keys.

use crate::layout::Layout;

crate::named::named_enum! {
    /// Where a kernel keeps its round keys.
    KeyStrategy, "key strategy" {
        /// Given at launch and expanded to bit-planes; one kernel for every key of every length.
        Planes = "planes",
        /// Bit-planes in device memory; a thread block fetches one round key at a time into shared memory (Hajihassani et al. 2019, section
        /// 4.6); one kernel for every key of every length.
        PlanesInMemory = "planes-in-memory",
        /// Given at launch, kept as one byte for each bit, and expanded to a bit-plane whenever it is read: fewer accesses to shared
        /// memory and more instructions than `planes`, for a kernel co-resident with one that keeps shared memory busy.
        Bits = "bits",
        /// Baked in; picked by one-hot selectors instead of branches (Hajihassani et al. 2019, section 4.6): where a thread holds the
        /// state, inside the rolled round loop; where it holds a column, before the loop, into shared memory.
        OneHotMux = "one-hot-mux",
        /// Baked in; rounds unrolled, every key bit folded into a truth table.
        Immediate = "immediate",
    }
}

impl KeyStrategy {
    /// The default layout of a kernel: the faster one, where there is a choice.
    pub fn layout(self) -> Layout {
        match self {
            Self::Planes | Self::Bits | Self::OneHotMux => Layout::Column,
            Self::PlanesInMemory | Self::Immediate => Layout::State,
        }
    }

    /// Whether there is a kernel in this layout. With `immediate`, every column would have its own code, which the threads of one warp
    /// cannot run side by side; `planes-in-memory` is by state, as published.
    pub fn has(self, layout: Layout) -> bool {
        match self {
            Self::Planes | Self::OneHotMux => true,
            Self::Bits => layout == Layout::Column,
            Self::PlanesInMemory | Self::Immediate => layout == Layout::State,
        }
    }
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
    /// All strategies.
    pub const ALL: [Self; 2] = [Self::OneHotMux, Self::Immediate];

    /// The strategy's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneHotMux => KeyStrategy::OneHotMux.name(),
            Self::Immediate => KeyStrategy::Immediate.name(),
        }
    }
}
crate::named!(BakedStrategy, "key strategy for a baked key");

impl From<BakedStrategy> for KeyStrategy {
    fn from(strategy: BakedStrategy) -> Self {
        match strategy {
            BakedStrategy::OneHotMux => Self::OneHotMux,
            BakedStrategy::Immediate => Self::Immediate,
        }
    }
}
