//! O. Hajihassani, S. K. Monfared, S. H. Khasteh, S. Gorgin, 2019: bit-planes by column, several GPUs, rates for a price.

use crate::case::{Case, Kernel, Shares, Work};
use crate::papers::paper::{Api, Paper};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::table::{ConflictFree, TableCount};
use aes_bitslice_papers::kernels::Staged;
use aes_bitslice_runtime::Kernels;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "hajihassani-2019",
    authors: "Hajihassani, Monfared, Khasteh, Gorgin 2019",
    title: "Fast AES Implementation: A High-throughput Bitsliced Approach",
    at: "IEEE Transactions on Parallel and Distributed Systems",
    api: Api::Cuda,
    cases,
};
/// What each of 524,288 threads does with 32 blocks (sections 6.3 and 6.4); the paper calls it 2 Gbit.
pub const BYTES: u64 = 256 << 20;
/// Sizes that are measured: the paper's, and one at which the GPU of today is busy for long enough.
pub const SIZES: [u64; 2] = [BYTES, 4 << 30];

/// Tables 3 and 4, and what figures 12 to 14 are made of.
pub const TABLES: &str = "hajihassani-2019, tables 3 and 4";
/// Section 6.6.
pub const GPUS: &str = "hajihassani-2019, section 6.6";

/// A GPU in tables 3 and 4.
pub struct Row {
    /// Its name.
    pub gpu: &'static str,
    /// ECB encryption (table 3): Gbit/s, and for each dollar of the GPU's price.
    pub ecb: (f64, f64),
    /// CTR (table 4).
    pub ctr: (f64, f64),
}

/// Tables 3 and 4.
pub const ROWS: [Row; 6] = [
    Row { gpu: "GTX 980", ecb: (489.44, 1.529), ctr: (541.81, 1.693) },
    Row { gpu: "GTX 1050 Ti", ecb: (296.74, 1.484), ctr: (324.04, 1.660) },
    Row { gpu: "GTX 1080", ecb: (805.16, 1.008), ctr: (843.17, 1.053) },
    Row { gpu: "GTX 1080 Ti", ecb: (1156.07, 0.896), ctr: (1213.60, 0.941) },
    Row { gpu: "Tesla P100", ecb: (832.58, 0.171), ctr: (854.9, 0.176) },
    Row { gpu: "Tesla V100", ecb: (1384.51, 0.209), ctr: (1478.42, 0.223) },
];

/// Work of others, as table 1 quotes it.
pub struct Related {
    /// Authors and year.
    pub authors: &'static str,
    /// Its GPU.
    pub gpu: &'static str,
    /// Its throughput.
    pub gbits: f64,
}

/// Table 1's ECB, which fig. 12 shows.
pub const RELATED_ECB: [Related; 6] = [
    Related { authors: "Li et al. 2012", gpu: "C2050", gbits: 60.0 },
    Related { authors: "Nishikawa et al. 2014", gpu: "HD 7970", gbits: 205.0 },
    Related { authors: "Lim et al. 2016", gpu: "GTX 480", gbits: 78.6 },
    Related { authors: "Nishikawa et al. 2017", gpu: "P100", gbits: 605.9 },
    Related { authors: "Ma et al. 2017", gpu: "K40m", gbits: 79.0 },
    Related { authors: "Abdelrahman et al. 2017", gpu: "GTX 1080", gbits: 280.0 },
];

/// Table 1's CTR, which fig. 13 shows.
pub const RELATED_CTR: [Related; 2] = [
    Related { authors: "Zola, De Bona 2012", gpu: "C2050", gbits: 72.0 },
    Related { authors: "Lee et al. 2016", gpu: "GTX 980", gbits: 149.5 },
];

/// Of two GTX 980, in parts of twice what one does (section 6.6).
pub const TWO_GPUS: f64 = 0.92;

/// Modes of tables 3 and 4 and of fig. 14.
pub const MODES: [Mode; 3] = [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr];
/// Modes whose data is sharded over GPUs.
pub const SHARDED_MODES: [Mode; 2] = [Mode::EcbEncrypt, Mode::Ctr];

/// A way to compute all of [`MODES`].
pub struct Way {
    /// What the result is found by, behind the mode.
    pub name: &'static str,
    /// Whether it is the paper's.
    pub is_the_papers: bool,
    kernel: fn(Mode) -> Kernel,
}

/// The paper's two kernels, then this project's.
pub const WAYS: [Way; 6] = {
    const fn way(name: &'static str, is_the_papers: bool, kernel: fn(Mode) -> Kernel) -> Way {
        Way { name, is_the_papers, kernel }
    }
    [
        way("the paper's, keys fetched", true, fetched),
        way("the paper's, one-hot keys", true, Kernel::one_hot_mux),
        way("bitsliced", false, |mode| Kernel::engine(Kernels::Bitsliced, mode)),
        way("T-boxes, a copy a lane", false, |mode| copies(mode, TableCount::Four)),
        way("one T-box, a copy a lane", false, |mode| copies(mode, TableCount::One)),
        way("T-boxes and bitsliced, co-resident", false, |mode| Kernel::engine(Kernels::CoResident, mode)),
    ]
};

/// The paper's kernel whose round keys are fetched into shared memory.
fn fetched(mode: Mode) -> Kernel {
    Kernel::staged(Staged::hajihassani_2019(mode).expect("a mode of the paper"))
}

/// The kernel with a copy of its T-boxes for each lane of a warp.
fn copies(mode: Mode, count: TableCount) -> Kernel {
    Kernel::design(ConflictFree::new(mode, count).expect("a mode of the paper"))
}

impl Way {
    /// Whether it looks nothing up in tables.
    pub fn is_bitsliced(&self) -> bool {
        self.is_the_papers || self.name == "bitsliced"
    }

    /// What the result in a mode is found by.
    pub fn case(&self, mode: Mode) -> String {
        format!("{mode}, {}", self.name)
    }
}

/// What the result of this number of GPUs is found by.
pub fn gpus_name(mode: Mode, gpus: usize, shares: Shares) -> String {
    match gpus {
        1 => format!("{mode}, 1 GPU"),
        _ => format!("{mode}, {gpus} GPUs, {} shares", shares.name()),
    }
}

/// What to measure on a machine with this number of GPUs.
fn cases(gpus: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for mode in MODES {
        for way in &WAYS {
            for bytes in SIZES {
                cases.push(Case { table: TABLES, name: way.case(mode), bytes, work: Work::Kernel((way.kernel)(mode)) });
            }
        }
    }
    for mode in SHARDED_MODES {
        for gpus in [1, 2, 4, 8].into_iter().filter(|&count| count <= gpus) {
            for shares in Shares::ALL.into_iter().take(if gpus == 1 { 1 } else { Shares::ALL.len() }) {
                let kernel = Kernel::engine(Kernels::Bitsliced, mode);
                let work = Work::Sharded { kernel, gpus, shares };
                cases.push(Case { table: GPUS, name: gpus_name(mode, gpus, shares), bytes: SIZES[1], work });
            }
        }
    }
    cases
}
