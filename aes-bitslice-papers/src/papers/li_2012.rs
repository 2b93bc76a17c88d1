//! Q. Li, C. Zhong, K. Zhao, X. Mei, X. Chu, 2012: T-boxes in shared memory, CBC decryption, streams.

use crate::case::{Case, Kernel, Work};
use crate::papers::paper::{Api, Paper};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_papers::kernels::TableSpec;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "li-2012",
    authors: "Li, Zhong, Zhao, Mei, Chu 2012",
    title: "Implementation and Analysis of AES Encryption on GPU",
    at: "IEEE 14th International Conference on High Performance Computing and Communications",
    api: Api::Cuda,
    cases: |_| cases(),
};
/// Its GPU (table III).
pub const GPU: &str = "Tesla C2050";

/// Fig. 1.
pub const FIGURE_1: &str = "li-2012, fig. 1";
/// Table IV.
pub const TABLE_4: &str = "li-2012, table IV";

/// The highest throughput of fig. 1, as the text has it (section VI.B); the others are in the picture only.
pub const FASTEST: f64 = 60.0;
/// Fig. 1's curves.
pub const MODES: [Mode; 2] = [Mode::EcbEncrypt, Mode::CbcDecrypt];
/// Binary logarithms of the sizes of fig. 1 here: 16 KiB to 256 MiB.
pub const POWERS: std::ops::RangeInclusive<u32> = 14..=28;

/// Table IV's numbers of streams.
pub const STREAMS: [usize; 5] = [0, 2, 4, 8, 16];
/// What the time that an allocation takes is found by.
pub const ALLOCATION: &str = "allocation of pinned memory";

/// A row of table IV: times in milliseconds.
pub struct Row {
    /// The size.
    pub bytes: u64,
    /// Copies in, decryption and copies out, by the number of streams.
    pub milliseconds: [f64; STREAMS.len()],
    /// The allocation of pinned memory.
    pub allocation: f64,
}

/// Table IV.
pub const ROWS: [Row; 6] = [
    Row { bytes: 256 << 10, milliseconds: [0.44, 0.20, 0.19, 0.23, 0.29], allocation: 0.3 },
    Row { bytes: 1 << 20, milliseconds: [0.96, 0.45, 0.43, 0.60, 0.67], allocation: 0.31 },
    Row { bytes: 4 << 20, milliseconds: [3.15, 2.23, 2.10, 2.06, 2.09], allocation: 0.93 },
    Row { bytes: 16 << 20, milliseconds: [12.58, 6.69, 6.12, 5.88, 7.94], allocation: 3.36 },
    Row { bytes: 64 << 20, milliseconds: [48.06, 35.12, 32.83, 23.45, 31.23], allocation: 13.12 },
    Row { bytes: 256 << 20, milliseconds: [189.5, 140.2, 97.03, 92.47, 124.36], allocation: 58.5 },
];

/// What the time with this number of streams is found by.
pub fn streams_name(streams: usize) -> String {
    format!("{streams} streams")
}

/// What to measure.
fn cases() -> Vec<Case> {
    let kernel = |mode| Kernel::table(TableSpec::li_2012(mode).expect("a kernel of the paper"));
    let mut cases = Vec::new();
    for mode in MODES {
        for bytes in POWERS.map(|power| 1 << power) {
            cases.push(Case { table: FIGURE_1, name: mode.to_string(), bytes, work: Work::Kernel(kernel(mode)) });
        }
    }
    for Row { bytes, .. } in ROWS {
        for streams in STREAMS {
            // Without a stream of its own, all of it is one chunk.
            let work = Work::Copied { kernel: kernel(Mode::CbcDecrypt), chunks: streams.max(1) };
            cases.push(Case { table: TABLE_4, name: streams_name(streams), bytes, work });
        }
        cases.push(Case { table: TABLE_4, name: ALLOCATION.into(), bytes, work: Work::Allocation });
    }
    cases
}
