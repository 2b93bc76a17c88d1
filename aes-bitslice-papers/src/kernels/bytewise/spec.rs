//! The cipher byte by byte, as the standard has it: the kernels of Ul Haq, Masood, Majeed and Aziz, "Bulk Encryption on GPUs"
//! (AMD Developer Central, 2011), in OpenCL.

use crate::kernels::table_memory::TableMemory;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::mode::Mode;
use std::fmt;

/// Who expands the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyExpansion {
    /// The host: the round keys come with the launch.
    Host,
    /// The first thread of each thread block, into shared memory, while the others wait (section "Key Expansion using Local
    /// Memory").
    Device,
}

impl KeyExpansion {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Host, Self::Device];
}

impl fmt::Display for KeyExpansion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Device => "device",
        })
    }
}

/// A kernel of that paper: ECB, a thread a block, whose state is 16 bytes that go through the transformations of the standard
/// one after the other (FIPS 197, sections 5.1 and 5.3: decryption is the inverse cipher, not the equivalent one). For keys of
/// all three lengths.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bytewise {
    /// Forward or inverse cipher.
    pub direction: Direction,
    /// Where the S-box lies. The paper's first kernel, which has it in global memory, is not here.
    pub sbox: TableMemory,
    /// Who expands the key.
    pub keys: KeyExpansion,
}

impl Bytewise {
    /// Threads a thread block.
    pub const THREADS: u32 = 256;

    /// All of one direction: the paper's variants.
    pub fn ul_haq_2011(direction: Direction) -> Vec<Self> {
        let of = |sbox| KeyExpansion::ALL.map(|keys| Self { direction, sbox, keys });
        [TableMemory::Constant, TableMemory::Shared].into_iter().flat_map(of).collect()
    }

    /// Mode and direction.
    pub fn mode(&self) -> Mode {
        Mode::ecb(self.direction)
    }

    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(&self) -> String {
        format!("aes-{}-bytewise-{}-{}", self.mode(), self.sbox, self.keys)
    }
}
