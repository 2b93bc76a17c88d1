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

/// The T-boxes of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tables {
    /// Where they are.
    pub memory: TableMemory,
    /// How many there are.
    pub count: TableCount,
}

impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.memory, self.count.number())
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

/// A combination that no kernel can have.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// A state that is in registers although threads share it, or the reverse.
    #[error(
        "with {bytes} bytes a thread the state is {has}: with more than 16 bytes it stays in registers, with fewer it is an \
         array of structures or a structure of arrays in shared memory, and with 16 it is either",
        bytes = .granularity.bytes(),
        has = match .staging { Staging::Registers => "in registers", Staging::Aos | Staging::Soa => "in shared memory" }
    )]
    Staging {
        /// The granularity.
        granularity: Granularity,
        /// The staging that does not go with it.
        staging: Staging,
    },
    /// With the state in shared memory there is only ECB.
    #[error("{mode} needs whole blocks in registers: take 16 bytes a thread or more, not {bytes} in shared memory", bytes = .granularity.bytes())]
    Mode {
        /// The mode.
        mode: Mode,
        /// The granularity.
        granularity: Granularity,
    },
    /// There are no table kernels of the mode.
    #[error("there is no table kernel for {0}")]
    NoMode(Mode),
    /// The threads of a thread block are a power of two, from one warp to 1,024.
    #[error("{0} threads a thread block: take a power of two from 32 to 1024")]
    Threads(u32),
    /// The plaintext cannot go through shared memory first.
    #[error(
        "the plaintext goes through shared memory first where threads have whole columns there: take 4, 8 or 16 bytes a thread"
    )]
    PlaintextFirst,
    /// Tables, round keys and states do not fit in shared memory.
    #[error(
        "{0} bytes of shared memory a thread block, where {max} is the most: take fewer threads, or fewer bytes a thread",
        max = TableSpec::MAX_SHARED_BYTES
    )]
    SharedMemory(u32),
}

/// A table kernel to generate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TableSpec {
    mode: Mode,
    granularity: Granularity,
    tables: Tables,
    keys: KeyMemory,
    staging: Staging,
    threads: u32,
    thread_blocks: ThreadBlocks,
    rounds: Rounds,
    plaintext_first: bool,
}

impl TableSpec {
    /// The modes that have table kernels.
    pub fn modes() -> impl Iterator<Item = Mode> {
        modes::ROWS.iter().map(|(mode, _)| *mode)
    }

    /// Shared memory that a thread block has without asking for more at launch.
    pub const MAX_SHARED_BYTES: u32 = 48 << 10;

    /// A kernel of any possible combination. `threads` is the number per thread block; thread blocks cover the data.
    pub fn new(
        mode: Mode,
        granularity: Granularity,
        tables: Tables,
        keys: KeyMemory,
        staging: Staging,
        threads: u32,
    ) -> Result<Self, TableError> {
        let thread_blocks = ThreadBlocks::Cover;
        let (rounds, plaintext_first) = (Rounds::Loop, false);
        let spec = Self { mode, granularity, tables, keys, staging, threads, thread_blocks, rounds, plaintext_first };
        if modes::templates(mode).is_none() {
            return Err(TableError::NoMode(mode));
        }
        if !threads.is_power_of_two() || !(32..=1024).contains(&threads) {
            return Err(TableError::Threads(threads));
        }
        let in_registers = staging == Staging::Registers;
        if granularity.shares_blocks() && in_registers || granularity > Granularity::B16 && !in_registers {
            return Err(TableError::Staging { granularity, staging });
        }
        if !in_registers && !matches!(mode, Mode::EcbEncrypt | Mode::EcbDecrypt) {
            return Err(TableError::Mode { mode, granularity });
        }
        if spec.static_shared_bytes() > Self::MAX_SHARED_BYTES {
            return Err(TableError::SharedMemory(spec.static_shared_bytes()));
        }
        Ok(spec)
    }

    /// Li, Zhong, Zhao, Mei and Chu, "Implementation and Analysis of AES Encryption on GPU", HPCC 2012, section V and the appendices: one
    /// block per thread, four T-boxes in shared memory, round keys in constant memory, 512 threads, rounds unrolled. For CBC decryption the
    /// ciphertext waits in shared memory (section V.D). The paper has ECB encryption and CBC decryption. Here a thread loads its block as a
    /// vector of 16 bytes; [`WordMajor`](super::WordMajor) has the paper's order of words.
    pub fn li_2012(mode: Mode) -> Result<Self, TableError> {
        let tables = Tables { memory: TableMemory::Shared, count: TableCount::Four };
        let spec = Self::new(mode, Granularity::B16, tables, KeyMemory::Constant, Staging::Registers, 512)?;
        Ok(spec.with_rounds(Rounds::Unrolled))
    }

