//! S. Ul Haq, J. Masood, A. Majeed, U. Aziz, 2011: AES byte by byte in OpenCL, S-box and round keys in fast memory, and the same
//! program on the processor.
//!
//! Its times are in pictures only; its text says how much faster the GPUs were.

use crate::case::{Case, Kernel, Work};
use crate::measured::Kind;
use crate::papers::paper::{Api, Paper};
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_papers::kernels::{Bytewise, TableMemory};
use aes_bitslice_runtime::{Backend, Kernels};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "ul-haq-2011",
    authors: "Ul Haq, Masood, Majeed, Aziz 2011",
    title: "Bulk Encryption on GPUs",
    at: "AMD Developer Central",
    api: Api::OpenCl,
    cases: |_| cases(),
};

/// Fig. 11: kernels over sizes, on the GPU.
pub const FIGURE_11: &str = "ul-haq-2011, fig. 11";
/// What fig. 11 has no room for: keys of other lengths, and decryption.
pub const OTHERS: &str = "ul-haq-2011, other keys and decryption";
/// Fig. 12: kernels over sizes, on the processor. Fig. 13 is made of it and fig. 11.
pub const FIGURE_12: &str = "ul-haq-2011, fig. 12";

/// The processor that its speed-ups are against, with 8 threads through OpenCL.
pub const CPU: &str = "Core i7 930";
/// A GPU, and how many times as fast as [`CPU`] it was at most (fig. 13, as text and conclusion have it).
pub const SPEED_UPS: [(&str, f64); 2] = [("Radeon HD 5870", 16.0), ("Mobility Radeon HD 5650", 3.0)];

/// The key of its figures.
pub const KEY_BITS: KeyBits = KeyBits::Aes256;
/// Binary logarithms of the sizes on the GPU: 1 MiB to 1 GiB.
pub const POWERS: std::ops::RangeInclusive<u32> = 20..=30;
/// Likewise on the processor, which takes its time: 1 to 64 MiB.
pub const CPU_POWERS: std::ops::RangeInclusive<u32> = 20..=26;
/// The size at which keys of other lengths and decryption are measured.
pub const LARGEST: u64 = 1 << *POWERS.end();

/// The engines without OpenCL, each with what the result is found by.
pub const ENGINES: [(Backend, &str); 2] =
    [(Backend::Cpu, "AES instructions"), (Backend::CpuBitsliced, "bitsliced, without OpenCL")];

/// A kernel in OpenCL C.
pub struct Way {
    /// What the result is found by.
    pub name: String,
    /// Whether it is the paper's.
    pub is_the_papers: bool,
    kernel: Kernel,
}

/// The paper's kernels, then this project's.
pub fn ways(direction: Direction) -> Vec<Way> {
    let theirs = |kernel: Bytewise| Way {
        name: format!("S-box in {} memory, keys expanded by the {}", memory(kernel.sbox), kernel.keys),
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

/// The name that OpenCL has for a table's place.
fn memory(tables: TableMemory) -> &'static str {
    if tables == TableMemory::Constant { "constant" } else { "local" }
}

impl Way {
    /// What the result of [`OTHERS`] is found by.
    pub fn other(&self, Other { direction, key_bits }: Other) -> String {
        let encrypt = if direction == Direction::Encrypt { "encryption" } else { "decryption" };
        format!("{}, {encrypt}, {} bits", self.name, key_bits.bits())
    }
}

/// A direction and a key's length.
#[derive(Clone, Copy)]
pub struct Other {
    /// Forward or inverse cipher.
    pub direction: Direction,
    /// The key's length.
    pub key_bits: KeyBits,
}

/// Those that fig. 11 does not have.
pub const OTHER: [Other; 3] = [
    Other { direction: Direction::Encrypt, key_bits: KeyBits::Aes128 },
    Other { direction: Direction::Encrypt, key_bits: KeyBits::Aes192 },
    Other { direction: Direction::Decrypt, key_bits: KEY_BITS },
];

/// What to measure.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (table, on, powers) in [(FIGURE_11, Kind::Gpu, POWERS), (FIGURE_12, Kind::Cpu, CPU_POWERS)] {
        for way in ways(Direction::Encrypt) {
            let kernel = way.kernel.with_key_bits(KEY_BITS);
            for bytes in powers.clone().map(|power| 1 << power) {
                let work = Work::OpenCl { kernel: kernel.clone(), on };
                cases.push(Case { table, name: way.name.clone(), bytes, work });
            }
        }
    }
    for other in OTHER {
        for way in ways(other.direction) {
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
