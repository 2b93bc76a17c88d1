//! A staged kernel as text: its plan, and its own templates in place of the generator's.

use super::modes;
use super::spec::Staged;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::manifest::{Grid, Printed};
use aes_bitslice_core::strategy::KeyStrategy;
use aes_bitslice_gen::emit::bitsliced::{self, Geometry, KeyAccess, Parts, STATE_WORDS};

impl Staged {
    /// Prints the kernel. `command` is the command line that remakes it.
    pub fn print(&self, dialect: Dialect, command: &str) -> Printed {
        bitsliced::print_parts(&self.plan(), &self.parts(), dialect, command)
    }

    fn parts(&self) -> Parts {
        let (kernel_parameter, source_argument) =
            (", IN_GLOBAL const u32 *key_planes, u32 rounds", ", key_planes, rounds");
        Parts {
            name: self.name(),
            strategy: KeyStrategy::PlanesInMemory,
            // The data of 64 threads is what fits in shared memory.
            geometry: Geometry { threads: 64, blocks_per_sm: 4 },
            grid: Grid::Covers,
            planes: vec![include_str!("planes.h"), STATE_WORDS],
            keys: include_str!("keys.h"),
            mode: modes::templates(self.mode()).expect("made for a mode that has them").to_vec(),
            access: KeyAccess {
                shared: true,
                source_parameter: kernel_parameter,
                rounds: "rounds".into(),
                kernel_parameter,
                source_argument,
                ..KeyAccess::default()
            },
        }
    }
}
