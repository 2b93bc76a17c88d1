//! S. Ul Haq, J. Masood, A. Majeed, U. Aziz, 2011: AES byte by byte in OpenCL, S-box and round keys in fast memory, and the same
//! program on the processor.
//!
//! Its times are in pictures only; its text says how much faster the GPUs were.

use crate::case::{Case, Kernel, Work};
use crate::measured::Kind;
use crate::papers::claim::{Claim, Expected, Rates, Sentence};
use crate::papers::paper::{Api, Paper};
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_papers::kernels::{BlockAccess, Bytewise, SboxMemory, ScheduleMemory};
use aes_bitslice_runtime::{Backend, Kernels};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "ul-haq-2011",
    authors: "Ul Haq, Masood, Majeed, Aziz 2011",
    title: "Bulk Encryption on GPUs",
    at: "AMD Developer Central",
    api: Api::OpenCl,
    cases: |_| cases(),
    counted: Vec::new,
    claims,
    sentences,
    gbit: 1.0,
};

/// Fig. 11: kernels over sizes, on the GPU.
pub const FIGURE_11: &str = "ul-haq-2011, fig. 11";
/// What fig. 11 has no room for: keys of other lengths, and decryption.
pub const OTHERS: &str = "ul-haq-2011, other keys and decryption";
/// Fig. 12: kernels over sizes, on the processor. Fig. 13 is made from it and fig. 11.
pub const FIGURE_12: &str = "ul-haq-2011, fig. 12";

/// The processor that its speed-ups are relative to, with 8 threads through OpenCL.
pub const CPU: &str = "Core i7 930";
/// A GPU, and how many times as fast as [`CPU`] it was at most (fig. 13, according to text and conclusion).
pub const SPEED_UPS: [(&str, f64); 2] = [("Radeon HD 5870", 16.0), ("Mobility Radeon HD 5650", 3.0)];

/// The key of its figures.
pub const KEY_BITS: KeyBits = KeyBits::Aes256;
/// Binary logarithms of the sizes on the GPU: 1 MiB to 1 GiB.
pub const POWERS: [u32; 6] = [20, 22, 24, 26, 28, 30];
/// Binary logarithms of the sizes on the processor, which is slow: 1 to 64 MiB.
pub const CPU_POWERS: [u32; 4] = [20, 22, 24, 26];
/// The size at which keys of other lengths and decryption are measured.
pub const LARGEST: u64 = 256 << 20;

/// The engines without OpenCL, each with the name by which the result is found.
pub const ENGINES: [(Backend, &str); 2] =
    [(Backend::Cpu, "AES instructions"), (Backend::CpuBitsliced, "bitsliced, without OpenCL")];

/// A kernel in OpenCL C.
pub struct Way {
    /// The name by which the result is found.
    pub name: String,
    /// Whether it is the paper's.
    pub is_the_papers: bool,
    kernel: Kernel,
}

/// The paper's kernels, then this project's.
pub fn ways(direction: Direction) -> Vec<Way> {
    let theirs = |kernel: Bytewise| Way {
        name: way_name(kernel.sbox, kernel.schedule, kernel.access) + if kernel.unrolled { UNROLLED } else { "" },
        is_the_papers: true,
        kernel: Kernel::bytewise(kernel),
    };
    let ours = Way {
        name: "bitsliced".into(),
        is_the_papers: false,
        kernel: Kernel::engine(Kernels::Bitsliced, Mode::ecb(direction)),
    };
    Bytewise::ul_haq_2011(direction).into_iter().map(theirs).chain([ours]).collect()
}

/// The [`ways`] that take part where a case takes long: the basic kernel, the S-box in constant and in local memory with keys from the host
/// and from the device, and this project's.
pub fn main_ways(direction: Direction) -> Vec<Way> {
    use {BlockAccess as A, SboxMemory as S, ScheduleMemory as K};
    let main = [
        (S::Global, K::Global, A::Bytes),
        (S::Constant, K::Constant, A::Vector),
        (S::Shared, K::Argument, A::Vector),
        (S::Shared, K::Shared, A::Vector),
    ];
    let main = main.map(|(sbox, schedule, access)| way_name(sbox, schedule, access));
    ways(direction).into_iter().filter(|way| !way.is_the_papers || main.contains(&way.name)).collect()
}

