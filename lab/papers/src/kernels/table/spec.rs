//! What a table kernel is: a thread's part of the data, where the tables and the round keys are, and what the papers measured.

use super::modes;
use crate::kernels::table_memory::TableMemory;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::table::TableCount;
use std::fmt;

/// Bytes of one or several blocks that a thread works on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Granularity {
    /// A byte: sixteen threads share a block, by operations on bytes.
    B1,
    /// A column: four threads share a block.
    B4,
    /// Two columns: two threads share a block.
    B8,
    /// A block.
    B16,
    /// Two blocks.
    B32,
    /// Three blocks.
    B48,
    /// Four blocks.
    B64,
}

impl Granularity {
    /// All variants, the finest first.
    pub const ALL: [Self; 7] = [Self::B1, Self::B4, Self::B8, Self::B16, Self::B32, Self::B48, Self::B64];

    /// Bytes per thread.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::B1 => 1,
            Self::B4 => 4,
            Self::B8 => 8,
            Self::B16 => 16,
            Self::B32 => 32,
            Self::B48 => 48,
            Self::B64 => 64,
        }
    }

    /// Whether several threads share a block.
    pub const fn shares_blocks(self) -> bool {
        self.bytes() < 16
    }
}

impl fmt::Display for Granularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}b", self.bytes())
    }
}

/// Where the round keys are. They come as a launch argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyMemory {
    /// They stay there: in constant memory.
    Constant,
    /// In shared memory.
    Shared,
    /// Spread over the registers of a warp, exchanged by shuffles.
    Shuffle,
}

impl KeyMemory {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Constant, Self::Shared, Self::Shuffle];
}

impl fmt::Display for KeyMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant => "constant",
            Self::Shared => "shared",
            Self::Shuffle => "shuffle",
        })
    }
}

/// Where the state is between two rounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Staging {
    /// In registers of the thread that has the whole block.
    Registers,
    /// In shared memory, an array of structures: a block as it is.
    Aos,
    /// In shared memory, a structure of arrays: the same column, or byte, of all blocks side by side.
    Soa,
}

/// Whether the rounds are a loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rounds {
    /// A loop over rounds whose number comes with the launch; for whole blocks, two rounds per turn.
    Loop,
    /// Written out for keys of 128 bits; a loop for others.
    Unrolled,
}

/// How many thread blocks a launch has. The text of a kernel does not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ThreadBlocks {
    /// As many as cover the data; each of their threads works once.
    Cover,
    /// A fixed number on each multiprocessor; their threads take more data until none is left.
    Loop {
        /// Thread blocks per multiprocessor.
        each: u32,
    },
}

/// A table kernel to generate, if it [is possible](Self::is_possible).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TableSpec {
    /// The mode and direction.
    pub mode: Mode,
    /// The part of the data that a thread has.
    pub granularity: Granularity,
    /// Where the T-boxes are.
    pub memory: TableMemory,
    /// How many T-boxes there are.
    pub count: TableCount,
    /// Where the round keys are.
    pub keys: KeyMemory,
    /// Where the state is between two rounds.
    pub staging: Staging,
    /// Threads per thread block.
    pub threads: u32,
    /// How many thread blocks a launch has.
    pub thread_blocks: ThreadBlocks,
    /// Whether the rounds are a loop.
    pub rounds: Rounds,
    /// Whether the plaintext of a thread block is copied to shared memory before its threads take their parts of it (Iwai et al. 2010,
    /// section V.B).
    pub plaintext_first: bool,
}

impl TableSpec {
    /// The modes that have table kernels.
    pub fn modes() -> impl Iterator<Item = Mode> {
        modes::ROWS.iter().map(|(mode, _)| *mode)
    }

    /// Shared memory that a thread block has without asking for more at launch.
    pub const MAX_SHARED_BYTES: u32 = 48 << 10;

    /// Li, Zhong, Zhao, Mei and Chu, "Implementation and Analysis of AES Encryption on GPU", HPCC 2012, section V and the appendices: one
    /// block per thread, four T-boxes in shared memory, round keys in constant memory, 512 threads, rounds unrolled. For CBC decryption the
    /// ciphertext waits in shared memory (section V.D). The paper has ECB encryption and CBC decryption. Here a thread loads its block as a
    /// vector of 16 bytes; [`WordMajor`](super::WordMajor) has the paper's order of words.
    pub const fn li_2012(mode: Mode) -> Self {
        Self {
            mode,
            granularity: Granularity::B16,
            memory: TableMemory::Shared,
            count: TableCount::Four,
            keys: KeyMemory::Constant,
            staging: Staging::Registers,
            threads: 512,
            thread_blocks: ThreadBlocks::Cover,
            rounds: Rounds::Unrolled,
            plaintext_first: false,
        }
    }

