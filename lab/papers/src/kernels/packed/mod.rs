//! Bitsliced kernels as they were before Hajihassani et al. 2019: the bits of a few blocks packed into eight words of 64 or 32 bits.

use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::grid::Grid;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::emit::bitsliced::REPRESENTATION;
use aes_bitslice_gen::emit::c::{self, Gates};
use aes_bitslice_gen::emit::{dialect, header, manifest};
use aes_bitslice_gen::sbox::CANRIGHT;
use aes_bitslice_gen::templates::{ACCESS, ROUND_KEYS, SHARE};
use zeroize::Zeroizing;

/// The words of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Word {
    /// Of 64 bits, for four blocks: `Bs64` of Nishikawa, Amano and Iwai ("Implementation of Bitsliced AES Encryption on CUDA-Enabled GPU",
    /// NSS 2017), as Hajihassani et al. 2019 describe it (section 3). A GPU computes with two words of 32 bits in its place.
    Bits64,
    /// Of 32 bits, for two blocks.
    Bits32,
}

/// ECB encryption with the blocks of a thread in eight words, each of which has one bit of every byte. ShiftRows moves bits within words
/// and takes instructions, which planes of 32 blocks save. The S-box is that of the kernel of Hajihassani et al. 2019, as two-input gates
/// that the compiler may merge, so that the representation is what differs. Keys may have any AES length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Packed {
    /// The words.
    pub word: Word,
}

impl Packed {
    /// Both kernels.
    pub const ALL: [Self; 2] = [Self { word: Word::Bits64 }, Self { word: Word::Bits32 }];
    /// The mode and direction.
    pub const MODE: Mode = Mode::EcbEncrypt;
    /// Threads per thread block.
    pub const THREADS: u32 = 256;
    /// Thread blocks per multiprocessor, which loop over the data: 64 registers a thread.
    const THREAD_BLOCKS: u32 = 4;

    /// Blocks of a thread.
    pub fn blocks(self) -> u32 {
        match self.word {
            Word::Bits64 => 4,
            Word::Bits32 => 2,
        }
    }

    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(self) -> String {
        format!("aes-{}-packed-{}-blocks", Self::MODE, self.blocks())
    }

    /// Prints the kernel in CUDA C. `command` is the command line that remakes it.
    pub fn print(self, command: &str) -> Printed {
        let blocks = self.blocks();
        let heading = [
            format!("{}{command}", header::COMMAND),
            format!("Kernel: {}, AES on bits of {blocks} blocks in eight words of {} bits.", self.name(), 16 * blocks),
            format!("Mode: {}; round keys: packed by each thread block, in shared memory.", Self::MODE),
            format!("Geometry: {} threads a block, {} blocks a multiprocessor.", Self::THREADS, Self::THREAD_BLOCKS),
        ];
        let numbers = format!(
            "\n#define THREADS {}\n#define BLOCKS_PER_SM {}\n#define BLOCKS_PER_THREAD {blocks}\n\n",
            Self::THREADS,
            Self::THREAD_BLOCKS
        );
        let [transpose, ..] = REPRESENTATION;
        let parts = [
            transpose,
            ROUND_KEYS,
            ACCESS,
            include_str!("../blocks.h"),
            include_str!("state.h"),
            include_str!("keys.h"),
            &c::function(&CANRIGHT.circuit(Direction::Encrypt), "s_box", Gates::Operators),
            include_str!("cipher.h"),
            SHARE,
            &include_str!("../table/ecb.h").replace("@NAME@", &self.name().replace('-', "_")),
        ];
        let body = numbers + &dialect::page(Dialect::Cuda, "") + "\n" + &parts.join("\n");
        let source = Zeroizing::new(header::with_heading(heading.iter().map(String::as_str), &body));
        let grid = Grid::Persistent { each: Self::THREAD_BLOCKS };
        let tile = Self::THREADS * blocks;
        let manifest = manifest::plain(&self.name(), Self::MODE, Self::THREADS, tile, grid, Dialect::Cuda, &source);
        Printed { source, manifest }
    }
}