/// The suffix of the name of a kernel whose rounds are unrolled.
pub const UNROLLED: &str = "; rounds unrolled";

/// The name by which a kernel of the paper is found, in OpenCL's terms for memory.
fn way_name(sbox: SboxMemory, schedule: ScheduleMemory, access: BlockAccess) -> String {
    let sbox = match sbox {
        SboxMemory::Global => "global",
        SboxMemory::Constant => "constant",
        SboxMemory::Shared => "local",
    };
    let keys = match schedule {
        ScheduleMemory::Argument => "as an argument",
        ScheduleMemory::Global => "global",
        ScheduleMemory::Constant => "constant",
        ScheduleMemory::Shared => "local, expanded there",
    };
    let access = match access {
        BlockAccess::Vector => "vectors",
        BlockAccess::Bytes => "by bytes",
    };
    let basic = if sbox == "global" && access == "by bytes" { " (the basic kernel)" } else { "" };
    format!("S-box {sbox}; keys {keys}; {access}{basic}")
}

impl Way {
    /// The name by which the result of [`OTHERS`] is found.
    pub fn other(&self, Other { direction, key_bits }: Other) -> String {
        let encrypt = if direction == Direction::Encrypt { "encryption" } else { "decryption" };
        format!("{}, {encrypt}, {} bits", self.name, key_bits.bits())
    }
}

/// A direction and a key's length.
#[derive(Clone, Copy)]
pub struct Other {
    /// The forward or the inverse cipher.
    pub direction: Direction,
    /// The key's length.
    pub key_bits: KeyBits,
}

/// All of them; fig. 11 has encryption with 256 bits, at other sizes too.
pub const OTHER: [Other; 6] = [
    Other { direction: Direction::Encrypt, key_bits: KeyBits::Aes128 },
    Other { direction: Direction::Encrypt, key_bits: KeyBits::Aes192 },
    Other { direction: Direction::Encrypt, key_bits: KeyBits::Aes256 },
    Other { direction: Direction::Decrypt, key_bits: KeyBits::Aes128 },
    Other { direction: Direction::Decrypt, key_bits: KeyBits::Aes192 },
    Other { direction: Direction::Decrypt, key_bits: KeyBits::Aes256 },
];

/// The cases to measure.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut over_sizes = |table, on, ways: Vec<Way>, powers: &[u32]| {
        for way in ways {
            let kernel = way.kernel.with_key_bits(KEY_BITS);
            for power in powers {
                let work = Work::OpenCl { kernel: kernel.clone(), on };
                cases.push(Case { table, name: way.name.clone(), bytes: 1 << power, work });
            }
        }
    };
    over_sizes(FIGURE_11, Kind::Gpu, ways(Direction::Encrypt), &POWERS);
    over_sizes(FIGURE_12, Kind::Cpu, main_ways(Direction::Encrypt), &CPU_POWERS);
    for other in OTHER {
        for way in main_ways(other.direction) {
            let name = way.other(other);
            let work = Work::OpenCl { kernel: way.kernel.with_key_bits(other.key_bits), on: Kind::Gpu };
            cases.push(Case { table: OTHERS, name, bytes: LARGEST, work });
        }
    }
    for (backend, name) in ENGINES {
        for bytes in CPU_POWERS.map(|power| 1 << power) {
            let work = Work::Host { backend, mode: Mode::EcbEncrypt, key_bits: KEY_BITS };
            cases.push(Case { table: FIGURE_12, name: name.into(), bytes, work });
        }
    }
    cases
}