    /// Iwai, Kurokawa and Nishikawa, "AES Encryption Implementation on CUDA GPU and Its Analysis", ICNC 2010, section V:
    /// ECB encryption by 512 threads, which loop over the data (section V.D), in as many thread blocks as a multiprocessor
    /// holds.
    pub fn iwai_2010(
        granularity: Granularity,
        memory: TableMemory,
        count: TableCount,
        keys: KeyMemory,
        staging: Staging,
    ) -> Result<Self, TableError> {
        let spec = Self::new(Mode::EcbEncrypt, granularity, Tables { memory, count }, keys, staging, 512)?;
        Ok(spec.with_thread_blocks(ThreadBlocks::Loop { each: 4 }))
    }

    /// The kernels of table III of Iwai et al. 2010, column by column: the state with one byte per thread is an array of structures, and
    /// with four and eight the plaintext goes through shared memory first.
    pub fn iwai_2010_table_3() -> Vec<Self> {
        use {Granularity::*, KeyMemory as Key, Staging::*, TableMemory as Table};
        [
            (B16, Table::Constant, Key::Constant, Registers),
            (B16, Table::Shared, Key::Constant, Registers),
            (B16, Table::Shared, Key::Shared, Registers),
            (B8, Table::Shared, Key::Constant, Aos),
            (B8, Table::Shared, Key::Shared, Aos),
            (B8, Table::Shared, Key::Constant, Soa),
            (B4, Table::Shared, Key::Constant, Aos),
            (B4, Table::Shared, Key::Shared, Aos),
            (B4, Table::Shared, Key::Constant, Soa),
            (B1, Table::Shared, Key::Shared, Aos),
            (B1, Table::Shared, Key::Constant, Aos),
        ]
        .map(|(granularity, memory, keys, staging)| {
            let spec = Self::iwai_2010(granularity, memory, TableCount::Four, keys, staging);
            let first = matches!(granularity, B4 | B8);
            let spec = spec.and_then(|spec| if first { spec.with_plaintext_first() } else { Ok(spec) });
            spec.expect("a kernel of the paper")
        })
        .into()
    }

    /// Abdelrahman, Fouad, Dahshan and Mousa, "High Performance CUDA AES Implementation", Computing Conference 2017, section V: ECB
    /// encryption with 16 or more bytes per thread, four T-boxes in shared memory, the round keys there too or exchanged by shuffles, 128
    /// to 1,024 threads.
    pub fn abdelrahman_2017(granularity: Granularity, keys: KeyMemory, threads: u32) -> Result<Self, TableError> {
        let tables = Tables { memory: TableMemory::Shared, count: TableCount::Four };
        Self::new(Mode::EcbEncrypt, granularity, tables, keys, Staging::Registers, threads)
    }

    /// The kernels of tables VI to VIII of Abdelrahman et al. 2017, row by row and column by column, and among them 64 threads, whose
    /// occupancy table II gives, and the 48 and 64 bytes per thread that section III.B mentions.
    pub fn abdelrahman_2017_tables_6_to_8() -> Vec<Self> {
        let mut specs = Vec::new();
        for keys in [KeyMemory::Shared, KeyMemory::Shuffle] {
            for granularity in [Granularity::B16, Granularity::B32, Granularity::B48, Granularity::B64] {
                for threads in [1024, 512, 256, 128, 64] {
                    specs.push(Self::abdelrahman_2017(granularity, keys, threads).expect("a kernel of the paper"));
                }
            }
        }
        specs
    }

    /// Lee, Cheong, Phan and Goi, "Fast implementation of block ciphers and PRNGs in Maxwell GPU architecture", Cluster Computing 19(1),
    /// 2016, as its abstract describes it: CTR, T-boxes, and round keys in registers, exchanged by shuffles. What the abstract leaves open
    /// is taken from Li et al. 2012: a block a thread, four T-boxes in shared memory, rounds unrolled.
    pub fn lee_2016(threads: u32) -> Result<Self, TableError> {
        let tables = Tables { memory: TableMemory::Shared, count: TableCount::Four };
        let spec = Self::new(Mode::Ctr, Granularity::B16, tables, KeyMemory::Shuffle, Staging::Registers, threads)?;
        Ok(spec.with_rounds(Rounds::Unrolled))
    }

    /// The kernels of all four papers.
    pub fn papers() -> Vec<Self> {
        let li = [Mode::EcbEncrypt, Mode::CbcDecrypt].map(|mode| Self::li_2012(mode).expect("a kernel of the paper"));
        let lee = Self::lee_2016(512).expect("a kernel of the paper");
        let abdelrahman = Self::abdelrahman_2017_tables_6_to_8();
        li.into_iter().chain([lee]).chain(Self::iwai_2010_table_3()).chain(abdelrahman).collect()
    }

    /// This kernel in another mode.
    pub fn with_mode(self, mode: Mode) -> Result<Self, TableError> {
        let Self { granularity, tables, keys, staging, threads, thread_blocks, rounds, .. } = self;
        let spec = Self::new(mode, granularity, tables, keys, staging, threads)?.with_rounds(rounds);
        Ok(spec.with_thread_blocks(thread_blocks))
    }

    /// This kernel with another number of threads per thread block.
    pub fn with_threads(self, threads: u32) -> Result<Self, TableError> {
        let Self { mode, granularity, tables, keys, staging, thread_blocks, rounds, .. } = self;
        let spec = Self::new(mode, granularity, tables, keys, staging, threads)?.with_rounds(rounds);
        Ok(spec.with_thread_blocks(thread_blocks))
    }

