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
    /// Mode and direction.
    pub mode: Mode,
    /// Threads per thread block, a multiple of 32.
    pub threads: u32,
    /// Where the S-box is.
    pub sbox: SboxMemory,
    /// Where the round keys are.
    pub schedule: ScheduleMemory,
    /// How a thread reads and writes its block.
    pub access: BlockAccess,
    /// Whether the rounds are unrolled rather than a loop, as the article has them (section "Design Approach"): up to 14, without those that
    /// the key's length does not have.
    pub unrolled: bool,
}

impl Bytewise {
    /// Threads per thread block, as in the article.
    pub const THREADS: u32 = 256;

    /// Whether there is such a kernel: not with an S-box in global memory without round keys there, nor in CTR with vectors.
    pub fn is_possible(&self) -> bool {
        let has_sbox = self.sbox != SboxMemory::Global || self.schedule == ScheduleMemory::Global;
        has_sbox && (self.mode != Mode::Ctr || self.access == BlockAccess::Bytes)
    }

    /// The basic kernel: tables and expanded key in global memory, byte by byte.
    pub fn basic(direction: Direction) -> Self {
        let (sbox, schedule, access) = (SboxMemory::Global, ScheduleMemory::Global, BlockAccess::Bytes);
        Self { mode: Mode::ecb(direction), threads: Self::THREADS, sbox, schedule, access, unrolled: false }
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
        let [_, fast] = of((S::Shared, K::Argument));
        let unrolled = [Self::basic(direction), fast].map(|kernel| Self { unrolled: true, ..kernel });
        places.into_iter().flat_map(of).chain(unrolled).collect()
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
        format!("aes-{}-bytewise-{sbox}-keys-{schedule}-{access}{rounds}{threads}", self.mode)
    }
}