/// The words that begin with where the keys are, in the three claims about an S-box in constant memory: with keys in global, constant and
/// local memory.
pub const CONSTANT_SBOX: [&str; 3] = [
    "the S-box moved to constant memory, keys in global memory",
    "the S-box and the keys moved to constant memory",
    "S-box constant",
];

/// The sentences of fig. 13: how many times as fast the GPU is.
fn sentences(rates: Rates) -> Vec<Sentence> {
    let basic = &main_ways(Direction::Encrypt)[0].name;
    let speed_up = |power: u32| {
        let rate = |table| rates(&(table, basic.clone(), 1 << power));
        Some(rate(FIGURE_11)? / rate(FIGURE_12)?)
    };
    let [smallest, .., largest] = CPU_POWERS;
    let both = speed_up(smallest).zip(speed_up(largest));
    vec![
        Sentence::judged(
            "a GPU is up to 16 times as fast as a processor, a mobile one 3 times (conclusion)",
            "16 × and 3 ×",
            speed_up(largest),
            |factor| format!("{factor:.0} ×, basic kernel, 64 MiB"),
            |factor| factor >= 16.0,
        ),
        Sentence::judged(
            "larger inputs gain more (fig. 13)",
            "",
            both.map(|(small, large)| large / small),
            |factor| format!("the factor at 64 MiB is {factor:.2} times that at 1 MiB, basic kernel"),
            |factor| factor > 1.0,
        ),
    ]
}

/// The article's claims.
fn claims() -> Vec<Claim> {
    use {BlockAccess as A, SboxMemory as S, ScheduleMemory as K};
    let largest = 1 << POWERS[POWERS.len() - 1];
    let gpu = |sbox, keys, access| (FIGURE_11, way_name(sbox, keys, access), largest);
    let unrolled = |(table, name, bytes): (&'static str, String, u64)| (table, name + UNROLLED, bytes);
    let faster = |says, compared, first, second| Claim::of(says, None, compared, first, second, Expected::Faster);
    let same =
        |says, compared, first, second| Claim { expected: Expected::Same, ..faster(says, compared, first, second) };
    let basic = || gpu(S::Global, K::Global, A::Bytes);
    let constant = |keys| gpu(S::Constant, keys, A::Bytes);
    let bytes = |keys| gpu(S::Shared, keys, A::Bytes);
    let vectors = |keys| gpu(S::Shared, keys, A::Vector);
    vec![
        faster(
            "constant memory is faster than global memory (Memory Optimizations)",
            CONSTANT_SBOX[0],
            constant(K::Global),
            basic(),
        ),
        faster("the same", CONSTANT_SBOX[1], constant(K::Constant), basic()),
        faster(
            "local memory is faster than global memory (Memory Optimizations)",
            "the S-box moved, keys in global memory",
            bytes(K::Global),
            basic(),
        ),
        faster(
            "unrolled loops optimise the code (Design Approach)",
            "the rounds unrolled to the rounds in a loop, basic kernel",
            unrolled(basic()),
            basic(),
        ),
        faster(
            "the same",
            "S-box local, keys as an argument, vectors",
            unrolled(vectors(K::Argument)),
            vectors(K::Argument),
        ),
        faster(
            "the same of constant memory",
            "the keys moved, S-box in local memory",
            bytes(K::Constant),
            bytes(K::Global),
        ),
        same(
            "key expansion in local memory costs not much (Key Expansion using Local Memory)",
            "S-box local, vectors; keys expanded there to keys in a constant buffer",
            vectors(K::Shared),
            vectors(K::Constant),
        ),
        same(
            "the same",
            CONSTANT_SBOX[2],
            gpu(S::Constant, K::Shared, A::Vector),
            gpu(S::Constant, K::Constant, A::Vector),
        ),
        same(
            "an access pattern by bytes allows coalescing (Forward Cipher)",
            "S-box local, keys constant; by bytes to vectors",
            bytes(K::Constant),
            vectors(K::Constant),
        ),
    ]
}