    /// Iwai, Kurokawa and Nishikawa, "AES Encryption Implementation on CUDA GPU and Its Analysis", ICNC 2010, section V:
    /// ECB encryption by 512 threads, which loop over the data (section V.D), in as many thread blocks as a multiprocessor
    /// holds, with four T-boxes.
    pub const fn iwai_2010(granularity: Granularity, memory: TableMemory, keys: KeyMemory, staging: Staging) -> Self {
        let (rounds, thread_blocks) = (Rounds::Loop, ThreadBlocks::Loop { each: 4 });
        Self { granularity, memory, keys, staging, rounds, thread_blocks, ..Self::li_2012(Mode::EcbEncrypt) }
    }

    /// The kernels of table III of Iwai et al. 2010, column by column: the state with one byte per thread is an array of structures, and
    /// with four and eight the plaintext goes through shared memory first.
    pub const IWAI_2010_TABLE_3: [Self; 11] = {
        use {Granularity::*, KeyMemory as Key, Staging::*, TableMemory as Table};
        const fn column(granularity: Granularity, memory: Table, keys: Key, staging: Staging) -> TableSpec {
            let plaintext_first = matches!(granularity, B4 | B8);
            TableSpec { plaintext_first, ..TableSpec::iwai_2010(granularity, memory, keys, staging) }
        }
        [
            column(B16, Table::Constant, Key::Constant, Registers),
            column(B16, Table::Shared, Key::Constant, Registers),
            column(B16, Table::Shared, Key::Shared, Registers),
            column(B8, Table::Shared, Key::Constant, Aos),
            column(B8, Table::Shared, Key::Shared, Aos),
            column(B8, Table::Shared, Key::Constant, Soa),
            column(B4, Table::Shared, Key::Constant, Aos),
            column(B4, Table::Shared, Key::Shared, Aos),
            column(B4, Table::Shared, Key::Constant, Soa),
            column(B1, Table::Shared, Key::Shared, Aos),
            column(B1, Table::Shared, Key::Constant, Aos),
        ]
    };

    /// Abdelrahman, Fouad, Dahshan and Mousa, "High Performance CUDA AES Implementation", Computing Conference 2017, section V: ECB
    /// encryption with 16 or more bytes per thread, four T-boxes in shared memory, the round keys there too or exchanged by shuffles, 128
    /// to 1,024 threads.
    pub const fn abdelrahman_2017(granularity: Granularity, keys: KeyMemory, threads: u32) -> Self {
        Self { granularity, keys, threads, rounds: Rounds::Loop, ..Self::li_2012(Mode::EcbEncrypt) }
    }

    /// The kernels of tables VI to VIII of Abdelrahman et al. 2017, row by row and column by column, and among them 64 threads, whose
    /// occupancy table II gives, and the 48 and 64 bytes per thread that section III.B mentions.
    pub fn abdelrahman_2017_tables_6_to_8() -> Vec<Self> {
        let mut specs = Vec::new();
        for keys in [KeyMemory::Shared, KeyMemory::Shuffle] {
            for granularity in [Granularity::B16, Granularity::B32, Granularity::B48, Granularity::B64] {
                specs.extend(
                    [1024, 512, 256, 128, 64].map(|threads| Self::abdelrahman_2017(granularity, keys, threads)),
                );
            }
        }
        specs
    }

    /// Lee, Cheong, Phan and Goi, "Fast implementation of block ciphers and PRNGs in Maxwell GPU architecture", Cluster Computing 19(1),
    /// 2016, as its abstract describes it: CTR, T-boxes, and round keys in registers, exchanged by shuffles. What the abstract leaves open
    /// is taken from Li et al. 2012: a block a thread, four T-boxes in shared memory, rounds unrolled.
    pub const fn lee_2016(threads: u32) -> Self {
        Self { keys: KeyMemory::Shuffle, threads, ..Self::li_2012(Mode::Ctr) }
    }

    /// The kernels of all four papers.
    pub fn papers() -> Vec<Self> {
        let li = [Mode::EcbEncrypt, Mode::CbcDecrypt].map(Self::li_2012);
        let abdelrahman = Self::abdelrahman_2017_tables_6_to_8();
        li.into_iter().chain([Self::lee_2016(512)]).chain(Self::IWAI_2010_TABLE_3).chain(abdelrahman).collect()
    }