    /// This kernel with rounds in a loop, or not.
    pub fn with_rounds(self, rounds: Rounds) -> Self {
        Self { rounds, ..self }
    }

    /// This kernel with the plaintext of a thread block copied to shared memory before its threads take their parts of it (Iwai et al.
    /// 2010, section V.B).
    ///
    /// # Errors
    /// [`TableError::PlaintextFirst`] where threads have no columns in shared memory, [`TableError::SharedMemory`].
    pub fn with_plaintext_first(self) -> Result<Self, TableError> {
        if self.staging == Staging::Registers || self.granularity == Granularity::B1 {
            return Err(TableError::PlaintextFirst);
        }
        let spec = Self { plaintext_first: true, ..self };
        match spec.static_shared_bytes() {
            bytes if bytes > Self::MAX_SHARED_BYTES => Err(TableError::SharedMemory(bytes)),
            _ => Ok(spec),
        }
    }

    /// This kernel with another number of thread blocks.
    pub fn with_thread_blocks(self, thread_blocks: ThreadBlocks) -> Self {
        Self { thread_blocks, ..self }
    }

    /// The mode and direction.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The part of the data that a thread has.
    pub fn granularity(&self) -> Granularity {
        self.granularity
    }

    /// The T-boxes.
    pub fn tables(&self) -> Tables {
        self.tables
    }

    /// Where the round keys are.
    pub fn keys(&self) -> KeyMemory {
        self.keys
    }

    /// Where the state is between two rounds.
    pub fn staging(&self) -> Staging {
        self.staging
    }

    /// Threads per thread block.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Whether the rounds are a loop.
    pub fn rounds(&self) -> Rounds {
        self.rounds
    }

    /// Whether the plaintext goes through shared memory first.
    pub fn plaintext_first(&self) -> bool {
        self.plaintext_first
    }

    /// How many thread blocks a launch has.
    pub fn thread_blocks(&self) -> ThreadBlocks {
        self.thread_blocks
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
        let Self { mode, granularity, tables, keys, threads, .. } = self;
        format!("aes-{mode}-tbox-{granularity}{staging}{first}-{tables}-keys-{keys}-{threads}{rounds}{thread_blocks}")
    }

    /// Bytes of shared memory per thread block, as the kernel's text declares them.
    fn static_shared_bytes(&self) -> u32 {
        let tables = match self.tables.memory {
            TableMemory::Shared => 1024 * self.tables.count.number() + 256,
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
        assert_eq!(TableSpec::iwai_2010_table_3().len(), 11);
        assert_eq!(TableSpec::abdelrahman_2017_tables_6_to_8().len(), 40);
        let papers = TableSpec::papers();
        assert_eq!(papers.len(), 2 + 1 + 11 + 40);
        assert_eq!(papers.iter().map(TableSpec::name).collect::<BTreeSet<_>>().len(), papers.len());
        assert_eq!(papers[0].name(), "aes-ecb-encrypt-tbox-16b-shared4-keys-constant-512-unrolled");
        assert_eq!(papers[2].name(), "aes-ctr-tbox-16b-shared4-keys-shuffle-512-unrolled");
        let one = TableSpec::iwai_2010(
            Granularity::B4,
            TableMemory::Constant,
            TableCount::One,
            KeyMemory::Shuffle,
            Staging::Soa,
        );
        assert_eq!(one.unwrap().name(), "aes-ecb-encrypt-tbox-4b-soa-constant1-keys-shuffle-512-loop");
    }

    #[test]
    fn impossible_kernels_are_refused() {
        let shared = Tables { memory: TableMemory::Shared, count: TableCount::Four };
        let new = |mode, granularity, staging, threads| {
            TableSpec::new(mode, granularity, shared, KeyMemory::Constant, staging, threads)
        };
        for (granularity, staging) in [(Granularity::B8, Staging::Registers), (Granularity::B32, Staging::Aos)] {
            let error = new(Mode::EcbEncrypt, granularity, staging, 512).unwrap_err();
            assert_eq!(error, TableError::Staging { granularity, staging });
        }
        for mode in [Mode::Ctr, Mode::CbcDecrypt] {
            let error = new(mode, Granularity::B4, Staging::Soa, 512).unwrap_err();
            assert_eq!(error, TableError::Mode { mode, granularity: Granularity::B4 });
        }
        for threads in [0, 16, 96, 2048] {
            let error = new(Mode::Ctr, Granularity::B16, Staging::Registers, threads).unwrap_err();
            assert_eq!(error, TableError::Threads(threads));
        }
        // The ciphertext of 1,024 threads with four blocks each.
        let error = new(Mode::CbcDecrypt, Granularity::B64, Staging::Registers, 1024).unwrap_err();
        assert_eq!(error, TableError::SharedMemory(4 * 1024 + 256 + 16 * (4096 + 2)));
        assert!(new(Mode::CbcDecrypt, Granularity::B64, Staging::Registers, 512).is_ok());
    }
}
