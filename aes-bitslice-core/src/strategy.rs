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
    }
}

impl KeyStrategy {
    /// The default layout of a kernel: the faster one, where there is a choice.
    pub fn layout(self) -> Layout {
        match self {
            Self::Planes | Self::Bits | Self::OneHotMux => Layout::Column,
            Self::PlanesInMemory => Layout::State,
        }
    }

    /// Whether there is a kernel in this layout. `planes-in-memory` is by state, as published.
    pub fn has(self, layout: Layout) -> bool {
        match self {
            Self::Planes | Self::OneHotMux => true,
            Self::Bits => layout == Layout::Column,
            Self::PlanesInMemory => layout == Layout::State,
        }
    }
}