    /// Whether there is such a kernel. The threads of a thread block are a power of two, from one warp to 1,024. With more than 16 bytes a
    /// thread the state is in registers, with fewer in shared memory, where only ECB is, and where plaintext goes through shared memory first
    /// if threads have whole columns. Tables, round keys and states fit in shared memory.
    pub fn is_possible(&self) -> bool {
        let Self { mode, granularity, staging, threads, plaintext_first, .. } = *self;
        let in_registers = staging == Staging::Registers;
        let is_staged = if in_registers { !granularity.shares_blocks() } else { granularity <= Granularity::B16 };
        let has_mode = in_registers || matches!(mode, Mode::EcbEncrypt | Mode::EcbDecrypt);
        let has_columns = !in_registers && granularity != Granularity::B1;
        modes::templates(mode).is_some()
            && threads.is_power_of_two()
            && (32..=1024).contains(&threads)
            && is_staged
            && has_mode
            && (has_columns || !plaintext_first)
            && self.static_shared_bytes() <= Self::MAX_SHARED_BYTES
    }

    /// Blocks of 16 bytes in a tile, which a thread block works on at a time.
    pub fn tile_blocks(&self) -> u32 {
        self.threads * self.granularity.bytes() / 16
    }

    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(&self) -> String {
        let staging = match self.staging {
            Staging::Registers => "",
            Staging::Aos => "-aos",
            Staging::Soa => "-soa",
        };
        let thread_blocks = match self.thread_blocks {
            ThreadBlocks::Cover => "",
            ThreadBlocks::Loop { .. } => "-loop",
        };
        let rounds = match self.rounds {
            Rounds::Loop => "",
            Rounds::Unrolled => "-unrolled",
        };
        let first = if self.plaintext_first { "-first" } else { "" };
        let Self { mode, granularity, memory, count, keys, threads, .. } = self;
        let tables = format!("{memory}{}", count.number());
        format!("aes-{mode}-tbox-{granularity}{staging}{first}-{tables}-keys-{keys}-{threads}{rounds}{thread_blocks}")
    }

    /// Bytes of shared memory per thread block, as the kernel's text declares them.
    fn static_shared_bytes(&self) -> u32 {
        let tables = match self.memory {
            TableMemory::Shared => 1024 * self.count.number() + 256,
            TableMemory::Constant => 0,
        };
        let keys = if self.keys == KeyMemory::Shared { 16 * 15 } else { 0 };
        // The state before a round and before the next, and the plaintext; for CBC, the ciphertext.
        let states = if self.plaintext_first { 3 } else { 2 };
        let state = if self.staging == Staging::Registers { 0 } else { states * 16 * self.tile_blocks() };
        let ciphertext = if self.mode == Mode::CbcDecrypt { 16 * (self.tile_blocks() + 2) } else { 0 };
        tables + keys + state + ciphertext
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn kernels_of_the_papers() {
        assert_eq!(TableSpec::abdelrahman_2017_tables_6_to_8().len(), 40);
        let papers = TableSpec::papers();
        assert_eq!(papers.len(), 2 + 1 + 11 + 40);
        assert_eq!(papers.iter().map(TableSpec::name).collect::<BTreeSet<_>>().len(), papers.len());
        assert_eq!(papers[0].name(), "aes-ecb-encrypt-tbox-16b-shared4-keys-constant-512-unrolled");
        assert_eq!(papers[2].name(), "aes-ctr-tbox-16b-shared4-keys-shuffle-512-unrolled");
        let one = TableSpec {
            count: TableCount::One,
            ..TableSpec::iwai_2010(Granularity::B4, TableMemory::Constant, KeyMemory::Shuffle, Staging::Soa)
        };
        assert_eq!(one.name(), "aes-ecb-encrypt-tbox-4b-soa-constant1-keys-shuffle-512-loop");
        assert!(papers.iter().chain([&one]).all(TableSpec::is_possible));
    }

    #[test]
    fn kernels_that_are_not_possible() {
        let right = TableSpec::li_2012(Mode::CbcDecrypt);
        // The ciphertext of 512 threads with four blocks each.
        assert!(TableSpec { granularity: Granularity::B64, ..right }.is_possible());
        for wrong in [
            TableSpec { granularity: Granularity::B64, threads: 1024, ..right },
            TableSpec { granularity: Granularity::B8, ..right },
            TableSpec { staging: Staging::Aos, ..right },
            TableSpec { staging: Staging::Aos, granularity: Granularity::B32, mode: Mode::EcbEncrypt, ..right },
            TableSpec { plaintext_first: true, ..right },
            TableSpec { mode: Mode::XtsEncrypt, ..right },
        ] {
            assert!(!wrong.is_possible(), "{}", wrong.name());
        }
        for threads in [0, 16, 96, 2048] {
            assert!(!TableSpec { threads, ..right }.is_possible());
        }
    }
}
