//! What a staged kernel is.

use super::modes;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::kernel_name;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::strategy::KeyStrategy;
use aes_bitslice_gen::kernel::{KernelSpec, Plan};
use aes_bitslice_gen::sbox::{CANRIGHT, Sbox};

/// A kernel by state whose data and round keys go through shared memory: the strategy `planes-in-memory`.
#[derive(Clone, Copy, Debug)]
pub struct Staged {
    mode: Mode,
    sbox: &'static Sbox,
}

impl Staged {
    /// The modes that there are such kernels for.
    pub fn modes() -> impl Iterator<Item = Mode> {
        modes::ROWS.iter().map(|(mode, _)| *mode)
    }

    /// A kernel with any S-box; `None` for a mode without such kernels.
    pub fn new(mode: Mode, sbox: &'static Sbox) -> Option<Self> {
        modes::templates(mode).map(|_| Self { mode, sbox })
    }

    /// The kernel of O. Hajihassani, S. K. Monfared, S. H. Khasteh and S. Gorgin, *Fast AES Implementation: A
    /// High-throughput Bitsliced Approach* (2019), with the first of its two ways to store the keys: 32 blocks a thread in
    /// 128 registers (section 4.2), Canright's S-box (4.3), ShiftRows by renaming (4.5), round keys as planes in global
    /// memory that are fetched into shared memory one at a time (4.6), 64 threads a thread block and their data in 32 KiB
    /// of shared memory (6.3, 6.4), counters made as planes (6.4). `None` for a mode without such kernels.
    ///
    /// As in every kernel here, gates are LUT3s, for which the paper's compiler may have merged two-input gates too, and
    /// the layers that the paper leaves open are this project's. The mode `cbc-decrypt` is not in the paper.
    pub fn hajihassani_2019(mode: Mode) -> Option<Self> {
        Self::new(mode, &CANRIGHT)
    }

    /// The mode and direction.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(&self) -> String {
        kernel_name(self.mode, KeyStrategy::PlanesInMemory, None, Layout::State)
    }

    /// The cipher as steps over circuits.
    pub fn plan(&self) -> Plan {
        let by_state = KernelSpec::planes(self.mode, self.sbox).with_layout(Layout::State);
        Plan::new(&by_state.expect("round keys as planes are in every layout"))
    }
}
