//! The cipher byte by byte, as in the standard: the kernels of Ul Haq, Masood, Majeed and Aziz, "Bulk Encryption on GPUs" (AMD Developer
//! Central, 2011), in OpenCL.

use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::mode::Mode;

/// Where the S-box is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SboxMemory {
    /// In the round keys' buffer in global memory ([`ScheduleMemory::Global`]).
    Global,
    /// In constant memory.
    Constant,
    /// In shared memory, into which each thread block copies it.
    Shared,
}

/// Where the round keys are, and who expands them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScheduleMemory {
    /// In an argument of the launch, from the host.
    Argument,
    /// In a buffer in global memory, from the host.
    Global,
    /// In a buffer in constant memory, from the host.
    Constant,
    /// In shared memory, from the first thread of each thread block, while the others wait (section "Key Expansion using Local
    /// Memory").
    Shared,
}

/// How a thread reads and writes its block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BlockAccess {
    /// As a vector of 16 bytes.
    Vector,
    /// Byte by byte, each into its place of the state (section "Indexing Schemes").
    Bytes,
}

/// A kernel of that paper: ECB, or CTR, to which the paper says that it can be extended. A thread has a block, whose state is 16 bytes that go
/// through the transformations of the standard one after the other (FIPS 197, sections 5.1 and 5.3: decryption is the inverse cipher, not the
/// equivalent one). For keys of all three lengths.
///
/// The article has separate buffers for its tables and for the expanded key; here they are one buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bytewise {
    mode: Mode,
    threads: u32,
    sbox: SboxMemory,
    schedule: ScheduleMemory,
    access: BlockAccess,
    unrolled: bool,
}

impl Bytewise {
    /// Threads per thread block, unless [`Self::with_threads`] changes them.
    pub const THREADS: u32 = 256;

    /// A kernel; `None` for an S-box in global memory without round keys there.
    pub fn new(direction: Direction, sbox: SboxMemory, schedule: ScheduleMemory, access: BlockAccess) -> Option<Self> {
        let is_there = sbox != SboxMemory::Global || schedule == ScheduleMemory::Global;
        is_there.then_some(Self { sbox, schedule, access, ..Self::basic(direction) })
    }

    /// The basic kernel: tables and expanded key in global memory, byte by byte.
    pub fn basic(direction: Direction) -> Self {
        let (sbox, schedule, access) = (SboxMemory::Global, ScheduleMemory::Global, BlockAccess::Bytes);
        Self { mode: Mode::ecb(direction), threads: Self::THREADS, sbox, schedule, access, unrolled: false }
    }

    /// This kernel with the rounds unrolled, as the article has them (section "Design Approach"): up to 14, without those that the key's
    /// length does not have.
    pub fn unrolled(self) -> Self {
        Self { unrolled: true, ..self }
    }

    /// This kernel with another number of threads per thread block, a multiple of 32.
    pub fn with_threads(self, threads: u32) -> Self {
        Self { threads, ..self }
    }

    /// This kernel in counter mode; `None` where it decrypts or takes vectors.
    pub fn in_counter_mode(self) -> Option<Self> {
        let is_there = (self.mode, self.access) == (Mode::EcbEncrypt, BlockAccess::Bytes);
        is_there.then_some(Self { mode: Mode::Ctr, ..self })
    }

    /// All kernels of one direction: the basic kernel, one thing changed at a time up to the S-box and the keys in shared memory, each also
    /// with vectors; and, with the rounds unrolled, the basic kernel and one with everything in fast memory.
    pub fn ul_haq_2011(direction: Direction) -> Vec<Self> {
        use {SboxMemory as S, ScheduleMemory as K};
        let places = [
            (S::Global, K::Global),
            (S::Constant, K::Global),
            (S::Constant, K::Constant),
            (S::Constant, K::Shared),
            (S::Shared, K::Global),
            (S::Shared, K::Constant),
            (S::Shared, K::Argument),
            (S::Shared, K::Shared),
        ];
        let of = |(sbox, schedule)| {
            [BlockAccess::Bytes, BlockAccess::Vector].map(|access| Self {
                sbox,
                schedule,
                access,
                ..Self::basic(direction)
            })
        };
        let fast = [(S::Shared, K::Argument)].into_iter().flat_map(of).skip(1).map(Self::unrolled);
        places.into_iter().flat_map(of).chain([Self::basic(direction).unrolled()]).chain(fast).collect()
    }

    /// The forward or the inverse cipher.
    pub fn direction(&self) -> Direction {
        self.mode.direction()
    }

    /// Threads per thread block.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Where the S-box is.
    pub fn sbox(&self) -> SboxMemory {
        self.sbox
    }

    /// Where the round keys are.
    pub fn schedule(&self) -> ScheduleMemory {
        self.schedule
    }

    /// How a thread reads and writes its block.
    pub fn access(&self) -> BlockAccess {
        self.access
    }

    /// Whether the rounds are unrolled rather than a loop.
    pub fn is_unrolled(&self) -> bool {
        self.unrolled
    }

    /// Mode and direction.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(&self) -> String {
        let sbox = match self.sbox {
            SboxMemory::Global => "global",
            SboxMemory::Constant => "constant",
            SboxMemory::Shared => "shared",
        };
        let schedule = match self.schedule {
            ScheduleMemory::Argument => "argument",
            ScheduleMemory::Global => "global",
            ScheduleMemory::Constant => "constant",
            ScheduleMemory::Shared => "shared",
        };
        let access = match self.access {
            BlockAccess::Vector => "vector",
            BlockAccess::Bytes => "bytes",
        };
        let rounds = if self.unrolled { "-unrolled" } else { "" };
        let threads = if self.threads == Self::THREADS { String::new() } else { format!("-{}-threads", self.threads) };
        format!("aes-{}-bytewise-{sbox}-keys-{schedule}-{access}{rounds}{threads}", self.mode())
    }
}
