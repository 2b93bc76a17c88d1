//! A. A. Abdelrahman, M. M. Fouad, H. Dahshan, A. M. Mousa, 2017: two blocks a thread, keys by warp shuffle, threads a block.

use crate::case::{Case, Kernel, Work};
use crate::papers::paper::{Api, Paper};
use aes_bitslice_papers::kernels::{Granularity, KeyMemory, TableSpec};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "abdelrahman-2017",
    authors: "Abdelrahman, Fouad, Dahshan, Mousa 2017",
    title: "High Performance CUDA AES Implementation: A Quantitative Performance Analysis Approach",
    at: "Computing Conference",
    api: Api::Cuda,
    cases: |_| cases(),
};
/// Its GPUs, of tables VI, VII and VIII.
pub const GPUS: [&str; 3] = ["GTX 780", "GTX TITAN X", "GTX 1080"];

/// Tables VI to VIII, and the sizes of figures 3 to 8.
pub const TABLES: &str = "abdelrahman-2017, tables VI-VIII";

/// Threads a thread block, in the order of the tables' columns.
pub const THREADS: [u32; 4] = [1024, 512, 256, 128];
/// Bytes a thread, in the order of the tables' columns; the last is none of theirs, but spoken of in section III.B.
pub const GRANULARITIES: [Granularity; 3] = [Granularity::B16, Granularity::B32, Granularity::B64];
/// Where the round keys are, in words.
pub const KEYS: [(KeyMemory, &str); 2] =
    [(KeyMemory::Shared, "in shared memory"), (KeyMemory::Shuffle, "by warp shuffle")];
/// Binary logarithms of the sizes of figures 3 to 8: 1 to 512 MiB.
pub const POWERS: std::ops::RangeInclusive<u32> = 20..=29;
/// Columns that the paper's tables have.
const COLUMNS: usize = 8;

/// The rows of tables VI, VII and VIII of one size.
pub struct Size {
    /// The size.
    pub bytes: u64,
    /// By GPU, then by [`KEYS`], then by bytes a thread and threads in the order of the columns.
    pub gbits: [[[f64; COLUMNS]; KEYS.len()]; GPUS.len()],
}

/// Tables VI, VII and VIII.
pub const SIZES: [Size; 4] = [
    Size {
        bytes: 512 << 20,
        gbits: [
            [
                [76.05, 80.52, 76.19, 76.19, 61.16, 70.92, 68.73, 68.73],
                [70.55, 78.73, 71.3, 71.3, 59.97, 69.2, 69.81, 69.81],
            ],
            [
                [195.13, 198.59, 196.23, 194.17, 188.68, 205.13, 207.25, 201.01],
                [186.92, 195.12, 194.17, 186.92, 189.57, 194.02, 203.05, 201.04],
            ],
            [
                [268.46, 261.44, 270.27, 268.46, 242.42, 277.78, 277.78, 279.86],
                [246.91, 259.44, 259.74, 258.06, 245.4, 268.46, 272.11, 272.11],
            ],
        ],
    },
    Size {
        bytes: 256 << 20,
        gbits: [
            [
                [75.19, 77.94, 77.22, 77.22, 61.16, 71.68, 71.94, 71.94],
                [70.42, 72.46, 71.17, 71.17, 59.35, 66.67, 69.44, 69.44],
            ],
            [
                [183.49, 183.49, 181.82, 186.92, 172.41, 188.19, 189.92, 192.31],
                [186.92, 194.17, 194.17, 147.06, 188.68, 194.02, 202.02, 199.08],
            ],
            [
                [226.67, 219.78, 227.27, 224.72, 220.96, 260.25, 240.1, 240.1],
                [216.79, 219.78, 217.39, 229.89, 223.9, 224.72, 239.27, 240.96],
            ],
        ],
    },
    Size {
        bytes: 128 << 20,
        gbits: [
            [
                [66.23, 67.57, 65.79, 65.79, 51.28, 61.35, 61.73, 61.73],
                [59.52, 62.11, 60.61, 60.61, 50.25, 58.14, 59.52, 59.52],
            ],
            [
                [161.29, 163.93, 163.93, 163.93, 153.85, 163.93, 166.67, 166.67],
                [149.25, 156.25, 156.25, 156.25, 149.25, 158.73, 163.93, 163.93],
            ],
            [
                [227.27, 217.39, 227.27, 222.22, 208.33, 238.1, 238.1, 238.1],
                [208.33, 217.39, 217.39, 212.77, 204.08, 222.22, 227.27, 227.27],
            ],
        ],
    },
    Size {
        bytes: 64 << 20,
        gbits: [
            [
                [62.5, 65.79, 64.94, 64.94, 50.0, 60.24, 60.98, 60.98],
                [59.52, 60.98, 60.24, 60.24, 49.02, 58.14, 58.82, 58.82],
            ],
            [
                [161.29, 161.29, 161.29, 161.29, 151.52, 161.29, 166.67, 166.67],
                [147.06, 156.25, 156.25, 121.95, 147.06, 156.25, 161.29, 161.29],
            ],
            [
                [227.27, 217.39, 227.27, 227.27, 208.33, 238.1, 238.1, 238.1],
                [200.0, 217.39, 217.39, 217.39, 200.0, 217.39, 227.27, 227.27],
            ],
        ],
    },
];

/// A scheme of the paper, or one with 64 bytes a thread.
pub struct Scheme {
    /// Where it is in [`KEYS`].
    pub keys: usize,
    /// Bytes a thread.
    pub granularity: Granularity,
    /// Threads a thread block.
    pub threads: u32,
    /// Where it is among the columns of the paper's tables, if it is there.
    pub column: Option<usize>,
}

/// All schemes, in the order of the tables.
pub fn schemes() -> Vec<Scheme> {
    let mut schemes = Vec::new();
    for keys in 0..KEYS.len() {
        for (column, (granularity, threads)) in
            GRANULARITIES.into_iter().flat_map(|granularity| THREADS.map(|threads| (granularity, threads))).enumerate()
        {
            schemes.push(Scheme { keys, granularity, threads, column: (column < COLUMNS).then_some(column) });
        }
    }
    schemes
}

impl Scheme {
    /// What the result is found by.
    pub fn name(&self) -> String {
        format!("keys {}, {} B a thread, {} threads", KEYS[self.keys].1, self.granularity.bytes(), self.threads)
    }
}

/// What to measure.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for scheme in schemes() {
        let spec = TableSpec::abdelrahman_2017(scheme.granularity, KEYS[scheme.keys].0, scheme.threads);
        let kernel = Kernel::table(spec.expect("a kernel of the paper"));
        for bytes in POWERS.map(|power| 1 << power) {
            cases.push(Case { table: TABLES, name: scheme.name(), bytes, work: Work::Kernel(kernel.clone()) });
        }
    }
    cases
}
